"""Guards update_rules/diverse_bonus.py: exact on listings and trees, and what samples give on average."""

import itertools

import numpy as np
import pytest

from entropy_theory import policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.rule_batches import random_batch
from tests.tolerances import FLOAT64

BONUS = update_rules.get("diverse-bonus", coefficient=0.7, base="reinforce")


def conditional(p, right):
    return np.where(right, p, 0.0) / p[right].sum()


def exact_step(logits, right):
    """p grad H(q): pi_a x_a on the right answers."""
    p = policy.softmax(logits)
    q = conditional(p, right)[right]
    step = np.zeros_like(p)
    step[right] = -p[right] * (np.log(q) - q @ np.log(q))
    return step


def bonus_alone(logits, batch, rule=BONUS):
    return tabular.logit_step(logits, batch, rule) - tabular.logit_step(logits, batch, rule.base)


def test_a_listing_gives_the_gradient_of_the_entropy_among_right_answers():
    """Two states, each with its own right answers; weights are those of states times probabilities."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(2, 6))
    right = np.array([[1, 1, 0, 1, 0, 0], [0, 1, 1, 1, 1, 1]], dtype=bool)
    found = bonus_alone(logits, tabular.exact_batch(logits, right.astype(float)))
    expected = np.stack([0.7 * exact_step(z, r) / 2 for z, r in zip(logits, right, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=32 * FLOAT64)
    assert np.abs(expected).min(axis=None, where=right, initial=1.0) > 1e-4
    assert (expected[~right] == 0).all()


@pytest.mark.parametrize("normalization", ["token-mean", "dr-grpo"])
@pytest.mark.parametrize("end_token", [False, True])
def test_a_tree_gives_it_over_responses(normalization, end_token):
    """Per token: over the mean length, or over the longest. Compared with differences of H(q)."""
    tree = TokenTree(3, 3, end_token=end_token)
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(tree.n_states, 3))
    right = rng.random(tree.n_responses) < 0.4

    def parts(z):
        p = tree.response_probabilities(policy.softmax(z)[None])[0]
        q = conditional(p, right)[right]
        return p[right].sum(), -q @ np.log(q), p @ tree.lengths

    p, _, mean_length = parts(logits)
    gradient, h = np.zeros_like(logits), 1e-5
    for place in np.ndindex(*logits.shape):
        shift = np.zeros_like(logits)
        shift[place] = h
        gradient[place] = (parts(logits + shift)[1] - parts(logits - shift)[1]) / (2 * h)
    rule = update_rules.get("diverse-bonus", coefficient=0.7, base="reinforce",
                            normalization=normalization)
    batch = tabular.response_batch(logits, right[None].astype(float), tree=tree)
    length = mean_length if normalization == "token-mean" else tree.horizon
    # Central differences: h^2 times third derivatives of order 1, and rounding over h.
    np.testing.assert_allclose(
        bonus_alone(logits, batch, rule), 0.7 * p * gradient / length, rtol=0, atol=1e-9)
    assert np.abs(gradient).max() > 0.05


@pytest.mark.parametrize("size", [2, 3, 4])
def test_samples_give_it_on_average_up_to_the_factor_of_the_group(size):
    """Every ordered group of up to 4 samples of 4 actions: 1 - (1 - (1 - p)^G) / (p G)."""
    logits = np.log(np.array([1.0, 2.0, 5.0, 3.0]))
    right = np.array([True, True, False, True])
    probabilities, mean = policy.softmax(logits), np.zeros(4)
    for group in itertools.product(range(4), repeat=size):
        taken = np.array(group)[:, None]
        log_prob = policy.log_softmax(logits)[taken]
        batch = TokenBatch(
            log_prob=log_prob, old_log_prob=log_prob, reward=right[taken].astype(float),
            mask=taken >= 0, weight=np.full(taken.shape, 1 / size), state=0 * taken, action=taken)
        mean += probabilities[list(group)].prod() * bonus_alone(logits[None], batch)[0]
    p = probabilities[right].sum()
    factor = 1 - (1 - (1 - p) ** size) / (p * size)
    np.testing.assert_allclose(mean, 0.7 * factor * exact_step(logits, right), rtol=0,
                               atol=64 * FLOAT64)
    assert 0.2 < factor < 0.8


def by_hand():
    """Prompt 0 has three right answers of lengths 2, 1 and 2, prompt 1 one, prompt 2 none."""
    mask = np.array([[1, 1], [1, 0], [1, 1], [1, 1], [1, 1], [1, 0], [1, 1]], dtype=bool)
    old = -np.array([[1.0, 2], [0.5, 9], [2, 4], [3, 3], [1, 1], [2, 9], [5, 5]])
    reward = np.array([1.0, 1, 1, 0, 1, 0, 0])[:, None] * np.ones((7, 2))
    group = np.array([0, 0, 0, 0, 1, 1, 2])[:, None] * np.ones((7, 2), dtype=int)
    return TokenBatch(log_prob=old, old_log_prob=old, reward=reward, mask=mask,
                      weight=np.where(mask, 1 / mask.sum(), 0.0), group=group.astype(int))


def test_surprise_by_hand():
    """Log-probabilities -3, -1/2 and -6, of mean -19/6."""
    found = BONUS.surprise(by_hand())
    expected = np.zeros((7, 2))
    expected[:3] = np.array([-1 / 6, -16 / 6, 17 / 6])[:, None]
    expected[1, 1] = 0
    np.testing.assert_allclose(found, expected, atol=8 * FLOAT64)
    assert (found[3:] == 0).all(), "wrong answers, and one right answer alone, have none"
    spread = np.sqrt((1 + 16**2 + 17**2) / 36 / 4)  # over four right answers
    assert BONUS.metrics(by_hand())["right_answer_spread"] == pytest.approx(spread)


def test_a_reward_is_right_from_the_positive_reward_on():
    half = by_hand().replace(reward=0.5 * by_hand().reward)
    assert (BONUS.surprise(half) == 0).all()
    lower = update_rules.get("diverse-bonus", positive_reward=0.5)
    np.testing.assert_array_equal(lower.surprise(half), BONUS.surprise(by_hand()))


def test_later_steps_move_by_the_ratio_clipped_and_the_surprise_of_the_policy_that_sampled():
    """Ratio 3/2 is clipped where the bonus rises, 1/2 where it falls; a negative one turns both."""
    batch = by_hand()
    for ratio, coefficient in itertools.product((0.5, 1.0, 1.5), (0.7, -0.7)):
        rule = update_rules.get("diverse-bonus", coefficient=coefficient)
        moved = batch.replace(log_prob=batch.old_log_prob + np.log(ratio))
        found = rule.scores(moved) - rule.base.scores(moved)
        gain = coefficient * BONUS.surprise(batch)
        clipped = (gain > 0) & (ratio > 1.2) | (gain < 0) & (ratio < 0.8)
        np.testing.assert_allclose(found, np.where(clipped, 0, ratio * gain), atol=16 * FLOAT64)


@pytest.mark.parametrize("rule", [
    update_rules.get("diverse-bonus", target=0.5),
    update_rules.get("aent", adaptive=False, target=0.5, hold="forecast", base="clip-higher"),
    update_rules.combine(update_rules.get("reference-kl"),
                         update_rules.get("entropy-bonus", target=0.5)),
], ids=lambda rule: rule.name)
def test_coefficients_are_affine_in_the_chosen_coefficient(rule):
    """At ratios of 1, where no clip can turn with the sign of the coefficient."""
    batch = random_batch(5, second_batch=False)
    batch = batch.replace(clamped_entropy=batch.entropy / 2, log_prob=batch.old_log_prob)

    def at(value):
        chosen = rule.prepare(batch.replace(coefficient=np.full(batch.mask.shape, value)))
        return {"scores": rule.scores(chosen), **rule.state_terms(chosen)}

    without = at(0.0)
    unit = {name: column - without.get(name, 0) for name, column in at(1.0).items()}
    for value in (-0.3, 2.0):
        for name, column in at(value).items():
            np.testing.assert_allclose(
                column, without.get(name, 0) + value * unit[name], atol=32 * FLOAT64)
    assert max(np.abs(column).max() for column in unit.values()) > 0.1


def test_an_answer_of_probability_zero_adds_nothing():
    logits, reward = np.array([[0.0, 1.0, -np.inf, 0.5]]), np.array([[1.0, 1.0, 1.0, 0.0]])
    batch = tabular.exact_batch(logits, reward)
    scores = (batch.weight * BONUS.scores(batch))[:, 0]
    finite = [0, 1, 3]
    shorter = tabular.exact_batch(logits[:, finite], reward[:, finite])
    np.testing.assert_allclose(scores[finite], (shorter.weight * BONUS.scores(shorter))[:, 0],
                               atol=4 * FLOAT64)
    assert scores[2] == 0
