"""The base of rules that modify another rule: everything they do not change is the base rule's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import length_factor
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import UpdateRule, components, merged_metrics


@dataclass(frozen=True, kw_only=True, slots=True)
class Modifier(UpdateRule):
    """A rule with a base rule, to which it passes on all that a subclass does not define."""

    base: UpdateRule = field(default_factory=Grpo)
    """The rule that is modified."""

    def __post_init__(self) -> None:
        if not isinstance(self.base, UpdateRule):
            raise ValueError(f"base of '{self.name}' must be an update rule, got {self.base!r}")
        # Prepared columns go by the rule's name; those of the terms of a sum are kept apart.
        below = (part for path, part in components(self.base)
                 if not any(isinstance(step, int) for step in path))
        if any(part.name == self.name for part in below):
            raise ValueError(
                f"'{self.name}' is among the rules below it, too: give it once, or add two rules with "
                "combine")
        UpdateRule.__post_init__(self)

    def controller(self) -> Any | None:
        return self.base.controller()

    def coefficient_controller(self) -> Any | None:
        return self.base.coefficient_controller()

    def _only_controller(self, own: Any | None) -> Any | None:
        """Return the rule's own loop, or the base rule's; raise ValueError where there are both."""
        other = self.base.coefficient_controller()
        if own is not None and other is not None:
            raise ValueError("at most one of the rules may adapt its coefficient")
        return own if own is not None else other

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        return self.base.advantages(batch)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        return self.base.metrics(batch)

    def _with_base_metrics(self, batch: TokenBatch, own: dict[str, Array]) -> dict[str, Array]:
        """Join ``own`` with the base rule's metrics; one with the name of our own is ``base.name``."""
        return merged_metrics(("", own), (self.base.name, self.base.metrics(batch)))

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return self.base.prepare(batch)

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        return self.base.scores(batch)

    def _state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        return dict(self.base.state_terms(batch))


def clip_bounds(rule: UpdateRule) -> tuple[float, float]:
    """(low, high) of the clip on token ratios, which a second batch shares; PPO's 0.2 without one.

    GSPO has none: its bounds are for sequence ratios and would silence tokens.
    """
    rule = _innermost(rule)
    if isinstance(rule, Grpo) and type(rule)._ratio is Grpo._ratio:
        return rule.clip_low, rule.clip_high
    return 0.2, 0.2


def length_normalization(rule: UpdateRule) -> tuple[str, int | None]:
    """(normalization, max_length) of the policy-gradient term, which penalties share."""
    rule = _innermost(rule)
    return getattr(rule, "normalization", "sequence-mean"), getattr(rule, "max_length", None)


def penalty_factor(
    batch: TokenBatch, base: UpdateRule, normalization: str | None = None
) -> TokenColumn:
    """Return the factor of a penalty per token that averages it as ``base`` averages its own terms.

    [..., sequences, positions], 0 outside ordinary rows. ``normalization`` replaces the base's.
    """
    rows = batch.is_ordinary
    own, length = length_normalization(base)
    factor = length_factor(batch, rows, normalization or own, length)
    xp = namespace(factor)
    return xp.where(rows, factor, xp.zeros_like(factor))


def _innermost(rule: UpdateRule) -> UpdateRule:
    while isinstance(rule, Modifier):
        rule = rule.base
    return rule
