r"""REINFORCE: a token weighs by its advantage, without a ratio (AEPO, section 3.1).

.. math::

    \nabla J = E[A\, \nabla \log \pi]

As printed, up to a constant, this is the normalization "dr-grpo"; the default divides each answer by its
own length, as GRPO and AEPO's Eq. 1 do.

It has no importance ratio: on samples of an older policy this is the plain score-function estimate, as
the formula reads. Its effect on entropy is the claim `entropy-mechanism.theorem-1`. The formula is the
same on the rows of a second batch (AEPO, Figure 2, has REINFORCE on tempered samples alone): give the
batch tempered rows only.
"""

from __future__ import annotations

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.policy_gradient import PolicyGradient
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("reinforce")
class Reinforce(PolicyGradient):
    """The score is advantage x length factor: every token has weight 1."""

    estimator: str = "reward"
    """The estimator of advantages: "reward" (no baseline, the papers' REINFORCE) or another of
    `advantages.ESTIMATORS`. A batch that brings its own ``advantage`` column uses that."""

    @property
    def _needs(self) -> Needs:
        return self._reading()

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        return namespace(advantage).ones_like(advantage)
