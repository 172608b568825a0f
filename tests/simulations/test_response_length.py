"""Guards experiment response_length: what its prompts are."""

import dataclasses

import numpy as np

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
