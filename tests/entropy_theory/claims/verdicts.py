"""The verdict of a claim as the tests see it: derived afresh at a tiny profile, no problem left."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import check
from entropy_theory.verification.verdict import derive
from tests.entropy_theory.verification.planted import TINY

# One climb from the worst point tells as much about a verdict as two.
PROFILE = dataclasses.replace(TINY, search=dataclasses.replace(TINY.search, ascents=1))


def check_verdict(claim_id: str, verdict: str, printed: str) -> None:
    """The claim has two mutants at least, and this evidence gives exactly this verdict."""
    claim = all_claims()[claim_id]
    with pytest.MonkeyPatch.context() as patch:
        # Most of the time went into small counterexamples, which no verdict asks for.
        as_drawn = functools.partial(check.check_property, shrink=False)
        patch.setattr(check, "check_property", as_drawn)
        evidence = [e for one in check.checks(claim, PROFILE) for e in check.run_check(one)]
    derived = derive(claim, evidence)
    assert derived.problems == ()
    assert (derived.statement, derived.printed_proof) == (verdict, printed)
    assert len(claim.mutants) >= 2
