r"""Lp-Reg: unlikely tokens of bad answers are held by a KL to a proxy policy (arXiv 2510.03222).

On the share of tokens with A < 0 that are least likely, where pi is below the proxy,

.. math::

    \text{score} = r A - \text{coefficient} \times \frac{d\, k_3}{d \log \pi}, \quad
    k_3 = \rho - 1 - \log \rho, \quad \rho = \pi_\text{proxy} / \pi

PPO's clip does not apply, as in the authors' code (CarlanLark/Lp-Reg-dev, ``lp_reg``, with share .01 or
.005 and coefficient 1). The slope is 1 - rho: it raises the token. The paper's proxy is the policy itself
without its least likely tokens, the ones with a probability below .02 of the largest. The rest is raised
to sum 1, so the proxy is above pi at what is kept. The code may take a reference in its place. Here the
batch's ``reference_log_prob`` is the proxy's: a trainer gives the frozen reference there. Tokens that a
filter drops have a log-probability far below that under pi, and are left alone. The pull does not lower
entropy where held tokens are below e^{-H}. The penalty as the paper prints it never raises entropy
(`later-work.lp-reg`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.rounding import same_log_prob
from entropy_theory.token_batch import TokenBatch, masked_sum
from entropy_theory.update_rules import selection
from entropy_theory.update_rules.clip_cov import fraction, quota_warnings
from entropy_theory.update_rules.clipped_ratio import capped_exp, length_factor, ratio
from entropy_theory.update_rules.modifier import Modifier, length_normalization
from entropy_theory.update_rules.rule import Needs, check_share, update_rule


@update_rule("lp-reg")
class LpReg(Modifier):
    """The base rule's score, with a penalty in place of the clip on unlikely tokens of bad answers."""

    share: float = 0.01
    """Share of the tokens with a negative advantage that is held; the number is rounded down."""
    coefficient: float = 1.0
    """The weight of the KL."""

    def _check(self) -> None:
        check_share("share", self.share)
        if not np.isfinite(self.coefficient):
            raise ValueError(f"coefficient must be finite, got {self.coefficient}")

    _needs = Needs(columns=("reference_log_prob",),
                   reads={RATIO, "log_prob", "sequence", "rows"})

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *quota_warnings(self.name, self.share, False, tokens))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        advantage = self.base.advantages(batch)
        bad = batch.is_ordinary & (advantage < -selection.rounding_of(batch, advantage))
        counts = bad & xp.isfinite(batch.old_log_prob)
        log_prob = xp.where(counts, batch.old_log_prob, xp.zeros_like(batch.old_log_prob))
        count = xp.floor(self.share * masked_sum(xp.ones_like(log_prob), counts) + 1e-9)
        rounded = selection.rounding_of(batch, log_prob) * xp.ones_like(log_prob)
        held = selection.largest(batch, -log_prob, counts, count, rounded)
        factor = length_factor(batch, batch.is_ordinary, *length_normalization(self.base))
        return self.base.prepare(batch).with_prepared(
            **{"lp-reg.held": held, "lp-reg.factor": factor, "lp-reg.advantage": advantage * factor})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        xp: Any = namespace(scores)
        proxy = batch.reference_log_prob
        known = batch.prepared["lp-reg.held"] & xp.isfinite(proxy) & xp.isfinite(batch.log_prob)
        zeros = xp.zeros_like(scores)
        lacking = xp.where(known, proxy, zeros) - xp.where(known, batch.log_prob, zeros)
        held = known & (lacking > 0) & ~same_log_prob(lacking)
        pull = self.coefficient * batch.prepared["lp-reg.factor"] * (capped_exp(lacking) - 1)
        return xp.where(held, ratio(batch) * batch.prepared["lp-reg.advantage"] + pull, scores)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the ``held_fraction`` of the tokens, and the base rule's metrics."""
        batch = self._prepared(batch)
        return self._with_base_metrics(
            batch, {"held_fraction": fraction(batch, batch.prepared["lp-reg.held"])})
