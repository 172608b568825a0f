"""What the sample command is asked for: its options and their defaults, without torch."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from llm_bridge.sampling.drawing_options import DrawingOptions, check_numbers


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SampleConfig(DrawingOptions):
    """Draw completions and print them, or write them to a JSONL file."""

    task: str = "split"
    """Task name, reasoning-gym:NAME, or a JSONL file of prompts and answers."""
    num_prompts: int = 8
    """How many prompts of the task."""
    num_samples: int = 4
    """Completions drawn for each prompt."""
    temperature: float = 1.0
    """Sampling temperature, finite and above 0; 1 samples the model's own distribution."""
    output: Path | None = None
    """JSONL file to write, its provenance beside it; printed by default."""
    json: Path | None = None
    """Write the completions to this file, as one JSON list; "-" prints it."""

    def check(self) -> None:
        """Check names and numbers before torch is imported. Raises ValueError for one that is wrong."""
        self.check_names(self.task)
        check_numbers(
            self.temperature, num_prompts=self.num_prompts, num_samples=self.num_samples,
            max_new_tokens=self.max_new_tokens, batch_size=self.batch_size)
