"""Update rules as a user might write them, each hard on an engine or a trainer in one way.

``HONEST`` declare what they read: wherever they run they mean the same, or are refused. ``Stateful`` and
``Undeclared`` are mistakes, which ``python -m entropy_theory check`` names.
"""

from __future__ import annotations

import math
from dataclasses import field

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("fading")
class Fading(Modifier):
    """The base rule's scores, times a factor that falls from 1 to 0 over so many optimizer steps."""

    _needs = Needs(reads={"step"})
    steps: int = 100

    def _scores(self, batch: TokenBatch) -> Array:
        return max(0.0, 1 - batch.step / self.steps) * self.base.scores(batch)


@update_rule("tail-sensitive")
class TailSensitive(Modifier):
    """The base rule, without a gradient on tokens that the sampling policy gave less than ``least``."""

    _needs = Needs(reads={"old_log_prob"})
    least: float = 1e-3

    def _scores(self, batch: TokenBatch) -> Array:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        return xp.where(batch.old_log_prob < math.log(self.least), xp.zeros_like(scores), scores)


@update_rule("log-prob-sensitive")
class LogProbSensitive(Modifier):
    """The base rule's score times 1 - pi(a | s) of the policy that is trained."""

    _needs = Needs(reads={"log_prob"})

    def _scores(self, batch: TokenBatch) -> Array:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        zeros = xp.zeros_like(scores)
        return scores * (1 - xp.exp(xp.where(batch.mask, batch.log_prob, zeros)))


@update_rule("reweighted")
class Reweighted(Modifier):
    """The base rule's scores times pi / mu: full importance weights from the sampler to the policy."""

    _needs = Needs(columns=("sampling_log_prob",), reads={"log_prob", "sampling_log_prob"})

    def _scores(self, batch: TokenBatch) -> Array:
        xp, scores = namespace(batch.log_prob), self.base.scores(batch)
        # What the sampler cuts off is never drawn, and has weight 0 in a listing.
        drawn = batch.sampling_log_prob > -math.inf
        gap = xp.where(drawn, batch.log_prob - batch.sampling_log_prob, xp.zeros_like(scores))
        return scores * xp.exp(gap)


@update_rule("undeclared")
class Undeclared(LogProbSensitive):
    """The same rule, which says that it reads nothing: engines may sum rows that are not alike."""

    _needs = Needs(reads=NOTHING)


@update_rule("stateful")
class Stateful(Modifier):
    """`Fading` by mistake: it counts how often it was asked, where it means optimizer steps."""

    _needs = Needs(reads=NOTHING)
    steps: int = 100
    asked: dict[str, int] = field(default_factory=lambda: {"times": 0}, compare=False, repr=False)

    def _scores(self, batch: TokenBatch) -> Array:
        self.asked["times"] += 1
        return max(0.0, 1 - self.asked["times"] / self.steps) * self.base.scores(batch)


HONEST = (Fading, TailSensitive, LogProbSensitive)
