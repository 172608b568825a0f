"""How completions are drawn, and what the sample and evaluate commands are asked for; without torch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from entropy_theory.support.user_errors import check_choice
from llm_bridge.data import benchmarks, models, rewards, tasks
from llm_bridge.running.devices import Device


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """How `sampling.sample` draws. Raises ValueError for a number that nothing can be drawn with."""

    num_samples: int = 1
    """Number of completions for each prompt."""
    temperature: float = 1.0
    """T of pi^T = softmax(logits / T), finite and above 0."""
    top_p: float = 1.0
    """Draw from the smallest set of tokens that holds this much of pi^T. 1: from all. With this or
    ``top_k`` the sampler is "generate" or "vllm". Log-probabilities stay those of pi and of the
    whole pi^T."""
    top_k: int = 0
    """Draw from this many of the most probable tokens. 0: from all. 1: the most probable."""
    max_new_tokens: int = 64
    """Largest number of tokens of a completion."""
    stop: str | None = None
    """A completion also ends after the first token whose text contains this."""
    seed: int = 0
    """Equal arguments and seed give equal samples."""
    batch_size: int = 32
    """Number of sequences generated at once. Samplers that make their own batches get all at once,
    and their completions are scored in batches of this size."""
    sampler: str = "auto"
    """A name of `llm_bridge.sampling.samplers`, or "auto"."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(
                f"temperature must be finite and above 0, got {self.temperature}: 1 samples the model's "
                "own distribution, 0.01 is nearly greedy")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p}: 1 is off")
        if self.top_k < 0:
            raise ValueError(f"top_k must be at least 0, got {self.top_k}: 0 is off, 1 greedy")
        for name in ("num_samples", "max_new_tokens", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.is_cut and self.sampler not in ("auto", "generate", "vllm"):
            raise ValueError(
                f"sampler '{self.sampler}' does not have top-p or top-k: use 'generate' or 'vllm'")

    @property
    def is_cut(self) -> bool:
        """Whether tokens come from a part of pi^T."""
        return self.top_p != 1 or self.top_k != 0

    @property
    def named_sampler(self) -> str:
        """The sampler, of which "auto" is one that can draw so."""
        return "generate" if self.is_cut and self.sampler == "auto" else self.sampler


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
    device: Device = "auto"
    """Device of the model. auto: a GPU where there is one. cuda: a GPU, or an error."""
    batch_size: int = 32
    """Sequences generated at once."""
    sampler: Literal["auto", "generate", "static", "trl", "vllm"] = "auto"
    """The sampler. auto: static on a GPU, else generate. With top-p or top-k auto is generate,
    since trl and static have neither."""

    def drawing(self, **also: Any) -> Drawing:
        """Return how to draw, of those options that are given. Raises ValueError as `Drawing`."""
        names = [field.name for field in dataclasses.fields(Drawing)]
        given = {name: value for name in names if (value := getattr(self, name, None)) is not None}
        return Drawing(**given | also)

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


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SampleConfig(DrawingOptions):
    """Draw completions and print them, or write them to a JSONL file."""

    task: str = "split"
    """Task name, reasoning-gym:NAME, or a JSONL file of prompts and answers."""
    num_prompts: int = 8
    """Number of prompts of the task."""
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
        _check_prompts(self.num_prompts)
        self.drawing()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateConfig(DrawingOptions):
    """Measure a model on a task: pass@1, pass@k, avg@n, entropy, the constant-answer score."""

    task: str = "split"
    """Task name, reasoning-gym:NAME, a JSONL file of prompts and answers, or a benchmark: aime24,
    aime25, amc23, math500, gsm8k, minerva, olympiad."""
    protocol: str | None = None
    """A paper's protocol for a benchmark: entropy-mechanism, aepo, aepo-pass-at-k or aent. It sets
    prompt, temperature, top-p, top-k, samples and length, where they are not given here."""
    benchmark_folder: Path | None = None
    """Folder with NAME.jsonl or NAME.parquet of benchmarks; else $LLM_BRIDGE_BENCHMARKS, else the hub."""
    num_prompts: int | None = None
    """Number of prompts; by default 256 of a named task, every line of a file or benchmark."""
    num_samples: int | None = None
    """Completions drawn for each prompt: the n of avg@n, the largest k of pass@k; 8 by default."""
    temperature: float | None = None
    """Sampling temperature, finite and above 0; 1, the model's own distribution, by default."""
    top_p: float | None = None
    """Draw from the smallest set of tokens with this much probability; 1, all of them, by default."""
    top_k: int | None = None
    """Draw from this many of the most probable tokens. 1: greedy. 0, the default: all of them."""
    k: tuple[int, ...] | None = None
    """The k of pass@k; by default the powers of two up to num-samples."""
    output: Path | None = None
    """JSON file to write. Completions go beside it as .samples.jsonl, from which a killed command
    resumes. A summary is printed in any case."""
    json: Path | None = None
    """Write the result without completions, or the plan of a dry run, to this file; "-" prints it."""
    dry_run: bool = False
    """Print the plan (completions, chunks, memory, time) and stop: nothing is downloaded, loaded or
    written. WORLD_SIZE=8 before the command plans for eight processes."""
    tokens_per_second: float | None = None
    """With --dry-run: tokens that a process draws in a second, to estimate the time."""
    probe: bool = False
    """With --dry-run: load the model, and measure tokens per second on a batch."""

    def check(self) -> None:
        """Check names and numbers before torch is imported. Raises ValueError for one that is wrong."""
        for name in ("tokens_per_second", "probe"):
            if getattr(self, name) and not self.dry_run:
                option = name.replace("_", "-")
                raise ValueError(f"--{option} goes with --dry-run: give that too, or leave it out")
        if self.tokens_per_second is not None and not 0 < self.tokens_per_second < math.inf:
            raise ValueError(
                f"tokens_per_second must be above 0 and finite, got {self.tokens_per_second}")
        self.check_names(self.task, benchmarks.BENCHMARKS)
        filled, _ = self.resolved()
        _check_prompts(filled.num_prompts)
        ks_of(filled.k, filled.drawing().num_samples)

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


def _check_prompts(count: int | None) -> None:
    if count is not None and count < 1:
        raise ValueError(f"num_prompts must be at least 1, got {count}")


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
