"""Search and Hypothesis on planted claims: they must find the known witness, and only real ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import Claim, Condition, Mutant, Statement, check
from entropy_theory.verification.property_based import check_property
from entropy_theory.verification.search import search
from tests.entropy_theory.verification import planted

EFFORT = planted.TINY.search


def test_search_reports_the_simplest_and_the_worst():
    found, certificate = search(planted.ENTROPY_BELOW_ONE, planted.POLICIES, EFFORT)
    assert found.outcome == certificate.outcome == "fail"
    assert found.counterexample["weights"] == [1, 1, 2]
    simplest = float(found.counterexample["margin_interval"].strip("[").split()[0])
    assert simplest == pytest.approx(1 - 1.0397, abs=1e-4)
    # The supremum under the hypothesis is h(0.45) + 0.55 log 3 = 1.2924.
    worst = float(certificate.detail.split("worst: [")[1].split()[0])
    assert worst == pytest.approx(1 - 1.2924, abs=2e-3)


def test_the_first_violation_is_enough_to_reject_a_mutant():
    """Half of the ledger's time once went into policies of 151,936 actions for mutants long rejected."""
    claim = all_claims()["extension.hessian"]
    mutant = claim.mutants[0].statement
    whole, _ = search(mutant, claim.instances, EFFORT)
    found, certificate = search(mutant, claim.instances, EFFORT, first_only=True)
    assert found.outcome == certificate.outcome == "fail"
    assert found.cases < 100 < whole.cases


def test_hypothesis_draws_by_the_seed():
    drawn = []

    def met(instance):
        drawn[-1].append(instance.logits.tolist())
        return np.ones(instance.logits.shape[:-1])

    statement = dataclasses.replace(planted.AT_MOST_LOG_N, margin=met)
    for seed in (0, 0, 1, 1):
        drawn.append([])
        check_property(statement, planted.POLICIES, 20, seed=seed)
    assert drawn[0] == drawn[1] != drawn[2] == drawn[3]


def test_a_seed_reaches_every_search(monkeypatch):
    """A second look that searches in the old places."""
    claim = next(claim for claim in all_claims().values() if claim.repair and claim.mutants)
    told = []
    for name in ("search", "check_property"):
        monkeypatch.setattr(check, name, lambda *given, seed, **options: told.append(seed) or [])
    seeds = []
    for seed in (0, 1):
        told.clear()
        for each in check.checks(claim, dataclasses.replace(planted.TINY, seed=seed)):
            if each.method in ("search", "property", "mutant"):
                each.run()
        seeds.append(list(told))
    assert len(seeds[0]) == len(seeds[1]) >= 5
    assert all(first != second for first, second in zip(*seeds, strict=True))


def test_hypothesis_shrinks_to_the_smallest_violation():
    (found,) = check_property(planted.ENTROPY_BELOW_ONE, planted.POLICIES, 200)
    assert found.outcome == "fail"
    assert sorted(found.counterexample["weights"]) == [1, 1, 2]


def test_a_strict_inequality_is_refuted_by_equality():
    found, _ = search(planted.TOP_ABOVE_HALF, planted.POLICIES, EFFORT)
    assert sum(found.counterexample["weights"]) <= 3
    (found,) = check_property(planted.TOP_ABOVE_HALF, planted.POLICIES, 100)
    assert found.outcome == "fail"


def test_a_true_statement_with_equality_cases_survives():
    """At uniform policies H = log n, where floats may put H above log n: no false alarm."""
    (found,) = search(planted.AT_MOST_LOG_N, planted.POLICIES, EFFORT)
    assert found.outcome == "pass"
    assert found.cases > 3000
    (found,) = check_property(planted.AT_MOST_LOG_N, planted.POLICIES, 60)
    assert found.outcome == "pass"


def test_float_noise_alone_is_never_a_refutation():
    """A margin that is zero in exact arithmetic and negative in floats (the float trap)."""
    noisy = Statement(latex="0.1 + 0.2 <= 0.3 up to rounding", relation=">=",
                      margin=lambda i: (0.3 - (0.1 + 0.2)) * np.abs(i.logits[..., 0])
                      if i.logits.dtype == float else 0 * i.logits[..., 0])
    (found,) = search(noisy, planted.POLICIES, EFFORT)
    assert found.outcome == "pass"
    assert "not confirmed by balls (0 undecided)" in found.detail


def test_a_strict_statement_that_fails_by_equality_only_does_not_pass():
    """H < log n is false at uniform policies, by an exact zero that no precision decides."""
    strict = Statement(latex="H < log n", relation=">", margin=planted.AT_MOST_LOG_N.margin)
    for found in (search(strict, planted.POLICIES, EFFORT)[0],
                  check_property(strict, planted.POLICIES, 60)[0]):
        assert found.outcome == "undecided"
        assert "exact equalities" in found.detail


def test_identities():
    (found,) = search(planted.COVARIANCES_SUM_TO_ZERO, planted.POLICIES, EFFORT)
    assert found.outcome == "pass"
    found, _ = search(planted.NEARLY_AN_IDENTITY, planted.POLICIES, EFFORT)
    assert found.outcome == "fail"


def test_unmeetable_hypotheses_are_vacuous_not_passed():
    vacuous = dataclasses.replace(
        planted.AT_MOST_LOG_N,
        conditions=(Condition(latex="1 < 0", value=lambda i: -1 + 0 * i.logits[..., 0]),),
    )
    for found in (search(vacuous, planted.POLICIES, EFFORT)[0],
                  check_property(vacuous, planted.POLICIES, 20)[0]):
        assert found.outcome == "vacuous"
        assert "meets the hypotheses" in found.detail


def test_a_mutant_that_nothing_can_judge_is_not_rejected():
    """No instance meets its hypotheses: that is no violation."""
    never = Condition(latex="1 < 0", value=lambda i: -1 + 0 * i.logits[..., 0])
    mutant = Mutant(
        name="never", statement=dataclasses.replace(planted.AT_MOST_LOG_N, conditions=(never,)))
    claim = Claim(id="mine.claim", source="a test", title="", reading=planted.READING,
                  instances=planted.POLICIES, statement=planted.AT_MOST_LOG_N, mutants=(mutant,))
    (found,) = check.run_check(check.checks(claim, planted.TINY)[-1])
    assert (found.name, found.outcome) == ("never", "fail")
