"""Figures and tables by name, source and title, without what draws them: that takes seconds to import."""

from __future__ import annotations

from pathlib import Path

from entropy_theory.support.listed import Listed, listed


def figures() -> list[Listed]:
    """Return the figures and tables, by name."""
    return listed(Path(__file__).parent.glob("*/*.py"), "PaperFigure")
