"""Guards experiment aent_coefficient: what is recorded, and what the change of prompts hands over."""

import dataclasses
import math

import numpy as np
import pytest

from simulations.experiments import aent_coefficient as experiment


@pytest.fixture(scope="module")
def config():
    return dataclasses.replace(
        experiment.PROFILES["default"], constants=(0.1, 0.5), steps=100,
        swept_fractions=(0.33,), swept_coefficients=(0.2,), swept_steps=20,
    )


@pytest.fixture(scope="module")
def dataset(config):
    return experiment.compute(config, 0, lambda steps: None)


def test_the_coefficient_stays_in_its_box_and_goes_on_after_the_change(dataset, config):
    coefficient = dataset.adaptive_coefficient
    low, high = config.box
    assert ((coefficient >= low) & (coefficient <= high)).all()
    before = coefficient.sel(half=experiment.HALVES[0]).isel(step=-1)
    after = coefficient.sel(half=experiment.HALVES[1]).isel(step=0)
    # One observation, of at most log n nats, lies between.
    assert (abs(after - before) <= coefficient.rate * math.log(config.n_actions)).all()
    assert float(abs(before - config.box[0]).max()) > 0.05, "nothing to hand over"


def test_the_entropy_recorded_is_the_clamped_one(dataset, config):
    """It is that of the second half's first policies, which are given starts."""
    logits, _ = experiment._prompts(config, config.second_right, config.hardest, seed=1)
    kept = np.sort(logits, axis=-1)[..., -(config.n_actions - math.floor(0.33 * config.n_actions)):]
    p = np.exp(kept) / np.exp(kept).sum(axis=-1, keepdims=True)
    expected = -(p * np.log(p)).sum(axis=-1).mean(axis=-1)
    found = dataset.constant_entropy.sel(half=experiment.HALVES[1]).isel(step=0, constant=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
