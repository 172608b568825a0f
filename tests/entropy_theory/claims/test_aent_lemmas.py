"""AEnt's lemmas and method statements: verdicts, known numbers, and formulas checked by other code."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from entropy_theory.claims.aent import lemma_5, lemma_6, token_mdp
from entropy_theory.claims.aent.adaptive_coefficient import adaptive_coefficient
from entropy_theory.claims.aent.bonus_pulls_to_uniform import bonus_pulls_to_uniform, gains
from entropy_theory.claims.aent.clamping_reduces_bias import (
    bias,
    clamping_reduces_bias,
    kept_tokens,
)
from entropy_theory.claims.aent.squeezes_unsampled import log_growth, squeezes_unsampled
from entropy_theory.policy import kept_actions
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.certify import check_instance, precision
from entropy_theory.verification.instances import as_balls, as_batch, as_floats, tree_instances
from tests.tolerances import ROUNDING

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("claim", "instance"),
    [
        # The cut takes the only right token.
        (clamping_reduces_bias, {"weights": [1, 2], "correct": [True, False], "coefficient": 1,
                                 "removed_fraction": HALF}),
        # One of two right tokens is kept, and right tokens are thinner than before.
        (clamping_reduces_bias, {"weights": [1, 2, 3], "correct": [True, False, True],
                                 "coefficient": 1, "removed_fraction": Fraction(1, 3)}),
        # 2/7 > 1/4 and yet it gains.
        (bonus_pulls_to_uniform, {"weights": [1, 1, 2, 3]}),
        # Two tokens of 1/5: reinforcing one raises the other.
        (squeezes_unsampled, {"weights": [1, 1, 3], "size": Fraction(1, 4)}),
        (adaptive_coefficient, {"weights": [1, 1], "correct": [True, False], "low": Fraction(1, 4),
                                "high": HALF, "least": Fraction(1, 16), "most": Fraction(1, 8),
                                "gain": Fraction(1, 8), "sharpness": 2}),
    ],
)
def test_known_counterexamples_are_certified(claim, instance):
    assert check_instance(claim.statement, instance).status == "violated"
    # The repair does not just exclude its counterexample: where its hypotheses hold, it holds.
    assert check_instance(claim.repair, instance).status != "violated"


def batches(**options):
    generator = np.random.default_rng(5)
    space = tree_instances(token_mdp.COEFFICIENT, **options)
    return [as_floats(space.sample(generator, 40)) for _ in range(12)]


def test_gradient_is_the_derivative_of_the_value():
    """Central differences in balls at 200 bits: the formula of Lemma 3 against its definition."""
    from flint import arb

    with precision(200):
        i = as_balls({"logits": [[0.3, -1.0], [2.0, 0.5], [-0.7, 0.1]], "coefficient": Fraction(1, 3),
                      "reward": [0.2, 1.0, 0.4, 0.9]})
        exact = token_mdp.gradient(i.logits, i.reward, i.coefficient)[0]
        h = arb(2) ** -60
        for index in np.ndindex(3, 2):
            ends = []
            for sign in (1, -1):
                moved = i.logits.copy()
                moved[0][index] += sign * h
                ends.append(token_mdp.regularized_values(moved, i.reward, i.coefficient)[0][0, 0])
            slope = (ends[0] - ends[1]) / (2 * h)
            assert abs(float((slope - exact[index]).mid())) < 1e-30


@pytest.mark.parametrize("prompts", [None, (1, 3)])
def test_routes_to_the_same_numbers_agree(prompts):
    """Recursion over levels against sums over responses.

    Sums of a few dozen terms of up to 32 nats: 64 roundings of 2.2e-16 times 32.
    """
    for i in batches(reward="graded", prompts=prompts):
        tree = TokenTree.of(i.logits)
        scale = token_mdp.spread(i.coefficient, i.reward)
        values, _ = token_mdp.regularized_values(i.logits, i.reward, i.coefficient)
        total = token_mdp.value(i.logits, i.reward) + token_mdp.spread(
            i.coefficient, values[..., 0]) * token_mdp.entropy(i.logits)
        assert np.allclose(values[..., 0], total, rtol=0, atol=32 * ROUNDING)
        weight = i.reward - scale * tree.sum_along(ar.log_softmax(i.logits))
        by_response = token_mdp.response_gradient(i.logits, weight)
        by_state = token_mdp.gradient(i.logits, i.reward, i.coefficient)
        assert np.allclose(by_response, by_state, rtol=0, atol=32 * ROUNDING)
        best, _ = token_mdp.soft_values(tree, i.reward, i.coefficient)
        gibbs = scale[..., 0] * token_mdp.log_sum_exp(i.reward / scale)
        assert np.allclose(best[..., 0], gibbs, rtol=0, atol=32 * ROUNDING)
        assert np.all(best[..., 0] >= values[..., 0] - 1e-12)


def test_soft_optimal_policy_is_stationary():
    """Its regularized gradient vanishes: what `soft_values` maximizes is V_lambda."""
    for i in batches(reward="graded"):
        tree = TokenTree.of(i.logits)
        _, best = token_mdp.soft_values(tree, i.reward, i.coefficient)
        logits = best / token_mdp.spread(i.coefficient, best)
        slope = token_mdp.gradient(logits, i.reward, i.coefficient)
        assert np.max(np.abs(slope)) < 1e-12


def test_bias_of_a_bandit_is_the_closed_form():
    """k/(e^{1/lambda} + k) with k wrong answers to a right one."""
    i = as_floats(as_batch({"logits": [[0.0] * 6], "coefficient": 0.5,
                            "correct": [True, True] + 4 * [False]}))
    # A handful of roundings of 2e-16, relative.
    assert lemma_5.plain_bias(i)[0] == pytest.approx(2 / (np.exp(2) + 2), rel=1e-14)
    assert bias(6, 2, 0.5) == pytest.approx(2 / (np.exp(2) + 2), rel=1e-14)


def test_constants_of_lemma_6_are_ordered_and_known():
    """By state is the largest; for one state it is min pi^2, by response too."""
    one = as_floats(as_batch({"weights": [[[1, 3]]], "reward": [[1.0, 0.0]], "coefficient": 1.0}))
    assert lemma_6.by_state(one)[0, 0] == pytest.approx(1 / 16)
    assert lemma_6.by_response(one)[0, 0] == pytest.approx(1 / 16)
    for i in batches(reward="graded", prompts=(1, 2)):
        by_state = lemma_6.by_state(i)
        assert np.all(lemma_6.by_ratio(i) <= by_state * (1 + 1e-12))
        assert np.all(lemma_6.by_response(i) <= by_state * (1 + 1e-12))


def test_the_sharp_constant_is_approached():
    """Uniform over two tokens, returns (1, 0): gap over bound tends to 1 as lambda grows."""
    ratios = []
    for coefficient in (1.0, 4.0, 16.0):
        i = as_floats(as_batch({"weights": [[[1, 1]]], "reward": [[1.0, 0.0]],
                                "coefficient": coefficient}))
        bound = lemma_6.room(i, lemma_6.by_state, factor=0)
        room = lemma_6.room(i, lemma_6.by_state, factor=4)
        ratios.append(1 - float(room[0, 0] / bound[0, 0]))
    assert ratios == sorted(ratios)
    assert 0.99 < ratios[-1] < 1


def test_kept_tokens_are_those_of_the_clamped_entropy():
    """The claims rank in balls; the package's own rule must keep the same tokens, ties included."""
    generator = np.random.default_rng(0)
    logits = generator.integers(0, 3, (200, 6)).astype(float)
    for fraction in (0.0, 0.2, 1 / 3, 0.5, 0.9):
        assert np.array_equal(kept_tokens(logits, np.full(200, fraction)),
                              kept_actions(logits, fraction))


def test_bonus_flow_is_the_entropy_gradient():
    """d log pi along grad H, by finite differences."""
    logits = np.array([[0.1, 1.2, -0.4, 0.9]])
    h = 1e-6
    slope = np.array([
        (ar.entropy(logits + h * np.eye(4)[k]) - ar.entropy(logits - h * np.eye(4)[k]))[0] / (2 * h)
        for k in range(4)
    ])
    moved = ar.log_softmax(logits + h * slope) - ar.log_softmax(logits - h * slope)
    assert np.allclose(moved / (2 * h), gains(logits), rtol=0, atol=1e-8)


def test_a_token_between_uniform_and_typical_moves_away_from_uniform():
    """3/10 in (1, 1, 3, 5)/10: 1/4 < 3/10 < e^{-H}, and it gains."""
    i = as_floats(as_batch({"weights": [1, 1, 3, 5]}))
    assert 0.25 < 0.3 < np.exp(-ar.entropy(i.logits)[0])
    assert gains(i.logits)[0, 2] > 0


def test_log_growth_is_the_change_of_the_policy():
    i = as_floats(as_batch({"weights": [1, 1, 3], "size": 2.0}))
    policy = ar.softmax(i.logits)[0]
    for k in range(3):
        after = ar.log_softmax(i.logits + 2 * (np.eye(3)[k] - policy))[0]
        # Differences of logarithms of order 1: a few roundings of 2e-16.
        assert np.allclose(after - np.log(policy), log_growth(i)[0, k], rtol=0, atol=1e-14)
