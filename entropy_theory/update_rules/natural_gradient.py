r"""Natural policy gradient of a tabular policy (Cui et al., Theorem 2).

.. math::

    \Delta z = \eta\, (A - \text{mean of } A)

The inverse Fisher matrix of one softmax turns the gradient :math:`\pi (A - \mathbb E A)` into A itself,
up to a constant that leaves the softmax as it is. On a state whose actions are all listed the per-token
scores are :math:`(A_a - \operatorname{mean}_b A_b) / \pi_a`, so that weight x score sums to
:math:`A_a - \operatorname{mean}_b A_b`. On samples the rule does not exist, because actions that were
not drawn move too. Its effect on entropy is the claim `entropy-mechanism.theorem-2`.
"""

from __future__ import annotations

from entropy_theory import advantages
from entropy_theory.array_types import TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import Needs, UpdateRule, components, update_rule

REFUSED = (
    "'natural-gradient' needs every action of each state listed exactly, with its probability as weight "
    "(tabular.listing): on samples it is undefined, use 'reinforce' or 'grpo'"
)


@update_rule("natural-gradient")
class NaturalGradient(UpdateRule):
    """The score is (A_a - mean over actions) / pi_a, on exact listings only."""

    estimator: str = "reward"
    """The estimator of advantages: "reward" (any baseline drops out) or another of `ESTIMATORS`."""

    def _check(self) -> None:
        check_choice(self.estimator, advantages.ESTIMATORS, "advantage estimator")

    @property
    def _needs(self) -> Needs:
        return Needs(columns=("state", "action"), reads={"log_prob", "rows"}, listing=REFUSED)

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        if batch.advantage is not None:
            return batch.advantage
        return advantages.ESTIMATORS[self.estimator](batch, batch.is_ordinary)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        if batch.mask.shape[-1] != 1:
            raise ValueError(REFUSED)
        xp = namespace(batch.log_prob)
        rows = batch.is_ordinary
        states = batch.state == namespace(batch.state).unique_values(batch.state)  # [..., rows, states]
        member = xp.astype(states & rows, batch.weight.dtype)
        by_state = batch.replace(group=batch.state)
        advantages.check_listing(by_state, rows, batch.log_prob, REFUSED)
        probability = xp.exp(batch.log_prob)
        # Below the smallest float an action's weight is 0 and nothing can move it; left in the mean it
        # would leave weight x score with a nonzero sum, which pulls the others together.
        smallest = float(xp.finfo(probability.dtype).tiny)
        movable = rows & (probability > smallest)
        counted = member * xp.astype(movable, batch.weight.dtype)
        advantage = self.advantages(batch)
        actions = xp.sum(counted, axis=-2, keepdims=True)
        mean = xp.sum(counted * advantage, axis=-2, keepdims=True) / xp.clip(actions, 1, None)
        centered = advantage - xp.sum(member * mean, axis=-1, keepdims=True)
        safe = xp.where(movable, probability, xp.ones_like(probability))
        score = xp.where(movable, centered / safe, xp.zeros_like(centered))
        return batch.with_prepared(**{"natural-gradient.score": score})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        return batch.prepared["natural-gradient.score"]


def needs_independent_logits(rule: UpdateRule) -> bool:
    """Whether the rule is defined for tabular policies with answers of one token alone."""
    return any(isinstance(part, NaturalGradient) for _, part in components(rule))
