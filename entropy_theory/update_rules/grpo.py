"""GRPO: group-normalized advantages under PPO's clipped ratio, no KL term (AEPO, section 3.1, Eq. 1).

    J = E (1/G) sum_i (1/|o_i|) sum_t min( r A, clip(r, 1 - eps_low, 1 + eps_high) A )
"""

from __future__ import annotations

from entropy_theory import advantages, rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch, masked_sum
from entropy_theory.update_rules.clipped_ratio import (
    NORMALIZATIONS,
    check_clip,
    length_factor,
    ratio,
    unclipped,
)
from entropy_theory.update_rules.rule import Needs, UpdateRule, update_rule


@update_rule("grpo")
class Grpo(UpdateRule):
    """The score is ratio x advantage x length factor where PPO does not clip, 0 where it does."""

    clip_low: float = 0.2
    """eps_low: with a negative advantage, no gradient once the ratio is below 1 - eps_low."""
    clip_high: float = 0.2
    """eps_high: with a positive advantage, no gradient once the ratio is above 1 + eps_high."""
    normalization: str = "sequence-mean"
    """"sequence-mean" (printed), "token-mean" (DAPO, verl) or "dr-grpo" (over a constant length; Dr.GRPO
    itself also drops the standard deviation: estimator "group-centered")."""
    std_ddof: int = 0
    """0 takes the standard deviation over G (population), 1 over G - 1 (verl, TRL)."""
    estimator: str = "group-normalized"
    """The estimator of advantages, one of `advantages.ESTIMATORS` ("leave-one-out" is RLOO)."""
    dual_clip: float | None = None
    """A ratio c > 1 above which a negative advantage has no gradient either (3 in verl), or None."""
    dynamic_sampling: bool = False
    """Whether groups whose rewards are all equal are left out of the means, instead of diluting them
    (DAPO, which then fills the batch with other prompts: EntropyTrainer's ``resampling_rounds``)."""
    overlong_buffer: int | None = None
    """The number of last tokens before ``max_length`` over which the reward falls linearly by up to 1
    (DAPO); None for no such penalty."""
    group_size: int | None = None
    """Size of the groups over which states that are listed exactly take the expectation, by exact
    enumeration (binary rewards). With None the statistics are those of the rows, which for a listing is
    the limit of an infinite group."""
    max_length: int | None = None
    """L_max of "dr-grpo" (None: the longest sequence in the batch) and of ``overlong_buffer``."""

    def _check(self) -> None:
        check_clip(self.clip_low, self.clip_high)
        check_choice(self.normalization, NORMALIZATIONS, "normalization")
        check_choice(self.estimator, advantages.ESTIMATORS, "advantage estimator")
        if self.std_ddof not in (0, 1):
            raise ValueError(f"std_ddof must be 0 or 1, got {self.std_ddof}")
        if self.dual_clip is not None and not self.dual_clip > 1:
            raise ValueError(f"dual_clip must be None or above 1, got {self.dual_clip}")
        if self.overlong_buffer is not None and self.max_length is None:
            raise ValueError("overlong_buffer needs max_length, the length at which the penalty is 1")
        if self.group_size is not None and (
            self.dynamic_sampling or self.estimator != "group-normalized"
        ):
            raise ValueError(
                "group_size is the exact expectation of the group-normalized advantage: leave out "
                "dynamic_sampling and estimator"
            )
        for name, value, least in (("group_size", self.group_size, 2),
                                   ("max_length", self.max_length, 1),
                                   ("overlong_buffer", self.overlong_buffer, 1)):
            if value is not None and not (isinstance(value, int) and value >= least):
                raise ValueError(f"{name} must be None or an integer of at least {least}, got {value}")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        if self.dual_clip is None or not on_policy:
            return ()
        return (f"dual_clip of '{self.name}' never binds where every step is on-policy: take several "
                "optimizer steps on each batch, or leave it None",)

    @property
    def _needs(self) -> Needs:
        counts = self.estimator == "leave-one-out" or (self.std_ddof and self.group_size is None)
        refused = (
            f"option group_size of '{self.name}' takes an exact expectation over groups, and cannot be "
            "sampled: leave group_size None, and set the number of samples of each prompt")
        return Needs(reads={RATIO, "rows"} if counts else {RATIO},
                     listing="" if self.group_size is None else refused)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        scale = xp.zeros_like(batch.log_prob)
        for rows in batch.kinds:
            advantage = self._advantage(batch, rows)
            counted = rows
            if self.dynamic_sampling:
                counted = rows & ~advantages.without_signal(self._shaped(batch), rows)
            factor = length_factor(batch, counted, self.normalization, self.max_length)
            if self.dynamic_sampling:
                factor = factor * _mass_ratio(batch, rows, counted)
            scale = xp.where(counted, advantage * factor, scale)
        return batch.with_prepared(**{"grpo.scaled_advantage": scale})

    def _advantage(self, batch: TokenBatch, rows: Array) -> Array:
        if batch.advantage is not None:
            return batch.advantage
        batch = self._shaped(batch)
        if self.estimator == "group-normalized" and self.group_size is None:
            return advantages.group_normalized(batch, rows, ddof=self.std_ddof)
        if self.group_size is None:
            return advantages.ESTIMATORS[self.estimator](batch, rows)
        return advantages.expected_group_normalized(
            batch, rows, group_size=self.group_size, ddof=self.std_ddof
        )

    def _shaped(self, batch: TokenBatch) -> TokenBatch:
        if self.overlong_buffer is None or self.max_length is None:
            return batch
        penalty = advantages.overlong_penalty(batch, self.max_length, self.overlong_buffer)
        return batch.replace(reward=batch.reward + penalty)

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        xp = namespace(batch.log_prob)
        found = xp.zeros_like(batch.log_prob)
        for rows in batch.kinds:
            found = xp.where(rows, self._advantage(batch, rows), found)
        return found

    def _ratio(self, batch: TokenBatch) -> Array:
        return ratio(batch)

    def _is_unclipped(self, r: Array, advantage: Array) -> Array:
        bound = unclipped(r, advantage, self.clip_low, self.clip_high)
        if self.dual_clip is None:
            return bound
        return bound & ((advantage >= 0) | rounding.at_most(r, self.dual_clip))

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        xp = namespace(batch.log_prob)
        scale = batch.prepared["grpo.scaled_advantage"]
        r = self._ratio(batch)
        return xp.where(self._is_unclipped(r, scale), r * scale, xp.zeros_like(r))

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the ``clipped_fraction`` of tokens, and ``groups_without_signal``.

        The latter is the share of groups with equal rewards; it is missing where the batch brings its own
        ``advantage``.
        """
        batch = self._prepared(batch)
        xp = namespace(batch.log_prob)
        rows = batch.is_ordinary
        clipped = rows & ~self._is_unclipped(
            self._ratio(batch), batch.prepared["grpo.scaled_advantage"]
        )
        found, tokens = (xp.sum(xp.astype(mask, batch.log_prob.dtype), axis=(-2, -1))
                         for mask in (clipped, rows))
        shown = {"clipped_fraction": found / xp.clip(tokens, 1, None)}
        if batch.advantage is None:
            shown["groups_without_signal"] = advantages.equal_reward_groups(batch, rows)
        return shown


def _mass_ratio(batch: TokenBatch, rows: Array, counted: Array) -> Array:
    """The weight of ``rows`` over that of ``counted``, or over 1 where nothing counts: [..., 1, 1]."""
    xp = namespace(batch.weight)
    total, part = masked_sum(batch.weight, rows), masked_sum(batch.weight, counted)
    return total / xp.where(part > 0, part, xp.ones_like(part))
