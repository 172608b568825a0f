"""Statements as formulas: every claim has one; what a run is in numbers and for the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import Claim, Reading, Scalar, Statement, bandit_instances
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.check import _unlike
from entropy_theory.verification.formula import limits
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.latex import formula_text
from entropy_theory.verification.instances import as_balls, as_floats
from entropy_theory.verification.tree_policies import tree_instances

CLAIMS = all_claims()
RATED = bandit_instances(Scalar(name="rate", low=0.1, high=1.0, grid=(1,)), correct=False)
FREE = bandit_instances(Scalar(name="x", low=0.5, high=2, grid=(1,)), correct=False)
START = {"logits": np.array([[1.0, -2.0, 0.5], [0.25, 0.0, 3.0]]), "rate": np.array([0.5, 0.125])}


def test_every_statement_is_one_formula():
    """Also for readers and for the kernel; else its verdict could never be "proved"."""
    for claim in CLAIMS.values():
        for statement in (claim.statement, claim.repair):
            if statement is not None:
                assert statement.formula.rocq()
                assert formula_text(statement.formula)


def latex_of(margin, instances=None):
    found = Statement(latex="", margin=margin, parameters=(instances or RATED).parameters)
    return formula_text(found.formula)


def test_latex_says_what_binds_what():
    """An "or" within an "and", and a choice beside zero, were once written without brackets."""
    logical = latex_of(lambda i: np.where(((i.rate < 1) | (i.rate < 2)) & (i.rate < 3), i.rate, 2))
    assert r"\left(\mathit{rate} < 1 \vee \mathit{rate} < 2\right) \wedge \mathit{rate} < 3" in logical
    assert logical.endswith(r"\mathrm{else}\ 2\right) \ge 0")
    one = latex_of(lambda i: np.where(i.rate < 1, 1, 0 * i.rate))
    assert one.endswith(r"\mathbf 1\!\left[\mathit{rate} < 1\right] \ge 0")


def shrink(k, logits):
    return logits / 2 + ar.entropy(logits)[..., None]


def shrink_and_count(k, logits, number):
    return logits * number[..., None], number + ar.entropy(logits)


def claim_of(margin):
    return Claim(id="planted.run", source="here", title="", reading=Reading("inferred"),
                 instances=RATED, statement=Statement(latex="", margin=margin))


def test_a_run_carries_numbers_along():
    def margin(i):
        return limits.run(shrink_and_count, (i.logits, i.rate), 4)[1]
    z, number = START["logits"], START["rate"]
    for _ in range(4):
        z, number = shrink_and_count(None, z, number)
    claim = claim_of(margin)
    _, found = claim.statement.evaluate(as_floats(START))
    assert found.tolist() == number.tolist()
    row = {"logits": START["logits"][0].tolist(), "rate": 0.5}
    _, (ball,) = claim.statement.evaluate(as_balls(row))
    # Some 16 roundings a step.
    assert float(ball.mid()) == pytest.approx(number[0], rel=4 * 16 * np.finfo(float).eps)
    assert "snd (run (fun j (parts : vector * R)" in claim.statement.formula.rocq()


def test_one_vocabulary_is_part_of_the_statement():
    """Trees of two tokens are not searched with more, and the kernel is told."""
    two, more = tree_instances(tokens=(2, 2)), tree_instances(tokens=(2, 3))
    assert two.parameters is not None
    assert more.parameters is not None
    assert (two.parameters.most, more.parameters.most) == (2, None)
    assert "tokens" not in {larger.unit for larger in two.large}
    assert "tokens" in {larger.unit for larger in more.large}


def test_a_counterexample_of_other_instances_is_not_rechecked():
    instances = CLAIMS["aepo.length-factors"].instances
    assert "has correct, logits" in _unlike(instances, {"weights": [], "correct": []})
    assert _unlike(instances, {"weights": [], "reward": [], "temperature": 1}) == ""


def asked_of(margin, **options):
    """What is asked for `defined`, one condition a line."""
    found = Statement(latex="", margin=margin, parameters=FREE.parameters, **options)
    _, _, asked = found.formula.rocq().partition("Definition defined : Prop :=")
    return asked.rstrip(".\n").rpartition("->\n  ")[2].split(" /\\\n  ")


@pytest.mark.parametrize(("margin", "conditions"), [
    (lambda i: 1 / i.x, ["x <> 0"]),
    (lambda i: np.log(i.x) + np.sqrt(i.x), ["0 < x", "0 <= x"]),
    (lambda i: np.log1p(i.x) * i.x ** -2, ["0 < 1 + x", "x <> 0"]),
    (lambda i: np.where(i.x > 0, 1 / i.x, np.log(-i.x)),
     ["((0 < x) -> x <> 0)", "(~ (0 < x) -> 0 < - x)"]),
    (lambda i: ar.total(1 / i.logits, i.logits > 0),
     ["(forall a, (a < n)%nat -> (0 < logits a) -> logits a <> 0)"]),
    (lambda i: ar.entropy(i.logits / ar.per_action(i.x)), ["x <> 0"]),
    (lambda i: ar.entropy(i.logits) / 2 + ar.mean(ar.softmax(i.logits), i.logits), [""]),
])
def test_what_a_number_is_divided_by_is_asked_to_be_another_than_zero(margin, conditions):
    """Of branches where they count; of what is always defined nothing is asked."""
    assert asked_of(margin) == conditions


def test_a_limit_asks_of_each_step_and_a_derivative_at_its_point():
    def beyond(i):
        return (limits.has_derivative(lambda t: np.log(t), 2, 1 / i.x),
                limits.for_every("y", (), lambda y: 1 / y > 0, given=lambda y: y > 0),
                limits.at_every_step(lambda k: limits.implies(limits.number_of(k) >= 1,
                                                              1 / limits.number_of(k) > 0)))
    assert asked_of(lambda i: i.x, beyond=beyond) == [
        "(forall t : R, t = 2 -> 0 < t)", "x <> 0", "(forall y : R, (0 < y) -> y <> 0)",
        "(forall k : nat, (1 <= INR k) -> INR k <> 0)"]


@definition
def inverse(x):
    """1/x."""
    return 1 / x


def test_a_definition_has_a_condition_of_its_own():
    text = Statement(latex="", margin=lambda i: inverse(i.x), parameters=FREE.parameters).formula.rocq()
    assert "Definition inverse_defined (x : R) : Prop :=\n  x <> 0." in text
    assert asked_of(lambda i: inverse(i.x) - inverse(i.x + 1)) == [
        "inverse_defined x", "inverse_defined (x + 1)"]
