"""The Entropy Mechanism (Cui et al.), in the paper's order."""

from paper_figures.entropy_mechanism import (
    figure_2_entropy_consumption,
    figure_5_prediction,
    figure_6_algorithms,
    figure_7_coefficients_by_size,
    figure_8_covariance,
    figure_9_entropy_loss,
    figure_10_reference_kl,
    figure_11_methods,
    figure_12_strengths,
    figures_1_3_4_reward_entropy_curves,
    table_1_covariance,
    table_2_results,
)
from paper_figures.figure import PaperFigure

FIGURES: tuple[PaperFigure, ...] = (
    figure_2_entropy_consumption.FIGURE,
    figures_1_3_4_reward_entropy_curves.FIGURE,
    figure_5_prediction.FIGURE,
    figure_6_algorithms.FIGURE,
    figure_7_coefficients_by_size.FIGURE,
    figure_8_covariance.FIGURE,
    figure_9_entropy_loss.FIGURE,
    figure_10_reference_kl.FIGURE,
    figure_11_methods.FIGURE,
    figure_12_strengths.FIGURE,
    table_1_covariance.FIGURE,
    table_2_results.FIGURE,
)
