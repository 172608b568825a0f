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


def at_equal_reward(family):
    """Entropy when the mean reward reaches 0.9, beyond GRPO's from the same start: [rule, start]."""
    config = dataclasses.replace(experiment.PROFILES["default"], families=(family,), n_starts=4,
                                 steps=160, rewards=(0.9,))
    dataset = experiment.compute(config, 0, lambda steps: None).isel(family=0, reward_level=0)
    assert dataset.entropy_at_reward.notnull().all()
    return dataset.entropy_at_reward - dataset.entropy_at_reward.sel(rule="GRPO", drop=True)


def test_with_one_right_answer_no_rule_keeps_more_entropy_than_grpo():
    """The reward fixes the right answer's probability, and with it most of the entropy."""
    beyond = at_equal_reward("one right answer, mixed").mean("start")
    assert abs(beyond).max() < 0.05
    assert abs(beyond.sel(rule="Clip-Cov")) < 0.03


def test_gains_do_not_add_up():
    """AEPO on a bonus keeps less than the two gains together, and less than the bonus alone."""
    beyond = at_equal_reward("ten right answers, peaked")
    bonus, both = beyond.sel(rule="entropy bonus"), beyond.sel(rule="AEPO on a bonus")
    assert bonus.mean("start") > 0.05
    for lost in (beyond.sel(rule="AEPO") + bonus - both, bonus - both):
        error = float(lost.std("start", ddof=1)) / len(lost) ** 0.5
        assert lost.mean("start") > 2 * error


@pytest.mark.parametrize("profile", experiment.PROFILES)
def test_families_of_every_profile_exist(profile):
    assert set(experiment.PROFILES[profile].families) <= set(experiment.FAMILIES)
