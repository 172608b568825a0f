"""Every figure and table of the package by name, in the order of the report."""

from __future__ import annotations

from importlib import import_module

from paper_figures.figure import PaperFigure

MODULES = {
    "entropy_mechanism": (
        "figure_2_entropy_consumption", "figures_1_3_4_reward_entropy_curves",
        "figure_5_prediction", "figure_6_algorithms", "figure_7_coefficients_by_size",
        "figure_8_covariance", "figure_9_entropy_loss", "figure_10_reference_kl",
        "figure_11_methods", "figure_12_strengths", "table_1_covariance", "table_2_results",
    ),
    "aepo": (
        "figure_1_targets", "tracking", "theorem_4_3_sign_map", "figure_2_tempered_reinforce",
        "figure_3_bonus_extremes", "sustainable_targets", "table_1_benchmarks",
        "figure_4_trajectories", "table_2_pass_at_k", "table_3_ablations",
        "entropy_and_performance", "table_4_settings",
    ),
    "aent": (
        "figure_1_one_step", "figure_2_constant_coefficient", "algorithm_1", "table_1_benchmarks",
        "figure_3_scores", "figure_4_entropy", "figure_5_adaptive_coefficient", "figure_6_clamping",
    ),
    "extensions": (
        "reachable_entropies", "phase_diagrams", "interventions_on_the_curve",
        "covariance_rules_on_the_curve", "collapse_rates", "covariance_sign_map",
        "exact_and_first_order", "remainder_bound", "response_length", "small_transformer_training",
        "holding_a_target", "following_a_target", "holding_a_pretrained_target",
        "targets_for_each_prompt", "holding_a_target_exactly", "entropy_audit", "entropy_accounts",
        "forecasts_compared", "network_covariance", "independent_logits", "noise_and_entropy",
        "growth_and_collapse", "coin_rewards", "effect_of_every_rule",
    ),
}
"""The modules of each folder, in the order of its paper."""
_FIGURES: list[PaperFigure] = [
    import_module(f"paper_figures.{folder}.{module}").FIGURE
    for folder, modules in MODULES.items() for module in modules
]
FIGURES = {figure.name: figure for figure in _FIGURES}
