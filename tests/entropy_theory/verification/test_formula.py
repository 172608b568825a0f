"""Statements as formulas: every claim has one; what a run is in numbers and for the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import Claim, Reading, Scalar, Statement, bandit_instances
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.check import _unlike
from entropy_theory.verification.formula import limits
from entropy_theory.verification.formula.latex import formula_text
from entropy_theory.verification.formula.terms import UntraceableError
from entropy_theory.verification.instances import as_balls, as_floats
from entropy_theory.verification.tree_policies import tree_instances

CLAIMS = all_claims()
RATED = bandit_instances(Scalar(name="rate", low=0.1, high=1.0, grid=(1,)), correct=False)
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


def test_a_run_of_another_shape_is_refused():
    def margin(i):
        return limits.run(lambda k, z: ar.entropy(z), i.logits, 2)
    assert not claim_of(margin).statement.is_traceable()
    with pytest.raises(UntraceableError, match="another shape"):
        _ = claim_of(margin).statement.formula


def test_a_run_of_no_given_length_has_no_numbers():
    steps = limits.bound("k")
    statement = claim_of(lambda i: ar.entropy(limits.run(shrink, i.logits, steps))).statement
    with pytest.raises(UntraceableError, match="no given number"):
        statement.evaluate(as_floats(START))


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
