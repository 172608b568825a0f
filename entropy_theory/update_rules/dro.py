r"""DRO and Kimi k1.5: a quadratic penalty on the log-ratio in place of a clip (arXiv 2501.12599, Eq. 3).

.. math::

    J = E\left[A \log \pi - \frac{\beta}{2} (\log r)^2\right]

so that score = A - beta log r, times the length factor. verl's ``dro`` has no default ``dro_beta``;
ROLL's ``kimi15`` has tau .1, which is taken here. Both penalize the log-ratio of each token, the paper
that of a whole answer. Put over another base rule it is the term that prime-rl adds to its loss, kl_tau
(log r)^2 with beta = 2 kl_tau = .002 and anchor "sampling".
"""

from __future__ import annotations

import math
from dataclasses import field

from entropy_theory.array_types import TokenColumn
from entropy_theory.reads import RATIO
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import ANCHORS, log_ratio
from entropy_theory.update_rules.modifier import Modifier, penalty_factor
from entropy_theory.update_rules.reinforce import Reinforce
from entropy_theory.update_rules.rule import Needs, UpdateRule, update_rule


def _plain() -> UpdateRule:
    return Reinforce(estimator="group-normalized", normalization="token-mean")


@update_rule("dro")
class Dro(Modifier):
    """The base rule's score minus beta x log-ratio x length factor."""

    base: UpdateRule = field(default_factory=_plain)
    """The rule whose score is penalized; by default a policy gradient without ratio."""
    beta: float = 0.1
    """The coefficient of half the squared log-ratio."""
    anchor: str = "old"
    """The policy below the ratio: "old" or "sampling", the one that tokens were drawn from."""

    def _check(self) -> None:
        check_choice(self.anchor, ANCHORS, "anchor")
        if not 0 <= self.beta < math.inf:
            raise ValueError(f"beta must be a number of at least 0, got {self.beta}")

    @property
    def _needs(self) -> Needs:
        if self.anchor == "old":
            return Needs(reads={RATIO})
        return Needs(reads={"log_prob"}, columns=(ANCHORS[self.anchor],))

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert = ("'dro' has no penalty where every step is on-policy, because log-ratios are 0: take "
                 "several optimizer steps on each batch, or its base rule",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *inert * (on_policy and self.anchor == "old"))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return self.base.prepare(batch).with_prepared(**{"dro.factor": penalty_factor(batch, self.base)})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        change = log_ratio(batch, ANCHORS[self.anchor])
        return self.base.scores(batch) - self.beta * batch.prepared["dro.factor"] * change
