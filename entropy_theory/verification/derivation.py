"""Derivations: steps from tagged premises to the formula of the statement itself."""

from __future__ import annotations

from entropy_theory.verification.claim import Statement


def is_derivation(statement: Statement) -> bool:
    """Whether the statement's steps are inferences whose last conclusion is its formula."""
    return False
