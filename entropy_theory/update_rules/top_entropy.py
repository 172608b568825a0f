r"""Top-entropy tokens: no gradient but on those whose states have the most entropy (arXiv 2506.01939).

.. math::

    \text{score} \times \mathbf{1}[H_t \ge \tau], \quad
    \tau = \text{the } (1 - \rho)\text{-quantile of the entropies of the step's tokens}

In the paper rho is .2 ("80/20"; TRL's and ms-swift's ``top_entropy_quantile``). The mean still counts all
tokens. tau is that of the whole step; TRL takes one for each micro-batch, over all ranks. A token is kept
where at most :math:`\rho (N - 1)` of the N tokens have more entropy, as by TRL's interpolated quantile.
In a listing of all answers it is kept where tokens with more entropy have at most the share rho of the
weight. Tokens of a state have one entropy, and are kept together. Policy gradient moves a state's
entropy H by at most H^2 per unit learning rate (`later-work.top-entropy`).
"""

from __future__ import annotations

import math
from typing import Any

from entropy_theory import rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch, masked_sum
from entropy_theory.update_rules.clip_cov import fraction
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, check_share, update_rule


@update_rule("top-entropy")
class TopEntropy(Modifier):
    """The base rule's score, 0 on ordinary tokens of lower entropy."""

    share: float = 0.2
    """The share rho of tokens that keep their gradient."""

    _needs = Needs(columns=("entropy",), reads=NOTHING)

    def _check(self) -> None:
        check_share("share", self.share)

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *("'top-entropy' with share 1 is its base rule: lower it",) * (self.share == 1))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        rows = batch.is_ordinary
        kept = rounding.at_least(batch.entropy, _quantile(batch, rows, self.share))
        return self.base.prepare(batch).with_prepared(**{"top-entropy.kept": kept | ~rows})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        return namespace(scores).where(
            batch.prepared["top-entropy.kept"], scores, namespace(scores).zeros_like(scores))

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the ``kept_fraction`` of the ordinary tokens, and the base rule's metrics."""
        batch = self._prepared(batch)
        return self._with_base_metrics(
            batch, {"kept_fraction": fraction(batch, batch.prepared["top-entropy.kept"])})


def _quantile(batch: TokenBatch, rows: Array, share: float) -> Array:
    """The least entropy that is kept, [..., 1, 1], nats."""
    xp: Any = namespace(batch.weight)
    ones = xp.ones_like(batch.weight)
    flat = (*rows.shape[:-2], rows.shape[-2] * rows.shape[-1])
    count = masked_sum(ones, rows)[..., 0]
    weight = xp.where(rows, batch.weight if batch.listed else ones, 0 * ones)
    total = masked_sum(weight, rows)[..., 0]
    entropy: Any = batch.entropy
    key = xp.reshape(xp.where(rows, -entropy, xp.full_like(ones, math.inf)), flat)
    order = xp.argsort(key, axis=-1, stable=True)
    key = xp.take_along_axis(key, order, axis=-1)
    weight = xp.take_along_axis(xp.reshape(weight, flat), order, axis=-1)
    before = xp.cumulative_sum(weight, axis=-1) - weight
    allowed = share * total if batch.listed else share * xp.clip(count - 1, 0, None)
    reached = rounding.at_most(before, allowed) & (key < math.inf)
    return xp.min(xp.where(reached, -key, xp.full_like(key, math.inf)), axis=-1, keepdims=True)[..., None]
