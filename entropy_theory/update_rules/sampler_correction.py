r"""Sampler corrections, for tokens that were drawn from another policy mu than pi_old.

With rho_t = pi_old / mu of a token (or pi / mu, option ``above``), the base rule's score is multiplied
by

.. math::

    \begin{cases} \operatorname{clip}(\rho_t, \text{low}, \text{high}) & \text{kind "token-truncate", TIS}
    \\ \rho_t \text{ within the bounds, else 0} & \text{kind "token-mask", IcePop} \\
    \operatorname{clip}(\prod_t \rho_t, \text{low}, \text{high}) & \text{kind "sequence-truncate",
    sequence TIS} \\ \prod_t \rho_t \text{ within the bounds, else 0} & \text{kind "sequence-mask", MIS}
    \\ \rho_t & \text{kind "token"} \\ 1 & \text{kind "none".} \end{cases}

Rejected tokens and sequences have score 0. With ``reject`` these are the tokens or sequences for which
rho_t, prod rho_t or the geometric mean of rho_t leaves [reject_low, reject_high]. With
``off_policy_threshold`` they are the sequences with a negative advantage for which the mean of log mu -
log pi exceeds it. This is off-policy sequence masking (OPSM, DeepSeek-V3.2, arXiv 2512.02556). Means over
tokens stay over all of them. State terms are the base rule's.

Names and defaults of engines (docs/algo/rollout_corr.md of verl has the mathematics):

- TRL ``vllm_importance_sampling_mode``: the four kinds, "sequence_mask" with high 3 by default;
  ``off_policy_mask_threshold``, None;
- verl ``rollout_is`` "token" or "sequence", ``rollout_is_threshold`` 2 (truncate) or "low_high" (mask);
  ``rollout_rs`` token_k1, seq_sum_k1, seq_mean_k1 are ``reject`` "token", "sequence", "geometric", whose
  bounds there are those of mu / pi_old, and which leave the means too;
- SkyRL ``tis_ratio_type`` "token" (2) or "sequence" (5), and ``sequence_mask_metric`` "geometric" (.99,
  1.01) or "product" (.5, 2);
- slime ``--use-tis`` (0, 2) and ``--use-opsm`` (1e-4, of pi_old / pi);
- OpenRLHF "tis", "icepop" (.5, 5), and "seq-mask-tis": kind "token", ``reject`` "geometric".

Put a KL to a reference outside: TRL multiplies the policy's term alone.
"""

from __future__ import annotations

import math
from typing import Any

from entropy_theory import rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clip_cov import fraction
from entropy_theory.update_rules.clipped_ratio import capped_exp, log_ratio, over_sequence
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, UpdateRule, components, update_rule

KINDS = ("token-truncate", "token-mask", "sequence-truncate", "sequence-mask", "token", "none")
LEVELS = ("none", "token", "sequence", "geometric")
ABOVE = {"old": "old_log_prob", "current": "log_prob"}
"""The column above rho for each choice of ``above``."""


@update_rule("sampler-correction")
class SamplerCorrection(Modifier):
    """The base rule's score, weighted and rejected by how far the sampler is from the policy."""

    kind: str = "token-truncate"
    """How scores are weighted, one of the kinds above."""
    low: float = 0.0
    """The least weight; below it, "mask" gives 0."""
    high: float = 2.0
    """The largest weight; above it, "mask" gives 0."""
    reject: str = "none"
    """Ratio by which tokens or sequences out of bounds are rejected. "none" rejects nothing. "token" goes
    by a token's ratio, "sequence" by the product of a sequence's ratios, "geometric" by their geometric
    mean."""
    reject_low: float = 0.5
    """The least ratio that is not rejected."""
    reject_high: float = 2.0
    """The largest ratio that is not rejected."""
    off_policy_threshold: float | None = None
    """The largest mean of log mu - log pi, nats, at which a sequence with a negative advantage still
    counts; None for no such limit."""
    above: str = "old"
    """The policy above rho. "old" is the policy that the batch was sampled with, recomputed. "current" is
    the policy being trained (verl's bypass mode), for base rules without a ratio of their own."""

    def _check(self) -> None:
        check_choice(self.kind, KINDS, "kind")
        check_choice(self.reject, LEVELS, "reject")
        check_choice(self.above, ABOVE, "above")
        for low, high in (("low", "high"), ("reject_low", "reject_high")):
            if not 0 <= getattr(self, low) <= getattr(self, high):
                raise ValueError(f"{low} must be at least 0 and at most {high}, got {getattr(self, low)} "
                                 f"and {getattr(self, high)}")
        if self.off_policy_threshold is not None and math.isnan(self.off_policy_threshold):
            raise ValueError("off_policy_threshold must be None or a number, got nan")

    @property
    def weighs(self) -> bool:
        """Whether tokens weigh by their ratio, or are rejected by it."""
        return self.kind != "none" or self.reject != "none"

    @property
    def _needs(self) -> Needs:
        reads = {ABOVE[self.above]} if self.weighs else set()
        if self.off_policy_threshold is not None:
            reads.add("log_prob")
        return Needs(columns=("sampling_log_prob",), reads=reads)

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert = not self.weighs and self.off_policy_threshold is None
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions), *(
            "'sampler-correction' of kind 'none' that rejects nothing is its base rule: give a kind",
        ) * inert)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        batch = self.base.prepare(batch)
        if self.off_policy_threshold is None:
            return batch
        return batch.with_prepared(**{"sampler-correction.advantage": self.base.advantages(batch)})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        # The second batch has a temperature of its own, and its own target.
        return xp.where(batch.is_ordinary, self._factor(batch) * scores, scores)

    def _factor(self, batch: TokenBatch) -> TokenColumn:
        """Return the factor of each score: [..., sequences, positions]."""
        change = log_ratio(batch, "sampling_log_prob", ABOVE[self.above])
        xp = namespace(change)
        ones = xp.ones_like(change)
        factor = ones
        level, _, bound = self.kind.partition("-")
        if level != "none":
            factor = self._ratio(batch, change, level) * ones
        if bound == "truncate":
            factor = xp.clip(factor, self.low, self.high)
        kept = batch.mask
        if bound == "mask":
            kept = kept & _within(factor, self.low, self.high)
        if self.reject != "none":
            kept = kept & _within(
                self._ratio(batch, change, self.reject) * ones, self.reject_low, self.reject_high)
        if self.off_policy_threshold is not None:
            drift = over_sequence(batch, -log_ratio(batch, "sampling_log_prob"), mean=True) * ones
            advantage: Any = batch.prepared["sampler-correction.advantage"]
            kept = kept & ((advantage >= 0) | rounding.at_most(drift, self.off_policy_threshold))
        return xp.where(kept, factor, xp.zeros_like(factor))

    def _ratio(self, batch: TokenBatch, change: Array, level: str) -> Array:
        if level != "token":
            change = over_sequence(batch, change, mean=level == "geometric")
        return capped_exp(change)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the share of tokens that weigh nothing, ``rejected_fraction``, and the base's."""
        batch = self._prepared(batch)
        return self._with_base_metrics(
            batch, {"rejected_fraction": fraction(batch, self._factor(batch) == 0)})


def weighs_sampler(rule: UpdateRule) -> bool:
    """Whether some part of the rule has weights of its own for what tokens were drawn from."""
    return any(getattr(part, "anchor", "old") == "sampling"
               or (isinstance(part, SamplerCorrection) and part.weighs) for _, part in components(rule))


def _within(ratio: Array, low: float, high: float) -> Array:
    return rounding.at_least(ratio, low) & rounding.at_most(ratio, high)
