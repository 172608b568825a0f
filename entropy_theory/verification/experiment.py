"""Experiments: what long exact runs and fits show, written as assertions that can fail.

They show what no proof does: that entropy has in fact collapsed after 5,000 exact steps, or how well a
law fits. A statement without a violation needs its experiments to pass; a statement that is false as
written, has no repair, and whose experiments pass is an empirical law (`verdict.derive`).
"""

from __future__ import annotations

from collections.abc import Callable

from entropy_theory.verification.claim import Outcome, Step


def experiment(name: str, statement: str, check: Callable[[], tuple[bool, str]]) -> Step:
    """Make a step of an experiment; ``check`` returns whether it shows the statement, and its numbers."""

    def run() -> tuple[Outcome, str]:
        shown, detail = check()
        return ("pass" if shown else "fail"), detail

    return Step(name=name, statement=statement, method="experiment", check=run)
