"""REINFORCE: grad J = E[ A grad log pi ] (AEPO, section 3.1).

As printed, up to a constant, this is the normalization "dr-grpo"; the default divides each answer by its
own length, as GRPO and AEPO's Eq. 1 do.

No importance ratio: on samples of an older policy this is the plain score-function estimate, as the
formula reads. What it does to entropy: `entropy-mechanism.theorem-1`. On the rows of a second batch
(AEPO, Figure 2: REINFORCE on tempered samples alone) it is the same formula; give the batch tempered
rows only.
"""

from __future__ import annotations

from entropy_theory import advantages
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import NORMALIZATIONS, length_factor
from entropy_theory.update_rules.rule import Needs, UpdateRule, update_rule


@update_rule("reinforce")
class Reinforce(UpdateRule):
    """The score is advantage x length factor."""

    estimator: str = "reward"
    """The estimator of advantages: "reward" (no baseline, the papers' REINFORCE) or another of
    `advantages.ESTIMATORS`; a batch that brings its own ``advantage`` column uses that."""
    estimator_parameter: float | None = None
    """The number that an estimator takes, as for GRPO."""
    normalization: str = "sequence-mean"
    """The normalization by length: "sequence-mean", "token-mean" or "dr-grpo"."""

    def _check(self) -> None:
        advantages.check_estimator(self.estimator, self.estimator_parameter)
        check_choice(self.normalization, NORMALIZATIONS, "normalization")

    @property
    def _needs(self) -> Needs:
        return Needs(reads={"rows"} if self.estimator in advantages.COUNTING else NOTHING)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        score = xp.zeros_like(batch.log_prob)
        for rows in batch.kinds:
            factor = length_factor(batch, rows, self.normalization)
            score = xp.where(rows, self._advantage(batch, rows) * factor, score)
        return batch.with_prepared(**{"reinforce.score": score})

    def _advantage(self, batch: TokenBatch, rows: Array) -> Array:
        if batch.advantage is not None:
            return batch.advantage
        return advantages.estimate(self.estimator, batch, rows, parameter=self.estimator_parameter)

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        xp = namespace(batch.log_prob)
        found = xp.zeros_like(batch.log_prob)
        for rows in batch.kinds:
            found = xp.where(rows, self._advantage(batch, rows), found)
        return found

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        return batch.prepared["reinforce.score"]
