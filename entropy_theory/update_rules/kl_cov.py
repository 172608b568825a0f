r"""KL-Cov: a KL penalty on the tokens with the largest covariance (Cui et al., Eqs. 10, 13, 14).

.. math::

    I = \{i : \text{rank of } \operatorname{Cov}(y_i) \le \text{ratio} \times N\}, \quad
    \text{objective} = r A - \text{coefficient} \times D_\text{KL}(\pi_\text{old} \| \pi) \text{ on } I.

On sampled tokens the penalty is one of

- "absolute", the authors' code (verl, `kl_cov`) and the default:
  :math:`|\log \pi - \log \pi_{\text{old}}|`
- "k2": :math:`(\log \pi - \log \pi_{\text{old}})^2 / 2`, whose gradient is unbiased for the KL's to
  first order
- "k3": :math:`r - 1 - \log r` with r = pi/pi_old (Schulman's estimator), whose expected gradient under
  pi_old is the KL's exactly

All have no gradient at r = 1, so **strictly on-policy KL-Cov is the base rule**
(`entropy-mechanism.kl-cov-on-policy`). KL-Cov acts from the second optimizer step on the same samples,
and `warnings` reports it. Its effect off policy is the claim `entropy-mechanism.kl-cov`.

Rounding has no direction. The slope of "absolute" is therefore 0 where two passes over one policy may
differ as much (`rounding.same_log_prob`): by 0.001 nats in a float32 column, 1e-6 in float64. The code
takes a full penalty there, in a direction of chance. This rule does, too, where a bfloat16 model's two
passes differ by more.

Differences from the code: this rule selects over the whole step, not in each micro-batch, and the quota
may be 0 as printed (``at_least_one``). As in the code the default base has no PPO clip.
"""

from __future__ import annotations

import math
from dataclasses import field

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.rounding import same_log_prob
from entropy_theory.support.user_errors import check_choice, lookup
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import selection
from entropy_theory.update_rules.clip_cov import COV_COLUMN, fraction, quota_warnings
from entropy_theory.update_rules.clipped_ratio import capped_exp, log_ratio
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier, penalty_factor
from entropy_theory.update_rules.rule import Needs, UpdateRule, check_share, update_rule

PENALTIES = ("absolute", "k2", "k3")


def unclipped_grpo() -> Grpo:
    """Return the base rule r A without a clip, averaged over tokens."""
    return Grpo(clip_low=math.inf, clip_high=math.inf, normalization="token-mean")


@update_rule("kl-cov")
class KlCov(Modifier):
    """The base rule's score, minus the penalty's slope on the selected tokens."""

    ratio: float = 2e-3
    """Share of the step's tokens that is selected (the paper's 7B value; 2e-4 at 32B)."""
    coefficient: float = 1.0
    """The coefficient beta: 1 in the paper and the authors' scripts, 0.1 in verl's configuration."""
    penalty: str = "absolute"
    """The penalty on a token: "absolute", "k2" or "k3"."""
    cov_log_prob: str = "old"
    """The log-probabilities in the covariance, "old" or "current", as in Clip-Cov."""
    covariance: str = "tabular"
    """"tabular" or "network", as in Clip-Cov."""
    at_least_one: bool = False
    """Whether to select one token even where ratio x N is below 1, as the authors' code does."""
    base: UpdateRule = field(default_factory=unclipped_grpo)

    def _check(self) -> None:
        check_share("ratio", self.ratio)
        check_choice(self.penalty, PENALTIES, "penalty")
        lookup(COV_COLUMN, self.cov_log_prob, "cov_log_prob")
        check_choice(self.covariance, selection.COVARIANCES, "covariance")
        if not math.isfinite(self.coefficient):
            raise ValueError(f"coefficient must be finite, got {self.coefficient}")

    @property
    def _needs(self) -> Needs:
        return Needs(
            columns=(selection.EFFECT,) if self.covariance == "network" else (),
            reads={RATIO, COV_COLUMN[self.cov_log_prob], "sequence", "rows"},
            every_step=self.cov_log_prob == "current")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert: tuple[str, ...] = (
            "'kl-cov' has no gradient where every step is on-policy, because its penalty is flat at "
            "ratio 1. Take several optimizer steps on each batch (num_iterations above 1, or "
            "steps_per_generation above gradient_accumulation_steps), or use 'clip-cov'",
        ) if on_policy else ()
        if self.coefficient == 0:
            inert += ("'kl-cov' with coefficient 0 is its base rule: raise it",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions), *inert,
                *quota_warnings(self.name, self.ratio, self.at_least_one, tokens))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        batch = self.base.prepare(batch)
        advantage = self.base.advantages(batch)
        covariance, slack = selection.covariances(
            batch, self.base.scores, advantage, COV_COLUMN[self.cov_log_prob], self.covariance)
        count = selection.quota(batch, self.ratio, self.at_least_one)
        chosen = selection.largest(batch, covariance, batch.is_ordinary, count, slack)
        # The penalty is part of the token's loss, and averaged with it.
        factor = penalty_factor(batch, self.base)
        return batch.with_prepared(**{"kl-cov.selected": chosen, "kl-cov.factor": factor})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        change = log_ratio(batch)
        if self.penalty == "absolute":
            sign = xp.where(change > 0, xp.ones_like(change), -xp.ones_like(change))
            slope = xp.where(same_log_prob(change), xp.zeros_like(change), sign)
        else:
            slope = change if self.penalty == "k2" else capped_exp(change) - 1
        penalized = scores - self.coefficient * batch.prepared["kl-cov.factor"] * slope
        return xp.where(batch.prepared["kl-cov.selected"], penalized, scores)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the ``selected_fraction`` of the tokens, and the base rule's metrics."""
        batch = self._prepared(batch)
        return self._with_base_metrics(
            batch, {"selected_fraction": fraction(batch, batch.prepared["kl-cov.selected"])})
