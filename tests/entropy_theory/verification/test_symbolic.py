"""Equations decided by SymPy: each one that is kept can fail, and what is no equation is not decided."""

from __future__ import annotations

import numpy as np
import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import Scalar, Statement, bandit_instances, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import along, for_every, has_derivative
from entropy_theory.verification.formula.statement import POSITIVE
from entropy_theory.verification.formula.terms import ACTIONS, make
from tests.entropy_theory.sabotage import established

DERIVED = {claim_id: claim for claim_id, claim in all_claims().items() if claim.symbolic}
PRINTED = {f"{claim_id}: {printed.as_printed.name}": printed for claim_id, claim in all_claims().items()
           for printed in claim.printed_proof}
DAILY = ("aepo.lemma-4.1", "aepo.theorem-4.3a", "aepo.equation-5", "aent.proposition-1ii")
"""Whose changed signs are looked for every day; all take 20 seconds."""
POLICIES = bandit_instances(
    Scalar(name="temperature", low=0.1, high=10.0, grid=(1, 2), range=POSITIVE), step=True)


def with_another_sign(term):
    """The equation with the sign of its end changed: of the slope, or of what is subtracted."""
    name, parts = term.operation.name, term.arguments
    if name in ("several", "for_every"):
        return make(term.operation, (with_another_sign(parts[0]), *parts[1:]), term.axes, term.kind)
    if name == "has_derivative":
        return make(term.operation, (*parts[:2], -parts[2]), term.axes, term.kind)
    return parts[0] + parts[1] if name == "subtract" else term + 1


@pytest.mark.parametrize("claim_id", [
    claim_id if claim_id in DAILY else pytest.param(claim_id, marks=pytest.mark.deep)
    for claim_id in DERIVED])
def test_a_changed_sign_is_found(claim_id):
    formula = established(DERIVED[claim_id]).formula
    first = [formula.conclusion.term] if formula.conclusion.sign == "==" else []
    for term in [*first, *filter(symbolic.is_equation, formula.beyond)]:
        outcome, detail = symbolic.decide_all(formula.parameters, [with_another_sign(term)])
        assert (outcome, "left minus right" in detail) == ("fail", True)


def test_the_theorems_that_the_papers_print_are_derived():
    assert len(DERIVED) == 19
    assert {claim_id.partition(".")[0] for claim_id in DERIVED} == {"aepo", "aent", "entropy-mechanism"}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_steps(name):
    step = PRINTED[name]
    if step.completed is None:
        assert step.as_printed.check()[0] == "pass"
    else:
        assert (step.as_printed.check()[0], step.completed.check()[0]) == ("fail", "pass")


def decided(left_minus_right):
    return symbolic.equation("", "", POLICIES, left_minus_right).check()[0]


@pytest.mark.parametrize("right", [
    lambda i: ar.entropy(i.logits, i.temperature) + ar.mean(
        ar.softmax(i.logits, i.temperature), ar.log_softmax(i.logits, i.temperature)),
    lambda i: np.exp(i.logits + i.step) - np.exp(i.logits) * np.exp(i.step),
    lambda i: np.exp(2 * i.logits / ar.per_action(i.temperature)) - np.exp(
        i.logits / ar.per_action(i.temperature)) ** 2,
    lambda i: np.log(ar.softmax(i.logits)) - ar.log_softmax(i.logits),
    lambda i: np.log1p(1 / np.exp(i.step)) - np.log(1 + np.exp(i.step)) + i.step,
    lambda i: ar.total(ar.softmax(i.logits), i.correct) + ar.total(ar.softmax(i.logits), ~i.correct) - 1,
    lambda i: for_every("x", (ACTIONS,), lambda x: has_derivative(
        lambda t: along(i.logits, t, x) ** 3 / (1 + np.exp(i.step)), 0,
        3 * i.logits**2 * x / (1 + np.exp(i.step)))),
])
def test_what_is_known(right):
    assert decided(right) == "pass"


@pytest.mark.parametrize("wrong", [
    lambda i: np.exp(i.logits / ar.per_action(i.temperature)) - np.exp(i.logits),
    lambda i: ar.total(ar.softmax(i.logits), i.correct) - 1,
    lambda i: has_derivative(lambda t: ar.per_action(t) ** 2 * i.step, 1, i.step),
    # True of two actions alone.
    lambda i: ar.total((1 - ar.softmax(i.logits)) * i.step)
    - ar.total(i.step) + ar.mean(ar.softmax(i.logits), i.step) + ar.total(0 * i.step + 1) - 2,
])
def test_what_is_wrong(wrong):
    assert decided(wrong) == "fail"


def test_an_inequality_is_left_to_the_kernel():
    statement = Statement(latex="", margin=lambda i: ar.entropy(i.logits), parameters=POLICIES.parameters)
    outcome, detail = symbolic.decide(statement.formula)
    assert (outcome, detail) == ("error", "the formula has no equation that SymPy can decide")
