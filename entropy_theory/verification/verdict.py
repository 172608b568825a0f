"""The verdict on a claim, derived from evidence and from nothing else.

Verdicts on a statement:

- proved: the proof kernel accepted a theorem that is the claim's formula, word for word
- verified: no proof and no violation, up to the size of a vocabulary. The evidence names the cases and
  the adversary. A margin that is not one formula cannot get more.
- no counterexample found: as verified, but part of what the statement is about was not tried. The
  evidence names this part.
- vacuous: it passes for a reason that has nothing to do with its content (`vacuity`)
- first-order: true with a remainder, and proved with it
- true with a hypothesis: false as stated, by a certified violation; proved with the named hypothesis
- corrected: false as stated; with another constant, factor or sign the repair survives
- refuted: a certified violation of a statement that is read literally. A statement that holds instead has
  its own standing.
- fails as we read it: a certified violation of our precise form of a sentence, or of a sentence that
  nobody wrote
- empirical: a certified violation, but experiments show in which sense it holds
- undecided: anything else, such as an error, a surviving mutant, a proof and a counterexample at once, or
  an equation that SymPy finds wrong

Verdicts on a printed proof:

- ok: every step follows from what is printed before it
- gap: each step that does not follow does with a premise left unsaid
- wrong: a step cannot be completed
- reconstructed: its displays are lost in the source
- not in sources: the sources print no proof of what was judged
- none: there is nothing to judge
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from entropy_theory.support.notebook import card
from entropy_theory.verification.claim import Claim, Evidence, Statement, Target
from entropy_theory.verification.floats import describe
from entropy_theory.verification.formula.terms import UntraceableError

VERDICTS = (
    "proved", "first-order", "verified", "no counterexample found", "true with a hypothesis", "corrected",
    "refuted", "fails as we read it", "empirical", "vacuous", "undecided",
)
HOLDS = ("proved", "verified", "first-order")
"""Verdicts that say that the statement is true as written."""
FAILED = ("refuted", "fails as we read it")
"""Verdicts of a certified violation: of what is printed, and of how we read it."""
PRINTED_PROOFS = ("ok", "gap", "wrong", "reconstructed", "not in sources", "none", "undecided")
Standing = Literal["proved", "verified", "no counterexample found", ""]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The judgement on one claim.

    Attributes:
        statement: one of `VERDICTS`.
        printed_proof: one of `PRINTED_PROOFS`.
        instead: how the repaired statement stands, "" where there is none or it does not.
        counterexample: exact data of the simplest certified violation, or None.
        problems: what keeps the evidence from being trusted, one line each: surviving mutants, errors, a
            failed step, a check that was not run. Empty for a clean run.
        searched: which instances the statement was tried on.
        left_open: what that does not settle, and which instances it was not tried on, and why.
    """

    statement: str
    printed_proof: str
    counterexample: dict[str, Any] | None
    problems: tuple[str, ...]
    instead: Standing = ""
    searched: str = ""
    left_open: str = ""

    def _repr_html_(self) -> str:
        return card(self.statement, {
            "what holds": self.instead, "fails at": self.counterexample and describe(self.counterexample),
            "printed proof": self.printed_proof, "searched": self.searched, "left open": self.left_open,
            "problems": "; ".join(self.problems)})


def derive(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """The verdict that this evidence supports."""
    counterexample = _counterexample(evidence, "statement")
    problems = tuple(_problems(claim, evidence, counterexample))
    instead: Standing = ""
    if claim.repair is not None and not problems:
        instead = _standing(claim.repair, evidence, "repair")
    doubt = "vacuous" if any(
        e.outcome == "vacuous" and e.target == "statement" for e in evidence) else "undecided"
    return Verdict(
        statement=doubt if problems else _statement_verdict(claim, evidence, counterexample, instead),
        printed_proof=_printed_proof(claim, evidence),
        instead=instead,
        counterexample=counterexample,
        problems=problems,
        searched="; ".join(e.searched for e in evidence if e.target == "statement" and e.searched),
        left_open=_left_open(evidence, "statement"),
    )


def _left_open(evidence: Sequence[Evidence], target: Target) -> str:
    return "; ".join(e.left_open for e in evidence if e.target == target and e.left_open)


def _statement_verdict(
    claim: Claim, evidence: Sequence[Evidence], counterexample: dict[str, Any] | None,
    instead: Standing,
) -> str:
    if counterexample is not None:
        if claim.repair is None and claim.experiments:
            return "empirical"
        if instead in ("proved", "verified") and claim.repair_is == "correction":
            return "corrected"
        # Only of two formulas can it be said that they have one conclusion (`_other_conclusion`).
        if (instead == "proved" and claim.repair_is == "hypothesis"
                and claim.statement.is_traceable()):
            return "true with a hypothesis"
        return FAILED[claim.reading.kind != "literal"]
    standing = _standing(claim.statement, evidence, "statement")
    if claim.first_order and standing == "proved":
        return "first-order"
    return standing or "undecided"


def _standing(statement: Statement, evidence: Sequence[Evidence], target: Target) -> Standing:
    """How well a statement is established."""
    if not _survives(evidence, target):
        return ""
    if statement.is_traceable() and any(
            e.method == "kernel" and e.target == target and e.outcome == "pass" for e in evidence):
        return "proved"
    if statement.beyond is not None:
        # No search can falsify a limit, so that surviving one says nothing.
        return ""
    return "no counterexample found" if _left_open(evidence, target) else "verified"


def _problems(
    claim: Claim, evidence: Sequence[Evidence], counterexample: dict[str, Any] | None
) -> list[str]:
    """Return the faults of the evidence; a refuted printed statement is not a problem."""
    found = [
        f"{f'{e.target} {e.name}'.strip()} ({e.method}, {e.outcome}): {e.detail}"
        for e in evidence if _is_problem(e)
    ]
    named = {e.name for e in evidence if e.method == "mutant"}
    found += [f"mutant '{m.name}' was not run" for m in claim.mutants if m.name not in named]
    if not named:
        found.append("no mutant was run")
    run = {e.name for e in evidence if e.target == "experiment"}
    found += [f"experiment '{s.name}' was not run" for s in claim.experiments if s.name not in run]
    if claim.symbolic and all(e.method != "symbolic" or e.target == "printed proof" for e in evidence):
        found.append("SymPy did not decide its equations")
    if claim.repair is not None and claim.repair_is == "hypothesis":
        found += _other_conclusion(claim.statement, claim.repair)
    if counterexample is not None and any(
            e.method == "kernel" and e.target == "statement" and e.outcome == "pass" for e in evidence):
        found.append("a proof and a counterexample at once: one of the checkers is wrong")
    return found


def _other_conclusion(statement: Statement, repair: Statement) -> list[str]:
    """A repair that only adds hypotheses has the statement's conclusion and all of its hypotheses."""
    try:
        printed, repaired = statement.formula, repair.formula
    except UntraceableError:
        return []
    if repaired.conclusion.term is not printed.conclusion.term:
        return ["the repair is said to add a hypothesis, but its conclusion is another one"]
    kept = {(h.term, h.sign) for h in repaired.hypotheses}
    if any((h.term, h.sign) not in kept for h in printed.hypotheses):
        return ["the repair is said to add a hypothesis, but it drops one"]
    return []


def _is_problem(e: Evidence) -> bool:
    if e.outcome in ("error", "vacuous"):
        return True
    if e.method == "kernel":
        return e.outcome == "fail"
    if e.target == "printed proof":
        return False
    if e.method in ("mutant", "symbolic") or e.target == "experiment":
        return e.outcome != "pass"
    # A violation of the statement is a finding; one of the repair is a fault.
    return e.outcome == "fail" and e.target != "statement"


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


def _printed_proof(claim: Claim, evidence: Sequence[Evidence]) -> str:
    if claim.proof_text != "printed":
        return claim.proof_text
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
