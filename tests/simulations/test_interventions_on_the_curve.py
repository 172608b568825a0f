"""Guards experiment interventions_on_the_curve: all rules are in it, and which leave the curve."""

import dataclasses

import numpy as np
import pytest

from entropy_theory import policy, tabular
from entropy_theory.advantages import group_normalization_gain
from entropy_theory.update_rules import RULES
from simulations.experiments import interventions_on_the_curve as experiment

GAP = "reward_gap_mean"


@pytest.fixture(scope="module")
def dataset():
    config = dataclasses.replace(
        experiment.PROFILES["default"], n_starts=6, steps=140, shares=(0.9, 0.8, 0.7, 0.6, 0.5))
    return experiment.compute(config, 0, lambda steps: None)


def test_every_rule_is_compared():
    config = experiment.PROFILES["default"]
    compared = {rule.name for mode in experiment.MODES
                for rule in experiment.rules(config, mode).values()}
    assert compared <= set(RULES)
    assert len(compared) >= 13


def test_exact_grpo_is_that_of_its_groups():
    """Its step is kappa(p) grad p with the kappa of 8 samples, not of infinitely many."""
    config = experiment.PROFILES["default"]
    problem = experiment.FAMILIES["five right, graded"]
    logits, right = problem.starts(1, seed=0), problem.reward
    pi = policy.softmax(logits)
    p = (pi * right).sum(-1, keepdims=True)
    kappa = group_normalization_gain(p, 1 - p, group_size=config.group_size)
    expected = kappa * pi * (right - p) / p.shape[1]
    found = 0
    for rule in experiment.rules(config, experiment.EXACT).values():
        base = getattr(rule, "base", rule)
        if base.name == "grpo":
            step = tabular.logit_step(logits, tabular.exact_batch(logits, right), base)
            np.testing.assert_allclose(step, expected, atol=1e-14)
            found += 1
    assert found == 8


def test_a_rule_is_on_its_own_curve_and_slower_grpo_near_it(dataset):
    sampled = dataset.sel(mode="sampled")
    assert (sampled[GAP].sel(rule=experiment.BASE) == 0).all()
    for control in (experiment.HALF_STEP, experiment.OTHER_SAMPLES):
        gap = abs(sampled[GAP].sel(rule=control))
        assert ((gap > 0) & (gap < 0.02)).all(), control
    half = sampled.reward.sel(rule=experiment.HALF_STEP).isel(step=-1)
    assert (half < sampled.reward.sel(rule=experiment.BASE).isel(step=-1)).all()


@pytest.mark.parametrize("mode", experiment.MODES)
def test_terms_for_entropy_leave_the_curve_upwards_where_several_answers_are_right(dataset, mode):
    five = dataset.sel(family="five right, graded", mode=mode)
    one = dataset.sel(family="one right, graded", mode=mode)
    for rule in ("entropy bonus", "AEnt"):
        assert five[GAP].sel(rule=rule) > 0.015
        assert five.reward_gap_low.sel(rule=rule) > 0
        assert 0 < one[GAP].sel(rule=rule) < 0.015
        assert five.entropy_gap_mean.sel(rule=rule) > 0
        # One right answer has no entropy of its own.
        assert five.within_gap_mean.sel(rule=rule) > 0.02
        assert one.within_gap_mean.sel(rule=rule) == 0
    assert five[GAP].sel(rule="AEPO, target 1") < -0.01, "it lowers entropy to its target"
    assert five[GAP].sel(rule="AEPO, target 3") > 0.01, "it is always hot"


def test_the_papers_rules_slide_on_the_curve(dataset):
    """Clip-Cov and KL-Cov are slower at a step and not off at an entropy."""
    sampled = dataset.sel(mode="sampled")
    for rule in ("Clip-Cov", "KL-Cov", "clip-higher"):
        assert (abs(sampled[GAP].sel(rule=rule)) < 0.015).all()
    last = sampled.isel(step=-1).mean("start")
    assert (last.entropy.sel(rule="Clip-Cov") > last.entropy.sel(rule=experiment.BASE) + 0.02).all()


def test_the_natural_gradient_keeps_right_answers_apart(dataset):
    exact = dataset.sel(mode="exact", rule="natural gradient")
    assert exact[GAP].sel(family="five right, graded") > 0.05
    assert abs(exact[GAP].sel(family="one right, graded")) < 0.02
    sampled = dataset.sel(mode="sampled", rule="natural gradient")
    assert sampled[GAP].isnull().all(), "it has no samples"
    assert (sampled.side == experiment.UNKNOWN).all()
