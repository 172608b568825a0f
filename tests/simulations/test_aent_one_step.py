"""Guards experiment aent_one_step: how the tokens of large vocabularies are tied."""

import numpy as np
import pytest

from simulations.experiments import aent_one_step as experiment


def test_contexts_are_tied_beyond_the_plausible_tokens_and_lose_nothing():
    config = experiment.Config(trained_contexts=2, trained_plausible=300)
    logits, reward = experiment.contexts(config, 100_000, 5, seed=0)
    for state, start in enumerate(experiment.tied_contexts(config, 100_000, 5, seed=0)):
        assert start.counts.sum() == 100_000
        assert (start.counts[:300] == 1).all()
        assert len(start.counts) == 300 + config.tail_steps
        np.testing.assert_allclose(start.logits[:300], logits[state, :300], atol=1e-12)
        np.testing.assert_array_equal(start.reward[:300], reward[state, :300])
        mass = (np.exp(start.logits) * start.counts).sum()
        assert mass == pytest.approx(np.exp(logits[state]).sum(), rel=1e-12)
