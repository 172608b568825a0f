"""The experiments by name: one file a phenomenon, each returns one xarray.Dataset."""

from simulations.experiments import (
    aepo_figure_1,
    aepo_figure_2,
    aepo_figure_3,
    rules_at_equal_reward,
    tabular_audit,
)
from simulations.store import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        aepo_figure_1, aepo_figure_2, aepo_figure_3, rules_at_equal_reward, tabular_audit
    )
}
