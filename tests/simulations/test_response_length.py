"""Guards experiment response_length: a world in which length says nothing, and what moves it there."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.policy import softmax
from simulations.experiments import response_length as experiment

CONFIG = dataclasses.replace(
    experiment.PROFILES["default"], horizon=4, n_starts=2, steps=100, tilts=(-0.4, 0.0, 0.2))


def test_the_first_token_decides_and_accuracies_are_as_asked():
    world = experiment.Wording.of(CONFIG, seed=0)
    np.testing.assert_array_equal(world.right, world.tree.paths().token[:, 0] == 0)
    p = softmax(world.starts).reshape(2, 3, world.tree.n_states, 3)
    share = world.tree.response_probabilities(p)[..., world.right].sum(axis=-1)
    np.testing.assert_allclose(share, np.broadcast_to(CONFIG.accuracies, share.shape), atol=1e-12)


def test_only_division_by_the_length_moves_it():
    dataset = experiment.compute(CONFIG, 0, lambda steps: None)
    right, wrong = (
        (dataset[name].isel(step=-1) - dataset[name].isel(step=0))
        for name in ("right_length", "wrong_length"))
    # In exact expectation all that follows a first token keeps its distribution: rounding is all.
    for name in ("token-mean", "dr-grpo"):
        assert float(abs(right.sel(normalization=name)).max()) < 1e-12
        assert float(abs(wrong.sel(normalization=name)).max()) < 1e-12
    shorter, longer = (change.sel(normalization="sequence-mean") for change in (right, wrong))
    assert float(shorter.max()) < 0 < float(longer.min())
    assert float(shorter.mean()) < -0.1
    assert float(longer.mean()) > 0.05
    sampled = dataset.sampled_right_length.isel(step=-1).mean(["accuracy", "start"])
    assert str(sampled.idxmin().values) == "sequence-mean"
    # Clip-Cov keeps entropy (`intervention_sweeps`) without a word more: the spread over starts is four
    # times the bound.
    ends = dataset.isel(step=-1).mean("start")
    grpo = ends.sel(intervention="GRPO", drop=True)
    beyond = (ends.intervention_right_length - grpo.intervention_right_length).mean("accuracy")
    assert float(abs(beyond).max()) < 0.1
    # The second batch shortens right answers by itself, a tilt can undo it, and both cost entropy.
    length = dataset.tilt_right_length.mean(["accuracy", "start"])
    start = float(dataset.right_length.isel(normalization=0, step=0).mean())
    assert bool((length.diff("tilt") < 0).all())
    assert bool((length.sel(tilt=0.0) < start - 0.2).all())
    assert bool((length.sel(tilt=-0.4) > start).all())
    assert dataset.neutral_tilt.values == pytest.approx(
        float(dataset.predicted_neutral_tilt), abs=0.15)
    assert bool((dataset.tilt_entropy.mean("start").diff("tilt").isel(tilt=-1) < 0).all())
