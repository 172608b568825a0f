"""Guards experiment intervention_sweeps: strengths, their effect, and where control gains reward."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Samples, simulate
from simulations.experiments import intervention_sweeps as experiment

CONFIG = experiment.Config(
    families=("five right",), bonus=(0.0, 0.1, 0.3), reference=(0.0, 0.1, 0.5),
    clip_cov=(0.0, 0.1, 0.3), kl_cov=(0.0, 1.0, 2.0), clip_high=(0.1, 0.2, 1.0), n_starts=4,
    length=0.5,
)


@pytest.fixture(scope="module")
def dataset():
    return experiment.compute(CONFIG, 0, lambda steps: None).squeeze("family")


def test_strength_0_is_the_base_rule(dataset):
    family = experiment.FAMILIES["five right"]
    run = simulate(
        family.problem.starts(4, 0), family.problem.correct,
        Dynamics(rule=get("grpo"), learning_rate=family.learning_rate, steps=120, steps_per_batch=4,
                 samples=Samples()),
    )
    for rule in ("entropy bonus", "reference KL"):
        one = dataset.sel(rule=rule).isel(level=0)
        np.testing.assert_allclose(one.final_reward, run.reward[-1], rtol=1e-12)
    same = dataset.sel(rule="clip-higher").isel(level=1)  # clip_high 0.2, GRPO's
    np.testing.assert_allclose(same.entropy.isel(record=-1), run.entropy[-1], rtol=1e-12)


def test_control_gains_reward_where_prompts_share_parameters():
    config = dataclasses.replace(
        experiment.PROFILES["default"], families=("one right, shared parameters",))
    base, strong = (
        experiment._train((config, 0, *config.families, "Clip-Cov", config.clip_cov.index(ratio)),
                          lambda steps: None) for ratio in (0.0, 0.4))
    gain = strong.final_reward - base.final_reward
    assert gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(gain.size)
    assert gain.mean() > 0.02
    assert strong.entropy.isel(record=-1).mean() > base.entropy.isel(record=-1).mean()


@pytest.mark.parametrize("profile", experiment.PROFILES)
def test_profiles_give_each_rule_as_many_strengths(profile):
    config = experiment.PROFILES[profile]
    assert len({len(config.strengths(rule)) for rule in experiment.RULES}) == 1
    assert set(config.families) <= set(experiment.FAMILIES)
