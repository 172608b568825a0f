r"""Reference KL: a base rule minus coefficient x KL(pi || pi_ref) (Cui et al., section 4.1, PPO, GRPO).

Estimators of the KL at a sampled token, with d = log pi - log pi_ref (Schulman's names):

.. math::

    k_1 = d, \quad \text{abs} = |d|, \quad k_2 = d^2 / 2, \quad k_3 = e^{-d} - 1 + d, \quad
    k_3\text{-corrected} = r\, k_3,

r = pi / pi_old being the token's ratio, which is differentiated too (DeepSeek-V3.2; TRL's default).

In placement "loss" the estimator is differentiated. Its expected gradient on samples of pi is

- k2: :math:`\nabla \operatorname{KL}(\pi \| \pi_{\text{ref}})`, exactly;
- k3: :math:`\nabla \operatorname{KL}(\pi_{\text{ref}} \| \pi)`, the other direction (the usual GRPO
  penalty);
- k3-corrected: :math:`\nabla \operatorname{KL}(\pi \| \pi_{\text{ref}})`, on samples of pi_old too: its
  slope is r d, on-policy that of k2;
- k1: zero, since E[grad log pi] = 0: noise and no penalty. Refused;
- abs: :math:`\nabla \sum |\pi - \pi_{\text{ref}}|`, twice the total variation, which is not a KL.

The straight-through forms of verl are k1+, abs+ and k3+. Their value is logged, and their gradient is
that of k2: they are k2 here. The names ``kl``, ``mse`` and ``low_var_kl`` of verl are k1, k2 and k3, with
k3 limited to 10 and d to 20; its default is low_var_kl. TRL, ms-swift and ROLL take k3. The corrected
form is ``--use-unbiased-kl`` of slime. The default of slime in the loss, k1, penalizes nothing.

In placement "reward" the sequence's sum of k1 under the sampling policy is taken off its reward before
advantages are estimated. This is unbiased for the penalized objective. There k2 and k3 do not estimate
the same gradient, and are refused too.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.reads import RATIO
from entropy_theory.rounding import same_log_prob
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import NORMALIZATIONS, capped_exp, log_ratio, ratio
from entropy_theory.update_rules.modifier import Modifier, penalty_factor
from entropy_theory.update_rules.rule import Needs, per_run, update_rule

ESTIMATORS = ("k1", "abs", "k2", "k3", "k3-corrected", "k1+", "abs+", "k3+")
PLACEMENTS = ("loss", "reward")


@update_rule("reference-kl")
class ReferenceKl(Modifier):
    """The base rule's score minus coefficient x the estimator's slope, or the base on R - KL."""

    coefficient: Array = 0.01
    """The coefficient, a number or one per run; Cui et al., Figure 10, have .001 to .1."""
    estimator: str = "k2"
    """The estimator. Placement "reward" takes "k1" alone. Placement "loss" takes "k2", "k3",
    "k3-corrected" or "abs", and "k1+", "abs+" and "k3+", which are "k2"."""
    placement: str = "loss"
    """Where the KL is subtracted, "loss" or "reward"."""
    normalization: str | None = None
    """How a KL in the loss is averaged over tokens: "sequence-mean", "token-mean" or "dr-grpo". None
    averages it as the base rule averages its own term."""

    def _check(self) -> None:
        check_choice(self.estimator, ESTIMATORS, "estimator")
        check_choice(self.placement, PLACEMENTS, "placement")
        if self.normalization is not None:
            check_choice(self.normalization, NORMALIZATIONS, "normalization")
        if not np.all(np.isfinite(to_numpy(self.coefficient))):
            raise ValueError(f"coefficient must be finite, got {self.coefficient}")
        if self.placement == "loss" and self.estimator == "k1":
            raise ValueError(
                "estimator 'k1' in placement 'loss' has an expected gradient of zero and penalizes "
                "nothing: use 'k2' (or 'k3'), or placement 'reward'"
            )
        if self.placement == "reward" and self.estimator != "k1":
            raise ValueError(
                f"estimator '{self.estimator}' in placement 'reward' does not estimate the gradient "
                "of a KL: use 'k1', or placement 'loss'"
            )

    @property
    def _needs(self) -> Needs:
        log_prob = "log_prob" if self.placement == "loss" else "old_log_prob"
        own = {RATIO} if self.estimator == "k3-corrected" else set()
        return Needs(columns=("reference_log_prob",), reads={log_prob, *own})

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert = np.all(to_numpy(self.coefficient) == 0)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *("'reference-kl' has coefficient 0 and does nothing: raise it",) * bool(inert))

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        return self.base.advantages(self._penalized(batch))

    def _penalized(self, batch: TokenBatch) -> TokenBatch:
        """Return the batch with coefficient x sum_t k1 subtracted from each sequence's reward."""
        if self.placement != "reward":
            return batch
        batch.require(self.name, "reference_log_prob")
        if batch.advantage is not None:
            raise ValueError(
                "placement 'reward' changes rewards, and the batch has an 'advantage' column in place of "
                "them: put the penalty into the advantages, or use placement 'loss'"
            )
        xp = namespace(batch.log_prob)
        surplus = log_ratio(batch, "reference_log_prob", "old_log_prob")
        kl = xp.sum(surplus, axis=-1, keepdims=True)
        # Where policy and reference are equal, the KL is rounding, which must not rank answers of one
        # reward. Rounding of random sign grows as the root of the number of tokens.
        length = xp.sum(xp.astype(batch.mask, kl.dtype), axis=-1, keepdims=True)
        kl = xp.where(same_log_prob(kl / xp.sqrt(xp.clip(length, 1, None))), xp.zeros_like(kl), kl)
        penalized = batch.reward - per_run(self.coefficient, kl) * kl
        # A second batch is judged by its rewards: a penalty would turn right answers into wrong ones.
        return batch.replace(reward=xp.where(batch.is_tempered, batch.reward, penalized))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        prepared = self.base.prepare(self._penalized(batch)).prepared
        factor = penalty_factor(batch, self.base, self.normalization)
        return batch.with_prepared(**prepared, **{"reference-kl.factor": factor})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        if self.placement == "reward":
            return scores
        difference = log_ratio(batch, "reference_log_prob")
        xp = namespace(difference)
        if self.estimator == "k3":
            slope = 1 - capped_exp(-difference)
        elif self.estimator == "abs":
            slope = xp.where(same_log_prob(difference), 0 * difference, xp.sign(difference))
        else:
            slope = ratio(batch) * difference if self.estimator == "k3-corrected" else difference
        # Where the weight is 0 columns may hold anything, and a product with it must still be 0.
        slope = xp.where(xp.isfinite(slope), slope, xp.zeros_like(slope))
        factor = batch.prepared["reference-kl.factor"]
        return scores - per_run(self.coefficient, factor) * factor * slope
