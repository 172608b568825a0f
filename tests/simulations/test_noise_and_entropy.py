"""Guards experiment noise_and_entropy: coins that are coins, steps of one length, the second order."""

import numpy as np
import pytest

from entropy_theory import entropy_change
from entropy_theory.policy import entropy
from simulations.experiments import noise_and_entropy as experiment

CONFIG = experiment.Config(
    n_actions=(6,), features=(0.0, 0.5), relative_entropies=(0.2, 0.95), step_lengths=(0.002,),
    n_starts=3, n_pairs=100, steps=60)


@pytest.fixture(scope="module")
def found():
    return experiment.compute(CONFIG, 0, lambda steps: None)


def test_the_second_order_is_what_coins_do(found):
    """Within four standard errors, and a tenth: the start's covariance holds for short runs, and Adam's
    mean square is that of its first steps. At every optimizer, alone and with shared parameters."""
    gap = np.abs(found.change - found.expected)
    assert (gap <= 4 * found.error + 0.1 * np.abs(found.expected)).all()
    flat = found.sel(relative_entropy=0.95)
    assert (flat.change < -4 * flat.error).all(), "flat policies fall, whatever the optimizer"
    assert (flat.raised == 0).all()


def test_steps_are_of_the_length_that_was_asked_for(found):
    """Without momentum they are independent, so that squares add up; with it, far more."""
    walked = found.displacement / (CONFIG.steps * 0.002**2)
    np.testing.assert_allclose(walked.sel(optimizer="sgd"), 1, rtol=0.3)
    assert (walked.sel(optimizer=["momentum", "adam"]) > 5).all()


def test_the_noise_of_each_optimizer_has_the_size_of_one():
    """Adam's nearly isotropic for independent logits, SGD's the scores'; momentum has SGD's."""
    logits = np.array([3.0, 0.0, -1.0, 0.5])
    shapes = {name: experiment.noise_of(name, logits, np.eye(4)) for name in experiment.OPTIMIZERS}
    np.testing.assert_array_equal(shapes["sgd"], shapes["momentum"])
    scores = entropy_change.score_covariance(logits)
    np.testing.assert_allclose(shapes["sgd"] / shapes["sgd"][0, 0], scores / scores[0, 0])
    assert np.ptp(np.diagonal(shapes["adam"])) < 1e-6
    never = experiment.noise_of("adam", np.array([0.0, 0.1, -2000.0]), np.eye(3))
    assert np.isfinite(never).all()
    assert (never[2] == 0).all(), "what is never drawn does not move"
    center = np.eye(4) - 1 / 4
    for shape in shapes.values():
        assert np.trace(center @ shape @ center) / 4 == pytest.approx(1)


def test_starts_have_the_entropy_that_was_asked_for():
    starts = experiment.of_entropy(np.random.default_rng(0).normal(size=(3, 8)), (0.05, 0.9))
    np.testing.assert_allclose(entropy(starts) / np.log(8), [[0.05] * 3, [0.9] * 3], rtol=1e-9)


def test_opposite_coins_are_opposite_steps():
    """To first order: the mean of both moves is far below each of them."""
    starts = np.random.default_rng(0).normal(size=(5, 4))
    both = experiment._trained(
        CONFIG, 0, "sgd", starts, np.eye(4), np.full(5, 1e-3), lambda steps: None, steps=3,
        record_every=3)[:, -1] - starts
    assert np.abs(both.sum(axis=0)).max() < 1e-2 * np.abs(both).max()
    # A coin says nothing of the answer: the mean move of many draws is nothing too.
    starts = np.broadcast_to(starts[0], (4000, 4))
    moved = experiment._trained(
        CONFIG, 1, "sgd", starts, np.eye(4), np.full(4000, 1e-3), lambda steps: None, steps=1,
        record_every=1)[0, -1] - starts
    error = moved.std(axis=0) / np.sqrt(4000)
    assert (np.abs(moved.mean(axis=0)) < 4 * error).all()
    assert (error > 0).all()
