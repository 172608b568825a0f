r"""CE-GPPO: clipped tokens keep a bounded gradient (arXiv 2509.20712, Eq. 7, code Kwai-Klear/CE-GPPO).

.. math::

    \text{weight} = \begin{cases}
    \beta_1 (1 - \varepsilon_\text{low}) & A < 0,\ r < 1 - \varepsilon_\text{low} \\
    \beta_2 (1 + \varepsilon_\text{high}) & A > 0,\ r > 1 + \varepsilon_\text{high} \\
    r & \text{elsewhere.} \end{cases}

beta1 weighs unlikely tokens with a negative advantage, and holds entropy down. beta2 weighs unlikely
tokens with a positive advantage, and holds entropy up. Unlikely means below e^{-H}
(`later-work.ce-gppo-classes`). Without both, at 0, the rule is PPO's clip. With both at 1 it is GPPO
(arXiv 2508.07629). The code's defaults are beta1 .75, beta2 1 and a dual clip at 3.
"""

from __future__ import annotations

import math

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import unclipped
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.ratio_loss import same_on_policy
from entropy_theory.update_rules.rule import update_rule


@update_rule("ce-gppo")
class CeGppo(Grpo):
    """GRPO's score, and where PPO clips beta x the ratio's bound x advantage x length factor."""

    _needs = Grpo._needs
    normalization: str = "token-mean"
    clip_high: float = 0.28
    beta_low: float = 0.75
    """beta1, the share of the gradient that is kept below 1 - eps_low."""
    beta_high: float = 1.0
    """beta2, the share of the gradient that is kept above 1 + eps_high."""

    def _check(self) -> None:
        Grpo._check(self)
        for name in ("beta_low", "beta_high"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a number of at least 0, got {getattr(self, name)}")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return same_on_policy(self.name) if on_policy else ()

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        inside, r = Grpo._weight(self, batch, advantage), self._ratio(batch)
        xp = namespace(r)
        ones = xp.ones_like(r)
        bound = xp.where(advantage > 0, self.beta_high * (1 + self.clip_high) * ones,
                         self.beta_low * (1 - self.clip_low) * ones)
        return xp.where(unclipped(r, advantage, self.clip_low, self.clip_high), inside, bound)
