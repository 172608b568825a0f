"""Guards experiment pass_at_k: who overtakes whom, and that sharing is what the docstring says."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.experiments import pass_at_k as experiment
from simulations.problems.bandits import Bandit, shuffled


@pytest.fixture(scope="module")
def dataset():
    config = dataclasses.replace(
        experiment.PROFILES["default"], sharing=(0.0, 0.5), right_answers=(4,), steps=150)
    return experiment.compute(config, 0, lambda steps: None)


def test_independent_logits_lose_no_prompt_to_rules_centered_in_the_group(dataset):
    own = dataset.sel(sharing=0)
    for rule in ("GRPO", "RLOO"):
        gain = own.pass_at_k.sel(rule=rule).isel(step=-1) - own.pass_at_k.sel(rule=rule).isel(step=0)
        assert (gain >= 0).all()


def test_shared_parameters_let_the_base_overtake_and_a_bonus_puts_it_off(dataset):
    shared = dataset.sel(sharing=0.5).isel(right_answers=0)
    mean = shared.pass_at_k.mean("start")
    for rule in ("GRPO", "RLOO", "REINFORCE++", "AEPO"):
        one = mean.sel(rule=rule)
        assert one.isel(step=-1).sel(k=1) > 2 * one.isel(step=0).sel(k=1)
        assert one.isel(step=-1).sel(k=1024) < one.isel(step=0).sel(k=1024)
    end = mean.isel(step=-1).sel(k=1024)
    assert end.sel(rule="entropy bonus") > end.sel(rule="GRPO")


def test_leave_one_out_is_the_centered_reward_times_g_over_g_minus_one():
    config = experiment.Config()
    logits, correct = shuffled(
        Bandit(n_actions=config.n_actions, n_correct=4, accuracies=(0.01, 0.1, 0.7)), 4, 0, 4)
    ends = [
        simulate(logits, correct,
                 Dynamics(rule=get("reinforce", estimator=estimator), learning_rate=rate, steps=20,
                          samples=Samples(group_size=8), seed=3)).final_logits
        for estimator, rate in (("leave-one-out", 7.0), ("group-centered", 8.0))
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
