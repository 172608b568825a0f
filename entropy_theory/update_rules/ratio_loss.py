"""The base of losses whose weight is a function of ratios of probabilities, 1 where these are."""

from __future__ import annotations

from dataclasses import dataclass

from entropy_theory.array_types import TokenColumn
from entropy_theory.reads import RATIO
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import ANCHORS, log_ratio
from entropy_theory.update_rules.policy_gradient import PolicyGradient
from entropy_theory.update_rules.rule import Needs


@dataclass(frozen=True, kw_only=True, slots=True)
class RatioLoss(PolicyGradient):
    """The score is weight x advantage x length factor; a subclass defines ``_weight`` of `_log_ratio`."""

    anchor: str = "old"
    """The policy below the ratio. "old" is the policy with which the batch was sampled, its probabilities
    recomputed. "sampling" is the one that
    tokens were really drawn from (another precision, an older policy)."""

    def _check(self) -> None:
        PolicyGradient._check(self)
        check_choice(self.anchor, ANCHORS, "anchor")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return same_on_policy(self.name) if on_policy and self.anchor == "old" else ()

    @property
    def _needs(self) -> Needs:
        if self.anchor == "old":
            return self._reading(RATIO)
        return self._reading("log_prob", ANCHORS[self.anchor])

    def _log_ratio(self, batch: TokenBatch) -> TokenColumn:
        return log_ratio(batch, ANCHORS[self.anchor])


def same_on_policy(name: str) -> tuple[str, ...]:
    """Warn that a loss of ratios is GRPO where these are 1, and what to do."""
    return (f"'{name}' is GRPO where every step is on-policy, with all ratios 1: take several optimizer "
            "steps on each batch, or use 'grpo'",)
