"""Tests a statement with Hypothesis on thousands of instances and shrinks a violation it finds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import target as steer

from entropy_theory.verification import certify
from entropy_theory.verification.certify import record
from entropy_theory.verification.claim import Evidence, Statement, Target
from entropy_theory.verification.floats import describe, evaluate
from entropy_theory.verification.instances import Instance, Instances, as_batch


class _ViolationError(AssertionError):
    """A violation that ball arithmetic has proved; Hypothesis shrinks what raises it."""


def check_property(
    statement: Statement,
    instances: Instances,
    examples: int,
    *,
    target: Target = "statement",
    shrink: bool = True,
    seed: int = 0,
) -> list[Evidence]:
    """Test the statement on so many Hypothesis examples, without a database of examples.

    A float violation is put to ball arithmetic before it counts, so what is shrunk stays certified.
    Without ``shrink`` the first violation is reported as drawn (enough to reject a mutant). Seed 0 draws
    what Hypothesis derives from the test itself.
    """
    started = time.monotonic()
    counts = {"met": 0, "drawn": 0, "equalities": 0}
    violations: list[tuple[Instance, certify.Certificate]] = []

    @_settings(examples, shrink)
    @given(instances.strategy)
    def run(instance: Instance) -> None:
        counts["drawn"] += 1
        margins, meets = evaluate(statement, as_batch(instance))
        if not meets[0]:
            return
        counts["met"] += 1
        margin = float(margins[0])
        if examples >= 1000 and np.isfinite(margin):
            steer(-margin)
        if margin > 0 or (statement.relation != ">" and margin == 0):
            return
        if statement.relation == "==" and margin >= -1e-9:
            return
        certificate = certify.check_candidate(statement, instance)
        counts["equalities"] += certify.may_be_equality(statement, certificate)
        if certificate.status == "violated":
            violations.append((instance, certificate))
            raise _ViolationError

    outcome = "pass"
    try:
        (seeded(seed)(run) if seed else run)()
    except _ViolationError:
        outcome = "fail"
    common: dict[str, Any] = {"method": "property", "cases": counts["drawn"], "target": target,
                              "seconds": time.monotonic() - started}
    if outcome == "fail":
        # Hypothesis runs the shrunk example last.
        data = record(*violations[-1])
        return [Evidence(**common, outcome="fail", counterexample=data,
                         detail=f"Hypothesis{', shrunk' * shrink}: {describe(data)}, "
                                f"margin {data['margin_interval']}")]
    return [_no_violation(common, **counts)]


def _settings(examples: int, shrink: bool) -> settings:
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.target, *((Phase.shrink,) if shrink else ())),
        print_blob=False,
        report_multiple_bugs=False,
    )


def _no_violation(common: dict[str, Any], met: int, drawn: int, equalities: int) -> Evidence:
    if met == 0:
        return Evidence(**common, outcome="vacuous",
                        detail=f"vacuous: none of {drawn} examples meets the hypotheses")
    if equalities:
        why = (f"Hypothesis: {equalities} of {met} examples may be exact equalities, where the "
               "strict statement fails")
        return Evidence(**common, outcome="undecided", left_open=why, detail=why)
    return Evidence(**common, outcome="pass", searched=f"{met} Hypothesis examples",
                    detail=f"Hypothesis: {met} of {drawn} examples met the hypotheses, none failed")
