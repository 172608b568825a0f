"""What was searched, what was not, and what passes for no good reason: false and empty claims."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.special

from entropy_theory.claims import all_claims
from entropy_theory.verification import (
    QUICK,
    Claim,
    Condition,
    Mutant,
    Scalar,
    Statement,
    bandit_instances,
    judge,
    listed_instances,
    tree_instances,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.judged import judged
from entropy_theory.verification.search import search
from tests.entropy_theory.verification import planted

POLICIES = bandit_instances(correct=False)


def claim(margin, instances=POLICIES, *, mutants=(), **options):
    return Claim(id="mine.claim", source="here", title="", reading=planted.READING, instances=instances,
                 mutants=mutants, statement=Statement(latex="", margin=margin, **options))


def found(*given, **options):
    return judge(claim(*given, **options), QUICK)


def plain_entropy(z):
    """As a newcomer writes it: no formula."""
    p = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    return -(p * np.log(p)).sum(-1)


def actions(i):
    return i.logits.shape[-1]


LESS = Mutant(name="less", statement=Statement(latex="", margin=lambda i: -1 - plain_entropy(i.logits)))


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(("bound", "fewest"), [(3, 21), (9.5, 13360)])
def test_a_bound_that_many_actions_break_is_refuted_at_the_fewest(bound, fewest):
    """"H <= 3" in plain numpy was verified: only 2 to 8 actions were tried."""
    verdict = found(lambda i: bound - plain_entropy(i.logits))
    assert verdict.statement == "refuted"
    assert verdict.counterexample["logits"] == [0] * fewest
    assert fewest == math.floor(math.exp(bound)) + 1


@pytest.mark.parametrize("n", [2, 9, 4_096])
def test_every_size_that_is_said_was_tried(n):
    verdict = found(lambda i: plain_entropy(i.logits) - (100 if actions(i) == n else 0))
    assert verdict.statement == "refuted"
    assert verdict.counterexample.get("weights", [1] * n) == [1] * n
    assert len(verdict.counterexample.get("logits", [0] * n)) == n
    verdict = found(lambda i: plain_entropy(i.logits))
    assert verdict.statement == "verified"
    assert "2 to 16, 24" in verdict.searched
    assert "151,936 actions" in verdict.searched
    assert verdict.left_open == ""


def test_a_margin_that_works_for_few_actions_only_is_not_verified():
    def for_eight(i):
        return plain_entropy(i.logits + np.zeros(8)[: actions(i)])

    verdict = found(for_eight)
    assert verdict.statement == "no counterexample found"
    assert "9 to 16" in verdict.left_open
    assert "ValueError" in verdict.left_open


def test_a_margin_of_all_pairs_is_tried_as_far_as_memory_goes():
    def pairs(i):
        z = i.logits
        i.logits.tolist()  # no formula
        return np.abs(z[..., :, None] - z[..., None, :]).sum((-1, -2)) + plain_entropy(z)

    verdict = judge(claim(pairs, mutants=(Mutant(name="less", statement=Statement(
        latex="", margin=lambda i: pairs(i) - 1)),)), QUICK)
    assert verdict.statement == "no counterexample found"
    assert "too much memory" in verdict.left_open
    assert "151,936" in verdict.left_open
    assert "1,000" in verdict.searched


def test_a_hypothesis_that_almost_no_large_policy_meets_is_met_by_one_that_is_made_so():
    def above(i):
        return ar.smallest(i.logits, i.correct) - ar.largest(i.logits, ~i.correct)

    verdict = found(lambda i: plain_entropy(i.logits), bandit_instances(),
                    conditions=(Condition(latex="right above wrong", value=above),),
                    mutants=(LESS,))
    assert verdict.left_open == ""
    assert "151,936 actions" in verdict.searched


@pytest.mark.deep
def test_trees_grow_in_tokens_in_length_and_in_prompts():
    instances = tree_instances(reward=None)
    for margin, where, shape in (
        (lambda i: 4 - ar.response_entropy(i.logits), instances, (1, 55)),
        (lambda i: 3 + 0.01 * ar.response_entropy(i.logits) - ar.token_tree(i.logits).horizon, instances,
         (15, 2)),
        (lambda i: 3.5 - i.logits.shape[1] + 0 * ar.response_entropy(i.logits).sum(-1),
         tree_instances(reward=None, prompts=(1, 2)), (4, 1, 2)),
    ):
        verdict = found(margin, where)
        assert verdict.statement == "refuted"
        values = verdict.counterexample.get("logits", verdict.counterexample.get("weights"))
        assert np.shape(values) == shape
        assert len(np.unique(values)) == 1
    verdict = found(lambda i: ar.response_entropy(i.logits), instances)
    assert verdict.statement == "verified"
    assert "151,936 tokens" in verdict.searched
    assert "1 to 6, 8, 10 tokens long" in verdict.searched


@pytest.mark.deep
def test_a_list_that_was_not_tried_to_its_end_is_not_verified():
    rows = [{"x": [k, k + 1]} for k in range(400)]

    def slow(i):
        i.x.tolist()  # no formula
        sum(range(3_000_000))
        return i.x[..., 1] * 1.0

    verdict = found(slow, listed_instances(rows, "a list"), mutants=(Mutant(
        name="less", statement=Statement(latex="", margin=lambda i: -i.x[..., 1])),))
    assert verdict.statement == "no counterexample found"
    assert "instances of the list" in verdict.left_open


def test_a_margin_that_is_infinite_in_floats_is_put_to_balls():
    """e^800 overflows to infinity, which is at least anything."""
    def overflowing(i):
        h = plain_entropy(i.logits)
        return np.exp(800 + h) - np.exp(900 + 0 * h) if i.logits.dtype == object else np.exp(800 + h)

    verdict = found(overflowing, mutants=(LESS,))
    assert verdict.statement == "refuted"


def test_a_clear_violation_that_balls_do_not_decide_is_no_pass():
    """As where a comparison is of two equal numbers, which no precision decides."""
    def undecided(i):
        h = ar.entropy(i.logits)
        return np.where(ar.less(np.log(np.exp(h)), h), 1.0, -1.0) * ar.constant(1, i.logits)

    verdict = found(undecided, mutants=(LESS,))
    assert verdict.statement == "undecided"
    assert verdict.counterexample is None
    assert "ball arithmetic does not decide" in verdict.left_open


# ---------------------------------------------------------------- vacuous claims

HALF = Mutant(name="half", statement=Statement(latex="", margin=lambda i: 0.1 - ar.entropy(i.logits)))
EMPTY = {
    "0 >= 0": (lambda i: 0 * i.logits[..., 0], {}, "depends on none"),
    "a half, with a mutant": (lambda i: ar.total(ar.softmax(i.logits)) - 0.5, {"mutants": (HALF,)},
                              "depends on none"),
    "x = x": (lambda i: ar.entropy(i.logits) - ar.entropy(i.logits), {"relation": "=="},
              "same computation"),
    "|x|": (lambda i: np.abs(1 - plain_entropy(i.logits)), {}, "by its form"),
    "max(x, 0)": (lambda i: np.maximum(3 - plain_entropy(i.logits), 0), {}, "by its form"),
    "max of Python": (lambda i: np.array([max(3 - h, 0) for h in plain_entropy(i.logits).tolist()]), {},
                      "cut off"),
    "never met": (lambda i: ar.entropy(i.logits), {"conditions": (
        Condition(latex="never", value=lambda i: -1 - ar.entropy(i.logits)),)}, "meets the hypotheses"),
    "less than the hypothesis": (lambda i: 2 - plain_entropy(i.logits), {"conditions": (
        Condition(latex="H < 1", value=lambda i: 1 - plain_entropy(i.logits)),)}, "one of the hyp"),
    "far from 0": (lambda i: 5 + ar.entropy(i.logits), {}, "never comes near 0"),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_claim_that_says_nothing_is_vacuous(name):
    margin, options, why = EMPTY[name]
    verdict = found(margin, **options)
    assert verdict.statement == "vacuous"
    assert any(why in problem for problem in verdict.problems), verdict.problems


def test_a_function_of_floats_alone_is_one_clear_problem():
    verdict = found(
        lambda i: 0.5 - scipy.special.entr(scipy.special.softmax(i.logits, -1)).sum(-1))
    assert verdict.statement == "undecided"
    assert "computes with floats alone" in verdict.problems[0]
    assert "entropy_theory.verification.arithmetic" in verdict.problems[0]


def test_what_may_be_false_is_not_vacuous():
    """Tight bounds, an identity, and what a shipped mutant shows to be checked."""
    for margin, options in (
        (lambda i: plain_entropy(i.logits), {}),
        (lambda i: ar.log_of(actions(i), i.logits) - ar.entropy(i.logits), {}),
        (lambda i: 5 + ar.entropy(i.logits), {"mutants": (HALF,)}),
        (lambda i: ar.total(ar.softmax(i.logits)) - 1, {"relation": "=="}),
    ):
        verdict = found(margin, **options)
        assert verdict.statement == "verified", verdict


def test_a_mutant_that_is_the_statement_is_no_mutant():
    itself = Statement(latex="", margin=lambda i: 1 - ar.entropy(i.logits))
    verdict = found(lambda i: 1 - ar.entropy(i.logits), mutants=(Mutant(name="none", statement=itself),))
    assert verdict.statement == "undecided"
    assert any("the statement itself" in problem for problem in verdict.problems)


def test_true_and_false_are_no_margin():
    """Both are at least 0, so that any claim passed."""
    for margin in (lambda i: plain_entropy(i.logits) <= 1, lambda i: ar.less(ar.entropy(i.logits), 1)):
        verdict = found(margin)
        assert verdict.statement == "undecided"
        assert "write 3 - h for h <= 3" in verdict.problems[0]


@pytest.mark.parametrize("entropy", [plain_entropy, ar.entropy], ids=["numbers", "formula"])
def test_a_float_that_was_rounded_refutes_no_true_bound(entropy):
    """The float of log 5 lies 9e-17 below log 5, and so the most basic theorem was refuted."""
    verdict = found(lambda i: math.log(5) - entropy(i.logits),
                    bandit_instances(actions=(5, 5), correct=False))
    assert verdict.statement == "verified", verdict


@pytest.mark.parametrize(("number", "rounded"), [
    (0.1, True), (math.log(5), True), (math.exp(20), True), (3e8 * 1.1 + 1 / 3, True),
    (0.375, False), (151936, False), (Fraction(1, 10), False), (10**12, False),
])
def test_numbers_that_stand_for_others_are_told_apart(number, rounded):
    one = Statement(latex="", margin=lambda i: number - ar.entropy(i.logits))
    assert claim(one.margin).statement.has_floats() is rounded


def test_a_float_that_is_wrong_by_more_than_rounding_is_refuted():
    two = bandit_instances(actions=(2, 2), correct=False)
    verdict = found(lambda i: 0.693147 - ar.entropy(i.logits), two)
    assert verdict.statement == "refuted"


# ---------------------------------------------------------------- small counterexamples

TEMPERATURE = Scalar(name="temperature", low=0.1, high=10, grid=(1,))


@pytest.mark.parametrize(("margin", "instances", "expected"), [
    (lambda i: ar.entropy(i.logits) - (100 if actions(i) > 5 else 0), POLICIES, {"logits": [0] * 6}),
    (lambda i: ar.smallest(ar.softmax(i.logits)) - 1e-12, POLICIES, {"logits": [0, 28]}),
    (lambda i: 3 - i.temperature + 0 * ar.entropy(i.logits), bandit_instances(TEMPERATURE, correct=False),
     {"logits": [0, 0], "temperature": 4}),
    (lambda i: 5.5 - ar.total(1 + 0 * i.logits, i.correct), bandit_instances(),
     {"logits": [0] * 6, "correct": [True] * 6}),
])
def test_a_counterexample_is_small_and_certified(margin, instances, expected):
    verdict = found(margin, instances)
    assert verdict.statement == "refuted"
    data = dict(verdict.counterexample)
    assert data.pop("margin_interval").startswith("[-")
    logits = data.pop("weights", None)
    data = {"logits": [0] * len(logits), **data} if logits and set(logits) == {1} else data
    data["logits"] = sorted(data["logits"])
    assert data == expected


def test_what_was_accepted_stays():
    """A counterexample that was found in order of size, or that its author gave, is not touched."""
    one = all_claims()["entropy-mechanism.performance-after-collapse"]
    evidence = search(one.statement, one.instances, planted.TINY.search, witnesses=one.witnesses)
    assert evidence[0].counterexample["weights"] == one.witnesses[0]["weights"]


# ---------------------------------------------------------------- what was judged


def test_the_formula_that_was_judged_is_shown():
    liar = Statement(latex="$H < 0$", margin=lambda i: ar.entropy(i.logits))
    lines = judged(claim(liar.margin).statement)
    assert lines == ["H(π) ≥ 0", "for all n ≥ 2"]
    one = claim(lambda i: 1 - ar.entropy(i.logits) / i.temperature,
                bandit_instances(TEMPERATURE, actions=(2, 2), correct=False))
    assert judged(one.statement) == ["0.1 ≤ T ≤ 10", "⇒ 1 ≥ (H(π))/T", "for n = 2"]


def made(bound):
    def margin(i):
        return bound - plain_entropy(i.logits)

    return margin


def test_code_is_shown_where_there_is_no_formula():
    lines = "\n".join(judged(claim(made(Fraction(3))).statement))
    assert "return bound - plain_entropy(i.logits)" in lines
    assert "with bound = Fraction(3, 1)" in lines
    assert "2 * plain_entropy" in "".join(judged(claim(lambda i: 2 * plain_entropy(i.logits)).statement))
