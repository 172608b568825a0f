r"""BAPO: clip bounds that leave positive advantages their share (arXiv 2510.18927, Eq. 5, Algorithm 1).

PPO's clip between c_low = 1 - eps_low and c_high = 1 + eps_high. At every step c_low rises in steps to
at most 1 - ``clip_low_end``, and then c_high to at most 1 + ``clip_high_end``, until

.. math::

    \sum_{A > 0} A \min(r, c_\text{high}) \ge
    \text{target} \times \sum_{A < 0} |A| \max(r, c_\text{low}),

over the whole step. A higher c_low silences more tokens with a negative advantage, a higher c_high
fewer with a positive one. The authors' code (WooooDyy/BAPO, on verl) steps by .05 and has a dual clip
at 3; its README has the ranges [.6, .9] and [1.2, 3] and the target .5, which are the defaults here.
"""

from __future__ import annotations

import math

from entropy_theory import rounding
from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.token_batch import TokenBatch, masked_sum
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.policy_gradient import SCALED
from entropy_theory.update_rules.ratio_loss import same_on_policy
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("bapo")
class Bapo(Grpo):
    """GRPO's score between bounds that are found anew at every step."""

    normalization: str = "token-mean"
    clip_low: float = 0.4
    """eps_low where the search begins."""
    clip_high: float = 0.2
    """eps_high where the search begins."""
    dual_clip: float | None = 3.0
    clip_low_end: float = 0.1
    """The least eps_low."""
    clip_high_end: float = 2.0
    """The largest eps_high."""
    clip_step: float = 0.05
    """By how much eps_low and eps_high move at a time."""
    target: float = 0.5
    """rho_0, the least ratio of positive to negative contributions that is looked for."""

    def _check(self) -> None:
        Grpo._check(self)
        if not (0 <= self.clip_low_end <= self.clip_low
                and self.clip_high <= self.clip_high_end < math.inf):
            raise ValueError(
                "bapo lowers clip_low to clip_low_end and raises clip_high to clip_high_end, got "
                f"{self.clip_low} to {self.clip_low_end} and {self.clip_high} to {self.clip_high_end}")
        for name in ("clip_step", "target"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {getattr(self, name)}")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return same_on_policy(self.name) if on_policy else ()

    @property
    def _needs(self) -> Needs:
        return self._reading(RATIO, every_step=True)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        batch = Grpo._prepare(self, batch)
        xp, r = namespace(batch.log_prob), self._ratio(batch)
        size, rows = batch.weight * batch.prepared[SCALED], batch.is_ordinary
        # Bounds reach the target from some step of the search on: bisect for that step.
        first = masked_sum(xp.zeros_like(r), rows)
        last = first + sum(self._steps())
        for _ in range(sum(self._steps()).bit_length()):
            tried = xp.floor((first + last) / 2)
            low, high = self._after(tried)
            gained = masked_sum(size * xp.minimum(r, 1 + high), rows & (size > 0))
            lost = masked_sum(-size * xp.maximum(r, 1 - low), rows & (size < 0))
            met = rounding.at_least(gained, self.target * lost)
            first, last = xp.where(met, first, tried + 1), xp.where(met, tried, last)
        low, high = self._after(last)
        ones = xp.ones_like(r)
        return batch.with_prepared(**{"bapo.low": low * ones, "bapo.high": high * ones})

    def _steps(self) -> tuple[int, int]:
        """Return how many steps eps_low, and then eps_high, is at most moved by."""
        low, high = (math.ceil(distance / self.clip_step - 1e-9) for distance in (
            self.clip_low - self.clip_low_end, self.clip_high_end - self.clip_high))
        return low, high

    def _after(self, steps: Array) -> tuple[Array, Array]:
        """Return eps_low and eps_high after so many steps of the search."""
        xp = namespace(steps)
        beyond = xp.clip(steps - self._steps()[0], 0.0, None)
        return (xp.clip(self.clip_low - self.clip_step * steps, self.clip_low_end, None),
                xp.clip(self.clip_high + self.clip_step * beyond, None, self.clip_high_end))

    def _bounds(self, batch: TokenBatch) -> tuple[Array, Array]:
        return batch.prepared["bapo.low"], batch.prepared["bapo.high"]
