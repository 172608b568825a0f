"""What an evaluation is asked for: its options and their defaults, without torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from llm_bridge.data import benchmarks
from llm_bridge.sampling.drawing_options import DrawingOptions, check_numbers


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateConfig(DrawingOptions):
    """Measure a model on a task: pass@1, pass@k, avg@n, entropy, the constant-answer score."""

    task: str = "split"
    """Task name, reasoning-gym:NAME, a JSONL file of prompts and answers, or a benchmark: aime24,
    aime25, amc23, math500, gsm8k, minerva, olympiad."""
    protocol: str | None = None
    """A paper's way to evaluate a benchmark: entropy-mechanism, aepo, aepo-pass-at-k or aent; it sets
    prompt, temperature, top-p, top-k, samples and length, where they are not given here."""
    benchmark_folder: Path | None = None
    """Folder with NAME.jsonl or NAME.parquet of benchmarks; else $LLM_BRIDGE_BENCHMARKS, else the hub."""
    num_prompts: int | None = None
    """How many prompts; by default 256 of a named task, every line of a file or benchmark."""
    num_samples: int | None = None
    """Completions drawn for each prompt: the n of avg@n, the largest k of pass@k; 8 by default."""
    temperature: float | None = None
    """Sampling temperature, finite and above 0; 1, the model's own distribution, by default."""
    top_p: float | None = None
    """Draw from the smallest set of tokens with this much probability; 1, all of them, by default."""
    top_k: int | None = None
    """Draw from the so many most probable tokens, 1: greedy; 0, all of them, by default."""
    k: tuple[int, ...] | None = None
    """The k of pass@k; by default the powers of two up to num-samples."""
    output: Path | None = None
    """JSON file to write, the completions beside it as .samples.jsonl, from which a killed command goes
    on; a summary is printed in any case."""
    json: Path | None = None
    """Write the same to this file, without completions; "-" prints it."""

    def check(self) -> None:
        """Check names and numbers before torch is imported. Raises ValueError for one that is wrong."""
        self.check_names(self.task, benchmarks.BENCHMARKS)
        filled, _ = self.resolved()
        check_numbers(
            filled.temperature, top_p=filled.top_p, top_k=filled.top_k, num_prompts=filled.num_prompts,
            num_samples=filled.num_samples, max_new_tokens=filled.max_new_tokens,
            batch_size=filled.batch_size)
        assert filled.num_samples is not None
        ks_of(filled.k, filled.num_samples)

    def resolved(self) -> tuple[EvaluateConfig, benchmarks.Protocol | None]:
        """Return the config, filled up by the protocol or else by defaults, and the protocol."""
        protocol = None
        defaults: dict[str, Any] = {"num_samples": 8, "temperature": 1.0, "top_p": 1.0, "top_k": 0}
        if self.protocol is not None:
            protocol = benchmarks.protocol(self.protocol, self.task)
            defaults = {
                "num_samples": protocol.samples, "temperature": protocol.temperature,
                "top_p": protocol.top_p, "top_k": protocol.top_k,
                "max_new_tokens": protocol.max_new_tokens,
            }
        missing = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        return dataclasses.replace(self, **missing), protocol


def ks_of(ks: Iterable[int] | None, num_samples: int) -> list[int]:
    """Return the k of pass@k in order, 1 among them; None stands for the powers of two.

    Raises ValueError for a k below 1 or above ``num_samples``.
    """
    if ks is None:
        ks = [2**i for i in range(num_samples.bit_length()) if 2**i <= num_samples]
    found = sorted({1, *ks})
    if found[-1] > num_samples or found[0] < 1:
        raise ValueError(
            f"pass@k needs 1 <= k <= num_samples, got k = {found} with {num_samples} samples: draw "
            "more samples or ask for a smaller k"
        )
    return found
