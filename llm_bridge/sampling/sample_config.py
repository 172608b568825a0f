"""What the sample command is asked for: its options and their defaults, without torch."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from llm_bridge.data import tasks


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SampleConfig:
    """Draw completions and print them, or write them to a JSONL file."""

    model: str = "small-sums"
    """Bundled name, folder in Hugging Face format, or hub id."""
    task: str = "split"
    """Task name, reasoning-gym:NAME, or a JSONL file of prompts and answers."""
    num_prompts: int = 8
    """How many prompts of the task."""
    num_samples: int = 4
    """Completions drawn for each prompt."""
    temperature: float = 1.0
    """Sampling temperature, finite and above 0; 1 samples the model's own distribution."""
    max_new_tokens: int | None = None
    """Longest completion, in tokens; the task's own limit by default."""
    split: tasks.Split = "held-out"
    """Part of a named task the prompts come from; a JSONL file is used whole."""
    reward: str | None = None
    """Reward function: a name, my_rewards.py:score or module:function; the task's own by default."""
    chat_template: bool = False
    """Render each prompt as a user's turn of the model's chat template."""
    seed: int = 0
    """Seed of the prompts and of the samples."""
    dtype: str = "float32"
    """Number format of the weights: float32, bfloat16 or float16."""
    device: str = "cpu"
    """Where the model runs: cpu or cuda."""
    batch_size: int = 32
    """Sequences generated at once."""
    sampler: str = "auto"
    """How to sample: auto, generate, static, continuous, trl, vllm."""
    output: Path | None = None
    """JSONL file to write, its provenance beside it; printed by default."""
