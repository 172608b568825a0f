"""Guards experiment aent_one_step: what is squeezed, what is lifted, and what clamping changes."""

import numpy as np
import pytest

from simulations.computing.store import path_of, read
from simulations.experiments import aent_one_step as experiment


@pytest.fixture(scope="module")
def dataset(simulated):
    return read(path_of(experiment.EXPERIMENT, simulated("aent_one_step") / "simulations"))


def test_without_a_bonus_the_likely_token_squeezes_the_optimal_ones(dataset):
    tokens = dataset.token_probability
    np.testing.assert_allclose(tokens.sum("token"), 1.0, rtol=1e-13)
    likely, rare = tokens.sel(token=0), tokens.sel(token=[3, 4]).sum("token")
    assert likely.sel(policy="none") > likely.sel(policy="before")
    assert rare.sel(policy="none") < rare.sel(policy="before")
    for treatment in experiment.TREATMENTS[1:]:
        assert likely.sel(policy=treatment) < likely.sel(policy="before")
        assert rare.sel(policy=treatment) > rare.sel(policy="before")


def test_training_finds_the_optimal_tokens_of_100_000_with_the_clamped_bonus_only(dataset):
    """The paper's finding at its size; problem 1 is that of 100,000 tokens, 15 of them optimal."""
    end = dataset.trained_reward.isel(step=-1).mean("context")
    none, full, third, clamped = (end.sel(trained_treatment=name) for name in experiment.TREATMENTS)
    assert (none < 0.21).all(), "the local optimum"
    assert clamped.isel(problem=1).max() > 0.9 > 0.5 > full.isel(problem=1).max()
    assert third.isel(problem=1).max() < 0.5, "two thirds of 100,000 tokens are as bad as all"
    assert full.isel(problem=0).max() > full.isel(problem=1).max() + 0.1, "more tokens, more bias"
    assert clamped.isel(problem=2).max() < 0.5, "a single optimal token is not found"
    entropies = dataset.trained_entropy.isel(step=-1, problem=1).mean("context").sel(coefficient=0.45)
    assert entropies.sel(trained_treatment="full") > 3 + entropies.sel(
        trained_treatment=experiment.PLAUSIBLE)


def test_contexts_are_tied_beyond_the_plausible_tokens_and_lose_nothing(dataset):
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
