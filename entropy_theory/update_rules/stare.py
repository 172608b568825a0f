r"""STARE: the least likely tokens of good answers count more while entropy is low (arXiv 2606.19236).

.. math::

    \text{score} \times W \text{ on the share } P \text{ of tokens with } A > 0
    \text{ that have the largest surprisal}, \quad W = 1 + c

    \text{score} \times M \text{ on the same share of tokens with } A < 0
    \text{ (variant C2)}, \quad M = 1 - c

while the mean entropy is below the target; at or above it the rule is its base. The authors' code
(hp-luo/STARE) has P .1, c .1, target .3 and, adapted, W + .01 sign(target - H) within [1, 1.5]: option
``coefficient_step``. It ranks the tokens of a micro-batch; here they are those of the step.

A surprisal divides the tokens that raise entropy from those that lower it (`later-work.stare`). W raises
it where the chosen tokens are below e^{-H} (`later-work.stare-reweighting`).
"""

from __future__ import annotations

from typing import Any

from entropy_theory import rounding
from entropy_theory.array_types import TokenColumn
from entropy_theory.controllers import TargetEntropyCoefficient, check_finite
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch, masked_sum, mean_entropy
from entropy_theory.update_rules import selection
from entropy_theory.update_rules.rule import Needs, check_share, update_rule
from entropy_theory.update_rules.shaped import PolicyShaped


@update_rule("stare")
class Stare(PolicyShaped):
    """The base rule, with other weights for the least likely tokens while entropy is below a target."""

    share: float = 0.1
    """The share P of the tokens of each sign that is reweighted, rounded up."""
    coefficient: float = 0.1
    """c, from 0 to 1, with W = 1 + c and M = 1 - c. An adapted coefficient starts from it."""
    both: bool = False
    """Whether tokens of bad answers are reweighted too (variant C2; O1 does not)."""
    target: float = 0.3
    """Mean token entropy below which the rule acts, nats."""
    coefficient_step: float = 0.0
    """How much c rises in a step below the target and falls above it; 0 leaves it constant."""
    coefficient_high: float = 0.5
    """The largest c."""

    def _check(self) -> None:
        PolicyShaped._check(self)
        check_share("share", self.share)
        check_share("coefficient", self.coefficient)
        check_share("coefficient_high", self.coefficient_high)
        check_finite("target", self.target)
        self._loop()

    @property
    def _needs(self) -> Needs:
        return Needs(columns=("entropy",), reads={self._policy_read, "sequence", "rows"},
                     every_step=self.log_prob == "current")

    def _loop(self) -> TargetEntropyCoefficient:
        return TargetEntropyCoefficient(
            coefficient=self.coefficient, target=self.target, step=self.coefficient_step,
            high=max(self.coefficient, self.coefficient_high))

    def coefficient_controller(self) -> Any | None:
        return self._only_controller(self._loop() if self.coefficient_step else None)

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        """Return the base rule's: a token's whole score is reweighted, not its advantage."""
        return self.base.advantages(batch)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp, advantage = namespace(batch.log_prob), self.base.advantages(batch)
        log_prob = self._log_prob(batch)
        clear = selection.rounding_of(batch, advantage)
        rounded = selection.rounding_of(batch, log_prob) * xp.ones_like(log_prob)
        signs = xp.zeros_like(log_prob)
        for sign in (1.0, -1.0) if self.both else (1.0,):
            candidates = batch.is_ordinary & (sign * advantage > clear)
            count = masked_sum(xp.ones_like(log_prob), candidates)
            chosen = selection.largest(
                batch, -log_prob, candidates, xp.ceil(self.share * count - 1e-9), rounded)
            signs = xp.where(chosen, xp.full_like(signs, sign), signs)
        below = ~rounding.at_least(mean_entropy(batch)[..., None, None], self.target)
        gate = xp.where(below & batch.mask, xp.ones_like(signs), xp.zeros_like(signs))
        return self.base.prepare(batch).with_prepared(**{"stare.sign": signs, "stare.gate": gate})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        strength: Any = self.coefficient * batch.prepared["stare.gate"]
        if batch.coefficient is not None and self.coefficient_step:
            strength = batch.coefficient
        return self.base.scores(batch) * (1 + strength * batch.prepared["stare.sign"])
