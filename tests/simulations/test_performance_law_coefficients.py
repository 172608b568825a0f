"""Guards experiment performance_law_coefficients: which algorithms are one, what capacity changes."""

import numpy as np
import pytest

from simulations.experiments import performance_law_coefficients as experiment
from simulations.problems.shared_parameters import random_features


@pytest.fixture(scope="module")
def dataset():
    config = experiment.Config(right_answers=(5,), prompts=8, n_starts=3, steps=250, learning_rate=2.0,
                               priors=(0.0, 1.0, 2.0), features=(20, 60, 160))
    return experiment.compute(config, 0, lambda steps: None).squeeze("right_answers")


def test_three_of_the_papers_algorithms_are_the_policy_gradient(dataset):
    """In expectation they share one curve; GRPO is another and the natural gradient far off."""
    at = dataset.reward_at_entropy
    gap = (at - at.sel(algorithm=experiment.REFERENCE, drop=True)).mean("start")
    gradient = gap.sel(algorithm="policy gradient (RLOO)")
    # They follow one flow and differ by their step sizes alone.
    assert abs(gap.sel(algorithm="REINFORCE++") - gradient).max() < 0.01
    natural = gap.sel(algorithm="natural gradient")
    assert natural.max() > 0.1
    assert natural.max() > 5 * abs(gradient).max()
    assert abs(gradient).max() > 0, "GRPO weighs prompts by difficulty"


def test_sampled_algorithms_start_where_the_exact_ones_do(dataset):
    start = dataset.start_entropy
    np.testing.assert_allclose(start, start.isel(algorithm=0).broadcast_like(start), rtol=1e-12)


def test_what_can_be_reached_moves_the_ceiling_and_prior_knowledge_does_not(dataset):
    ceiling = dataset.capacity_ceiling.mean("start")
    for stand_in in ("features", "features, one start"):
        assert ceiling.sel(stand_in=stand_in)[0] < ceiling.sel(stand_in=stand_in)[2] - 0.05
    reward = dataset.capacity_start_reward.mean("start")
    assert reward.sel(stand_in="prior")[2] > 2 * reward.sel(stand_in="prior")[0]
    assert abs(ceiling.sel(stand_in="prior")[2] - ceiling.sel(stand_in="prior")[0]) < 0.03
    assert reward.sel(stand_in="features")[2] > reward.sel(stand_in="features")[0]
    one_start = reward.sel(stand_in="features, one start")
    np.testing.assert_allclose(one_start, one_start[0], rtol=1e-12)


def test_fewer_features_are_part_of_more_and_kernels_average_to_the_identity():
    few, many = (random_features(2, 3, d, seed=(5, 1)) for d in (4, 4000))
    np.testing.assert_allclose(few * np.sqrt(4), many[:, :4] * np.sqrt(4000), rtol=1e-12)
    # An entry of the kernel has a standard error of at most sqrt(2 / 4000) = 0.022.
    np.testing.assert_allclose(many @ many.T, np.eye(6), atol=0.1)
    with pytest.raises(ValueError, match="n_features"):
        random_features(2, 3, 0)


def test_pretrained_logits_are_the_nearest_in_the_span():
    features = random_features(3, 5, 6, seed=1)
    teacher = np.random.default_rng(0).normal(size=(2, 3, 5))
    found = experiment.pretrained(features, teacher)
    centered = teacher - teacher.mean(axis=-1, keepdims=True)
    rest = (centered - found).reshape(2, -1)
    np.testing.assert_allclose(rest @ features, 0, atol=1e-12)
    weights, *_ = np.linalg.lstsq(features, found.reshape(2, -1).T)
    np.testing.assert_allclose(features @ weights, found.reshape(2, -1).T, atol=1e-12)


@pytest.mark.parametrize("profile", experiment.PROFILES)
def test_profiles_have_as_many_priors_as_numbers_of_features(profile):
    config = experiment.PROFILES[profile]
    assert len(config.priors) == len(config.features)
    assert list(config.features) == sorted(config.features)
