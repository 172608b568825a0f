"""AEnt (On Entropy Control in LLM-RL Algorithms), in the paper's order."""

from paper_figures.aent import (
    algorithm_1,
    figure_1_one_step,
    figure_2_constant_coefficient,
    figure_3_scores,
    figure_4_entropy,
    figure_5_adaptive_coefficient,
    figure_6_clamping,
    table_1_benchmarks,
)
from paper_figures.figure import PaperFigure

FIGURES: tuple[PaperFigure, ...] = (
    figure_1_one_step.FIGURE,
    figure_2_constant_coefficient.FIGURE,
    algorithm_1.FIGURE,
    table_1_benchmarks.FIGURE,
    figure_3_scores.FIGURE,
    figure_4_entropy.FIGURE,
    figure_5_adaptive_coefficient.FIGURE,
    figure_6_clamping.FIGURE,
)
