"""Guards the defaults of rules, as papers print them, and that a rule is a frozen record of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from entropy_theory import advantages, policy
from entropy_theory.update_rules import RULES, combine, get
from entropy_theory.update_rules.bonus import Bonus

MOVED = {"entropy-bonus": frozenset({"entropy"}), "aent": frozenset({"clamped_entropy"})}
"""The state functions whose gradients a rule adds."""

PRINTED = {
    "grpo": {"clip_low": 0.2, "clip_high": 0.2},
    # The GSPO paper.
    "gspo": {"clip_low": 3e-4, "clip_high": 4e-4},
    # The DAPO paper.
    "clip-higher": {"clip_low": 0.2, "clip_high": 0.28},
    # Entropy-Reg and Entropy-Adv, AEPO, Table 4.
    "entropy-bonus": {"coefficient": 0.015},
    "entropy-advantage": {"beta": 0.4, "kappa": 2.0},
    # Entropy Mechanism's recipes.
    "clip-cov": {"ratio": 2e-4, "lower": 1.0, "upper": 5.0},
    "kl-cov": {"ratio": 2e-3, "coefficient": 1.0},
    "reference-kl": {"coefficient": 0.01},
    # AEPO, Table 4; it prints no alpha.
    "aepo": {"temperature_high": 1.2, "temperature_low": 0.8, "target": 0.5, "alpha": 1.0},
    # AEnt's settings of its first model.
    "aent": {"coefficient": 0.002, "removed_fraction": 0.33, "coefficient_step": 0.002,
             "coefficient_low": 6e-4, "coefficient_high": 9e-3, "entropy_low": 0.15,
             "entropy_high": 0.24, "warm_up_steps": 30},
    # What each state term without a coefficient of its own begins with.
    "diverse-bonus": {"coefficient": 0.05, "coefficient_low": 0.0, "coefficient_high": 1.0},
}


@pytest.mark.parametrize("name", PRINTED)
def test_defaults_are_the_printed_ones(name):
    rule = get(name)
    assert {option: getattr(rule, option) for option in PRINTED[name]} == PRINTED[name]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_a_frozen_record_without_a_dictionary(name):
    rule = get(name)
    assert "__dataclass_fields__" in vars(type(rule))
    assert not hasattr(rule, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(rule, dataclasses.fields(rule)[0].name, None)


@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_says_of_itself_is_said_without_a_call(name):
    rule = get(name)
    assert rule.changes_rewards is False
    assert rule.needs_listing is (name == "natural-gradient")
    assert isinstance(rule.is_sequence_wise, bool)
    assert rule.needs_independent_logits is (name == "natural-gradient")
    assert rule.target == (0.5 if name == "aepo" else None)
    assert rule.moved_state_functions == MOVED.get(name, frozenset())


def test_what_a_sum_of_rules_says_of_itself_is_said_without_a_call():
    both = combine(get("gspo"), get("entropy-bonus"))
    assert combine(get("gspo"), get("clip-cov")).is_sequence_wise is False
    assert combine(get("gspo"), get("gspo")).is_sequence_wise is True
    assert both.prepares_every_step is False
    assert both.second_batch_options == {}
    assert both.moved_state_functions == {"entropy"}


def test_a_bonus_begins_with_the_coefficient_of_entropy_regularization():
    (coefficient,) = (f.default for f in dataclasses.fields(Bonus) if f.name == "coefficient")
    assert coefficient == 0.015


def test_functions_of_the_theory_have_the_defaults_that_they_document():
    logits = np.array([0.3, -1.0, 2.0])
    for ours, theirs in zip(
            policy.shift_logits_unseen(logits), policy.shift_logits(logits, 1.0), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    right = np.array([0.2, 0.7])
    np.testing.assert_array_equal(
        advantages.group_normalization_gain(right, 1 - right, group_size=4),
        advantages.group_normalization_gain(right, 1 - right, group_size=4, ddof=0))


def test_a_penalty_of_the_reward_changes_rewards():
    assert get("reference-kl", placement="reward", estimator="k1").changes_rewards is True
