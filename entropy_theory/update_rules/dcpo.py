r"""DCPO: the clip of a token widens as its probability falls (arXiv 2509.02333, Eq. 8, lime-RL/DCPO).

.. math::

    \frac12 + \frac12 \sqrt{\max(1 - 4 \varepsilon_\text{low} / q,\, 0)} \le r \le
    \frac12 + \frac12 \sqrt{1 + 4 \varepsilon_\text{high} / q}

Here q is the probability of the token under the policy that sampled. These are the bounds of
:math:`|(r - 1) p| \le \varepsilon`, which limit how much a ratio adds to the variance. The upper bound
is at most 10, and a ratio above 10 has no gradient with a negative advantage either. The authors' eps
are .16 and .2. This rule leaves out their advantages that are smoothed over a prompt's rewards in
former steps.
"""

from __future__ import annotations

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.ratio_loss import same_on_policy
from entropy_theory.update_rules.rule import Needs, update_rule

LARGEST = 10.0
"""The largest upper bound."""


@update_rule("dcpo")
class Dcpo(Grpo):
    """GRPO's score between bounds that depend on the old probability."""

    clip_low: float = 0.16
    """eps_low, of the lower bound."""
    clip_high: float = 0.2
    """eps_high, of the upper bound."""
    dual_clip: float | None = LARGEST

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return same_on_policy(self.name) if on_policy else ()

    @property
    def _needs(self) -> Needs:
        return self._reading(RATIO, "old_log_prob")

    def _bounds(self, batch: TokenBatch) -> tuple[Array, Array]:
        old = batch.old_log_prob
        xp = namespace(old)
        surprise = capped_exp(-xp.where(batch.mask, old, xp.zeros_like(old)))
        low = 0.5 + 0.5 * xp.sqrt(xp.clip(1 - 4 * self.clip_low * surprise, 0.0, None))
        high = 0.5 + 0.5 * xp.sqrt(1 + 4 * self.clip_high * surprise)
        return 1 - low, xp.clip(high, None, LARGEST) - 1
