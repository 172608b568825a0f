r"""FIPO: a token weighs by what the policy did to later tokens (arXiv 2603.19835, ms-swift "fipo").

.. math::

    \text{score} \times \operatorname{clip}\Bigl(\exp \sum_{k \ge t} \gamma^{k - t} \log r_k,\,
    1 - \varepsilon_\text{low},\, 1 + \varepsilon_\text{high}\Bigr)

Here gamma = 2^(-1 / half_life), and positions outside the mask are counted. A token with a negative
advantage and a ratio above ``safe_ratio`` has its weight between .8 and 1. Defaults are ms-swift's:
half-life 32, weights from 1 to 1.2, safe ratio 4. Its ``delta`` is ``limit`` here: ratios beyond it are
left out of the sum.
"""

from __future__ import annotations

import math
from typing import Any

from entropy_theory import rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp, check_clip, log_ratio
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("fipo")
class Fipo(Modifier):
    """The base rule's score times the weight of the token's future."""

    _needs = Needs(reads={RATIO})
    half_life: float = 32.0
    """After how many tokens a change of log-probability counts half."""
    clip_low: float = 0.0
    """eps_low: the least weight is 1 - eps_low."""
    clip_high: float = 0.2
    """eps_high: the largest weight is 1 + eps_high."""
    safe_ratio: float | None = 4.0
    """The ratio above which a negative advantage weighs at most 1, or None."""
    limit: float | None = None
    """The ratio above which a token is left out of the sum, or None."""

    def _check(self) -> None:
        check_clip(self.clip_low, self.clip_high)
        for name in ("half_life", "safe_ratio", "limit"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert = ("'fipo' weighs all tokens alike where every step is on-policy, and is its base rule: "
                 "take several optimizer steps on each batch",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *inert * on_policy)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return self.base.prepare(batch).with_prepared(**{"fipo.advantage": self.base.advantages(batch)})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        change = log_ratio(batch)
        xp, r = namespace(change), capped_exp(change)
        counted = change
        if self.limit is not None:
            counted = xp.where(rounding.at_most(r, self.limit), change, xp.zeros_like(change))
        weight = xp.clip(capped_exp(self._future(counted)), 1 - self.clip_low, 1 + self.clip_high)
        if self.safe_ratio is not None:
            advantage: Any = batch.prepared["fipo.advantage"]
            unsafe = (advantage < 0) & ~rounding.at_most(r, self.safe_ratio)
            weight = xp.where(unsafe, xp.clip(weight, 0.8, 1.0), weight)
        return weight * self.base.scores(batch)

    def _future(self, change: TokenColumn) -> TokenColumn:
        """Sum over each token and those after it, discounted: [..., sequences, positions]."""
        decay, sums = 2 ** (-1 / self.half_life), [0 * change[..., -1:]]
        for position in reversed(range(change.shape[-1])):
            sums.append(change[..., position : position + 1] + decay * sums[-1])
        found: Array = namespace(change).concat(sums[:0:-1], axis=-1)
        return found
