"""What every command that draws completions is asked for, without torch."""

from __future__ import annotations

import dataclasses

from llm_bridge.data import tasks


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
    sampler: str = "auto"
    """How to sample: auto, generate, static, continuous, trl, vllm; with top-p or top-k, generate."""
