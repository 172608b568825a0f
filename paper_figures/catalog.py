"""Every figure of the package by name, in the order of the report."""

from __future__ import annotations

from paper_figures.aepo import figure_1, figure_2, figure_3
from paper_figures.extensions import audit, training
from paper_figures.figure import PaperFigure

FIGURES: dict[str, PaperFigure] = {
    module.FIGURE.name: module.FIGURE for module in (figure_1, figure_2, figure_3, training, audit)
}
