"""Update rules by name: each is one file here, and runs unchanged on numpy and torch.

>>> from entropy_theory import update_rules
>>> rule = update_rules.get("aepo", alpha=1.0, target=0.5)
"""

from __future__ import annotations

import dataclasses
from typing import Any

from entropy_theory.update_rules.aent import Aent
from entropy_theory.update_rules.aepo import Aepo
from entropy_theory.update_rules.clip_cov import ClipCov
from entropy_theory.update_rules.clip_higher import ClipHigher
from entropy_theory.update_rules.combine import Combined
from entropy_theory.update_rules.entropy_advantage import EntropyAdvantage
from entropy_theory.update_rules.entropy_bonus import EntropyBonus
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.gspo import Gspo
from entropy_theory.update_rules.kl_cov import KlCov
from entropy_theory.update_rules.natural_gradient import NaturalGradient
from entropy_theory.update_rules.reference_kl import ReferenceKl
from entropy_theory.update_rules.reinforce import Reinforce
from entropy_theory.update_rules.rule import UpdateRule
from entropy_theory.user_errors import lookup

RULES: dict[str, type[UpdateRule]] = {
    rule.name: rule
    for rule in (
        Reinforce, Grpo, Gspo, ClipHigher, NaturalGradient, EntropyBonus, EntropyAdvantage,
        ReferenceKl, ClipCov, KlCov, Aepo, Aent,
    )
}

__all__ = ["RULES", "UpdateRule", "combine", "get"]


def get(name: str, **options: Any) -> UpdateRule:
    """The update rule ``name`` with its options; all options have the papers' values as defaults.

    ``base`` may be given by name ("grpo") or as a rule.

    Raises:
        ValueError: an unknown rule or option (the nearest names are given), or a bad value.
    """
    rule = lookup(RULES, name, "update rule")
    known = {f.name: f for f in dataclasses.fields(rule)}
    for option in options:
        lookup(known, option, f"option of update rule '{name}':")
    if isinstance(options.get("base"), str):
        options["base"] = get(options["base"])
    return rule(**options)


def combine(*rules: UpdateRule) -> UpdateRule:
    """The rule whose scores and state terms are the sums over ``rules``."""
    return Combined(rules=rules)
