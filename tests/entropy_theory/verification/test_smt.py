"""z3 lemmas: proofs, countermodels re-checked in fractions, time-outs that are not passes."""

from __future__ import annotations

import itertools

import pytest

from entropy_theory.verification import smt


def chebyshev(n):
    """C >= 0 for similarly ordered z and p, as one raw polynomial inequality in 2n unknowns."""
    names = [f"z{k}" for k in range(n)] + [f"p{k}" for k in range(n)]

    def premises(v):
        z, p = ([getattr(v, f"{letter}{k}") for k in range(n)] for letter in "zp")
        order = [smt.implies(z[i] <= z[j], p[i] <= p[j])
                 for i, j in itertools.permutations(range(n), 2)]
        return [*(a > 0 for a in p), sum(p) == 1, *order]

    def conclusion(v):
        z, p = ([getattr(v, f"{letter}{k}") for k in range(n)] for letter in "zp")
        mean = sum(a * b for a, b in zip(p, z, strict=True))
        return sum(a * a * (b - mean) for a, b in zip(p, z, strict=True)) >= 0

    return names, premises, conclusion


def test_a_true_lemma_is_proved():
    assert smt.prove(*chebyshev(2), seconds=10)[0] == "pass"


def test_a_false_lemma_gets_a_countermodel_checked_in_fractions():
    outcome, detail = smt.prove(
        ["x", "y"], lambda v: [v.x > 0, v.y > 0, v.x + v.y == 1],
        lambda v: v.x * v.y <= v.x * v.x, seconds=10,
    )
    assert outcome == "fail"
    assert "re-checked in fractions" in detail


def test_a_timeout_is_reported_as_one():
    """n = 5 is beyond z3: it must not come back as a pass, nor hang."""
    assert smt.prove(*chebyshev(5), seconds=0.5)[0] == "timeout"


def test_contradictory_premises_prove_nothing():
    outcome, detail = smt.prove(["x"], lambda v: [v.x > 1, v.x < 0], lambda v: v.x == 7, seconds=5)
    assert outcome == "fail"
    assert "contradict" in detail


def test_an_irrational_model_is_not_taken_on_trust():
    outcome, _ = smt.prove(["x"], lambda v: [v.x * v.x == 2, v.x > 0], lambda v: v.x > 2, seconds=5)
    assert outcome == "undecided"


@pytest.mark.parametrize("values", list(itertools.product((True, False), repeat=2)))
def test_connectives_mean_the_same_on_plain_booleans(values):
    a, b = values
    assert smt.implies(a, b) == ((not a) or b)
    assert smt.all_of(a, b) == (a and b)
    assert smt.any_of(a, b) == (a or b)
    assert smt.negation(a) == (not a)


def test_a_list_of_lemmas_names_the_case_that_fails():
    good = chebyshev(2)
    bad = (["x"], lambda v: [v.x > 0], lambda v: v.x > 1)
    outcome, detail = smt.lemmas("both", "", [good, bad]).check(10.0)
    assert outcome == "fail"
    assert "case 2 of 2" in detail
