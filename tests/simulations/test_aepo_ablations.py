"""Guards experiment aepo_ablations: that both ablations collapse, exactly and from samples."""

import dataclasses

import pytest

from simulations.experiments import aepo_ablations as experiment


def test_both_ablations_collapse_but_not_by_variance():
    config = dataclasses.replace(
        experiment.PROFILES["default"], right_answers=(4, 8), steps=400, n_starts=4,
        sampled_steps=100, n_sampled_runs=4,
    )
    dataset = experiment.compute(config, 0, lambda steps: None)
    end = dataset.entropy.isel(step=-1).median(["right_answers", "start"])
    assert float(end.sel(variant="AEPO")) == pytest.approx(config.target, abs=0.05)
    assert float(end.drop_sel(variant="AEPO").max()) < 0.15
    reward = dataset.sampled_reward.mean(["sampled_run", "sampled_step"])
    assert float(reward.sel(variant="ablation (2)")) > float(reward.sel(variant="GRPO")) - 0.01
