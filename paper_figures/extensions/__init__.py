"""Figures that no paper has."""

from paper_figures.extensions import (
    collapse_rates,
    covariance_rules_on_the_curve,
    covariance_sign_map,
    entropy_accounts,
    entropy_audit,
    exact_and_first_order,
    following_a_target,
    forecasts_compared,
    holding_a_target,
    holding_a_target_exactly,
    independent_logits,
    interventions_on_the_curve,
    network_covariance,
    phase_diagrams,
    reachable_entropies,
    remainder_bound,
    response_length,
    small_transformer_training,
)
from paper_figures.figure import PaperFigure

FIGURES: tuple[PaperFigure, ...] = (
    reachable_entropies.FIGURE,
    phase_diagrams.FIGURE,
    interventions_on_the_curve.FIGURE,
    covariance_rules_on_the_curve.FIGURE,
    collapse_rates.FIGURE,
    covariance_sign_map.FIGURE,
    exact_and_first_order.FIGURE,
    remainder_bound.FIGURE,
    response_length.FIGURE,
    small_transformer_training.FIGURE,
    holding_a_target.FIGURE,
    following_a_target.FIGURE,
    holding_a_target_exactly.FIGURE,
    entropy_audit.FIGURE,
    entropy_accounts.FIGURE,
    forecasts_compared.FIGURE,
    network_covariance.FIGURE,
    independent_logits.FIGURE,
)
