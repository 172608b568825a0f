"""Guards advantages/: groups, weights and roundings of each estimator, by hand."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from entropy_theory import advantages, rounding
from entropy_theory.token_batch import TokenBatch
from entropy_theory.verification.rule_batches import converted
from tests.tolerances import FLOAT32, FLOAT64

GROUP = np.array([[0], [0], [0], [5], [5], [5]])
REWARD = np.array([[1.0], [0.0], [0.5], [2.0], [2.0], [5.0]])


def batch_of(reward=REWARD, group=GROUP, positions=1, **columns):
    ones = np.ones((len(reward), positions))
    return TokenBatch(**{
        "log_prob": -ones, "old_log_prob": -ones, "reward": reward * ones, "mask": ones > 0,
        "weight": ones / len(reward), "group": None if group is None else group * ones, **columns})


def of_dtype(batch, dtype):
    return converted(batch, lambda column: column.astype(dtype) if column.dtype == float else column)


def test_groups_of_several_sizes_each_divide_by_their_own():
    """One answer, two and three; a lone answer has no signal, whatever divides it."""
    group = np.array([[1], [2], [2], [3], [3], [3]])
    batch = batch_of(np.array([[7.0], [0.0], [2.0], [0.0], [0.0], [3.0]]), group)
    for ddof, expected in ((0, (1.0, math.sqrt(2.0))), (1, (math.sqrt(2.0), math.sqrt(3.0)))):
        two, three = expected
        found = advantages.group_normalized(batch, batch.mask, ddof=ddof)[:, 0]
        np.testing.assert_allclose(
            found, [0, -1 / two, 1 / two, -1 / three, -1 / three, 2 / three], rtol=8 * FLOAT64)


def test_leave_one_out_is_the_reward_above_the_others_mean():
    batch = batch_of()
    found = advantages.leave_one_out(batch, batch.mask)[:, 0]
    expected = [1 - 0.25, 0 - 0.75, 0.5 - 0.5, 2 - 3.5, 2 - 3.5, 5 - 2]
    np.testing.assert_allclose(found, expected, rtol=8 * FLOAT64, atol=4 * FLOAT64)
    pair = batch_of(np.array([[1.0], [0.0]]), None)
    assert advantages.leave_one_out(pair, pair.mask)[:, 0].tolist() == [1.0, -1.0]
    padded = batch.replace(mask=GROUP == 0)
    assert np.isfinite(advantages.leave_one_out(padded, padded.mask)).all()
    for rows in (GROUP == 5, np.arange(6)[:, None] < 4):
        lonely = batch.replace(mask=rows)
        if rows.sum() == 4:
            with pytest.raises(ValueError, match="found one"):
                advantages.leave_one_out(lonely, lonely.mask)
        else:
            advantages.leave_one_out(lonely, lonely.mask)


def test_weights_within_rounding_are_equal_and_beyond_are_not():
    batch = batch_of()
    for excess, refused in ((0.0, False), (16 * FLOAT64, False), (1e-12, True), (1.0, True)):
        weight = batch.weight.copy()
        weight[2] *= 1 + excess
        one = batch.replace(weight=weight)
        if refused:
            with pytest.raises(ValueError, match="equally weighted"):
                advantages.leave_one_out(one, one.mask)
        else:
            advantages.leave_one_out(one, one.mask)


def test_rewards_are_equal_up_to_eight_float32_ulps_of_the_larger():
    equal = rounding.equal
    for base in (1.0, -1.0, 1e3):
        step = abs(base) * FLOAT32
        assert equal(np.array(base), np.array(base + 7.5 * step))
        assert not equal(np.array(base), np.array(base + 8.5 * step))
    assert not equal(np.array(-1.0), np.array(1.0))
    assert not equal(np.array(1.0), np.array(math.inf))
    assert equal(np.array(math.inf), np.array(-math.inf))
    assert equal(np.array(0.0), np.array(0.0))
    coarse = np.array([1.0, 1.0 + 4 * 2.0**-10], dtype=np.float16)
    assert equal(coarse[0], coarse[1])


def test_over_the_batch_all_prompts_share_mean_and_deviation():
    batch = batch_of()
    reward = REWARD[:, 0]
    found = advantages.batch_normalized(batch, batch.mask)[:, 0]
    # Means, a root and a quotient of six small numbers: some thirty roundings of 2^-53.
    np.testing.assert_allclose(found, (reward - reward.mean()) / reward.std(), rtol=1e-14)
    centered = reward - np.repeat([0.5, 3.0], 3)
    found = advantages.group_centered_batch_normalized(batch, batch.mask)[:, 0]
    np.testing.assert_allclose(found, centered / centered.std(), rtol=1e-14)
    flat = batch_of(np.full((6, 1), 0.1))
    for estimator in (advantages.batch_normalized, advantages.group_centered_batch_normalized,
                      advantages.group_centered, advantages.group_normalized):
        assert (estimator(flat, flat.mask) == 0).all()


def test_group_statistics_are_over_the_rows_asked_for_alone():
    batch = batch_of(positions=2)
    rows = batch.mask & (np.arange(6)[:, None] != 5)
    assert advantages.group_mean(batch, rows, batch.reward)[:, 0].tolist() == [0.5] * 3 + [2.0] * 3
    assert advantages.group_largest(batch, rows, batch.reward)[:, 0].tolist() == [1.0] * 3 + [2.0] * 3
    assert advantages.group_largest(batch.replace(group=None), rows, batch.reward).tolist() == [[2.0]]
    signal = advantages.without_signal(batch, rows)
    assert signal[:, 0].tolist() == [False, False, False, True, True, False]
    assert advantages.right_answers(batch, rows, 2.0)[:5, 0].tolist() == [False] * 3 + [True] * 2
    assert advantages.reward(batch, rows) is batch.reward


def test_an_action_never_taken_is_no_member_of_its_group():
    """Weight 0: it counts in no size, no extreme and no mean."""
    weight = np.array([[1.0], [1.0], [0.0], [1.0], [1.0], [1.0]]) / 5
    reward = REWARD.copy()
    reward[2] = 99.0
    batch = batch_of(reward, weight=weight)
    assert advantages.group_largest(batch, batch.mask, batch.reward)[:3, 0].tolist() == [1.0] * 3
    found = advantages.group_normalized(batch, batch.mask, ddof=1)[:2, 0]
    np.testing.assert_allclose(found, [math.sqrt(0.5), -math.sqrt(0.5)], rtol=8 * FLOAT64)


def test_the_share_of_groups_without_signal_is_by_weight_and_of_each_run():
    """Group 0 varies, group 5 is equal; a run whose rows do not count has no such share."""
    weight = np.array([[1.0], [1.0], [2.0], [3.0], [1.0], [0.0]]) / 8
    flat = batch_of(np.array([[1.0], [0.0], [0.5], [2.0], [2.0], [9.0]]), weight=weight)
    assert advantages.equal_reward_groups(flat, flat.mask) == 0.5
    assert advantages.equal_reward_groups(flat, flat.mask & False) == 0.0
    both = TokenBatch(**{name: np.stack([column, getattr(batch_of(), name)])
                         for name, column in flat._columns()})
    assert advantages.equal_reward_groups(both, both.mask).tolist() == [0.5, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", [
    advantages.group_normalized, advantages.batch_normalized, advantages.group_centered_batch_normalized])
def test_a_normalized_advantage_knows_no_unit_and_no_offset(estimator, dtype):
    """In float32 squares of 1e-24 are 0, and those of 1e18 near the largest number; the mean of rewards
    of 1,000 and 1,001 is rounded by 1e-4."""
    expected = estimator(batch := of_dtype(batch_of(), dtype), batch.mask)
    for scale in (1e-24, 1e-12, 1e-6, 1e3, 1e8, 1e18):
        batch = of_dtype(batch_of(REWARD * scale), dtype)
        np.testing.assert_allclose(estimator(batch, batch.mask), expected, rtol=16 * np.finfo(dtype).eps)
    for offset in (1e3, -1e5):
        batch = of_dtype(batch_of(REWARD + offset), dtype)
        np.testing.assert_allclose(estimator(batch, batch.mask), expected, rtol=16 * np.finfo(dtype).eps)


def test_an_advantage_that_is_rounding_alone_is_zero_in_any_order():
    """Three of six rewards are the mean, which some order of the sum misses by an ulp."""
    reward = np.array([0.1, 0.7, 0.4, 0.4, 0.2, 0.6, 0.4])[:, None]
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(7)
        batch = batch_of(reward[rows], None)
        for estimator in (advantages.group_normalized, advantages.group_centered):
            found = estimator(batch, batch.mask)[:, 0]
            np.testing.assert_array_equal(found == 0, reward[rows, 0] == 0.4)


def test_right_is_what_reaches_the_bound_up_to_rounding():
    reward = np.array([0.7 + 0.2 + 0.1, 1 - 1e-7, 1.0, 1 - 1e-5, 0.0, 2.0])[:, None]
    batch = batch_of(reward, None)
    found = advantages.right_answers(batch, batch.mask, 1.0)[:, 0]
    assert found.tolist() == [True, True, True, False, False, True]
    near_zero = batch_of(np.array([0.1 + 0.2 - 0.3, -(0.1 + 0.2 - 0.3), -0.1])[:, None], None)
    assert advantages.right_answers(near_zero, near_zero.mask, 0.0)[:, 0].tolist() == [True, True, False]


@pytest.mark.parametrize("buffer", [1, 3, 5])
def test_the_overlong_penalty_is_zero_until_the_buffer_and_minus_one_at_the_end(buffer):
    mask = np.arange(7) < np.arange(8)[:, None]
    batch = batch_of(np.ones((8, 1)), None, positions=7, mask=mask)
    found = advantages.overlong_penalty(batch, 5, buffer)
    assert found.shape == (8, 7)
    expected = [-min(max(length - (5 - buffer), 0) / buffer, 1.0) for length in range(8)]
    np.testing.assert_allclose(found, np.array(expected)[:, None] * np.ones((8, 7)), atol=2 * FLOAT64)


@mpmath.workdps(50)
@pytest.mark.parametrize("group_size", [2, 3, 7, 500, 600])
@pytest.mark.parametrize("p", [0.3, 1e-9, 1.0, 0.0])
def test_kappa_is_the_mean_of_the_root_over_p_and_its_complement(group_size, p):
    """Both ways of summing it (up to 512 in float64, and beyond), and their limits at 0 and 1."""
    total = mpmath.mpf(0)
    for k in range(1, group_size):
        spread = mpmath.sqrt(mpmath.mpf(k) * (group_size - k)) / group_size
        total += (mpmath.binomial(group_size, k) * spread
                  * mpmath.mpf(p) ** (k - 1) * (1 - mpmath.mpf(p)) ** (group_size - k - 1))
    right = np.array(p)
    for ddof, factor in ((0, 1.0), (1, math.sqrt((group_size - 1) / group_size))):
        found = advantages.group_normalization_gain(
            right, 1 - right, group_size=group_size, ddof=ddof)
        # G roundings in each power, as many in the sum; logarithms up to G, rounded, exponentiated.
        assert float(found) == pytest.approx(float(total) * factor, rel=4 * group_size * FLOAT64)


def listing(probabilities, reward, **columns):
    weight = np.array(probabilities)[:, None]
    log_prob = np.log(weight)
    return batch_of(np.array(reward)[:, None], None, weight=weight, log_prob=log_prob,
                    old_log_prob=log_prob, **columns)


def test_the_expected_advantage_takes_binary_rewards_of_its_rows_alone():
    batch = listing([0.25, 0.75], [1.0, 0.0])
    found = advantages.expected_group_normalized(batch, batch.mask, group_size=2)[:, 0]
    # kappa of two is 2 x sqrt(1/4), whatever p.
    np.testing.assert_allclose(found, [0.75, -0.25], rtol=8 * FLOAT64)
    more = listing([0.25, 0.75, 0.5], [1.0, 0.0, 0.5])
    rows = np.array([[True], [True], [False]])
    kept = advantages.expected_group_normalized(more, rows, group_size=2)[:2, 0]
    np.testing.assert_allclose(kept, [0.75, -0.25], rtol=8 * FLOAT64)


def test_a_listing_is_told_by_its_probabilities_and_its_answers():
    def check(batch, log_prob=None):
        advantages.check_listing(
            batch, batch.mask, batch.log_prob if log_prob is None else log_prob, "no listing")

    batch = listing([0.25, 0.75], [1.0, 0.0], listed=False)
    check(batch)
    for off, refused in ((5e-7, False), (2e-6, True)):
        moved = batch.replace(log_prob=np.log(np.array([[0.25 + off], [0.75 - off]])))
        if refused:
            with pytest.raises(ValueError, match="no listing"):
                check(moved)
        else:
            check(moved)
    check(batch.replace(listed=True), np.zeros((2, 1)))  # it is taken at its word
    ids = {"state": np.zeros((2, 1), dtype=int), "action": np.array([[0], [1]])}
    check(batch.replace(**ids))
    check(batch.replace(state=ids["state"]))
    twice = {**ids, "action": np.array([[1], [1]])}
    with pytest.raises(ValueError, match="no listing"):
        check(batch.replace(**twice))
    check(batch.replace(**{**twice, "state": np.array([[0], [1]])}))
