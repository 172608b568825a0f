"""The experiments by name: one file for each phenomenon, which computes one xarray.Dataset."""

from simulations.computing.store import Experiment
from simulations.experiments import (
    aent_bias,
    aent_coefficient,
    aent_one_step,
    aepo_ablations,
    aepo_figure_1,
    aepo_figure_2,
    aepo_figure_3,
    aepo_sensitivity,
    aepo_tracking,
    collapse,
    covariance_identity,
    covariance_identity_on_trees,
    covariance_sign_map,
    covariance_table,
    entropy_accounts,
    entropy_against_performance,
    holding_a_target,
    intervention_sweeps,
    interventions_on_the_curve,
    pass_at_k,
    performance_law_coefficients,
    performance_law_curves,
    performance_law_on_trees,
    phase_diagrams,
    response_length,
    rules_at_equal_reward,
    tabular_audit,
)

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        aent_bias, aent_coefficient, aent_one_step, aepo_ablations, aepo_figure_1, aepo_figure_2,
        aepo_figure_3, aepo_sensitivity, aepo_tracking, collapse, covariance_identity,
        covariance_identity_on_trees, covariance_sign_map, covariance_table, entropy_accounts,
        entropy_against_performance, holding_a_target, intervention_sweeps,
        interventions_on_the_curve, pass_at_k, performance_law_coefficients,
        performance_law_curves, performance_law_on_trees, phase_diagrams, response_length,
        rules_at_equal_reward, tabular_audit,
    )
}
