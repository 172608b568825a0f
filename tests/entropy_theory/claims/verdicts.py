"""What a claim's own checks conclude, in seconds: asserted claim by claim."""

from __future__ import annotations

import dataclasses

from entropy_theory.claims import all_claims
from entropy_theory.verification.check import checks, run_check
from entropy_theory.verification.verdict import derive
from tests.entropy_theory.verification.planted import TINY

# Most of the time would go into making counterexamples small.
PROFILE = dataclasses.replace(TINY, shrink=False)


def check_verdict(claim_id: str, verdict: str, printed: str) -> None:
    """The claim has two mutants at least, and this evidence gives exactly this verdict."""
    claim = all_claims()[claim_id]
    evidence = [e for check in checks(claim, PROFILE) for e in run_check(check)]
    derived = derive(claim, evidence)
    assert derived.problems == ()
    assert (derived.statement, derived.printed_proof) == (verdict, printed)
    assert len(claim.mutants) >= 2
