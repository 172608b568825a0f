"""AEnt's propositions: verdicts, known counterexamples and constants, formulas checked by other code."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from entropy_theory.claims.aent import c_stays_away as c_claim
from entropy_theory.claims.aent import (
    epsilon_squared,
    more_accurate_bias,
    proposition_1i,
    proposition_1ii,
    proposition_2,
    stationarity,
)
from entropy_theory.claims.aent import token_mdp as mdp
from entropy_theory.claims.aent.lemma_5 import soft_gap
from entropy_theory.claims.aent.lemma_6 import by_ratio, by_response, by_state
from entropy_theory.claims.extensions import gradient_entropy_bounds as bounds
from entropy_theory.claims.extensions import sharpened_stationarity as sharpened
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import Statement
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.certify import check_instance, precision
from entropy_theory.verification.check import QUICK, checks, run_check
from entropy_theory.verification.instances import as_balls, as_batch, as_floats


def certified(margin, instance, relation=">="):
    return check_instance(Statement(latex="", margin=margin, relation=relation), instance).status


def drawn(n_tokens, horizon, size, *, scale=1.0, seed=0, prompts=1, one_right=False):
    """Random policies with 0/1 or graded returns, as a float batch."""
    generator, tree = np.random.default_rng(seed), TokenTree(n_tokens, horizon)
    reward = generator.random((size, prompts, tree.n_responses))
    if one_right:
        reward = (reward == reward.max(axis=-1, keepdims=True)).astype(float)
    logits = scale * generator.standard_normal((size, prompts, tree.n_states, n_tokens))
    return SimpleNamespace(logits=logits, reward=reward, coefficient=np.full(size, 0.5))


# ---------------------------------------------------------------- Proposition 1 (I)


@pytest.mark.parametrize("room", [bounds.room_l1, bounds.room_l2, bounds.room_linf])
def test_best_constants_are_attained(room):
    """Equality at pi = (1/2, 1/2), R = (1, 0), and only up to the last digit: 1.001 is too much."""
    half = {"weights": [[1, 1]], "reward": [1, 0]}
    with precision(256):
        assert abs(float(room(as_balls(half))[0])) < 1e-60
    assert certified(lambda i: room(i, share=1.001), half) == "violated"


def test_constants_of_the_three_norms():
    """1/(2 log 2), 1/(2 sqrt2 log 2), 1/(4 log 2) times H at the extremal policy."""
    gradient = bounds.value_gradient(np.zeros((1, 2)), np.array([1.0, 0.0])).ravel()
    norms = [np.abs(gradient).sum(), np.sqrt((gradient**2).sum()), np.abs(gradient).max()]
    np.testing.assert_allclose(norms / np.log(2), [0.72135, 0.51007, 0.36067], atol=1e-5)


def test_gradient_is_that_of_reinforce_over_responses():
    """`value_gradient` uses regrets and pairwise differences: same as score times return."""
    i = drawn(3, 3, 20, prompts=2)
    expected = mdp.response_gradient(i.logits, i.reward)
    np.testing.assert_allclose(bounds.value_gradient(i.logits, i.reward), expected, atol=1e-15)


def test_gradient_of_a_saturated_policy_keeps_its_digits():
    """Q - V at the top of a policy with 1 - pi = 1e-26: the naive difference is all rounding."""
    gradient = bounds.value_gradient(np.array([[60.0, 0.0]]), np.array([1.0, 0.0]))[0]
    np.testing.assert_allclose(gradient, [np.exp(-60), -np.exp(-60)], rtol=1e-12)


def test_entropy_per_step_rewards_and_means_need_the_horizon():
    """Returns up to 3 and entropy per token break the constant 2 at the same tree."""
    claim = proposition_1i.proposition_1i
    by_name = {mutant.name: mutant for mutant in claim.mutants}
    each = proposition_1i._EACH_STEP
    assert check_instance(claim.statement, each).status == "violated"
    mean = by_name["mean entropy per token"].statement
    assert check_instance(mean, proposition_1i._TERMINAL).status == "violated"
    assert check_instance(claim.statement, proposition_1i._TERMINAL).status == "holds"


def test_grpo_norm_of_two_answers():
    """G = 2: ||gradient||_1 = 2 * 2p(1-p) * 1/2, enumerated by hand."""
    from flint import arb

    p = arb(1) / 3
    assert abs(proposition_1i.grpo_norm(p, 2) - 2 * 2 * p * (1 - p) / 2) < 1e-12


# ---------------------------------------------------------------- Proposition 1 (II)


def _without_root(i):
    return proposition_1ii.room(i, factor=1)


@pytest.mark.parametrize("instance", [proposition_1ii.NO_ROOT, proposition_1ii.NO_ROOT_THREE_TOKENS])
def test_square_root_of_the_length_is_needed(instance):
    assert certified(_without_root, instance) == "violated"
    assert certified(proposition_1ii.room, instance) == "holds"


@pytest.mark.parametrize("instance", [proposition_1ii.NO_ROOT, proposition_1ii.NO_ROOT_THREE_TOKENS])
def test_counterexamples_without_the_root_are_the_smallest_of_their_kind(instance):
    """One less of the right token at any state on the way, and the bound without sqrt(h) holds."""
    rows = instance["weights"][0]
    on_the_way = [k for k, row in enumerate(rows) if row[0] > 1]
    for k in on_the_way:
        less = [[row[0] - 1, *row[1:]] if j == k else row for j, row in enumerate(rows)]
        assert certified(_without_root, {**instance, "weights": [less]}) == "holds"


def test_two_tokens_of_two_need_no_root():
    """h (n - 1)/n = 1 at n = 2, h = 2: 2,000 random policies, and the ratio comes close to 1."""
    i = drawn(2, 2, 2000, scale=2.0, one_right=True)
    assert np.all(_without_root(i) >= -1e-15)


def test_sharpened_bound_is_an_equality_for_one_right_answer():
    equal = {"weights": [[[3, 1, 1]]], "reward": [[1, 0, 0]]}
    with precision(256):
        assert abs(float(sharpened._room(as_balls(equal))[0, 0])) < 1e-60


def test_right_responses_are_those_of_the_largest_return():
    """Ties count, in floats and in balls alike; a graded return just below does not."""
    reward = [[1, Fraction(9, 10), 1, 0]]
    instance = {"weights": [[[1, 2, 3, 4]]], "reward": reward}
    for i in (as_floats(as_batch(instance)), as_balls(instance)):
        np.testing.assert_array_equal(stationarity.is_right(i.reward)[0, 0], [1, 0, 1, 0])
        c = stationarity.largest_right_probability(i.logits, i.reward)
        assert abs(float(c[0, 0]) - 0.3) < 1e-12
        assert float(stationarity.number_right(i.reward)[0, 0]) == 2


# ---------------------------------------------------------------- Proposition 2


def test_stationary_policy_of_two_answers():
    """lambda = 1, logits = R: no gradient, gap 1/(1 + e), bias log 2."""
    i = as_floats(as_batch(proposition_2.STATIONARY))
    assert stationarity.square_of_soft_gradient(i.logits, i.reward, i.coefficient)[0] < 1e-32
    np.testing.assert_allclose(stationarity.gap(i.logits, i.reward), 1 / (1 + np.e))
    np.testing.assert_allclose(proposition_2.bound(i), np.log(2), atol=1e-15)


@pytest.mark.parametrize("constant", [by_state, by_ratio, by_response])
def test_any_smaller_constant_gives_a_valid_bound(constant):
    """The constant is pluggable: the bound with it is at least the one with the default, and the gap."""
    i = drawn(3, 2, 200, scale=0.5, prompts=2)
    bound = proposition_2.bound(i, constant)
    assert np.all(bound >= proposition_2.bound(i) - 1e-12)
    assert np.all(bound >= stationarity.gap(i.logits, i.reward))


def test_bias_of_one_right_response():
    i = drawn(3, 2, 1, one_right=True)
    bias = stationarity.entropy_bias(i.logits, i.reward, i.coefficient)
    np.testing.assert_allclose(bias, 0.5 * 2 * np.log(3))


# ---------------------------------------------------------------- epsilon and epsilon squared


def _two_bounds(instance):
    c, scale, bias, root = epsilon_squared._parts(as_floats(as_batch(instance)))
    epsilon = float(instance["epsilon"])
    return float(root) * epsilon / c[0], epsilon**2 / scale[0] + bias[0]


def test_dense_right_answers_profit():
    """Two of three right, uniform: 0.453 < 0.5, so the repair needs its hypothesis."""
    first, second = _two_bounds(epsilon_squared.DENSE)
    assert first == pytest.approx(0.5)
    assert second == pytest.approx(0.25 + np.log(1.5) / 2)
    assert certified(epsilon_squared.improvement, epsilon_squared.DENSE) == "holds"


def test_one_of_nine_profits_only_where_both_bounds_are_void():
    first, second = _two_bounds(epsilon_squared.LARGE)
    assert 1 < second < first


@pytest.mark.parametrize(("n_tokens", "horizon"), [(2, 1), (2, 2), (2, 3), (3, 2)])
def test_one_right_response_never_profits(n_tokens, horizon):
    """All eps at once: where the bounds cross, the regularized one is at least 1, two tokens too."""
    i = drawn(n_tokens, horizon, 3000, one_right=True, seed=horizon)
    generator = np.random.default_rng(1)
    i.logits *= generator.exponential(1, (3000, 1, 1, 1))
    i.coefficient = np.exp(generator.uniform(np.log(0.05), np.log(10), 3000))
    i.correct, i.logits = i.reward[:, 0] == 1, i.logits[:, 0]
    c, scale, bias, root = epsilon_squared._parts(i)
    k, slope = 1 / scale, root / c
    discriminant = slope**2 - 4 * k * bias
    epsilon = (slope - np.sqrt(np.maximum(discriminant, 0))) / (2 * k)
    second = k * epsilon**2 + bias
    assert np.all((discriminant < 0) | (second >= 1))


def test_crossover_is_where_the_bounds_agree():
    """(2 k eps - c)^2 = c^2 - 4 k lambda L gives B1 = B2."""
    c, k, bias = 3.0, 4.5, 0.2
    for root in (-1, 1):
        epsilon = (c + root * np.sqrt(c**2 - 4 * k * bias)) / (2 * k)
        assert c * epsilon == pytest.approx(k * epsilon**2 + bias)


# ---------------------------------------------------------------- C(q)


def _direct_growth(i):
    """C' - C from the two policies themselves."""
    right = stationarity.is_right(i.reward)
    after = ar.softmax(i.logits + c_claim.gradient_step(i.logits, i.reward, i.learning_rate))
    return ar.largest(after, right) - ar.largest(ar.softmax(i.logits), right)


def test_growth_has_the_sign_of_the_change_of_c():
    generator = np.random.default_rng(0)
    i = SimpleNamespace(logits=2 * generator.standard_normal((5000, 4)),
                        reward=generator.choice([0, 0.9, 1], (5000, 4)),
                        learning_rate=np.exp(generator.uniform(-2, 3, 5000)))
    direct = _direct_growth(i)
    clear = np.abs(direct) > 1e-12
    np.testing.assert_array_equal(np.sign(c_claim.growth(i))[clear], np.sign(direct)[clear])
    assert np.any(direct[clear] < 0)
    assert np.any(direct[clear] > 0)


@pytest.mark.parametrize(
    ("weights", "reward", "learning_rate"),
    [
        ([1, 1, 4], [0, 1, Fraction(9, 10)], 1),
        ([1, 1, 3], [0, 1, Fraction(9, 10)], 4),
    ],
)
def test_a_nearly_right_answer_pushes_the_right_one_down(weights, reward, learning_rate):
    instance = {"weights": weights, "reward": reward, "learning_rate": learning_rate}
    assert check_instance(c_claim.c_stays_away.statement, instance).status == "violated"
    binary = {**instance, "reward": [0, 1, 0]}
    assert certified(c_claim.growth, binary) == "holds"


def test_c_falls_with_responses_of_two_tokens():
    """C = (3/5)(9/10) falls although returns are 0 and 1 and V rises."""
    assert certified(c_claim._tree_growth, c_claim.TWO_TOKENS) == "violated"


def test_binary_rewards_raise_c_at_any_learning_rate():
    """eta = 1000 too: no step size is needed for the repaired statement."""
    generator = np.random.default_rng(2)
    reward = (generator.random((2000, 5)) < 0.4).astype(float)
    i = SimpleNamespace(logits=generator.standard_normal((2000, 5)), reward=reward,
                        learning_rate=np.full(2000, 1000.0))
    assert np.all(c_claim._parts(i) >= 0)


def test_commitment_probability_by_simulation():
    """R = (1, 1/2), eta = 1: the worse is drawn for ever in e^{-1/(1 - e^{-1/2})} = 0.0787 at least."""
    generator = np.random.default_rng(3)
    gap = np.zeros(4000)
    committed = np.ones(4000, dtype=bool)
    for _ in range(60):
        worse = 1 / (1 + np.exp(-gap))
        committed &= generator.random(4000) < worse
        gap += 0.5 / worse
    limit = np.exp(-1 / (1 - np.exp(-0.5)))
    assert limit == pytest.approx(0.0787, abs=1e-4)
    assert committed.mean() > limit


# ---------------------------------------------------------------- careful numbers


def _formula(function):
    """What formulas say, computed as written."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def test_careful_numbers_are_those_of_the_formula():
    """Both round some 16 times on their way, values of order one and below."""
    rounding = 16 * np.finfo(float).eps

    def check(function, *arguments):
        found, written = function(*arguments), _formula(function)(*arguments)
        assert np.abs(written).max() < 1
        np.testing.assert_allclose(found, written, rtol=0, atol=rounding)

    generator = np.random.default_rng(1)
    logits, step = generator.standard_normal((2, 50, 4))
    reward = generator.integers(0, 2, (50, 4)).astype(float)
    for rise in (c_claim.rise, c_claim.mass_rise):
        check(rise, logits, reward, step)
    deep, returned = generator.standard_normal((20, 4, 3)), generator.random((20, 9))
    check(bounds.value_gradient, deep, returned)
    check(soft_gap, deep, returned, np.full(20, 0.3))


@pytest.mark.parametrize("seed", [1, 2])
def test_mutants_are_tried_on_the_claims_witnesses(seed):
    """Half of the bound survived these seeds of the quick search, which drew no 17 responses."""
    claim = more_accurate_bias.more_accurate_bias
    (half, _) = (check for check in checks(claim, dataclasses.replace(QUICK, seed=seed))
                 if check.method == "mutant")
    assert [e.outcome for e in run_check(half)] == ["pass"]
