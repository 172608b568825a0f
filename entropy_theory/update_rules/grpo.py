r"""GRPO: group-normalized advantages under PPO's clipped ratio, no KL term (AEPO, section 3.1, Eq. 1).

.. math::

    J = E\, \frac1G \sum_i \frac{1}{|o_i|} \sum_t
    \min\bigl(r A, \operatorname{clip}(r, 1 - \varepsilon_\text{low},
    1 + \varepsilon_\text{high})\, A\bigr)

With estimator "quantile" it is QAE, whose baseline drops out in expectation
(`later-work.quantile-baseline`). Two claims are on the effect of PPO's clip on entropy:
`later-work.clip-low-high`, and `later-work.ratio-band` where the clip holds all ratios.
"""

from __future__ import annotations

from entropy_theory import rounding
from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import check_clip, ratio, unclipped
from entropy_theory.update_rules.policy_gradient import PolicyGradient
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("grpo")
class Grpo(PolicyGradient):
    """The score is ratio x advantage x length factor where PPO does not clip, 0 where it does."""

    clip_low: float = 0.2
    """eps_low: with a negative advantage, no gradient once the ratio is below 1 - eps_low."""
    clip_high: float = 0.2
    """eps_high: with a positive advantage, no gradient once the ratio is above 1 + eps_high."""
    dual_clip: float | None = None
    """A ratio c > 1 above which a negative advantage has no gradient either (3 in verl), or None."""

    def _check(self) -> None:
        check_clip(self.clip_low, self.clip_high)
        PolicyGradient._check(self)
        if self.dual_clip is not None and not self.dual_clip > 1:
            raise ValueError(f"dual_clip must be None or above 1, got {self.dual_clip}")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        if self.dual_clip is None or not on_policy:
            return ()
        return (f"dual_clip of '{self.name}' never binds where every step is on-policy: take several "
                "optimizer steps on each batch, or leave it None",)

    @property
    def _needs(self) -> Needs:
        return self._reading(RATIO)

    def _ratio(self, batch: TokenBatch) -> Array:
        return ratio(batch)

    def _bounds(self, batch: TokenBatch) -> tuple[Array, Array]:
        """Return eps_low and eps_high, numbers or arrays [..., sequences, positions]."""
        return self.clip_low, self.clip_high

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        r = self._ratio(batch)
        kept = unclipped(r, advantage, *self._bounds(batch))
        if self.dual_clip is not None:
            kept = kept & ((advantage >= 0) | rounding.at_most(r, self.dual_clip))
        xp = namespace(r)
        return xp.where(kept, r, xp.zeros_like(r))
