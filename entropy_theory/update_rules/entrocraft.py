r"""Entrocraft: below a band of entropy learn from bad answers, above it from good ones (2604.26326).

.. math::

    A \leftarrow 0 \text{ where } A > 0 \text{ and } H < \text{low}, \quad
    A \leftarrow 0 \text{ where } A < 0 \text{ and } H > \text{high}

H is the mean token entropy of the step. The authors' code (lblaoke/entrocraft, ``grpo_range``) takes the
signed reward for the advantage outside of the band; here the advantage stays the base rule's. Their band
of .1 nats falls from .6 to .4 along a cosine over the run: option ``low_schedule``. In expectation good
and bad answers of a state push along one line (`later-work.entrocraft`).
"""

from __future__ import annotations

from entropy_theory import rounding
from entropy_theory.array_types import TokenColumn
from entropy_theory.controllers import check_interval, checked_target
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.schedules import Schedule
from entropy_theory.token_batch import TokenBatch, mean_entropy
from entropy_theory.update_rules.rule import Needs, update_rule
from entropy_theory.update_rules.shaped import Shaped


@update_rule("entrocraft")
class Entrocraft(Shaped):
    """The base rule, without advantages of one sign while entropy is outside of a band."""

    entropy_low: float = 0.6
    """The lower end of the band, nats."""
    entropy_high: float = 0.7
    """The upper end of the band, nats."""
    low_schedule: Schedule | None = None
    """In place of ``entropy_low`` an end that moves with the optimizer's steps; the width stays."""

    def _check(self) -> None:
        check_interval("entropy_low", self.entropy_low, "entropy_high", self.entropy_high)
        checked_target(self.entropy_low)

    @property
    def _needs(self) -> Needs:
        return Needs(columns=("entropy",), reads=NOTHING if self.low_schedule is None else {"step"})

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        xp = namespace(advantage)
        low = self.entropy_low if self.low_schedule is None else self.low_schedule(batch.step)
        high = low + self.entropy_high - self.entropy_low
        entropy = mean_entropy(batch)[..., None, None]
        dropped = (~rounding.at_least(entropy, low) & (advantage > 0)) | (
            ~rounding.at_most(entropy, high) & (advantage < 0))
        return xp.where(dropped, xp.zeros_like(advantage), advantage)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return self._reshaped(batch)
