"""Guards experiment aent_coefficient: who stays in the band, and what clamping too much costs."""

import dataclasses
import math

import numpy as np
import pytest

from simulations.experiments import aent_coefficient as experiment


@pytest.fixture(scope="module")
def config():
    return dataclasses.replace(
        experiment.PROFILES["default"], constants=(0.1, 0.25, 0.5), steps=300,
        swept_fractions=(0.0, 0.33, 0.95), swept_coefficients=(0.2, 0.7), swept_steps=200,
    )


@pytest.fixture(scope="module")
def dataset(config):
    return experiment.compute(config, 0, lambda steps: None)


def test_the_controller_comes_back_to_its_band_and_a_constant_does_not(dataset):
    first, second = experiment.HALVES
    adaptive = dataset.adaptive_in_band.mean("first")
    for half in experiment.HALVES:
        assert adaptive.sel(half=half, rate=0.1) > 0.35
        assert adaptive.sel(half=half, rate=0.005) < 0.2, "too slow for these runs"
    constant = dataset.constant_in_band
    best = constant.sel(half=first).idxmax("constant")
    assert constant.sel(half=second, constant=best) < 0.2 < adaptive.sel(half=second, rate=0.1)


def test_constants_collapse_or_explode(dataset):
    last = dataset.constant_entropy.sel(half=experiment.HALVES[1]).isel(step=-1).mean("start")
    assert last.sel(constant=0.1) < 0.1
    assert last.sel(constant=0.5) > 1.0
    reward = dataset.constant_reward.sel(half=experiment.HALVES[1]).isel(step=-1).mean("start")
    assert reward.sel(constant=0.5) < reward.sel(constant=0.1) - 0.1


def test_the_coefficient_stays_in_its_box_and_goes_on_after_the_change(dataset, config):
    coefficient = dataset.adaptive_coefficient
    low, high = config.box
    assert ((coefficient >= low) & (coefficient <= high)).all()
    before = coefficient.sel(half=experiment.HALVES[0]).isel(step=-1)
    after = coefficient.sel(half=experiment.HALVES[1]).isel(step=0)
    # One observation, of at most log n nats, lies between.
    assert (abs(after - before) <= coefficient.rate * math.log(config.n_actions)).all()
    assert float(abs(before - config.box[0]).max()) > 0.05, "nothing to hand over"


def test_clamping_bears_larger_coefficients_and_loses_right_answers(dataset):
    reward = dataset.swept_reward.mean("start")
    large, small = reward.sel(coefficient=0.7), reward.sel(coefficient=0.2)
    assert (large.diff("removed_fraction") > -0.02).all()
    assert large.sel(removed_fraction=0.95) > large.sel(removed_fraction=0.0) + 0.2
    assert small.sel(removed_fraction=0.95) < small.sel(removed_fraction=0.33) - 0.03


def test_the_entropy_recorded_is_the_clamped_one(dataset, config):
    """It is that of the second half's first policies, which are given starts."""
    logits, _ = experiment._prompts(config, config.second_right, config.hardest, seed=1)
    kept = np.sort(logits, axis=-1)[..., -(config.n_actions - math.floor(0.33 * config.n_actions)):]
    p = np.exp(kept) / np.exp(kept).sum(axis=-1, keepdims=True)
    expected = -(p * np.log(p)).sum(axis=-1).mean(axis=-1)
    found = dataset.constant_entropy.sel(half=experiment.HALVES[1]).isel(step=0, constant=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
