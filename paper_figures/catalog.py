"""Every figure and table of the package by name, in the order of the report."""

from __future__ import annotations

from paper_figures import aent, aepo, entropy_mechanism, extensions
from paper_figures.figure import PaperFigure

FIGURES: dict[str, PaperFigure] = {
    figure.name: figure
    for source in (entropy_mechanism, aepo, aent, extensions)
    for figure in source.FIGURES
}
