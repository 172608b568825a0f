"""The experiments by name, source and title, without what computes them: that takes seconds to import."""

from __future__ import annotations

from pathlib import Path

from entropy_theory.support.listed import Listed, listed


def experiments() -> list[Listed]:
    """Return the experiments, named as they are typed: with hyphens, where files have underscores."""
    files = (Path(__file__).parent / "experiments").glob("*.py")
    return [one._replace(name=one.name.replace("_", "-")) for one in listed(files, "Experiment")]
