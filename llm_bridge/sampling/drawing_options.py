"""What every command that draws completions is asked for, without torch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Literal

from entropy_theory.support.user_errors import check_choice
from llm_bridge.data import models, rewards, tasks


def check_numbers(
    temperature: float | None, *, top_p: float | None = None, top_k: int | None = None,
    **counts: int | None,
) -> None:
    """Raise a ValueError for a number that nothing can be drawn with; None is whatever the default is.

    Args:
        temperature, top_p, top_k: as of `sampling.sample`.
        counts: numbers that must be at least 1, by name.
    """
    if temperature is not None and not (math.isfinite(temperature) and temperature > 0):
        raise ValueError(
            f"temperature must be finite and above 0, got {temperature}: 1 samples the model's own "
            "distribution, 0.01 is nearly greedy"
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}: 1 is off")
    if top_k is not None and top_k < 0:
        raise ValueError(f"top_k must be at least 0, got {top_k}: 0 is off, 1 greedy")
    for name, value in counts.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class DrawingOptions:
    """A model, and how completions are drawn from it."""

    model: str = "small-sums"
    """Bundled name, folder in Hugging Face format (a checkpoint too), or hub id."""
    max_new_tokens: int | None = None
    """Longest completion, in tokens; the task's own limit by default."""
    split: tasks.Split = "held-out"
    """Part of a named task the prompts come from; a JSONL file is used whole."""
    reward: str | None = None
    """Reward function: a name, my_rewards.py:score or module:function; the task's own by default."""
    chat_template: bool = False
    """Render each prompt as a user's turn of the model's chat template."""
    seed: int = 0
    """Seed of everything that is drawn: prompts, samples, an evaluation's bootstrap."""
    dtype: str = "float32"
    """Number format of the weights: float32, bfloat16 or float16."""
    device: str = "cpu"
    """Where the model runs: cpu or cuda."""
    batch_size: int = 32
    """Sequences generated at once."""
    sampler: Literal["auto", "generate", "static", "continuous", "trl", "vllm"] = "auto"
    """How to sample; auto: static on a GPU, else generate; with top-p or top-k, generate."""

    def check_names(self, task: str, also: Iterable[str] = ()) -> None:
        """Check the names of model, number format, task and reward before torch is imported.

        Args:
            task: the task that is asked for.
            also: names of further tasks.

        Raises:
            ValueError: an unknown name (the nearest ones are given), or a task file that cannot be read.
        """
        models.check_name(self.model)
        check_choice(self.dtype, models.DTYPES, "dtype")
        tasks.check_name(task, also)
        if tasks.is_file(task):
            tasks.load(task)
        if self.reward is not None:
            rewards.get(self.reward)
