"""The bases of rules that reshape the advantages of ordinary rows and leave the rest to the base rule."""

from __future__ import annotations

from dataclasses import dataclass

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import lookup
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clip_cov import COV_COLUMN
from entropy_theory.update_rules.modifier import Modifier

SHAPED = "shaped.advantage"
"""A prepared column that is there while rules below are prepared on the advantages of one above them."""


def is_shaped(batch: TokenBatch) -> bool:
    """Whether the batch's advantages are a rule's, which all rules below it have had their part in."""
    return SHAPED in batch.prepared


@dataclass(frozen=True, kw_only=True, slots=True)
class Shaped(Modifier):
    """The base rule on shaped advantages (ordinary rows); a subclass defines ``_shape``.

    Where ``_shape`` compares tokens or answers, the subclass has a ``_prepare`` that calls `_reshaped`:
    adapters take one for the sign of a rule that needs the whole batch.
    """

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        """Return the advantages to use, from those of the base rule: [..., sequences, positions]."""
        raise NotImplementedError

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        batch.require(self.name, *self._needs.columns)
        advantage = self.base.advantages(batch)
        if is_shaped(batch):
            return advantage
        xp = namespace(advantage)
        return xp.where(batch.is_ordinary, self._shape(batch, advantage), advantage)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return self._reshaped(batch)

    def _reshaped(self, batch: TokenBatch) -> TokenBatch:
        given = batch.replace(advantage=self.advantages(batch)).with_prepared(**{SHAPED: batch.mask})
        prepared = self.base.prepare(given).prepared
        return batch.with_prepared(**{name: prepared[name] for name in prepared if name != SHAPED})


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyShaped(Shaped):
    """Advantages shaped by how likely a token is."""

    log_prob: str = "old"
    """Under which policy a token is likely. "old" is the policy that sampled. "current" is the policy
    being trained, as in the authors' code, and needs `prepare` at every optimizer step."""

    def _check(self) -> None:
        lookup(COV_COLUMN, self.log_prob, "log_prob")

    def _log_prob(self, batch: TokenBatch) -> Array:
        """Return the log-probabilities to go by, nats; 0 where they are not finite or do not count."""
        column: Array = getattr(batch, COV_COLUMN[self.log_prob])
        xp = namespace(column)
        counts = batch.mask & xp.isfinite(column)
        return xp.where(counts, column, xp.zeros_like(column))

    @property
    def _policy_read(self) -> str:
        return COV_COLUMN[self.log_prob]


def need_rewards(rule: str, batch: TokenBatch) -> None:
    """Raise ValueError where the batch brings its own advantages, which no rule of rewards can judge."""
    if batch.advantage is not None:
        raise ValueError(
            f"update rule '{rule}' changes rewards, and the batch has an 'advantage' column in place of "
            "them: give rewards alone, or take the base rule")
