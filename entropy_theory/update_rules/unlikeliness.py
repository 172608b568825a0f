r"""Unlikeliness reward: of the right answers to a prompt the likelier are worth less (arXiv 2506.02355).

.. math::

    R \leftarrow R\, (1 - \beta \times \text{rank} / G)

The rank is 0 at the least likely answer of the group and G - 1 at the likeliest. Likely is the mean
log-probability of an answer's tokens under the policy that sampled, and beta is .25, as in the authors'
code (AndreHe02/rewarding-unlikely-release, ``lean.rank_penalty``). A wrong answer's reward of 0 stays 0.
A prompt whose answers are all right has a signal by it. Answers that are equally likely share the mean of
their ranks; in the code chance orders them. In a listing of all answers rank / G is the probability of a
less likely one. The penalty holds entropy up where right answers are the likelier ones, and not elsewhere
(`later-work.unlikeliness`).
"""

from __future__ import annotations

import math
from typing import Any

from entropy_theory.advantages.groups import Groups
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.rounding import same_log_prob
from entropy_theory.token_batch import TokenBatch, sequence_mean
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, check_share, update_rule
from entropy_theory.update_rules.shaped import is_shaped, need_rewards


@update_rule("unlikeliness")
class Unlikeliness(Modifier):
    """The base rule on rewards that fall with an answer's rank among the group's."""

    beta: float = 0.25
    """Share of its reward that the likeliest answer of a large group loses, from 0 to 1."""

    _needs = Needs(reads={"old_log_prob"})

    def _check(self) -> None:
        check_share("beta", self.beta)

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        return self.base.advantages(self._penalized(batch))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        prepared = self.base.prepare(self._penalized(batch)).prepared
        return batch.with_prepared(**prepared)

    def _penalized(self, batch: TokenBatch) -> TokenBatch:
        if is_shaped(batch):
            return batch
        need_rewards(self.name, batch)
        xp = namespace(batch.reward)
        penalized = batch.reward * (1 - self.beta * rank(batch))
        return batch.replace(reward=xp.where(batch.is_tempered, batch.reward, penalized))


def rank(batch: TokenBatch) -> Array:
    """Return rank / G of each answer among the ordinary ones of its prompt: [..., sequences, 1]."""
    xp: Any = namespace(batch.old_log_prob)
    rows = batch.is_ordinary
    counts = rows & xp.isfinite(batch.old_log_prob)
    log_prob = sequence_mean(
        xp.where(counts, batch.old_log_prob, xp.zeros_like(batch.old_log_prob)), rows)
    ordered = Groups(batch, rows).ascending(log_prob)
    known = ordered.values < math.inf
    value = xp.where(known, ordered.values, xp.zeros_like(ordered.values))
    change = value[..., :, None] - value[..., None, :]
    share = ordered.share[..., None, :]
    tied = same_log_prob(change)
    zeros = xp.zeros_like(change)
    below = xp.sum(xp.where((change > 0) & ~tied, share, zeros), axis=-1)
    equal = xp.sum(xp.where(tied, share, zeros), axis=-1)
    own = 0 * equal if batch.listed else ordered.share
    return ordered.back(below + (equal - own) / 2)
