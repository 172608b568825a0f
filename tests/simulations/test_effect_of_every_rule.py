"""Guards experiment effect_of_every_rule: what is compared with GRPO, and where there is no number."""

import dataclasses

import numpy as np

from entropy_theory.update_rules import RULES
from simulations.experiments import effect_of_every_rule as experiment

SMALL = dataclasses.replace(experiment.PROFILES["smoke"], rules=("grpo", "dppo", "natural-gradient"))


def test_rules_differ_from_grpo_where_they_differ_from_it():
    """A rule compared with another rule's run, or with one on other samples."""
    found = experiment.compute(SMALL, 0, lambda steps: None)
    on_policy, stale = (found.entropy.sel(rule="dppo", steps_per_batch=k).values for k in (1, 5))
    assert (found.entropy.sel(rule="grpo") == 0).all()
    # Without a moved ratio a token is never clipped, and scores are GRPO's to rounding; 40 steps.
    np.testing.assert_allclose(on_policy, 0, atol=1e-12)
    assert (np.abs(stale) > 1e-3).all()
    # Its Fisher matrix is that of independent logits: it has no training, and no wrong number.
    assert np.isnan(found.entropy.sel(rule="natural-gradient")).all()
    assert found.ratio.sel(rule="natural-gradient") > 1


def test_every_rule_is_measured():
    assert experiment.Config().rules == tuple(RULES)
