"""Update rules as a user might write them, each hard on an engine or a trainer in one way.

``HONEST`` declare what they read: wherever they run they mean the same, or are refused. ``Stateful`` and
``Undeclared`` are mistakes, which ``python -m entropy_theory check`` names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.modifier import Modifier


@dataclass(frozen=True, kw_only=True, slots=True)
class Fading(Modifier):
    """The base rule's scores, times a factor that falls from 1 to 0 over so many optimizer steps."""

    name: ClassVar[str] = "fading"
    own_reads: ClassVar[frozenset[str]] = frozenset({"step"})
    steps: int = 100

    def _scores(self, batch: TokenBatch) -> Array:
        return max(0.0, 1 - batch.step / self.steps) * self.base.scores(batch)


@dataclass(frozen=True, kw_only=True, slots=True)
class TailSensitive(Modifier):
    """The base rule, without a gradient on tokens that the sampling policy gave less than ``least``."""

    name: ClassVar[str] = "tail-sensitive"
    own_reads: ClassVar[frozenset[str]] = frozenset({"old_log_prob"})
    least: float = 1e-3

    def _scores(self, batch: TokenBatch) -> Array:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        return xp.where(batch.old_log_prob < math.log(self.least), xp.zeros_like(scores), scores)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogProbSensitive(Modifier):
    """The base rule's score times 1 - pi(a | s) of the policy that is trained."""

    name: ClassVar[str] = "log-prob-sensitive"
    own_reads: ClassVar[frozenset[str]] = frozenset({"log_prob"})

    def _scores(self, batch: TokenBatch) -> Array:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        zeros = xp.zeros_like(scores)
        return scores * (1 - xp.exp(xp.where(batch.mask, batch.log_prob, zeros)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Undeclared(LogProbSensitive):
    """The same rule, which says that it reads nothing: engines may sum rows that are not alike."""

    name: ClassVar[str] = "undeclared"
    own_reads: ClassVar[frozenset[str]] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stateful(Modifier):
    """`Fading` by mistake: it counts how often it was asked, where it means optimizer steps."""

    name: ClassVar[str] = "stateful"
    own_reads: ClassVar[frozenset[str]] = frozenset()
    steps: int = 100
    asked: dict[str, int] = field(default_factory=lambda: {"times": 0}, compare=False, repr=False)

    def _scores(self, batch: TokenBatch) -> Array:
        self.asked["times"] += 1
        return max(0.0, 1 - self.asked["times"] / self.steps) * self.base.scores(batch)


HONEST = (Fading, TailSensitive, LogProbSensitive)
MISTAKEN = (Stateful, Undeclared)
