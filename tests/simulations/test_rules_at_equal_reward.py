"""Guards experiment rules_at_equal_reward: what it finds."""

import dataclasses

import numpy as np
import pytest

from simulations.experiments import rules_at_equal_reward as experiment


def test_covariance_rules_save_little_at_equal_reward_and_a_bonus_more():
    """Clip-Cov has more entropy at the same step because it is slower."""
    config = dataclasses.replace(
        experiment.PROFILES["default"], families=("five right answers, hard",), n_starts=6,
        steps=240, rewards=(0.9,),
    )
    dataset = experiment.compute(config, 0, lambda steps: None).isel(family=0)
    gap = (dataset.entropy_at_reward - dataset.entropy_at_reward.sel(rule="GRPO", drop=True)).isel(
        reward_level=0)
    at_reward, error = gap.mean("start"), gap.std("start", ddof=1) / np.sqrt(gap.count("start"))
    reward = dataset.reward.mean("start").isel(step=-1)
    assert reward.sel(rule="Clip-Cov") < reward.sel(rule="GRPO")
    for rule in ("Clip-Cov", "KL-Cov"):
        assert abs(at_reward.sel(rule=rule)) < 0.15
    bonus = at_reward.sel(rule="entropy bonus")
    assert bonus > 3 * error.sel(rule="entropy bonus")
    assert bonus > at_reward.sel(rule="Clip-Cov")


@pytest.mark.parametrize("profile", experiment.PROFILES)
def test_families_of_every_profile_exist(profile):
    assert set(experiment.PROFILES[profile].families) <= set(experiment.FAMILIES)
