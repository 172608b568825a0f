"""A run through TRL, as options: what it trains, and what is made wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """What draws the answers, where it is not the policy in training at its own temperature."""

    temperature: float = 1.0
    top_p: float = 1.0
    every: int = 1
    """Steps between two copies of the weights."""
    dtype: str = "float32"


@dataclass(frozen=True, kw_only=True)
class Training:
    """A run: the task, what TRL is told, and what is made wrong."""

    seed: int = 0
    task: str = "split"
    """"split", "sum", or "mixed": both in turn."""
    prompts: int = 8
    samples: int = 8
    steps: int = 120
    learning_rate: float = 2e-4
    longest: int = 0
    """The limit of an answer in tokens; 0: what the task needs."""
    trl: dict[str, Any] = field(default_factory=dict)
    """Options of TRL's GRPOConfig."""
    reward: str = "right"
    """One of `training.REWARDS`."""
    length_bonus: float = 0.0
    """The extra reward of an answer of the greatest length."""
    sampler: Sampler | None = None
    summed_entropy: float = 0.0
    """The coefficient of a bonus on entropy that is summed over the answer."""
    period: int = 0
    """The steps after which the same prompts come again, sorted by how hard they are; 0: shuffled."""
    order: int = 0
    """The seed of those prompts, where it is shared by several runs."""
    crash: int = 0
    """The step at which the run dies; it goes on from `saved`, and its log has both parts."""
    saved: int = 0
    rambling: int = 0
    """Steps of supervised training, before, on right answers that go on for a while: lengths vary."""
    distinct: int = 0
    """The number of prompts, again and again; 0: as many as there are."""
    evaluate: int = 0
    """Steps between two evaluations of held-out prompts; 0: none."""
