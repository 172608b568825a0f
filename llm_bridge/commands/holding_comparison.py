r"""Compares controllers of a target entropy: a model is trained by each of them, run after run.

::

    python -m llm_bridge.commands.holding_comparison --output FILE --design small
    python -m llm_bridge.commands.holding_comparison --output FILE --design pretrained --device cuda
    python -m llm_bridge.commands.holding_comparison --output FILE --design pretrained-small \
        --steps 32 --prompts 4

A design is a list of runs, each with a task, a controller, a target, a learning rate and a seed.
The file keeps a record of each finished run. The same command continues a stopped one, and adds the
further runs of a larger design. All runs share one process, which loads its libraries once.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import tyro

from entropy_theory import tracking
from entropy_theory.schedules import SCHEDULES, Points, Schedule, Sine
from entropy_theory.support.user_errors import run_command
from llm_bridge.commands import comparison
from llm_bridge.commands.comparison import MODELS, HeldOutSize, Task, short
from llm_bridge.commands.train_config import LEARNING_RATES
from llm_bridge.data import tasks
from llm_bridge.running import devices

CONTROLLERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "AEPO": ("aepo", ()),
    "integral, entropy bonus": (
        "entropy-bonus", ("hold=integral", "coefficient=0", "coefficient_step=0.005")),
    "two-sided integral, entropy bonus": (
        "entropy-bonus", ("hold=integral", "coefficient=0", "coefficient_step=0.005",
                          "coefficient_low=-0.5", "coefficient_high=1")),
    "fast integral, entropy bonus": (
        "entropy-bonus", ("hold=integral", "coefficient=0", "coefficient_step=0.02",
                          "coefficient_low=-0.5", "coefficient_high=1")),
    "forecast, entropy bonus": (
        "entropy-bonus", ("hold=forecast", "coefficient=0", "coefficient_low=-0.5",
                          "coefficient_high=1")),
    "integral, diverse bonus": (
        "diverse-bonus", ("hold=integral", "coefficient=0", "coefficient_step=0.05",
                          "coefficient_high=4")),
    "two-sided integral, diverse bonus": (
        "diverse-bonus", ("hold=integral", "coefficient=0", "coefficient_step=0.05",
                          "coefficient_low=-1", "coefficient_high=4")),
    "fast integral, diverse bonus": (
        "diverse-bonus", ("hold=integral", "coefficient=0", "coefficient_step=0.2",
                          "coefficient_low=-1", "coefficient_high=4")),
    "forecast, diverse bonus": (
        "diverse-bonus", ("hold=forecast", "coefficient=0", "coefficient_low=-1",
                          "coefficient_high=4")),
}
"""The controllers by name: a rule, and its options beside the target. "Fast" ones are two-sided, with
steps four times as long."""
MAIN = tuple(CONTROLLERS)
"""The controllers of the small model's designs."""
PRETRAINED = ("AEPO", "integral, entropy bonus", "forecast, entropy bonus", "integral, diverse bonus",
              "two-sided integral, diverse bonus", "forecast, diverse bonus")
"""The controllers of the pretrained model's designs."""
OF_EACH_PROMPT = (
    "forecast, entropy bonus", "forecast, diverse bonus", "fast integral, diverse bonus")
"""The controllers with which prompts have targets of their own."""
GAINS = (0.0, 1.0, 4.0)
"""Addends to a prompt's coefficient there, per nat that the prompt is further below its target."""
SERIES = ("entropy", "reward", "best_reward", "distinct_answers", "coefficient", "temperature",
          "coefficient_saturated", "coefficient_held", "prompt_shortfall")
"""Values that are kept of every step."""
LAST = 20
"""The number of last steps over which the final reward is averaged."""
SEEDS = range(5)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class HeldRun:
    """One run of the comparison."""

    controller: str
    shape: Literal["constant", "step", "ramp", "sine"] = "constant"
    low: float = 0.5
    """The target; the lower one where it moves, nats."""
    high: float = 0.8
    """Where the target moves, the higher one; a step and a ramp begin there."""
    task: Task = "split"
    learning_rate: float = 3e-4
    other_prompts: bool = False
    """Whether the prompts are others in the second half (`is_other`)."""
    offset: float = 0.0
    """By how much the target of prompts of the second kind (`is_other`) is lower, and that of the others
    higher, nats."""
    prompt_gain: float = 0.0
    """The rule's option of that name."""
    seed: int = 0

    @property
    def name(self) -> str:
        """Name the run, for its record and for the display."""
        target = f"{self.shape} {self.low:g}"
        if self.shape != "constant":
            target += f" {self.high:g}"
        return ", ".join([
            self.task, self.controller, target, f"learning rate {self.learning_rate:g}",
            *(["other prompts"] if self.other_prompts else []),
            *([f"offset {self.offset:g}, gain {self.prompt_gain:g}"] if self.offset else []),
            f"seed {self.seed}"])

    def target(self, steps: int) -> Schedule:
        """Return the target as a function of the step, for a run of so many."""
        half = steps // 2
        if self.shape == "sine":
            middle = (self.low + self.high) / 2
            return Sine(middle=middle, amplitude=self.high - middle, period=half)
        points = {
            "constant": ((0, self.low),),
            "step": ((half - 1, self.high), (half, self.low)),
            "ramp": ((steps // 4, self.high), (steps - steps // 4, self.low)),
        }
        return Points(points=points[self.shape])


Design: TypeAlias = Literal[
    "smoke", "small", "medium", "each-prompt", "pretrained-small", "pretrained"]


_RATE = LEARNING_RATES["smollm2-135m-instruct", None]
# Between the entropy that SmolLM2 starts from, 0.7, and none, where its reward leads.
_ON_CHAIN_SUM: dict[str, Any] = {
    "task": "chain-sum", "low": 0.3, "high": 0.6, "learning_rate": _RATE}
SETTINGS: dict[Design, tuple[tuple[str, ...], list[dict[str, Any]]]] = {
    # A step down shows how two targets are held, and how fast a new one is followed.
    "small": (MAIN, [{"shape": "step"}]),
    "medium": (MAIN, [
        *({"low": target} for target in (0.2, 0.6, 1.0, 1.2)),
        *({"shape": shape} for shape in ("ramp", "sine")),
        *({"low": 0.6, "learning_rate": rate} for rate in (1e-4, 1e-3)),
        {"low": 0.6, "other_prompts": True},
        *({"low": target, "task": "sum", "learning_rate": 1e-4} for target in (0.2, 0.6, 1.0)),
    ]),
    "each-prompt": (OF_EACH_PROMPT, [
        {"low": 0.6, "offset": 0.2, "prompt_gain": gain} for gain in GAINS]),
    # Midway between the entropy that SmolLM2 starts from and where it ends by itself.
    "pretrained-small": (PRETRAINED, [{"task": "chain-sum", "low": 0.4, "learning_rate": _RATE}]),
    "pretrained": (PRETRAINED, [
        *(_ON_CHAIN_SUM | {"low": target} for target in (0.3, 0.6)),
        *(_ON_CHAIN_SUM | {"shape": shape} for shape in ("step", "ramp", "sine")),
        *(_ON_CHAIN_SUM | {"learning_rate": _RATE * factor} for factor in (0.3, 3)),
        _ON_CHAIN_SUM | {"other_prompts": True},
    ]),
}
"""The controllers of each design, and the settings that each of them has in turn; "medium" has those of
"small" too."""


def design(name: Design) -> list[HeldRun]:
    """List the runs of a design, seed after seed, so that whatever has run is balanced.

    Args:
        name: a design of `SETTINGS`, or "smoke", one run of each main controller. A CPU makes
            "pretrained-small" in hours if steps are few and small; "pretrained" is for a GPU.
    """
    if name == "smoke":
        return [run for run in design("small") if run.seed == 0]
    controllers, settings = SETTINGS[name]
    runs = [HeldRun(controller=controller, seed=seed, **setting)
            for seed in SEEDS for setting in settings for controller in controllers]
    return [*design("small"), *runs] if name == "medium" else runs


def run(held: HeldRun, size: HeldOutSize, folder: Path, device: devices.Device = "cpu") -> dict[str, Any]:
    """Train one run on a device and return its record, JSON-like."""
    from llm_bridge.commands.train import build_trainer, model_and_task

    started = time.process_time()
    name, options = CONTROLLERS[held.controller]
    schedule = held.target(size.steps)
    texts = (*options, *_texts(schedule))
    if held.prompt_gain:
        texts += (f"prompt_gain={held.prompt_gain}",)
    checked = comparison.train_config(
        size, folder, model=MODELS[held.task], task=held.task, rule=name, rule_options=texts,
        learning_rate=held.learning_rate, seed=held.seed, device=device)
    model, tokenizer, task = model_and_task(checked)
    if held.other_prompts:
        task = _taken(task, _changing(task))
    if held.offset:
        task = dataclasses.replace(task, target_offsets=tuple(
            -held.offset if is_other(held.task, prompt) else held.offset for prompt in task.prompts))
    steps: list[dict[str, Any]] = []
    build_trainer(checked, model, tokenizer, task, steps.append).train()
    model.eval()
    held_out = tasks.load(held.task, split="held-out", size=size.held_out_prompts, seed=0)
    found = comparison.evaluated(model, tokenizer, held_out, size, held.seed)
    of_kinds = {}
    if held.offset:
        kinds = {name: _taken(held_out, _of_kind(held_out, other))
                 for name, other in (("higher", False), ("lower", True))}
        of_kinds = {f"entropy_{name}": short(
            comparison.evaluated(model, tokenizer, kind, size, held.seed)["entropy"])
            for name, kind in kinds.items()}
    series = {key: [short(step.get(key)) for step in steps] for key in SERIES}
    series["target"] = [short(schedule(step)) for step in range(len(steps))]
    return {
        "run": dataclasses.asdict(held), "name": held.name, "series": series,
        "summary": summary(series), "held_out": {
            key: short(value) for key, value in found.items()
            if key.startswith("pass@") or key in ("entropy", "distinct_completions")} | of_kinds,
        "process_seconds": round(time.process_time() - started, 1),
    }


def _texts(schedule: Schedule) -> Iterator[str]:
    """Write a schedule as options of a rule."""
    kind = next(name for name, known in SCHEDULES.items() if type(schedule) is known)
    yield f"target_schedule.kind={kind}"
    for field in dataclasses.fields(schedule):
        yield f"target_schedule.{field.name}={json.dumps(getattr(schedule, field.name))}"


def is_other(task: Task, prompt: str) -> bool:
    """Whether a prompt is of the second kind: a total from 100 on, a second term from 50 on, or a
    difference in place of a sum."""
    if task == "split":
        return int(prompt.rstrip("=")) >= 100
    if task == "sum":
        return int(prompt.rstrip("=").partition("+")[2]) >= 50
    return "-" in prompt.rpartition("\n")[2]


def _of_kind(task: tasks.Task, other: bool) -> list[int]:
    """Return the places of the prompts of one kind."""
    return [i for i, prompt in enumerate(task.prompts)
            if is_other(cast(Task, task.name), prompt) == other]


def _changing(task: tasks.Task) -> list[int]:
    """Return as many places, those of `other <is_other>` prompts all in the second half."""
    half = len(task.prompts) // 2
    return [place for late, number in ((False, half), (True, len(task.prompts) - half))
            for place in itertools.islice(itertools.cycle(_of_kind(task, late)), number)]


def _taken(task: tasks.Task, places: list[int]) -> tasks.Task:
    return dataclasses.replace(task, prompts=tuple(task.prompts[i] for i in places),
                               answers=tuple(task.answers[i] for i in places))


def summary(series: dict[str, list[Any]]) -> dict[str, float | None]:
    """Sum up a run from its series.

    Returns:
        ``mean``, ``deviation`` and ``steps_to_follow`` as `tracking.tracked`, ``reward`` and
        ``best_reward`` (pass@G) over the last ``LAST`` steps, and ``saturated`` (`saturated`).
    """
    entropy, target = (np.asarray(series[key], dtype=float) for key in ("entropy", "target"))
    found = tracking.tracked(entropy, target)
    return {
        "mean": found.mean, "deviation": found.deviation, "steps_to_follow": found.steps_to_follow,
        **{key: statistics.fmean(series[key][-LAST:]) for key in ("reward", "best_reward")},
        "saturated": saturated(series),
    }


def saturated(series: dict[str, list[Any]]) -> float:
    """Return the share of the second half's steps in which the controller was at its limit.

    For a coefficient: steps counted as saturated or held. For a temperature: how far the share of either
    temperature is beyond one half, doubled: 0 where it switches evenly, 1 where it never does.
    """
    half = len(series["entropy"]) // 2
    temperatures = series["temperature"][half:]
    if temperatures[0] is not None:
        warmer = sum(value > 1 for value in temperatures) / len(temperatures)
        return abs(2 * warmer - 1)
    counts = [[value or 0.0 for value in series[key]]
              for key in ("coefficient_saturated", "coefficient_held")]
    return sum(count[-1] - count[half - 1] for count in counts) / (len(series["entropy"]) - half)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonConfig(HeldOutSize):
    """Train a small model by each controller of a design, and write how each held its target."""

    output: Path
    """The JSON file of all records, which an earlier call may have begun."""
    design: Design = "small"
    """The runs, and their time on one core. The small model: one run of each main controller, 3
    minutes, five seeds, 14 minutes, many settings, 3 hours, or two targets at once, 15 minutes. The
    pretrained model: one target with 32 steps of 4 prompts, 3 hours, or many settings on a GPU."""
    device: devices.Device = "cpu"
    """Where the model is trained; cuda without a GPU is an error."""
    seeds: tuple[int, ...] = tuple(SEEDS)
    """Only the runs of these seeds: processes with seeds and files of their own share the work."""


def compare(config: ComparisonConfig) -> None:
    """Make the runs of the design that are not there yet.

    Raises:
        ValueError: fewer than 2 steps, or no GPU where one is asked for.
        OSError: a file that cannot be written.
    """
    if config.steps < 2:
        raise ValueError(f"steps must be at least 2, got {config.steps}")
    size = HeldOutSize.of(config)
    records = comparison.Records(config.output, size, device=devices.product(config.device))
    done = {record["name"] for record in records.kept}
    for held in design(config.design):
        if held.seed not in config.seeds or held.name in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            record = run(held, size, Path(folder) / "run", config.device)
        about = record["summary"]
        records.add(held.name, record, f"entropy {about['mean']:.3f}, off by {about['deviation']:.3f}, "
                    f"reward {about['reward']:.3f}, saturated {about['saturated']:.2f}")


def main() -> None:
    """Run `compare` from the command line."""
    compare(tyro.cli(ComparisonConfig, prog="python -m llm_bridge.commands.holding_comparison"))


if __name__ == "__main__":
    run_command(main)
