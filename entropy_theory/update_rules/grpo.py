"""GRPO: group-normalized advantages under PPO's clipped ratio, no KL term (AEPO, section 3.1, Eq. 1).

    J = E (1/G) sum_i (1/|o_i|) sum_t min( r A, clip(r, 1 - eps_low, 1 + eps_high) A )
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropy_theory import advantages
from entropy_theory.policy import Array, namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import (
    NORMALIZATIONS,
    check_clip,
    length_factor,
    ratio,
    unclipped,
)
from entropy_theory.update_rules.rule import UpdateRule
from entropy_theory.user_errors import lookup


@dataclass(frozen=True, kw_only=True, slots=True)
class Grpo(UpdateRule):
    """score = ratio x advantage x length factor where PPO does not clip, 0 where it does."""

    name: ClassVar[str] = "grpo"
    clip_low: float = 0.2
    """eps_low: with a negative advantage, no gradient once the ratio is below 1 - eps_low."""
    clip_high: float = 0.2
    """eps_high: with a positive advantage, no gradient once the ratio is above 1 + eps_high."""
    normalization: str = "sequence-mean"
    """"sequence-mean" (printed), "token-mean" (DAPO, verl) or "dr-grpo"."""
    std_ddof: int = 0
    """0: standard deviation over G (population); 1: over G - 1 (verl, TRL)."""
    group_size: int | None = None
    """Only for states listed exactly: take the expectation over groups of this size, by exact
    enumeration (binary rewards). None: the statistics of the rows as they are, which for a listing
    is the limit of an infinite group."""
    max_length: int | None = None
    """L_max of "dr-grpo"; None: the longest sequence in the batch."""

    def __post_init__(self) -> None:
        check_clip(self.clip_low, self.clip_high)
        lookup(dict.fromkeys(NORMALIZATIONS), self.normalization, "normalization")
        if self.std_ddof not in (0, 1):
            raise ValueError(f"std_ddof must be 0 or 1, got {self.std_ddof}")
        for name, value, least in (("group_size", self.group_size, 2),
                                   ("max_length", self.max_length, 1)):
            if value is not None and not (isinstance(value, int) and value >= least):
                raise ValueError(f"{name} must be None or an integer of at least {least}, got {value}")

    @property
    def pools_equal_rewards(self) -> bool:
        return self.std_ddof == 0 or self.group_size is not None

    @property
    def needs_listing(self) -> bool:
        return self.group_size is not None

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        scale = xp.zeros_like(batch.log_prob)
        for rows in (batch.is_ordinary, batch.is_tempered):
            if not bool(xp.any(rows)):
                continue
            advantage = self._advantage(batch, rows)
            factor = length_factor(batch, rows, self.normalization, self.max_length)
            scale = xp.where(rows, advantage * factor, scale)
        return batch.with_prepared(**{"grpo.scaled_advantage": scale})

    def _advantage(self, batch: TokenBatch, rows: Array) -> Array:
        if batch.advantage is not None:
            return batch.advantage
        if self.group_size is None:
            return advantages.group_normalized(batch, rows, ddof=self.std_ddof)
        return advantages.expected_group_normalized(
            batch, rows, group_size=self.group_size, ddof=self.std_ddof
        )

    def _scores(self, batch: TokenBatch) -> Array:
        xp = namespace(batch.log_prob)
        scale = batch.prepared["grpo.scaled_advantage"]
        r = ratio(batch)
        return xp.where(unclipped(r, scale, self.clip_low, self.clip_high), r * scale, 0 * r)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """``clipped_fraction`` of tokens; ``groups_without_signal``: share with equal rewards."""
        batch = self._prepared(batch)
        xp = namespace(batch.log_prob)
        rows = batch.is_ordinary
        count = xp.zeros_like(batch.log_prob) + 1
        clipped = rows & ~unclipped(
            ratio(batch), batch.prepared["grpo.scaled_advantage"], self.clip_low, self.clip_high
        )
        tokens = xp.sum(xp.where(rows, count, 0 * count), axis=(-2, -1))
        found = xp.sum(xp.where(clipped, count, 0 * count), axis=(-2, -1))
        return {
            "clipped_fraction": found / xp.where(tokens > 0, tokens, xp.ones_like(tokens)),
            "groups_without_signal": advantages.equal_reward_groups(batch, rows),
        }
