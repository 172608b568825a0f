"""AEPO (Wang et al., Arbitrary Entropy Policy Optimization), in the paper's order."""

from paper_figures.aepo import (
    entropy_and_performance,
    figure_1_targets,
    figure_2_tempered_reinforce,
    figure_3_bonus_extremes,
    figure_4_trajectories,
    sustainable_targets,
    table_1_benchmarks,
    table_2_pass_at_k,
    table_3_ablations,
    table_4_settings,
    theorem_4_3_sign_map,
    tracking,
)
from paper_figures.figure import PaperFigure

FIGURES: tuple[PaperFigure, ...] = (
    figure_1_targets.FIGURE,
    tracking.FIGURE,
    theorem_4_3_sign_map.FIGURE,
    figure_2_tempered_reinforce.FIGURE,
    figure_3_bonus_extremes.FIGURE,
    sustainable_targets.FIGURE,
    table_1_benchmarks.FIGURE,
    figure_4_trajectories.FIGURE,
    table_2_pass_at_k.FIGURE,
    table_3_ablations.FIGURE,
    entropy_and_performance.FIGURE,
    table_4_settings.FIGURE,
)
