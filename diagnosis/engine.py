"""Diagnoses a run: judges all hypotheses, ranks the likely ones, and puts them into a sentence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from diagnosis import whose
from diagnosis.facts import Facts
from diagnosis.findings import Diagnosis, Finding, Name, Taken
from diagnosis.hypotheses import HYPOTHESES
from diagnosis.hypotheses.judging import gains
from diagnosis.hypotheses.log import not_enough, not_finite
from diagnosis.remedies import missing, remedies
from entropy_theory.training_logs.logs import Run
from entropy_theory.training_logs.names import Quantity

LIKELY = 0.5
"""The least confidence of a finding."""
FEW_EQUAL = 0.2
"""A share of groups with equal rewards below which sampling others gains less than a quarter."""

EXPLAINED_BY: Mapping[Name, frozenset[Name]] = {
    "schedule": frozenset(("mismatch",)),  # the samples of another policy lose reward at any step size
    "explosion": frozenset(("growth",)),
}
"""Findings that are left out where another one explains them."""
SURE = 0.7
"""The least confidence of a finding that stands before what it leads to."""
RUINED: frozenset[Name] = frozenset(
    ("truncation", "length drift", "collapse", "explosion", "no signal", "nothing learned"))
"""Findings of a policy that its steps have ruined: random or certain, with responses that do not end."""
LEADS_TO: Mapping[Name, frozenset[Name]] = {
    "schedule": RUINED,
    "mismatch": RUINED,
    "explosion": frozenset(("truncation", "length drift", "no signal", "nothing learned")),
    "clipping": frozenset(("collapse", "explosion")),
    "held-out apart": frozenset(("collapse",)),  # what is learned by heart is certain
    "length drift": frozenset(("truncation",)),
    "kl": frozenset(("nothing learned",)),
    "no signal": frozenset(("nothing learned",)),
}
"""Findings that a finding leads to. It stands before those that do not begin before it, if it is sure."""


def diagnose(run: Run, others: Sequence[Run] = ()) -> Diagnosis:
    """Say what happened in a run.

    Args:
        run: the run, as `entropy_theory.training_logs.logs.read` returns it.
        others: further runs, which may have seen the same prompts in the same order.
    """
    facts = Facts(run, tuple(others))
    findings = tuple(
        dataclasses.replace(found, remedies=remedies(found.name, run.engine, _idle(facts)),
                            against=(*found.against, *_gained(facts, found)))
        for found in _ranked(facts))
    parts = whose.doers(run)
    return Diagnosis(
        run=f"{run.path} ({run.name})" if run.name else run.path, engine=run.engine,
        sentence=_sentence(findings), phases=facts.phases, findings=findings,
        missing=missing(frozenset(run.series), run.engine, has_parts=bool(parts)),
        taken={quantity: Taken(one.column, float(one.value[0]), float(one.value[-1]), len(one.value),
                               one.runners_up) for quantity, one in run.series.items()},
        parts=parts, notes=run.notes)


def _ranked(facts: Facts) -> tuple[Finding, ...]:
    if (too_little := not_enough(facts)) is not None:
        return tuple(one for one in (not_finite(facts), too_little) if one is not None)
    judged = [(gravity * found.confidence, found) for hypothesis, gravity in HYPOTHESES
              if (found := hypothesis(facts)) is not None and found.confidence >= LIKELY]
    names = {found.name for _, found in judged}
    judged = [one for one in judged if not names & EXPLAINED_BY.get(one[1].name, frozenset())]
    faulty = any(found.is_fault for _, found in judged)
    rest = [found for _, found in sorted(judged, key=lambda one: -one[0])
            if not (faulty and found.name == "converging")]
    ranked: list[Finding] = []
    while rest:  # no finding leads to itself by way of others, so that there always is a first one
        ranked.append(next(one for one in rest if not any(_leads(facts, other, one) for other in rest)))
        rest.remove(ranked[-1])
    return tuple(ranked) or (Finding(
        "not enough", 0.5, evidence=("nothing in the log is clear beyond its noise",)),)


def _leads(facts: Facts, first: Finding, then: Finding) -> bool:
    """Return whether a finding leads to another, by their names and beginnings."""
    if then.name not in LEADS_TO.get(first.name, frozenset()) or first.confidence < SURE:
        return False
    if first.name == "length drift" and "length" in facts:  # responses that shrink run into no limit
        grown = facts.move("length", facts.steps[0] if first.begin is None else first.begin)
        if grown is None or grown.change < 0:
            return False
    return first.begin is None or then.begin is None or first.begin <= max(
        then.begin_high or then.begin, then.begin + facts.near_by)


def _idle(facts: Facts) -> frozenset[str]:
    """Return the actions of `remedies` that would change nothing in this run, by its own numbers."""
    clips: tuple[Quantity, ...] = ("clipped", "clipped_high")
    logged = [facts.value(one) for one in clips if one in facts]
    found = {"raise-upper-clip"} if logged and not any(one.any() for one in logged) else set()
    share, still = facts.equal_groups()
    if share < FEW_EQUAL or not (math.isfinite(share) or still > 0):
        found |= {"sample-until-mixed", "larger-groups"}
    return frozenset(found)


def _gained(facts: Facts, found: Finding) -> list[str]:
    """Return the evidence against a fault: the run gains all the same."""
    whole = next(facts.episodes(), None)
    if whole is None or not found.is_fault:
        return []
    begin = whole.begin if found.begin is None else found.begin
    said = gains(facts, dataclasses.replace(whole, begin=begin), rising=True)
    return [] if found.name == "held-out apart" else said


def _sentence(findings: Sequence[Finding]) -> str:
    first, *rest = findings
    said = first.evidence[0]
    also = f" Also: {', '.join(found.name for found in rest)}." if rest else ""
    return f"{first.name[0].upper()}{first.name[1:]}: {said}.{also}"
