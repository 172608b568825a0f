r"""EntroPIC: likely tokens count more in good answers and less in bad ones (arXiv 2511.15248).

.. math::

    \text{score} = \text{base} + \alpha\, r\, |A| \text{ on tokens with } \pi \text{ above a threshold},

    \alpha = K_p (H - \text{target}) + K_i \sum (H - \text{target}) \text{ within } [-1, 1]

A good answer's likely tokens then weigh 1 + alpha and a bad one's 1 - alpha. While H is above the target
alpha is above 0, and entropy falls. PPO's clip does not hold the added term. That is so in the authors'
code, too (yk7333/EntroPIC ``entropic``, with threshold .95, K_p 1, K_i .01). Entrocraft compares with
threshold 0. There, with exact gradients and rewards of 1 and -1, the step does not depend on alpha: good
and bad answers of a state push along one line. With a threshold alpha lowers entropy
(`later-work.entropic`).
"""

from __future__ import annotations

import math
from typing import Any

from entropy_theory import rounding
from entropy_theory.array_types import TokenColumn
from entropy_theory.controllers import ProportionalIntegral, check_finite
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import length_factor, ratio
from entropy_theory.update_rules.modifier import Modifier, length_normalization
from entropy_theory.update_rules.rule import Needs, check_share, update_rule


@update_rule("entropic")
class Entropic(Modifier):
    r"""The base rule's scores plus :math:`\alpha \times \text{ ratio } \times |A|` on likely tokens of
    ordinary rows."""

    target: float | None = 0.1
    """Mean token entropy to hold, nats; with None alpha is the constant ``coefficient``."""
    coefficient: float = 0.0
    """The constant alpha where there is no target."""
    proportional: float = 1.0
    """K_p, per nat."""
    integral: float = 0.01
    """K_i, per nat and step."""
    threshold: float = 0.95
    """The probability from which on a token is likely; 0 takes all tokens."""

    def _check(self) -> None:
        check_share("threshold", self.threshold)
        check_finite("coefficient", self.coefficient)
        self._loop()

    @property
    def _needs(self) -> Needs:
        return Needs(reads={RATIO, "log_prob"} if self.threshold else {RATIO})

    def _loop(self) -> ProportionalIntegral | None:
        if self.target is None:
            return None
        return ProportionalIntegral(
            target=self.target, proportional=self.proportional, integral=self.integral)

    def coefficient_controller(self) -> Any | None:
        return self._only_controller(self._loop())

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        factor = length_factor(batch, batch.is_ordinary, *length_normalization(self.base))
        xp = namespace(factor)
        size = abs(self.base.advantages(batch)) * factor
        size = xp.where(batch.is_ordinary, size, xp.zeros_like(size))
        return self.base.prepare(batch).with_prepared(**{"entropic.size": size})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        alpha: Any = self.coefficient
        if self.target is not None and batch.coefficient is not None:
            alpha = batch.coefficient
        added = alpha * ratio(batch) * batch.prepared["entropic.size"]
        if not self.threshold:
            return scores + added
        likely = rounding.at_least(batch.log_prob, math.log(self.threshold))
        return namespace(scores).where(likely, scores + added, scores)
