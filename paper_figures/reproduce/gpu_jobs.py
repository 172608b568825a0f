"""Lists the jobs that need a GPU, in order of priority.

First come tests and short benchmarks, then four rules on two tasks with three seeds. Then follow
the other recipes of gpu-small, some of them evaluated, the comparison of controllers, and long
benchmarks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from entropy_theory.support.results import read_json
from paper_figures.data.inputs import MEASURED

MODELS = Path("build") / "gpu" / "models"
"""The folder of pretrained and trained models, which are too large to be kept with the results."""

FIRST = ("first-grpo", "first-aepo", "first-diverse-bonus", "first-forecast")
"""Recipes of gpu-small of which every seed comes before any other run."""
# The other recipes, by how soon a reader wants to see them.
RECIPES = (
    "grpo", "aepo-targets", "entropy-bonus", "aepo-ablations", "aent-adaptive",
    "aent-constant", "grpo-off-policy", "clip-cov", "kl-cov", "clip-higher", "entropy-advantage",
    "reference-kl", "sizes",
)
SETTINGS = ("split", "chain-sum", "sum")
# Whose models are evaluated at many samples, as in AEPO, Table 2; 0.015 is the paper's (Table 4).
EVALUATED = (
    "split-grpo-seed0", "split-aepo-targets-target0.5-seed0",
    "split-entropy-bonus-coefficient0.015-seed0",
)
# What makes any run of a recipe one of seconds on a CPU.
REHEARSAL = (
    "--model", "small-sums", "--task", "split", "--steps", "2", "--prompts", "2", "--samples", "4",
    "--max-new-tokens", "6", "--audit-every", "0", "--device", "cpu",
)
GPU_TESTS = (
    "-rfE", "-m", "not deep", "-k", "cuda or triton or test_head or test_fused", "tests/llm_bridge",
    "tests/simulations",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuJob:
    """One entry of the queue; it is finished once its folder says so."""

    name: str
    """The job's folder in measured/."""
    kind: Literal["check", "pretrain", "train", "evaluate", "compare"]
    minutes: float
    """About how long the job takes on one H200."""
    arguments: tuple[str, ...]
    """The arguments of `python`; {folder} stands for the job's own folder, {measured} for the one around
    it, {models} for the folder of models."""
    rehearsal: tuple[str, ...] | None = None
    """Further arguments with which the job takes seconds on a CPU; None if it has no such form."""
    needs: str | None = None
    """A job that must be finished first."""
    makes: Path | None = None
    """The model in the folder of models that the job makes for other jobs."""

    def command(self, folder: Path = MEASURED, models: Path = MODELS) -> list[str]:
        """Return the command line, with results going to the job's folder under ``folder``."""
        places = {"{folder}": folder / self.name, "{measured}": folder, "{models}": models}
        found = ["python", *self.arguments]
        for name, place in places.items():
            found = [text.replace(name, os.path.relpath(place)) for text in found]
        return found

    def is_finished(self, folder: Path = MEASURED) -> bool:
        """Whether run.json (of a training run) or job.json (of any other job) says so."""
        file = "run.json" if self.kind == "train" else "job.json"
        try:
            return read_json(folder / self.name / file).get("status") == "finished"
        except ValueError:
            return False


def jobs() -> list[GpuJob]:
    """Return the whole queue, in order.

    After the first recipes every experiment has its first seed before any has its second.
    """
    first = sorted(_training(FIRST), key=lambda found: found[0])
    other = sorted([*_training(RECIPES), *_holding()], key=lambda found: found[0])
    whole_grid = _benchmark("sampling", 20.0)
    start = _evaluation("small-sums", "small-sums")  # what the three that are evaluated start from
    return [
        *_checks(), *(job for _, job in first), start, *(job for _, job in other), whole_grid,
    ]


def _checks() -> Iterator[GpuJob]:
    yield GpuJob(
        name="gpu-tests", kind="check", minutes=3.0,
        arguments=("-m", "pytest", "-n", "0", *GPU_TESTS, "--junitxml", "{folder}/result.xml"),
        rehearsal=("-k", "test_the_kernels_are_the_torch_rows"),
    )
    yield _benchmark("head", 3.0, rehearsal=("--quick", "--repeats", "1"))
    yield _benchmark(
        "sampling", 3.0, "-quick", "--quick", rehearsal=("--repeats", "1", "--samplers", "static"))
    yield _benchmark(
        "training_step", 5.0,
        rehearsal=("--cases", "small-sums", "--rounds", "1", "--steps", "1"))
    yield _benchmark("simulator", 2.0, "", "--quick", rehearsal=())


def _benchmark(
    name: str, minutes: float, suffix: str = "", *options: str, rehearsal: tuple[str, ...] | None = None
) -> GpuJob:
    return GpuJob(
        name=f"benchmark-{name.replace('_', '-')}{suffix}", kind="check", minutes=minutes,
        rehearsal=rehearsal,
        arguments=(f"benchmarks/{name}.py", *options, "--json", "{folder}/result.json"),
    )


def _training(names: Sequence[str]) -> Iterator[tuple[tuple[int, int, int], GpuJob]]:
    """Yield ((seed, setting, recipe), job), each pretraining just before the jobs that need it."""
    from llm_bridge import recipes

    for place, name in enumerate(names):
        recipe = recipes.load(f"gpu-small/{name}")
        for run, config in recipe.runs.items():
            setting = next((i for i, s in enumerate(SETTINGS) if run.startswith(s)), 0)
            order = (config.seed, setting, place)
            needs = None
            if Path(config.model).parent == MODELS:
                needs = f"pretrain-{Path(config.model).name}"
                if config.seed == 0:
                    yield order, _pretraining(needs, Path(config.model))
            model = Path(run) / "model" if run in EVALUATED else None
            yield order, GpuJob(
                name=run, kind="train", minutes=recipe.minutes, needs=needs, rehearsal=REHEARSAL,
                makes=model,
                arguments=("-m", "llm_bridge", "train", "--recipe", f"gpu-small/{name}:{run}",
                           *(("--save-model",) if model else ()),
                           "--output", "{folder}", "--device", "cuda"),
            )
            if model:
                yield order, _evaluation(run, f"{{models}}/{model}", needs=run)


def _holding() -> Iterator[tuple[tuple[int, int, int], GpuJob]]:
    """Yield (order, job) of the comparison of what holds a pretrained model's target, a job a seed.

    It comes after the other runs of its seed and task, being far longer; one that is cut off goes on.
    """
    from llm_bridge.commands import holding_comparison

    for seed in holding_comparison.SEEDS:
        yield (seed, SETTINGS.index("chain-sum"), len(RECIPES)), GpuJob(
            name=f"holding-a-target-chain-sum-seed{seed}", kind="compare", minutes=100.0,
            rehearsal=("--design", "smoke", "--steps", "2", "--device", "cpu"),
            arguments=("-m", "llm_bridge.commands.holding_comparison", "--design", "pretrained",
                       "--seeds", f"{seed}", "--output", "{folder}/result.json", "--device", "cuda"),
        )


def _evaluation(name: str, model: str, needs: str | None = None) -> GpuJob:
    """Make the job that measures pass@k up to 1,024 on held-out prompts of split."""
    return GpuJob(
        name=f"evaluate-{name}", kind="evaluate", minutes=1.0, needs=needs,
        rehearsal=("--num-prompts", "4", "--num-samples", "8", "--batch-size", "32", "--device", "cpu"),
        arguments=(
            "-m", "llm_bridge", "evaluate", "--model", model, "--task", "split",
            "--num-samples", "1024", "--batch-size", "4096", "--device", "cuda",
            "--output", f"{{measured}}/evaluations/{name}-pass-at-k.json",
        ),
    )


def _pretraining(name: str, model: Path) -> GpuJob:
    return GpuJob(
        name=name, kind="pretrain", minutes=1.0, makes=Path(model.name),
        rehearsal=("--steps", "10", "--batch-size", "8", "--device", "cpu"),
        arguments=(
            "-m", "llm_bridge.commands.pretrain", "--output", f"{{models}}/{model.name}",
            "--hidden-size", model.name.rpartition("-")[2], "--target-accuracy", "None",
            # Stops of the bundled model's size come after 300 to 400 steps.
            "--steps", "400", "--learning-rate", "1e-3", "--measure-every", "100", "--device", "cuda",
        ),
    )
