r"""M2PO: no gradient on the tokens that moved most, up to a second moment (arXiv 2510.01161, AReaL).

Tokens with the largest :math:`(\log \rho)^2` have score 0: as few as leave the mean of the others at most
``threshold``. Here rho = pi_old / mu as in ``sampler-correction`` (AReaL), or pi / mu (printed; option
``above``), over all tokens of the step. AReaL's example has .04, and PPO's clip beside it; the paper has
none (``base=grpo`` with infinite clips). Tokens that moved alike up to rounding are silenced together.
"""

from __future__ import annotations

import math

from entropy_theory import rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clip_cov import fraction
from entropy_theory.update_rules.clipped_ratio import log_ratio
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, update_rule
from entropy_theory.update_rules.sampler_correction import ABOVE


@update_rule("m2po")
class M2po(Modifier):
    """The base rule's score, 0 on the tokens that moved most."""

    threshold: float = 0.04
    """The largest mean of squared log-ratios, nats squared, of the tokens that count."""
    above: str = "old"
    """The policy above rho: "old", recomputed, or "current", the one being trained."""

    def _check(self) -> None:
        check_choice(self.above, ABOVE, "above")
        if not 0 <= self.threshold < math.inf:
            raise ValueError(f"threshold must be a number of at least 0, got {self.threshold}")

    @property
    def _needs(self) -> Needs:
        return Needs(columns=("sampling_log_prob",), reads={ABOVE[self.above]},
                     every_step=self.above == "current")

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        change = log_ratio(batch, "sampling_log_prob", ABOVE[self.above])
        xp, rows = namespace(change), batch.is_ordinary
        flat = (*change.shape[:-2], change.shape[-2] * change.shape[-1])
        # Rows that do not count come last.
        moved = xp.where(rows, change * change, xp.full_like(change, math.inf))
        order = xp.argsort(xp.reshape(moved, flat), axis=-1, stable=True)
        weight, size = (
            xp.cumulative_sum(xp.take_along_axis(xp.reshape(column, flat), order, axis=-1), axis=-1)
            for column in (xp.where(rows, batch.weight, 0 * change),
                           xp.where(rows, batch.weight * change * change, 0 * change)))
        allowed = rounding.at_most(size, self.threshold * weight)
        ranked = xp.take_along_axis(xp.reshape(moved, flat), order, axis=-1)
        # Tokens that moved alike are one: what is allowed shows at the last of them.
        following = xp.concat([ranked[..., 1:], xp.full_like(ranked[..., :1], math.inf)], axis=-1)
        ends = xp.isfinite(ranked) & ~rounding.at_most(following, ranked)
        last = xp.max(xp.where(allowed & ends, ranked, -xp.ones_like(ranked)), axis=-1, keepdims=True)
        kept = rows & rounding.at_most(moved, last[..., None])
        return self.base.prepare(batch).with_prepared(**{"m2po.silenced": rows & ~kept})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        return xp.where(batch.prepared["m2po.silenced"], xp.zeros_like(scores), scores)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the share of tokens that are silenced, ``silenced_fraction``, and the base's metrics."""
        batch = self._prepared(batch)
        return self._with_base_metrics(
            batch, {"silenced_fraction": fraction(batch, batch.prepared["m2po.silenced"])})
