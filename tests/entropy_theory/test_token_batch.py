"""Guards token_batch.py: which rows and tokens a mean, a weight, a cut or a joined batch is made of."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from entropy_theory import token_batch
from entropy_theory.token_batch import TokenBatch, concatenate
from tests.tolerances import FLOAT64

MASK = np.array([[True, True, False], [True, False, False], [True, True, True]])
ONES = np.ones((3, 3))
ENTROPY = np.array([[1.0, 3.0, 77.0], [10.0, 77.0, 77.0], [2.0, 2.0, 5.0]])


def batch_of(weight=ONES / 6, **columns):
    return TokenBatch(**{"log_prob": -ONES, "old_log_prob": -ONES, "reward": ONES, "mask": MASK,
                         "weight": weight, "entropy": ENTROPY, **columns})


def runs(*batches):
    """The batches as runs side by side: a leading axis."""
    names = [name for name, _ in batches[0]._columns()]
    return TokenBatch(**{name: np.stack([getattr(b, name) for b in batches]) for name in names})


def test_means_are_per_sequence_by_weight_and_of_each_run_alone():
    """2, 10 and 3 by weights 1, 1, 2; a second run with other numbers beside it changes nothing."""
    batch = batch_of(weight=np.array([[1.0], [1.0], [2.0]]) * ONES)
    assert token_batch.mean_entropy(batch) == pytest.approx((2 + 10 + 2 * 3) / 4, rel=8 * FLOAT64)
    other = batch.replace(entropy=7 * ENTROPY, mask=MASK[::-1].copy())
    both = token_batch.mean_over_sequences(runs(batch, other, batch), "entropy")
    assert both.shape == (3,)
    for found, alone in zip(both, (batch, other, batch), strict=True):
        assert found == token_batch.mean_entropy(alone)


def test_a_sequence_without_a_token_counts_for_nothing():
    """Its length is 0, and 0 / 0 would be NaN."""
    mask = MASK.copy()
    mask[1] = False
    assert token_batch.mean_entropy(batch_of(mask=mask)) == pytest.approx((2 + 3) / 2)


def test_sums_and_weights_leave_out_what_is_masked_even_nan():
    values = np.where(MASK, ENTROPY, np.nan)
    assert token_batch.masked_sum(values, MASK).tolist() == [[1 + 3 + 10 + 2 + 2 + 5]]
    assert token_batch.masked_sum(np.stack([values, 2 * values]), np.stack([MASK, MASK])).tolist() == [
        [[23.0]], [[46.0]]]
    weight = np.array([[0.1, 0.3, 9.0], [0.2, 9.0, 9.0], [0.5, 0.4, 0.3]])
    batch = batch_of(weight=weight)
    assert token_batch.sequence_weight(batch, MASK).tolist() == [[0.3], [0.2], [0.5]]
    assert token_batch.sequence_weight(batch, MASK & False).tolist() == [[0.0], [0.0], [0.0]]


def test_a_value_that_varies_within_the_rows_asked_for_is_refused_by_name():
    column = np.array([[1.0, 1.0, 2.0], [3.0, 9.0, 9.0], [4.0, 4.0, 4.0]])
    assert token_batch.sequence_value(column, MASK, "group").tolist() == [[1.0], [3.0], [4.0]]
    with pytest.raises(ValueError, match="column 'group' varies"):
        token_batch.sequence_value(column, MASK | True, "group")
    late = np.array([[False, True, True]])
    assert token_batch.sequence_value(np.array([[9.0, 5.0, 5.0]]), late).tolist() == [[5.0]]
    single = np.array([[[1.0, 1.0, 2.0]], [[3.0, 3.0, 3.0]]])  # two runs of one sequence
    assert token_batch.sequence_value(single, single < 2).tolist() == [[[1.0]], [[3.0]]]


def test_rows_are_ordinary_or_tempered_by_temperature_unless_told():
    hot = np.array([[1.0], [1.2], [0.8]]) * ONES
    batch = batch_of(sampling_temperature=hot)
    assert (batch.is_tempered == (MASK & (np.array([[False], [True], [True]])))).all()
    assert (batch.is_ordinary == (MASK & (np.array([[True], [False], [False]])))).all()
    told = batch.replace(tempered=np.array([[True], [False], [False]]) & (ONES > 0))
    assert (told.is_tempered == (MASK & (np.array([[True], [False], [False]])))).all()
    assert not batch_of().is_tempered.any()
    assert (batch_of().is_ordinary == MASK).all()
    # What controllers read.
    assert token_batch.mean_entropy(batch) == token_batch.mean_entropy(batch.take_sequences([0]))


def test_batches_that_differ_in_more_than_their_sequences_are_not_joined():
    one, two = batch_of(), batch_of(entropy=2 * ENTROPY)
    joined = concatenate([one, two, one])
    assert joined.entropy.tolist() == np.concatenate([ENTROPY, 2 * ENTROPY, ENTROPY]).tolist()
    assert joined.action is None
    side_by_side = concatenate([runs(one, two), runs(two, one)])
    assert side_by_side.entropy.shape == (2, 6, 3)
    assert side_by_side.entropy[1].tolist() == np.concatenate([2 * ENTROPY, ENTROPY]).tolist()
    uneven = concatenate([runs(one, two), runs(two, one).take_sequences([1])])
    assert uneven.entropy[1].tolist() == np.concatenate([2 * ENTROPY, ENTROPY[[1]]]).tolist()
    narrow = TokenBatch(**{name: column[..., :2] for name, column in runs(one, two)._columns()})
    with pytest.raises(ValueError, match="cannot be joined"):
        concatenate([runs(one, two), narrow])
    for other in (runs(one, two), runs(one, two, one), runs(one)):
        with pytest.raises(ValueError, match="cannot be joined"):
            concatenate([runs(one, two) if other.mask.shape[0] != 2 else one, other])


def test_listings_joined_are_a_listing_and_prepared_columns_go():
    listed = batch_of(listed=True).with_prepared(mine=ONES)
    assert listed.listed
    assert concatenate([listed, listed]).listed
    assert not concatenate([listed, batch_of()]).listed
    assert concatenate([listed, listed]).prepared == {}
    first = batch_of(step=7, seed=3)
    assert (concatenate([first]).step, concatenate([first, batch_of()]).seed) == (7, 3)


def test_a_cut_keeps_runs_positions_and_prepared_columns_and_is_no_listing():
    batch = runs(batch_of(), batch_of(entropy=2 * ENTROPY)).replace(listed=True)
    batch = batch.with_prepared(mine=batch.entropy + 1)
    cut = batch.take_sequences([2, 0])
    assert cut.entropy.tolist() == batch.entropy[:, [2, 0]].tolist()
    assert (cut.prepared["mine"] == cut.entropy + 1).all()
    assert cut.mask.shape == (2, 2, 3)
    assert not cut.listed
    assert cut.sampling_temperature is None


def test_a_copy_is_checked_where_it_is_new():
    batch = batch_of()
    with pytest.raises(TypeError, match="entopy"):
        batch.replace(entopy=ENTROPY)
    assert batch.replace(entropy=None).entropy is None
    changed = batch.replace(step=7, seed=3)
    assert (changed.step, changed.seed, changed.listed) == (7, 3, False)
    assert changed.entropy is batch.entropy
    assert (batch.step, batch.seed, batch.listed) == (0, 0, False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.step = 8
