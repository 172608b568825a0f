"""Guards advantages/ranked.py and its neighbors: by enumeration, by hand, in any order of rows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from entropy_theory import advantages
from entropy_theory.token_batch import TokenBatch
from entropy_theory.verification.rule_batches import to_torch
from tests.tolerances import FLOAT64

SIZES = (5, 4, 3)
GROUP = np.repeat(np.arange(3), SIZES)[:, None]
ROUNDING = 64 * FLOAT64
"""Sums and products of a dozen numbers of order 1."""


def batch_of(reward, group=GROUP, weight=None, **columns):
    reward = np.asarray(reward, dtype=float).reshape(-1, 1)
    ones = np.ones_like(reward)
    return TokenBatch(**{
        "log_prob": -ones, "old_log_prob": -ones, "reward": reward, "mask": ones > 0, "group": group,
        "weight": ones / len(reward) if weight is None else np.reshape(weight, (-1, 1)), **columns})


def found(name, batch, parameter=None, ddof=0):
    """The estimator's advantages, the same for rows in another order, on torch, and for two runs."""
    rows = np.random.default_rng(0).permutation(len(batch.reward))
    expected = advantages.estimate(name, batch, batch.mask, ddof=ddof, parameter=parameter)[:, 0]
    for other in (batch, to_torch(batch)):
        cut = other.take_sequences(rows).replace(listed=batch.listed)
        moved = np.asarray(advantages.estimate(name, cut, cut.mask, ddof=ddof, parameter=parameter))
        np.testing.assert_allclose(moved[:, 0], expected[rows], rtol=ROUNDING, atol=ROUNDING)
    both = batch.replace(**{column: np.stack([value, value[rows]])
                            for column, value in batch._columns()})
    runs = advantages.estimate(name, both, both.mask, ddof=ddof, parameter=parameter)[..., 0]
    np.testing.assert_allclose(runs, [expected, expected[rows]], rtol=ROUNDING, atol=ROUNDING)
    return expected


def of_groups(values, function):
    return np.concatenate([function(values[GROUP[:, 0] == prompt]) for prompt in range(3)])


def drawn(seed, levels=7):
    return np.random.default_rng(seed).integers(0, levels, size=12) / (levels - 1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_best_of_k_is_the_mean_gain_over_all_sets_of_others(k, seed):
    """Eq. 33 of PKPO by its definition: the mean over all sets of k with the answer, of what it adds."""
    def by_sets(rewards):
        return [k * np.mean([max(0.0, own - max(others)) for others in itertools.combinations(
            np.delete(rewards, at), k - 1)]) for at, own in enumerate(rewards)]

    reward = drawn(seed)
    np.testing.assert_allclose(
        found("best-of-k", batch_of(reward), k), of_groups(reward, by_sets), atol=ROUNDING)


@pytest.mark.parametrize("k", [2, 3])
def test_best_of_k_is_the_gradient_of_the_best_reward_of_k(k):
    """Over all groups of four samples of a policy, exactly; and in a listing of its actions."""
    policy, reward = np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 0.4])

    def best(policy):
        return sum(math.prod(policy[list(drawn)]) * reward[list(drawn)].max()
                   for drawn in itertools.product(range(3), repeat=k))

    expected = np.array([
        (best(policy + 1e-6 * step) - best(policy - 1e-6 * step)) / 2e-6
        for step in (policy * (np.arange(3) == action) - policy[action] * policy for action in range(3))])
    mean = np.zeros(3)
    for actions in itertools.product(range(3), repeat=4):
        chosen = list(actions)
        batch = batch_of(reward[chosen], group=None)
        advantage = advantages.best_of_k(batch, batch.mask, k=k)[:, 0]
        score = (np.arange(3) == np.array(chosen)[:, None]) - policy
        mean += math.prod(policy[chosen]) * (advantage[:, None] * score).mean(0)
    listing = batch_of(reward, group=None, weight=policy, listed=True)
    listed = advantages.best_of_k(listing, listing.mask, k=k)[:, 0]
    listed = policy * (listed - (policy * listed).sum())
    np.testing.assert_allclose(mean, expected, atol=1e-8)  # a difference quotient of step 1e-6
    np.testing.assert_allclose(listed, expected, atol=1e-8)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_pass_at_k_is_the_mean_normalized_advantage_over_all_sets(k, seed):
    """arXiv 2508.10751: each set of k answers is one sample with the best reward of its members."""
    def by_sets(rewards):
        sets = [*itertools.combinations(range(len(rewards)), k)]
        best = np.array([max(rewards[list(chosen)]) for chosen in sets])
        spread = best.std()
        normalized = (best - best.mean()) / spread if spread > 1e-9 else 0 * best
        return [np.mean([normalized[i] for i, chosen in enumerate(sets) if at in chosen])
                for at in range(len(rewards))]

    reward = drawn(seed, levels=2)
    np.testing.assert_allclose(
        found("pass-at-k", batch_of(reward), k), of_groups(reward, by_sets), atol=ROUNDING)


def test_pass_at_k_of_a_listing_is_that_of_infinitely_many_samples():
    policy, right, k = np.array([0.2, 0.5, 0.3]), np.array([1.0, 0.0, 0.0]), 3
    none = 0.8**k
    spread = math.sqrt(none * (1 - none))
    batch = batch_of(right, group=None, weight=policy, listed=True)
    wrong = -0.2 * 0.8 ** (k - 1) / spread
    np.testing.assert_allclose(found("pass-at-k", batch, k), [none / spread, wrong, wrong], rtol=1e-12)


@pytest.mark.parametrize("quantile", [0.2, 0.4, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_the_quantile_is_the_least_that_the_share_reaches(quantile, seed):
    def by_definition(rewards):
        shares = [(x, np.mean(rewards <= x)) for x in rewards]
        base = min(x for x, share in shares if share >= quantile - 1e-9)
        spread = rewards.std(ddof=1)
        return (rewards - base) / spread if spread > 1e-9 else 0 * rewards

    reward = drawn(seed)
    np.testing.assert_allclose(found("quantile", batch_of(reward), quantile, ddof=1),
                               of_groups(reward, by_definition), rtol=ROUNDING, atol=ROUNDING)


def test_qae_acts_on_right_answers_of_hard_prompts_and_on_wrong_ones_of_easy_prompts():
    """K = .4, five answers: the threshold 1 - K of Eq. 4 is three right ones, and belongs to hard."""
    for n_right, silent in ((1, 0.0), (2, 0.0), (3, 0.0), (4, 1.0)):
        reward = (np.arange(5) < n_right).astype(float)
        advantage = found("quantile", batch_of(reward, group=None), 0.4)
        np.testing.assert_array_equal(advantage == 0, reward == silent)
        assert (np.sign(advantage) == (1 if silent == 0 else -1))[reward != silent].all()


def test_the_best_stands_over_the_second_unless_it_is_shared():
    reward = np.array([0.1, 0.7, 0.4, 0.0, 0.2, 1.0, 1.0 - 1e-9, 0.0, 0.5, 0.3, 0.3, 0.9])
    batch = batch_of(reward)
    raw = advantages.best_over_second(batch, batch.mask, normalized=False)[:, 0]
    np.testing.assert_allclose(raw, [0, 0.3, *7 * [0], 0, 0, 0.6], atol=ROUNDING)
    spread = [*5 * [reward[:5].std(ddof=1)], *4 * [1], *3 * [reward[9:].std(ddof=1)]]
    np.testing.assert_allclose(found("best-over-second", batch, ddof=1), raw / spread, rtol=ROUNDING)


def test_opo_weighs_the_baseline_by_length():
    reward = np.array([1.0, 0.0, 0.5]).reshape(3, 1) * np.ones((3, 4))
    mask = np.arange(4) < np.array([[1], [4], [3]])
    batch = TokenBatch(log_prob=-np.ones((3, 4)), old_log_prob=-np.ones((3, 4)), reward=reward, mask=mask,
                       weight=mask / mask.sum())
    advantage = advantages.estimate("opo", batch, mask)[:, 0]
    np.testing.assert_allclose(advantage, np.array([1, 0, 0.5]) - 2.5 / 8, rtol=ROUNDING)


def test_gpg_counts_answers_of_groups_with_signal():
    """Five of twelve answers are in a group whose rewards are equal."""
    reward = np.array([*5 * [1.0], 1, 0, 0, 0, 0, 1, 0])
    centered = np.array([*5 * [0.0], 3 / 4, *3 * [-1 / 4], -1 / 3, 2 / 3, -1 / 3])
    np.testing.assert_allclose(found("gpg", batch_of(reward)), centered * 12 / 7, atol=ROUNDING)


def test_maximum_likelihood_is_the_gradient_of_the_logarithm_of_the_chance():
    reward = np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0])
    np.testing.assert_allclose(found("max-likelihood", batch_of(reward)),
                               [4, *4 * [-1], *4 * [0], 0.5, 0.5, -1], atol=ROUNDING)


def test_signed_rewards_have_no_baseline():
    assert found("signed", batch_of([0, 1, 0.5], group=None)).tolist() == [-1, 1, 0]


def rows_of(mask, reward, **columns):
    mask = np.array(mask, dtype=bool)
    ones = np.ones(mask.shape)
    return TokenBatch(**{
        "log_prob": -ones, "old_log_prob": -ones, "mask": mask, "weight": ones / mask.sum(),
        "reward": column_of(reward) * ones, **columns})


def column_of(values):
    return np.array(values, dtype=float)[:, None]


def test_a_critic_s_advantages_go_back_from_the_last_token():
    """Tokens 1, 2 and 4 of a row whose third is none of the policy's; the reward comes with the last."""
    batch = rows_of([[1, 1, 0, 1]], [2.0])
    values = np.array([[0.5, 0.2, 9.0, 1.0]])
    deltas = [0.9 * 0.2 - 0.5, 0.9 * 1.0 - 0.2, 2.0 - 1.0]
    expected = [deltas[0] + 0.72 * (deltas[1] + 0.72 * deltas[2]), deltas[1] + 0.72 * deltas[2], 0,
                deltas[2]]
    for rows in (batch, to_torch(batch)):
        found = advantages.generalized(
            rows, rows.mask, values=values if rows is batch else to_torch(rows_of(
                [[1, 1, 0, 1]], [2.0], advantage=values)).advantage, discount=0.9, decay=0.8)
        np.testing.assert_allclose(found, [expected], rtol=ROUNDING)


def test_a_greedy_answer_is_a_baseline():
    batch = rows_of([[1, 1], [1, 0]], [1.0, 0.3])
    found = advantages.above_greedy(batch, batch.mask, greedy=0 * batch.reward + 0.3)
    np.testing.assert_allclose(found, [[0.7, 0.7], [0.0, 0.0]], atol=ROUNDING)


def test_the_optimal_baseline_weighs_by_the_gradients_so_far():
    """The second answer's tokens begin at the second place; the third of the first has no partner."""
    log_prob = np.log([[0.5, 0.5, 0.5], [1.0, 0.2, 0.6]])
    batch = rows_of([[1, 1, 1], [0, 1, 1]], [1.0, 0.0], old_log_prob=log_prob)
    squares = np.array([[0.3, 0.4, 0.3], [0.0, 0.2, 0.5]])
    first = [0.3, 0.7]
    second = [1 - 0.4 + 0.2, 1 - 0.4 + 0.2 + 1 - 1.2 + 0.5]
    base = [first[0] / (first[0] + second[0]), first[1] / (first[1] + second[1])]
    found = advantages.optimal_token_baseline(batch, batch.mask, squares=squares)
    expected = [[1 - base[0], 1 - base[1], 1], [0, -base[0], -base[1]]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rewards_are_normalized_one_by_one_before_they_are_added():
    batch = batch_of(drawn(0))
    several = [batch_of(drawn(seed)).reward for seed in (1, 2)]
    found = advantages.decoupled(batch, batch.mask, rewards=several, weights=[1.0, 0.5])
    parts = [advantages.group_normalized(batch.replace(reward=reward), batch.mask) for reward in several]
    total = parts[0] + 0.5 * parts[1]
    np.testing.assert_allclose(found, (total - total.mean()) / total.std(), rtol=1e-12)
