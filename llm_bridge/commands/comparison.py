"""What comparisons of training runs share: the size of a run, its options, and the file of records."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from entropy_theory.support import results
from llm_bridge.commands.train_config import Run, TrainConfig, resolved
from llm_bridge.data import tasks

Task: TypeAlias = Literal["split", "sum", "chain-sum"]
MODELS: dict[Task, str] = {
    "split": "small-sums", "sum": "small-sums", "chain-sum": "smollm2-135m-instruct"}
"""The model that is trained on each task."""
PACKAGES = ("torch", "transformers", "trl", "numpy")
DIGITS = 5
"""The significant digits of what is kept: a step's entropy is the mean of a sample of prompts."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """The size of each run; runs of different sizes are not compared."""

    steps: int = 80
    """Optimizer steps of each run."""
    prompts: int = 16
    """Prompts of each batch."""
    samples: int = 8
    """Samples of each prompt."""

    @classmethod
    def of(cls, config: Any) -> Self:
        """Return the size by a comparison's options."""
        return cls(**{field.name: getattr(config, field.name) for field in dataclasses.fields(cls)})


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class HeldOutSize(Size):
    """The size of each run that ends with prompts on which the model was never trained."""

    held_out_prompts: int = 32
    """How many prompts that are never trained on are answered at the end."""
    held_out_samples: int = 16
    """Samples of each of them."""


class Records:
    """The records of finished runs in a JSON file, with which the same command goes on.

    Args:
        path: the file, which an earlier call may have begun.
        size: of each run; records of runs of another size are not kept.
        device: as `results.provenance` has it.
        packages: those whose versions matter beside PACKAGES.

    Raises:
        OSError: a file that cannot be written.
    """

    def __init__(self, path: Path, size: Size, *, device: str = "cpu", packages: tuple[str, ...] = ()):
        import torch

        results.check_writable(path)
        torch.set_num_threads(1)
        self._path = path
        self._origin = results.provenance(
            config=size, seed=0, device=device, packages=PACKAGES + packages)
        self.kept = results.kept_records(path, self._origin)

    def add(self, name: str, record: dict[str, Any], about: str = "") -> None:
        """Write the record of a run, and print how the run ended."""
        self.kept.append({**record, "commit": self._origin["commit"]})
        # A record a line: a run that is added is a line of the file's diff.
        lines = ",\n".join(json.dumps(results.plain(kept), allow_nan=False) for kept in self.kept)
        origin = json.dumps(results.plain(self._origin))
        results.write_text(self._path, f'{{"provenance": {origin},\n"records": [\n{lines}\n]}}\n')
        seconds = record.get("process_seconds")
        parts = [about, "" if seconds is None else f"{seconds:.0f} s of a processor"]
        print(f"{name}: {', '.join(filter(None, parts))}", file=sys.stderr, flush=True)


def train_config(size: Size, folder: Path, **options: Any) -> Run:
    """Return the checked options of a run, on the CPU and without checkpoints unless others are given."""
    return resolved(TrainConfig(**{
        "steps": size.steps, "prompts": size.prompts, "samples": size.samples, "save_every": 0,
        "device": "cpu", "log_to": "none", "output": folder, **options}))


def evaluated(
    model: Any, tokenizer: Any, task: tasks.Task, size: HeldOutSize, seed: int
) -> dict[str, Any]:
    """Evaluate a trained model on a task's prompts, as `evaluation.evaluate` returns it."""
    from llm_bridge import evaluation

    return evaluation.evaluate(
        model, tokenizer, task, num_samples=size.held_out_samples,
        batch_size=size.held_out_prompts * size.held_out_samples, seed=seed)


def short(value: Any) -> Any:
    """Return a number with DIGITS significant digits; None stays None."""
    return None if value is None else float(f"{value:.{DIGITS}g}")
