r"""ERC: no gradient where a state's entropy has left its band (arXiv 2512.05591, Eq. 6, Kwai-Klear/ERC).

.. math::

    \text{score 0 where } H / H_\text{old} \notin (1 - \beta_\text{low},\, 1 + \beta_\text{high})

Here H_old is the entropy of the state under the policy that sampled. The paper and its scripts put the
rule on DAPO and GPPO with beta .05: ``base=clip-higher`` or ``base=ce-gppo``. The code's own default is
.2.
"""

from __future__ import annotations

from typing import Any

from entropy_theory import rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clip_cov import fraction
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, check_share, update_rule


@update_rule("erc")
class Erc(Modifier):
    """The base rule's score, 0 where the ratio of entropies is outside the band."""

    _needs = Needs(columns=("entropy", "old_entropy"), reads=NOTHING)
    beta_low: float = 0.05
    """How far the ratio of entropies may fall below 1, in [0, 1]."""
    beta_high: float = 0.05
    """How far it may rise above 1."""

    def _check(self) -> None:
        check_share("beta_low", self.beta_low)
        if not self.beta_high >= 0:
            raise ValueError(f"beta_high must be at least 0, got {self.beta_high}")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert = ("'erc' never clips where every step is on-policy, and is its base rule: take several "
                 "optimizer steps on each batch",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *inert * on_policy)

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        return xp.where(self._inside(batch), scores, xp.zeros_like(scores))

    def _inside(self, batch: TokenBatch) -> Array:
        entropy: Any = batch.entropy
        old: Any = batch.old_entropy
        # An entropy is a sum of terms of the size of 1, whose rounding does not shrink with it.
        return (rounding.at_least(1 + entropy, 1 + (1 - self.beta_low) * old)
                & rounding.at_most(1 + entropy, 1 + (1 + self.beta_high) * old))

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the share of tokens outside the band, ``entropy_clipped_fraction``, and the base's."""
        batch = self._prepared(batch)
        return self._with_base_metrics(
            batch, {"entropy_clipped_fraction": fraction(batch, ~self._inside(batch))})
