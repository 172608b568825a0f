"""Guards `update_rules.bonus`: coefficients of each prompt's own, worked out by hand."""

import dataclasses

import numpy as np
import pytest

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch, concatenate
from tests.tolerances import FLOAT64

GAIN, COMMON = 3.0, 0.25
ROUNDED = 32 * FLOAT64
"""Numbers of order 1: means of four at most, some ten roundings of half a unit each, times the gain."""
OPTIONS = {"base": "reinforce", "normalization": "token-mean", "coefficient": COMMON}


def batch(offset=None, tempered=False):
    """Two prompts of two answers each, of one to three tokens."""
    mask = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    entropy = np.array([[.3, .6, .9], [1.0, np.nan, 9.], [.2, .4, np.nan], [.1, .2, .3]])
    zeros = np.zeros(mask.shape)

    def of_rows(*values):
        return np.zeros(mask.shape, dtype=type(values[0])) + np.array(values)[:, None]

    return TokenBatch(
        log_prob=zeros - 1, old_log_prob=zeros - 1, reward=of_rows(1.0, 0.0, 1.0, 0.0), mask=mask,
        weight=mask / mask.sum(), entropy=entropy, group=of_rows(4, 4, 7, 7),
        sampling_temperature=zeros + (1.2 if tempered else 1.0),
        target_offset=None if offset is None else of_rows(*offset))


# Means over tokens are .6 and 1 at one prompt, .3 and .2 at the other: .8 and .25, on the mean .525.
ABOVE = np.array([0.275, 0.275, -0.275, -0.275])


def coefficients(rule, rows):
    """Of the gradient of the entropy: one a row."""
    found = rule.state_terms(rows)["entropy"]
    assert all(len(set(row[kept])) == 1 for row, kept in zip(found, rows.mask, strict=True))
    assert (found[~rows.mask] == 0).all()
    return found[:, 0]


def test_what_counts_is_the_distance_from_the_prompts_own_target():
    """Offsets of 1 and 0 are .5 above and below their mean, whatever number is added to both."""
    rule = update_rules.get("entropy-bonus", prompt_gain=GAIN, **OPTIONS)
    for shift in (0.0, -2.0):
        found = coefficients(rule, batch([1.0 + shift, 1.0 + shift, shift, shift]))
        np.testing.assert_allclose(
            found, COMMON + GAIN * (np.array([.5, .5, -.5, -.5]) - ABOVE), rtol=0, atol=ROUNDED)


def test_the_common_coefficient_is_the_controllers_and_the_prompts_part_is_the_bases():
    """The part per unit of the coefficient is one for all prompts; the part without it is not."""
    rule = update_rules.get("entropy-bonus", prompt_gain=GAIN, target=0.5, **OPTIONS)
    rows = batch()
    for chosen in (0.0, 0.7, 1.0):
        found = coefficients(rule, rows.replace(coefficient=np.full(rows.mask.shape, chosen)))
        np.testing.assert_allclose(found, chosen - GAIN * ABOVE, rtol=0, atol=ROUNDED)


def test_a_second_batch_neither_counts_nor_is_moved():
    """Its rows would shift the mean, and its prompts' entropies."""
    rule = update_rules.get("entropy-bonus", prompt_gain=GAIN, **OPTIONS)
    second = batch(tempered=True)
    both = concatenate([batch(), second.replace(entropy=5 * second.entropy)])
    found = rule.state_terms(both)["entropy"]
    assert (rule.shortfall(both)[4:] == 0).all()
    np.testing.assert_allclose(found[:4, 0], COMMON - GAIN * ABOVE, rtol=0, atol=ROUNDED)
    assert (found[4:] == 0).all()


def test_the_diverse_bonus_scales_its_scores_by_prompt():
    """Right answers of different likelihood; of the whole score only the bonus is left."""
    rows = batch()
    rows = rows.replace(reward=np.ones(rows.mask.shape),
                        old_log_prob=rows.old_log_prob * [[1.], [2.], [1.], [3.]])
    rows = rows.replace(log_prob=rows.old_log_prob)
    plain = update_rules.get("diverse-bonus", **OPTIONS)
    own = dataclasses.replace(plain, prompt_gain=GAIN)
    base = plain.base.scores(rows)
    bonus, scaled = plain.scores(rows) - base, own.scores(rows) - base
    expected = bonus * (1 - GAIN * ABOVE / COMMON)[:, None]
    np.testing.assert_allclose(scaled, expected, rtol=0, atol=ROUNDED)
    assert np.abs(bonus[rows.mask]).min() > 0.1


def test_the_distance_of_prompts_from_their_targets_is_logged():
    """By rows: .275 at all, and .5 - .275 with offsets; with neither gain nor offsets nothing is."""
    told = update_rules.get("entropy-bonus", prompt_gain=GAIN, **OPTIONS)
    common = update_rules.get("entropy-bonus", **OPTIONS)
    assert told.metrics(batch())["prompt_shortfall"] == pytest.approx(0.275, abs=ROUNDED)
    for rule in (told, common):
        found = rule.metrics(batch([1.0, 1.0, 0.0, 0.0]))["prompt_shortfall"]
        assert found == pytest.approx(0.225, abs=ROUNDED)
    assert "prompt_shortfall" not in common.metrics(batch())
    for rule in (update_rules.get("diverse-bonus", prompt_gain=GAIN, **OPTIONS),
                 update_rules.get("aent", prompt_gain=GAIN, base="reinforce")):
        rows = batch().replace(clamped_entropy=batch().entropy)
        assert rule.metrics(rows)["prompt_shortfall"] == pytest.approx(0.275, abs=ROUNDED)
