"""Guards experiment interventions_on_the_curve: all rules are in it, and what GRPO is in expectation."""

import numpy as np

from entropy_theory import policy, tabular
from entropy_theory.advantages import group_normalization_gain
from entropy_theory.update_rules import RULES
from simulations.experiments import interventions_on_the_curve as experiment


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
