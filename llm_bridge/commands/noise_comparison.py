r"""Measures what training does to entropy where the reward is noise: a coin for each completion.

::

    python -m llm_bridge.commands.noise_comparison --output FILE
    python -m llm_bridge.commands.noise_comparison --output OTHER --design pretrained --steps 60 \
        --prompts 4 --samples 4

A design is a list of runs and of forecasts. A forecast is made from ten steps of another seed, before
the runs that it is of. Where runs of two optimizers are compared, the rate of the second is chosen such
that a step moves the logits as far as one of the first. The file keeps a record of each, so that the same
command goes on where an earlier one was stopped.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import random
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
import transformers
import tyro

from entropy_theory.support.user_errors import run_command
from llm_bridge.analysis import logit_moves
from llm_bridge.analysis.noise_parts import NoiseParts
from llm_bridge.analysis.other_sampler import OtherSampler
from llm_bridge.commands.comparison import MODELS, Records, Size, short, train_config
from llm_bridge.commands.noise_designs import (
    AHEAD,
    FEWER,
    FIRST,
    FLAT_STEPS,
    FROZEN,
    LAST,
    LORA,
    MATCHED,
    MOMENTUM,
    OPTIMIZERS,
    PILOT,
    REFERENCE_RATE,
    SAMPLERS,
    VARIANTS,
    Design,
    NoisyRun,
    design,
)
from llm_bridge.commands.train import build_trainer, model_and_task
from llm_bridge.commands.train_config import Run


class Coin:
    """A reward of 1 with a probability, whatever the completion."""

    def __init__(self, probability: float, seed: int):
        self._probability, self._random = probability, random.Random(seed)
        self.__name__ = "coin"

    def __call__(self, completions: Any, **_: Any) -> list[float]:
        """Toss a coin for each completion."""
        return [float(self._random.random() < self._probability) for _ in completions]


@dataclasses.dataclass(slots=True)
class Trained:
    """The end of an approach, from which runs go on."""

    seed: int
    weights: dict[str, torch.Tensor]
    optimizer: dict[str, Any]


def matched_rate(asked: NoisyRun, records: list[dict[str, Any]]) -> float:
    """Return the rate at which a step is as long as AdamW's on the same task and coin.

    It is the rate of SGD by the raw gradients of AdamW's runs of the seeds `FEWER`. A settled step
    of momentum is longer by 1 / sqrt(1 - momentum^2). A step of Adam without momentum is longer by
    sqrt((1 + beta1) / (1 - beta1)).

    Raises:
        ValueError: no record of such a run.
    """
    runs = [one for one in records
            if one["seed"] in FEWER
            and (one["task"], one["coin"], one["optimizer"], one["rate"], one["variant"], one["kind"])
            == (asked.task, asked.coin, "AdamW", MATCHED, "plain", "run")]
    if not runs:
        raise ValueError(f"{asked.name} matches runs of AdamW, of which there are none: run them first")
    if asked.optimizer.startswith("AdamW"):
        return MATCHED * math.sqrt((1 - MOMENTUM) / (1 + MOMENTUM))
    moved, raw = (sum(fmean(one["blocks"][name]) for one in runs)
                  for name in ("move", "raw_move"))
    plain = REFERENCE_RATE * math.sqrt(moved / raw)
    return plain * math.sqrt(1 - MOMENTUM**2) if asked.optimizer == "momentum" else plain


def _config(asked: NoisyRun, size: Size, rate: float, folder: Path) -> Run:
    """Return the options of the trainer for one run."""
    optimizer, options = OPTIMIZERS[asked.optimizer]
    given = {} if asked.options in ("plain", LORA) else dict(VARIANTS[asked.options])
    samples, times = given.pop("samples", size.samples), given.pop("prompts", 1)
    steps = {"approach": FLAT_STEPS.get(asked.task), "forecast": PILOT + FROZEN}.get(
        asked.kind, size.steps)
    return train_config(size, folder, **given | {
        "model": MODELS[asked.task], "task": asked.task, "steps": steps, "samples": samples,
        "prompts": max(1, times * size.prompts * size.samples // samples), "optimizer": optimizer,
        "learning_rate": rate, "max_grad_norm": 0, "seed": asked.seed,
        "trl_options": (*options, *given.get("trl_options", ()))})


def run(
    asked: NoisyRun, size: Size, rate: float, folder: Path, start: Trained | None = None
) -> tuple[dict[str, Any], Trained | None]:
    """Train one run on the CPU.

    Args:
        asked: the run.
        size: of a step, and of the run.
        rate: its learning rate.
        folder: for the trainer's files.
        start: where a run "from flat" begins.

    Returns:
        Its record, JSON-like, and of an approach where it ended.
    """
    started, log = time.process_time(), list[dict[str, Any]]()
    checked = _config(asked, size, rate, folder)
    model, tokenizer, task = model_and_task(checked)
    if asked.variant.startswith(LORA):
        import peft

        transformers.set_seed(asked.seed)  # an adapter starts at random
        model = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules="all-linear"))
    if asked.coin is not None:
        task = dataclasses.replace(task, reward=Coin(asked.coin, asked.seed))
    trainer = build_trainer(checked, model, tokenizer, task, log.append)
    sampler = OtherSampler(trainer, **SAMPLERS[asked.options]) if asked.options in SAMPLERS else None
    parts = None
    if asked.kind in ("accounted", "from flat"):
        parts = NoiseParts(trainer, sampler=sampler, top_p=trainer.args.top_p)
    if start is not None:
        trainer.add_callback(_GoOn(trainer, start))
    options: dict[str, Any] = {"raw_rate": REFERENCE_RATE}
    if asked.kind == "forecast":
        momentum = MOMENTUM if asked.optimizer == "momentum" else 0.0
        moves: logit_moves.LogitMoves = logit_moves.NoiseForecast(
            trainer, pilot=PILOT, momentum=momentum,
            ahead=[steps for steps in AHEAD if steps < size.steps], **options)
    else:
        moves = logit_moves.LogitMoves(trainer, **options)
    trainer.add_callback(moves)
    trainer.train()
    record = {
        **dataclasses.asdict(asked), "name": asked.name,
        "label": f"{asked.optimizer} {rate:.3g}, {asked.variant}", "learning_rate": short(rate),
        **summary(log, moves.series), "process_seconds": round(time.process_time() - started, 1),
    }
    if isinstance(moves, logit_moves.NoiseForecast):
        record["updates"] = [{name: short(value) for name, value in update.items()}
                             for update in moves.updates]
        record["walks"] = {steps: [short(value) for value in changes]
                           for steps, changes in moves.walks.items()}
    if parts is not None:
        record["parts"] = {name: short(value) for name, value in parts.sums.items()}
    ended = None
    if asked.kind == "approach":
        assert trainer.optimizer is not None
        ended = Trained(asked.seed, {name: value.clone() for name, value in model.state_dict().items()},
                        copy.deepcopy(trainer.optimizer.state_dict()))
    return record, ended


def summary(log: list[dict[str, Any]], series: dict[str, list[float]]) -> dict[str, Any]:
    """Sum up a run's steps: first and last entropies, and means over blocks of steps of everything.

    Args:
        log: the trainer's records of the steps.
        series: as `logit_moves.LogitMoves` has it.
    """
    by_step = {name: [one[name] for one in log] for name in ("entropy", "reward", "mean_length")}
    by_step |= {name: series[name] for name in ("probe_entropy", "move", "kl")}
    blocks = {name: [short(fmean(values[at : at + logit_moves.BLOCK]))
                     for at in range(0, len(values), logit_moves.BLOCK)]
              for name, values in by_step.items()}
    blocks |= {name: [short(value) for value in series[name]]
               for name in ("net_move", "net_kl", "raw_move")}
    ends = {}
    for prefix, name in (("", "entropy"), ("probe_", "probe_entropy")):
        ends[f"{prefix}first"] = short(fmean(by_step[name][:FIRST]))
        ends[f"{prefix}last"] = short(fmean(by_step[name][-LAST:]))
    return {**ends, "blocks": blocks}


class _GoOn(transformers.TrainerCallback):
    """Lets a run begin with the weights and the optimizer's moments of another; its rates are its own."""

    def __init__(self, trainer: Any, start: Trained):
        self._trainer, self._start = trainer, start

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._trainer.model.load_state_dict(self._start.weights)
        optimizer = self._trainer.optimizer
        optimizer.load_state_dict({
            **optimizer.state_dict(), "state": copy.deepcopy(self._start.optimizer["state"])})


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class NoiseConfig(Size):
    """Train where the reward is a coin, and write how far the logits and the entropy went."""

    output: Path
    """The JSON file of all records, which an earlier call may have begun."""
    design: tuple[Design, ...] = ("optimizers", "flat", "variants", "groups", "biased", "rates")
    """The runs: a coin by each optimizer, the task's own reward once it is flat, samplers with
    penalties, groups, a coin that is mostly 1, or rates of AdamW. Each takes 10 to 20 minutes of
    a core. A run of SmolLM2-135M takes minutes."""


def compare(config: NoiseConfig) -> None:
    """Make the runs that are not there yet.

    Raises:
        ValueError: fewer steps than the averages over the first and the last take.
        OSError: a file that cannot be written.
    """
    if config.steps < FIRST + LAST:
        raise ValueError(f"steps must be at least {FIRST + LAST}, got {config.steps}: entropies are "
                         f"averaged over the first {FIRST} and the last {LAST}")
    size = Size.of(config)
    records = Records(config.output, size, packages=("peft",))
    done = {record["name"] for record in records.kept}
    start: Trained | None = None
    for group, asked in ((name, one) for name in config.design for one in design(name)):
        if asked.name in done and asked.kind != "approach":
            continue
        if asked.kind == "approach" and all(
            one.name in done for one in design(group) if one.seed == asked.seed
        ):
            continue
        rate = matched_rate(asked, records.kept) if asked.rate is None else asked.rate
        with tempfile.TemporaryDirectory() as folder:
            record, ended = run(asked, size, rate, Path(folder) / "run",
                                start if asked.kind == "from flat" else None)
        start = ended or start
        if asked.name in done:
            continue
        records.add(asked.name, record, f"entropy {record['first']:.3f} to {record['last']:.3f}")


def main() -> None:
    """Run `compare` from the command line."""
    compare(tyro.cli(NoiseConfig, prog="python -m llm_bridge.commands.noise_comparison"))


if __name__ == "__main__":
    run_command(main)
