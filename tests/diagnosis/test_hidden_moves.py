"""Guards what is told of moves that a limit, noise or an earlier move half hides."""

import dataclasses

import numpy as np
import pytest

from diagnosis import diagnose
from entropy_theory.training_logs.logs import Series
from tests.diagnosis.runs import healthy, late, noise, run


def names(made):
    return {found.name for found in diagnose(made).findings}


def about(level, seed, scale):
    return level + scale * noise(np.random.default_rng([seed, 7]), 200, 0.3)


@pytest.mark.parametrize(("last", "explodes"), [(0.18, False), (0.4, True)])
def test_entropy_that_regains_little_of_what_it_lost_does_not_explode(last, explodes):
    entropy = np.interp(np.arange(200), [0, 80, 120, 160, 199], [0.4, 0.1, 0.1, last, last])
    series = healthy(0) | {
        "entropy": about(entropy, 1, 0.005), "reward": late(about(0.4, 2, 0.03), 0.8),
        "score": late(about(0.4, 3, 0.03), 0.8)}
    assert ("explosion" in names(run(series))) == explodes


@pytest.mark.parametrize(("cut", "drifts"), [(0.95, True), (0.6, False)])
def test_growth_that_the_limit_of_length_hides_is_told_by_the_share_that_is_cut(cut, drifts):
    """The mean goes from 8.2 to 11.4 tokens in both; with no limit, to some 220 or 28."""
    up = 1 - np.exp(-8 * np.arange(200) / 200)
    found = names(run(healthy(0) | {
        "length": about(8.2 + 3.2 * up, 1, 0.05), "truncated": about(0.05 + (cut - 0.05) * up, 2, 0.01)}))
    assert "truncation" in found
    assert ("length drift" in found) == drifts


def few_evaluations(seed, gain):
    """A noisy reward that gains .35 over 100 steps, and ten evaluations of a score that gains some."""
    generator = np.random.default_rng([seed, 11])
    reward = 0.3 + np.linspace(0, 0.35, 100) + 0.2 * noise(generator, 100, 0.5)
    score = 0.2 + np.linspace(0, gain, 10) + 0.04 * generator.normal(size=10)
    made = run(healthy(seed, 100) | {"reward": np.clip(reward, 0, 1)})
    return dataclasses.replace(made, series=made.series | {
        "score": Series("eval", np.arange(10.0, 101, 10), np.clip(score, 0, 1))})


@pytest.mark.parametrize(("gain", "low", "high"), [(0.0, 15, 20), (0.3, 0, 1)])
def test_a_few_noisy_evaluations_are_compared_by_all_values(gain, low, high):
    """By levels at the ends alone, 8 of 20 would be told apart."""
    apart = sum("held-out apart" in names(few_evaluations(seed, gain)) for seed in range(20))
    assert low <= apart <= high
