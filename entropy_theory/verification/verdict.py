"""The verdict on a claim, derived from evidence and from nothing else.

Statement:
    refuted      a violation proved in ball arithmetic, and no repair that survives
    empirical    the same, no repair offered, but experiments show in which sense it holds
    repaired     the same, but the repaired statement is proved, or survives every search
    first-order  a remainder of the claimed order, measured, within its bound, never violated
    proved       every step of a proof for all n is machine-checked, and no search finds a violation
    verified     no proof, but no violation either
    undecided    anything else: an error, a surviving mutant, a proof and a counterexample at once

Printed proof: "ok" if every step follows from what is printed before it; "gap" if each one that does
not follows with a premise left unsaid; "wrong" if one cannot be completed; "none" if none is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entropy_theory.verification.claim import Claim, Evidence, Step, Target

VERDICTS = (
    "proved", "verified", "first-order", "repaired", "refuted", "empirical", "undecided",
)
HOLDS = ("proved", "verified", "first-order")
"""Verdicts that say that the statement is true as written."""
PRINTED_PROOFS = ("ok", "gap", "wrong", "none", "undecided")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The judgement on one claim.

    Attributes:
        statement: one of `VERDICTS`.
        printed_proof: one of `PRINTED_PROOFS`.
        counterexample: exact data of the simplest certified violation, or None.
        problems: what keeps the evidence from being trusted (surviving mutants, errors, a failed
            step, a check that was not run), one line each; empty for a clean run.
    """

    statement: str
    printed_proof: str
    counterexample: dict[str, Any] | None
    problems: tuple[str, ...]


def derive(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """The verdict that this evidence supports."""
    counterexample = _counterexample(evidence, "statement")
    return Verdict(
        statement=_statement_verdict(claim, evidence, counterexample),
        printed_proof=_printed_proof(claim, evidence),
        counterexample=counterexample,
        problems=tuple(_problems(claim, evidence, counterexample)),
    )


def _statement_verdict(
    claim: Claim, evidence: Sequence[Evidence], counterexample: dict[str, Any] | None
) -> str:
    if _problems(claim, evidence, counterexample):
        return "undecided"
    if counterexample is not None:
        if claim.repair is None:
            return "empirical" if claim.experiments else "refuted"
        return "repaired" if _survives(evidence, "repair") else "refuted"
    if not _survives(evidence, "statement"):
        return "undecided"
    if claim.convergence is not None:
        return "first-order"
    return "proved" if _is_proved(claim.statement.proof, evidence, "statement") else "verified"


def _problems(
    claim: Claim, evidence: Sequence[Evidence], counterexample: dict[str, Any] | None
) -> list[str]:
    """What makes the evidence untrustworthy; a refuted printed statement is not a problem."""
    found = [
        f"{f'{e.target} {e.name}'.strip()} ({e.method}, {e.outcome}): {e.detail}"
        for e in evidence if _is_problem(e)
    ]
    named = {e.name for e in evidence if e.method == "mutant"}
    found += [f"mutant '{m.name}' was not run" for m in claim.mutants if m.name not in named]
    if not named:
        found.append("no mutant was run")
    if claim.convergence is not None and all(e.method != "convergence" for e in evidence):
        found.append("the order of the remainder was not measured")
    for target, steps in (("negation", claim.negation), ("experiment", claim.experiments)):
        run = {e.name for e in evidence if e.target == target}
        found += [f"{target} '{s.name}' was not run" for s in steps if s.name not in run]
    if counterexample is not None and _is_proved(claim.statement.proof, evidence, "statement"):
        found.append("a proof and a counterexample at once: one of the checkers is wrong")
    return found


def _is_problem(e: Evidence) -> bool:
    if e.outcome == "error":
        return True
    if e.method in ("mutant", "convergence") or e.target in ("negation", "experiment"):
        return e.outcome != "pass"
    if e.outcome != "fail" or e.target == "printed proof":
        return False
    # A violation of the statement is a finding; a failing step, repair or negation is a fault.
    return bool(e.name) or e.target != "statement"


def _counterexample(evidence: Sequence[Evidence], target: Target) -> dict[str, Any] | None:
    """The counterexample of the search, which is the simplest; else that of Hypothesis, if any."""
    for method in ("search", "property", "certify"):
        for e in evidence:
            if e.method == method and e.target == target and e.counterexample is not None:
                return e.counterexample
    return None


def _survives(evidence: Sequence[Evidence], target: Target) -> bool:
    """Whether both falsifiers ran and neither found a violation."""
    for method in ("search", "property"):
        outcomes = {e.outcome for e in evidence if e.method == method and e.target == target}
        if outcomes != {"pass"}:
            return False
    return _counterexample(evidence, target) is None


def _is_proved(proof: Sequence[Step], evidence: Sequence[Evidence], target: Target) -> bool:
    """Whether there is a proof and each of its steps passed; a cross-check may time out but not fail."""
    if not proof:
        return False
    outcomes = {e.name: e.outcome for e in evidence if e.target == target and e.name}
    for step in proof:
        outcome = outcomes.get(step.name)
        if outcome == "fail" or (outcome != "pass" and not step.cross_check):
            return False
    return True


def _printed_proof(claim: Claim, evidence: Sequence[Evidence]) -> str:
    if not claim.printed_proof:
        return "none"
    outcomes = {e.name: e.outcome for e in evidence if e.target == "printed proof"}
    worst = 0
    for printed in claim.printed_proof:
        outcome = outcomes.get(printed.as_printed.name)
        if outcome == "pass":
            continue
        if outcome != "fail":
            return "undecided"
        completed = printed.completed and outcomes.get(printed.completed.name)
        worst = max(worst, 1 if completed == "pass" else 2)
    return ("ok", "gap", "wrong")[worst]
