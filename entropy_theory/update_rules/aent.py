r"""AEnt: a base rule plus an adaptive coefficient times the gradient of the clamped entropy (section 4).

.. math::

    J = J_\text{base} + \lambda\, E\, \tilde H(\pi(\cdot \mid s_t))
    \quad\text{(the mean over all tokens)},

    \lambda \leftarrow \operatorname{clip}\bigl(\lambda - \beta\, [\min(\tilde H - \text{low}, 0)
    + \max(\tilde H - \text{high}, 0)]\bigr) \quad\text{(Eq. 4.1)}

H~ is the clamped entropy, that of the policy renormalized to its (1 - p) V largest logits, as a mean over
the batch. To first order the bonus never lowers the full entropy
(`extension.clamped-bonus`). As in the authors' code the bonus is averaged over all tokens, the mask of
kept actions carries no gradient, and lambda starts to move after ``warm_up_steps``.

With a ``target`` (and ``hold="forecast"``) lambda holds the mean entropy itself instead, by the forecast
of what the clamped bonus does to it.

Differences from the code:

- The clamped entropy that steers lambda is that of the sampling policy over all ordinary rows; the code
  averages over the update's micro-batches.
- The default base averages over sequences; the code's loss is ``base.normalization=token-mean``.
"""

from __future__ import annotations

import math
from typing import ClassVar

from entropy_theory.array_types import Array
from entropy_theory.controllers import AdaptiveCoefficient, Controller
from entropy_theory.reads import NOTHING
from entropy_theory.update_rules.entropy_bonus import EntropyBonus
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("aent")
class Aent(EntropyBonus):
    """The base rule's scores, and the state term {"clamped_entropy": coefficient} on ordinary rows.

    Defaults are those of the paper's MATH run (Qwen2.5-Math-1.5B).
    """

    _moved: ClassVar[str] = "clamped_entropy"
    coefficient: Array = 0.002
    removed_fraction: float = 0.33
    """The share p of the vocabulary, by count, that the clamped entropy leaves out."""
    normalization: str = "token-mean"
    adaptive: bool = True
    """Whether Eq. 4.1 adapts the coefficient; if not, it is a constant, or holds a ``target``."""
    entropy_low: float = 0.15
    """The clamped entropy below which the coefficient rises, nats."""
    entropy_high: float = 0.24
    """The clamped entropy above which the coefficient falls, nats."""
    coefficient_step: float = 0.002
    """The change beta of the coefficient per nat outside the band."""
    coefficient_low: float = 6e-4
    """The least value of a coefficient that is adapted."""
    coefficient_high: float = 9e-3
    """The largest value of a coefficient that is adapted."""
    warm_up_steps: int = 30
    """Steps before the coefficient starts to move (two epochs in the paper's run)."""

    def _check(self) -> None:
        EntropyBonus._check(self)
        if not 0 <= self.removed_fraction < 1:
            raise ValueError(f"removed_fraction must be in [0, 1), got {self.removed_fraction}")
        if self._holds and (self.adaptive or self.hold == "integral"):
            raise ValueError(
                "'aent' steers by entropy_low and entropy_high: leave target and "
                "target_schedule None, or hold them by "
                "forecasts (adaptive = false, hold = \"forecast\")")

    @property
    def _needs(self) -> Needs:
        return Needs(columns=self._columns_of_prompts, reads=NOTHING | self._reads_of_schedule,
                     moves=(self._moved,), removed_fraction=self.removed_fraction)

    @property
    def _adapts(self) -> bool:
        return self.adaptive or self._holds

    def _own_controller(self) -> Controller | None:
        if not self.adaptive:
            return EntropyBonus._own_controller(self)
        return AdaptiveCoefficient(
            coefficient=self.coefficient, entropy_low=self.entropy_low,
            entropy_high=self.entropy_high, rate=self.coefficient_step,
            low=self.coefficient_low, high=self.coefficient_high, warm_up_steps=self.warm_up_steps,
        )

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        found = EntropyBonus.warnings(self, on_policy=on_policy, tokens=tokens, actions=actions)
        removes = self.removed_fraction > 0
        if removes and actions is not None:
            removes = math.floor(self.removed_fraction * actions + 1e-9) > 0
        if not removes:
            found += (
                f"'aent' with removed_fraction {self.removed_fraction:g} removes nothing and is an "
                "entropy bonus: raise it",
            )
        return found
