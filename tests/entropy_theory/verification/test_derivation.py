"""Derivations: a step may start from what is tagged and true, and the last one must be the statement."""

from __future__ import annotations

import dataclasses

import pytest

from entropy_theory.verification import Claim, Mutant, Statement, bandit_instances
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.check import QUICK, judge
from entropy_theory.verification.claim import variant
from entropy_theory.verification.derivation import (
    axiom,
    definition,
    earlier,
    hypothesis,
    inference,
)
from entropy_theory.verification.formula.statement import POSITIVE
from entropy_theory.verification.formula.terms import definition as named
from entropy_theory.verification.instances import Scalar

POLICIES = bandit_instances(
    Scalar(name="temperature", low=0.1, high=10.0, grid=(1, 2), range=POSITIVE), correct=False)


@named
def room(logits):
    """log n - H."""
    return ar.log_of(logits.shape[-1], like=logits) - ar.entropy(logits)


def margin(i):
    """T (log n - H)."""
    return i.temperature * room(i.logits)


GIBBS = axiom("Gibbs", lambda i: ar.entropy(i.logits) <= ar.log_of(i.logits.shape[-1], like=i.logits))
UNFOLD = definition(lambda i: ar.elementwise(
    "equal", room(i.logits), ar.log_of(i.logits.shape[-1], like=i.logits) - ar.entropy(i.logits)))
POSITIVE = hypothesis(lambda i: i.temperature > 0)

FIRST = inference("room", "H <= log n", [GIBBS, UNFOLD], lambda i: room(i.logits) >= 0)
LAST = inference("scaled", "T (log n - H) >= 0", [earlier(FIRST), POSITIVE], lambda i: margin(i) >= 0)


def claim(*proof):
    statement = Statement(latex="", margin=margin, proof=tuple(proof))
    return Claim(id="planted.derived", source="here", title="", statement=statement, instances=POLICIES,
                 mutants=(Mutant(name="reversed",
                                 statement=variant(statement, margin=lambda i: -margin(i))),))


def changed(step, **changes):
    return dataclasses.replace(step, **changes)


def test_a_derivation():
    found = judge(claim(FIRST, LAST), QUICK)
    assert found.statement == "derived", found.problems


SABOTAGES = {
    "the conclusion made a premise": (
        FIRST, changed(LAST, premises=(*LAST.premises, axiom("itself", lambda i: margin(i) >= 0)))),
    "an axiom false of softmax": (
        FIRST, changed(LAST, premises=(
            *LAST.premises, axiom("wrong", lambda i: ar.entropy(i.logits) >= 1)))),
    "0 = 1 as an axiom": (
        FIRST, changed(LAST, premises=(axiom("absurd", lambda i: ar.elementwise("equal", 0, 1)),))),
    "a hypothesis that the statement does not have": (
        changed(FIRST, premises=(hypothesis(lambda i: room(i.logits) >= 0),)), LAST),
    "a definition that is none": (
        changed(FIRST, premises=(GIBBS, definition(
            lambda i: ar.elementwise("equal", room(i.logits), ar.entropy(i.logits))))), LAST),
    "a step that says something else": (
        FIRST, changed(LAST, premises=(dataclasses.replace(
            earlier(FIRST), formula=lambda i: room(i.logits) > 0), POSITIVE))),
    "a hollow proof": (inference("x", "x > 0 implies x > 0", [POSITIVE], lambda i: i.temperature > 0),),
    "the last step left out": (FIRST,),
    "a step that does not follow": (
        FIRST, changed(LAST, premises=(earlier(FIRST),), conclusion=lambda i: margin(i) >= 0)),
}


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotaged_derivation_derives_nothing(name):
    """Each kept the verdict when steps were bound to nothing but their names."""
    assert judge(claim(*SABOTAGES[name]), QUICK).statement in ("verified", "undecided")
