r"""The base of policy-gradient losses: a weight of each token times its advantage.

.. math::

    \text{score}_{it} = w_{it}\, A_i\, \frac{N}{B\, |o_i|}
    \quad\text{(normalization "sequence-mean")}

A loss is its weight w: PPO's ratio where it is not clipped (`grpo`), one ratio per sequence (`gspo`).
All of them share estimators of advantages, normalization by length, dynamic sampling and the overlong
penalty, as options.
"""

from __future__ import annotations

from dataclasses import dataclass

from entropy_theory import advantages
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import OPTIONAL_COLUMNS, TokenBatch, masked_sum
from entropy_theory.update_rules.clipped_ratio import NORMALIZATIONS, length_factor
from entropy_theory.update_rules.rule import Needs, UpdateRule

SCALED = "policy-gradient.scaled_advantage"
"""The prepared column of advantage times length factor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyGradient(UpdateRule):
    """The score is weight x advantage x length factor; a subclass defines ``_weight`` and ``_needs``."""

    normalization: str = "sequence-mean"
    """"sequence-mean" (printed), "token-mean" (DAPO, verl) or "dr-grpo" (over a constant length). Dr.GRPO
    itself also drops the standard deviation, as estimator "group-centered" does."""
    std_ddof: int = 0
    """0 takes the standard deviation over G (population), 1 over G - 1 (verl, TRL)."""
    estimator: str = "group-normalized"
    """The estimator of advantages, one of `advantages.ESTIMATORS` ("leave-one-out" is RLOO)."""
    estimator_parameter: float | None = None
    """The number that an estimator takes: K of "quantile" (.4), k of "pass-at-k" and "best-of-k" (4)."""
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
    """L_max of "dr-grpo" (the longest sequence in the batch if None) and of ``overlong_buffer``."""

    def _check(self) -> None:
        check_choice(self.normalization, NORMALIZATIONS, "normalization")
        advantages.check_estimator(self.estimator, self.estimator_parameter)
        if self.std_ddof not in (0, 1):
            raise ValueError(f"std_ddof must be 0 or 1, got {self.std_ddof}")
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

    def _reading(self, *names: str, every_step: bool = False) -> Needs:
        """Return the needs of a rule whose weight reads ``names``; its advantages may read rows too.

        Args:
            names: as ``reads`` of `Needs`; optional columns among them are needed.
            every_step: as in `Needs`.
        """
        columns = tuple(name for name in names if name in OPTIONAL_COLUMNS)
        counts = self.estimator in advantages.COUNTING or (self.std_ddof and self.group_size is None)
        refused = (
            f"option group_size of '{self.name}' takes an exact expectation over groups, and cannot be "
            "sampled: leave group_size None, and set the number of samples of each prompt")
        return Needs(reads={*names, "rows"} if counts else {*names}, columns=columns,
                     every_step=every_step, listing="" if self.group_size is None else refused)

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
        return batch.with_prepared(**{SCALED: scale})

    def _advantage(self, batch: TokenBatch, rows: Array) -> Array:
        if batch.advantage is not None:
            return batch.advantage
        return self._estimate(self._shaped(batch), rows)

    def _estimate(self, batch: TokenBatch, rows: Array) -> Array:
        """Return the advantages of ``rows`` from their rewards: [..., sequences, positions]."""
        if self.group_size is None:
            return advantages.estimate(self.estimator, batch, rows, ddof=self.std_ddof,
                                       parameter=self.estimator_parameter)
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

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        """Return the factor of the advantage, ratio included: [..., sequences, positions].

        Args:
            batch: the prepared batch.
            advantage: the advantage times a length factor that is not negative: only its sign counts.
        """
        raise NotImplementedError

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scale = batch.prepared[SCALED]
        return self._weight(batch, scale) * scale

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return ``clipped_fraction`` and ``groups_without_signal``.

        The first is the share of tokens whose weight is 0. The second is the share of groups with equal
        rewards; it is missing where the batch brings its own ``advantage``.
        """
        batch = self._prepared(batch)
        xp = namespace(batch.log_prob)
        rows = batch.is_ordinary
        silenced = rows & (self._weight(batch, batch.prepared[SCALED]) == 0)
        found, tokens = (xp.sum(xp.astype(mask, batch.log_prob.dtype), axis=(-2, -1))
                         for mask in (silenced, rows))
        shown = {"clipped_fraction": found / xp.clip(tokens, 1, None)}
        if batch.advantage is None:
            shown["groups_without_signal"] = advantages.equal_reward_groups(batch, rows)
        return shown


def _mass_ratio(batch: TokenBatch, rows: Array, counted: Array) -> Array:
    """The weight of ``rows`` over that of ``counted``, or over 1 where nothing counts: [..., 1, 1]."""
    xp = namespace(batch.weight)
    total, part = masked_sum(batch.weight, rows), masked_sum(batch.weight, counted)
    return total / xp.where(part > 0, part, xp.ones_like(part))
