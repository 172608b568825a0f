"""Guards clipped_ratio.py: the ratio's ends, the clip at its bounds, each length factor by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import (
    capped_exp,
    length_factor,
    log_ratio,
    ratio,
    unclipped,
)
from tests.tolerances import FLOAT64

MASK = np.array([[True, True, False, False], [True, False, False, False], [True, True, True, True]])


def batch_of(mask=MASK, **columns):
    ones = np.ones(mask.shape)
    return TokenBatch(**{"log_prob": -ones, "old_log_prob": -2 * ones, "reward": ones, "mask": mask,
                         "weight": ones / 7, **columns})


def test_a_ratio_is_one_outside_the_mask_and_where_a_log_probability_is_infinite():
    log_prob = np.array([[-1.0, -math.inf, 5.0, math.nan]])
    old = np.array([[-1.5, -1.0, 0.0, 0.0]])
    mask = np.array([[True, True, False, False]])
    batch = batch_of(mask, log_prob=log_prob, old_log_prob=old)
    assert log_ratio(batch).tolist() == [[0.5, 0.0, 0.0, 0.0]]
    np.testing.assert_allclose(ratio(batch), [[math.exp(0.5), 1, 1, 1]], rtol=4 * FLOAT64)
    swapped = batch_of(mask, log_prob=old, old_log_prob=log_prob)
    assert log_ratio(swapped).tolist() == [[-0.5, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exponential_is_capped_at_the_root_of_the_largest_number(dtype):
    largest = capped_exp(dtype([1e4]))[0]
    # An argument below 355 is rounded once, which exp makes relative.
    assert float(largest) == pytest.approx(
        math.sqrt(float(np.finfo(dtype).max)), rel=400 * float(np.finfo(dtype).eps))
    below = math.log(float(np.finfo(dtype).max)) / 2 - 1
    np.testing.assert_allclose(capped_exp(dtype([below, -1e4])), np.exp(dtype([below, -1e4])))


def test_the_clip_binds_beyond_each_bound_on_the_side_of_the_advantage():
    r = np.array([0.5, 0.7, 0.7 - 1e-5, 0.7 + 1e-5, 1.0, 1.2, 1.2 - 1e-5, 1.2 + 1e-5, 2.0])
    up, down = (unclipped(r, sign * np.ones(9), 0.3, 0.2).tolist() for sign in (1, -1))
    assert up == [True] * 7 + [False] * 2
    assert down == [False, True, False] + [True] * 6
    assert unclipped(r, np.zeros(9), 0.3, 0.2).all()


@pytest.mark.parametrize(("normalization", "max_length", "expected"), [
    ("token-mean", None, [1, 1, 1]),
    # 7 tokens in 3 sequences of 2, 1 and 4.
    ("sequence-mean", None, [7 / 6, 7 / 3, 7 / 12]),
    ("dr-grpo", None, [7 / 12] * 3),
    ("dr-grpo", 10, [7 / 30] * 3),
    ("dr-grpo", 1, [7 / 3] * 3),
])
def test_length_factors_of_samples(normalization, max_length, expected):
    found = length_factor(batch_of(), MASK, normalization, max_length)
    wanted = np.where(MASK, np.array(expected)[:, None], 1.0)
    np.testing.assert_allclose(found, wanted, rtol=4 * FLOAT64)


def test_length_factors_of_some_rows_count_these_alone_and_runs_apart():
    """Sequences 0 and 2: 6 tokens in 2; beside it a run where all three count."""
    rows = MASK & np.array([[True], [False], [True]])
    some, every = np.array([6 / 4, 1.0, 6 / 8]), np.array([7 / 6, 7 / 3, 7 / 12])
    for which, expected in ((rows, some), (MASK, every)):
        found = length_factor(batch_of(), which, "sequence-mean")
        np.testing.assert_allclose(found, np.where(which, expected[:, None], 1.0), rtol=4 * FLOAT64)
    names = [name for name, _ in batch_of()._columns()]
    both = TokenBatch(**{name: np.stack([getattr(batch_of(), name)] * 2) for name in names})
    for normalization in ("sequence-mean", "dr-grpo"):
        found = length_factor(both, np.stack([rows, MASK]), normalization)
        for k, which in enumerate((rows, MASK)):
            np.testing.assert_array_equal(found[k], length_factor(batch_of(), which, normalization))
    one = TokenBatch(**{name: getattr(batch_of(), name)[None, None] for name in names})
    np.testing.assert_array_equal(length_factor(one, one.mask, "sequence-mean")[0, 0],
                                  length_factor(batch_of(), MASK, "sequence-mean"))
    assert (length_factor(batch_of(), MASK & False, "sequence-mean") == 1).all()


def test_in_a_listing_the_mean_length_goes_by_probability():
    """Answers of 2 and 4 tokens with probabilities 3/4 and 1/4: the mean length is 2.5."""
    mask = MASK[[0, 2]]
    weight = np.array([[0.75], [0.25]]) * np.ones((2, 4))
    listed = batch_of(mask, weight=weight, listed=True)
    found = length_factor(listed, mask, "sequence-mean")
    np.testing.assert_allclose(found[mask], [1.25, 1.25] + [0.625] * 4, rtol=4 * FLOAT64)
    sampled = length_factor(listed.replace(listed=False), mask, "sequence-mean")
    np.testing.assert_allclose(sampled[mask], [1.5, 1.5] + [0.75] * 4, rtol=4 * FLOAT64)


def test_weights_of_a_listing_may_sum_to_one_over_its_tokens():
    """Answers of 1 and 4 tokens, 3/4 and 1/4: weights are divided by 1.75, and so are all counts."""
    mask = MASK[[1, 2]]
    weight = np.array([[0.75], [0.25]]) / 1.75 * np.ones((2, 4))
    found = length_factor(batch_of(mask, weight=weight, listed=True), mask, "sequence-mean")
    np.testing.assert_allclose(found[mask], [1.75] + [1.75 / 4] * 4, rtol=4 * FLOAT64)
