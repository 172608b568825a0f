r"""STEER: tokens weigh less the more their step is taken to change entropy (arXiv 2510.10150).

.. math::

    \Omega = \frac{A}{\pi_\text{old}}\, \pi (1 - \pi)\, (\log \pi + H), \quad A \leftarrow w A,

    \text{exponential:} \quad w = \max(w_\text{min},\, e^{-k |\Omega|}), \quad
    k = \frac{-\log w_\text{min}}{\max(\text{largest } |\Omega|,\, 0.02)}

    \text{linear:} \quad w \text{ from } w_\text{max} \text{ at the smallest } |\Omega|
    \text{ to } w_\text{min} \text{ at the largest}

The authors' runs have the first with w_min .8 (zz-haooo/STEER ``entropy_control``, in which the
extremes are those of a micro-batch). Omega is what a move of the token's own logit does to entropy, to
first order. A gradient step moves the other logits as well, and of tokens drawn from random policies of
3 to 12 actions 7 % have the other sign (`later-work.steer`).
"""

from __future__ import annotations

import math
from typing import Any

from entropy_theory import rounding
from entropy_theory.array_types import TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp
from entropy_theory.update_rules.rule import Needs, update_rule
from entropy_theory.update_rules.shaped import PolicyShaped

MAPPINGS = ("exponential", "linear")


@update_rule("steer")
class Steer(PolicyShaped):
    r"""The base rule, with advantages times a weight that falls with :math:`|\Omega|`."""

    weight_low: float = 0.8
    """w_min, above 0."""
    weight_high: float = 1.2
    """"linear" only: w_max."""
    mapping: str = "exponential"
    """How the weight falls, "exponential" or "linear"."""

    def _check(self) -> None:
        PolicyShaped._check(self)
        check_choice(self.mapping, MAPPINGS, "mapping")
        if not 0 < self.weight_low <= 1:
            raise ValueError(f"weight_low must be above 0 and at most 1, got {self.weight_low}")
        if not self.weight_low <= self.weight_high < math.inf:
            raise ValueError(
                f"weight_high must be finite and at least weight_low, got {self.weight_high}")

    @property
    def _needs(self) -> Needs:
        current = self.log_prob == "current"
        return Needs(columns=("entropy",), every_step=current,
                     reads={RATIO, "log_prob"} if current else {"old_log_prob"})

    def effect(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        r"""Return :math:`|\Omega|` of each ordinary token, 0 elsewhere: [..., sequences, positions],
        nats."""
        xp: Any = namespace(advantage)
        log_prob = self._log_prob(batch)
        old = xp.where(xp.isfinite(batch.old_log_prob), batch.old_log_prob, log_prob)
        ratio = capped_exp(xp.where(batch.mask, log_prob - old, xp.zeros_like(log_prob)))
        effect = abs(advantage * ratio * (1 - xp.exp(log_prob)) * (log_prob + batch.entropy))
        counts = batch.is_ordinary & (batch.weight > 0)
        return xp.where(counts, effect, xp.zeros_like(effect))

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        xp = namespace(advantage)
        effect = self.effect(batch, advantage)
        largest = xp.max(effect, axis=(-2, -1), keepdims=True)
        if self.mapping == "exponential":
            rate = -math.log(self.weight_low) / xp.clip(largest, 0.02, None)
            return advantage * xp.clip(xp.exp(-rate * effect), self.weight_low, 1.0)
        counts = batch.is_ordinary & (batch.weight > 0)
        smallest = xp.min(xp.where(counts, effect, largest), axis=(-2, -1), keepdims=True)
        alike = rounding.equal(smallest, largest)
        span = xp.where(alike, xp.ones_like(largest), largest - smallest)
        place = xp.where(alike, xp.full_like(effect, 0.5), (effect - smallest) / span)
        return advantage * (self.weight_high - (self.weight_high - self.weight_low) * place)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return self._reshaped(batch)
