"""Diagnoses a run: judges all hypotheses, ranks what is likely, and says it in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from diagnosis.facts import Facts
from diagnosis.findings import Diagnosis, Finding, Taken
from diagnosis.hypotheses import HYPOTHESES, not_enough
from entropy_theory.training_logs.logs import Run

LIKELY = 0.5
"""The least confidence of a finding."""


def diagnose(run: Run, others: Sequence[Run] = ()) -> Diagnosis:
    """Say what happened in a run.

    Args:
        run: the run, as `entropy_theory.training_logs.logs.read` returns it.
        others: further runs on the same prompts in the same order.
    """
    facts = Facts(run, tuple(others))
    findings = _ranked(facts)
    return Diagnosis(
        run=f"{run.path} ({run.name})" if run.name else run.path, engine=run.engine,
        sentence=findings[0].evidence[0], phases=facts.phases, findings=findings,
        taken={quantity: Taken(one.column, float(one.value[0]), float(one.value[-1]), len(one.value),
                               one.runners_up) for quantity, one in run.series.items()},
        notes=run.notes)


def _ranked(facts: Facts) -> tuple[Finding, ...]:
    if (too_little := not_enough(facts)) is not None:
        return (too_little,)
    judged = [(gravity * found.confidence, found) for _, hypothesis, gravity in HYPOTHESES
              if (found := hypothesis(facts)) is not None and found.confidence >= LIKELY]
    faulty = any(found.is_fault for _, found in judged)
    ranked = [found for _, found in sorted(judged, key=lambda one: -one[0])
              if not (faulty and found.name == "converging")]
    return tuple(ranked) or (Finding(
        "not enough", 0.5, evidence=("nothing in the log is clear beyond its noise",)),)
