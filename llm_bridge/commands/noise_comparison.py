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
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import torch
import transformers
import tyro

from entropy_theory.support.user_errors import run_command
from llm_bridge.analysis import logit_moves
from llm_bridge.analysis.noise_parts import NoiseParts
from llm_bridge.analysis.other_sampler import OtherSampler
from llm_bridge.commands.comparison import MODELS, Records, Size, Task, short, train_config
from llm_bridge.commands.train import build_trainer, model_and_task
from llm_bridge.commands.train_config import Run

MOMENTUM = 0.9
OPTIMIZERS: dict[str, tuple[Literal["adamw", "sgd"], tuple[str, ...]]] = {
    "AdamW": ("adamw", ()),
    "AdamW, beta1 0": ("adamw", ("adam_beta1=0",)),
    "SGD": ("sgd", ()),
    "momentum": ("sgd", (f"optim_args=momentum={MOMENTUM}",)),
}
"""The optimizers by name: the option ``optimizer``, and further options of TRL."""
GROUPS = {f"groups of {size}": {"samples": size} for size in (2, 3, 4, 6, 12, 16, 32)}
_KL: dict[str, Any] = {"rule": "reference-kl", "rule_options": ("base=grpo", "coefficient=0.001")}

BONUS: dict[str, dict[str, Any]] = {
    f"bonus {bonus}, KL {penalty}": {"rule": "entropy-bonus", "rule_options": (
        f"coefficient={bonus}", "base=reference-kl", f"base.coefficient={penalty}", "base.estimator=k3",
        "base.base=grpo")}
    for bonus, penalty in ((".001", ".001"), (".00001", ".00001"), (".001", ".01"))}
BONUS["bonus 0, KL .001"] = {
    "rule": "reference-kl", "rule_options": ("base=grpo", "coefficient=0.001", "estimator=k3")}
BONUS |= {f"{name}, eps {eps}": {**BONUS[name], "trl_options": (f"adam_epsilon={eps}",)}
          for name, eps in (("bonus .001, KL .001", "1e-3"), ("bonus .00001, KL .00001", "1e-12"))}
"""The variants with an entropy bonus, for runs whose every answer gets reward 1."""
VARIANTS: dict[str, dict[str, Any]] = {
    **GROUPS, **BONUS, "batch of 4 times": {"prompts": 4},
    "KL .001": _KL,
    "KL .1": {"rule": "reference-kl", "rule_options": ("base=grpo", "coefficient=0.1")},
    "eps 1e-4": {"trl_options": ("adam_epsilon=1e-4",)},
    "rate to 0": {"trl_options": ("lr_scheduler_type=linear",)},
    "LoRA": {}, "LoRA, KL .001": _KL,
    "top-p .95": {"trl_options": ("top_p=0.95",)},
    "up to 1 step stale": {"mini_batches": 2}, "up to 7 steps stale": {"mini_batches": 8},
    "bfloat16 sampler": {}, "1 step stale": {}, "8 steps stale": {},
}
"""The options, by name, that set a run apart beside its optimizer. ``prompts`` is a factor. Groups of
another size leave the number of completions as it is, up to a group. Steps "up to" so many steps
stale take their share of one generation, and GRPO weighs their tokens by policy over sampler."""
SAMPLERS: dict[str, dict[str, Any]] = {
    "bfloat16 sampler": {"dtype": torch.bfloat16}, "1 step stale": {"steps_old": 1},
    "8 steps stale": {"steps_old": 8}}
"""The variants that draw from other weights, which nothing corrects."""
REMEDIES = ("plain", "rate to 0", "batch of 4 times", "eps 1e-4", "KL .001", "KL .1")
"""The variants of the runs that begin where the reward is flat."""
RATES = (1e-4, 2e-4, 4e-4)
MATCHED = RATES[1]
"""The rate of AdamW whose steps other optimizers match in length."""
LENGTHENED = {"SGD": 1.56e-2, "momentum": 3.9e-3, "AdamW, beta1 0": 6.1e-5}
"""Higher rates on sum, where steps at the matched rate were shorter than AdamW's."""
PRETRAINED_RATES = {"AdamW": 2e-5, "SGD": 1e-3}
"""The rates for SmolLM2-135M. That of SGD comes from runs at the matched rate, .002: the squares of
their steps were four times those of AdamW. Raw gradients of a few steps had promised shorter ones."""
LORA_RATES = dict.fromkeys(("LoRA", "LoRA, KL .001"), 10 * MATCHED)
"""The variants that train an adapter, with its rate on small-sums."""
REFERENCE_RATE = 1e-2
"""The rate of SGD at which a step's length is measured, from which the matched rate is worked out."""
SEEDS, FEWER = range(5), range(3)
"""The seeds of each row, and those of AdamW that the matched rate is worked out from."""
FORECAST_SEED = 100
PILOT, FROZEN = 10, 24
"""A forecast's steps that are taken, and after them those whose gradient alone is looked at."""
AHEAD = (10, 20, 30, 40, 50, 60, 70)
"""The numbers of steps that are forecast: from the middle of the first block of ten to others'."""
FLAT_RATE, FLAT_STEPS = 1e-4, 800
"""The rate and the steps of the training on ``sum`` after which its reward is flat."""
FIRST, LAST = 10, 20
"""How many first and last steps the entropies of a run are averaged over."""
Kind = Literal["run", "accounted", "forecast", "approach", "from flat"]
Design = Literal[
    "optimizers", "lengths", "bonus", "accounts", "biased", "rates", "variants", "groups", "flat",
    "pretrained", "adapters"]
COINS: dict[str, list[list[tuple[float, str, float | None]]]] = {
    "optimizers": [[(0.5, "AdamW", MATCHED)],
                   [(0.5, other, None) for other in ("SGD", "momentum", "AdamW, beta1 0")]],
    "biased": [[(0.9, "AdamW", MATCHED)], [(0.9, other, None) for other in ("SGD", "momentum")]],
    "rates": [[(0.5, "AdamW", rate) for rate in RATES if rate != MATCHED]],
}
"""The coin, the optimizer and its rate of the runs of small-sums, what AdamW is matched by after it."""
COIN_KINDS: tuple[tuple[Kind, Sequence[int]], ...] = (("forecast", (FORECAST_SEED,)), ("run", SEEDS))
ACCOUNTED: tuple[dict[str, Any], ...] = (
    *({"optimizer": name, "rate": MATCHED if name == "AdamW" else None}
      for name in ("AdamW", "SGD", "momentum")),
    *({"variant": name} for name in (
        "KL .001", "bfloat16 sampler", "top-p .95", "1 step stale", "8 steps stale")),
    {"variant": "LoRA", "rate": LORA_RATES["LoRA"]}, {"coin": None})
"""The runs on sum whose every step is accounted for."""
ADAPTERS: tuple[tuple[dict[str, Any], Sequence[int]], ...] = (
    ({"rate": 2e-4}, SEEDS), ({"rate": 2e-4, "variant": "LoRA, KL .001"}, SEEDS),
    ({"rate": 4e-4}, SEEDS), ({"rate": 1e-4}, SEEDS), ({"rate": 2e-4, "coin": None}, SEEDS))
"""The accounted runs of adapters of SmolLM2-135M, and the seeds of each."""
FLAT_KINDS: tuple[tuple[Kind, Sequence[str]], ...] = (
    ("approach", ("plain",)), ("from flat", REMEDIES))


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class NoisyRun:
    """One run, or the forecast of such runs."""

    task: Task = "sum"
    coin: float | None = 0.5
    """The probability of reward 1; None for the task's own reward."""
    optimizer: str = "AdamW"
    rate: float | None = MATCHED
    """The learning rate; None for that of a step as long as one of AdamW at `MATCHED`."""
    variant: str = "plain"
    kind: Kind = "run"
    """"approach" is the training up to a flat reward, which "from flat" goes on from."""
    seed: int = 0

    @property
    def name(self) -> str:
        """Name the run, for its record and for the display."""
        reward = "own reward" if self.coin is None else f"coin {self.coin:g}"
        rate = "matched" if self.rate is None else f"{self.rate:g}"
        return ", ".join([self.task, reward, f"{self.optimizer} {rate}", self.variant, self.kind,
                          f"seed {self.seed}"])


def design(name: Design) -> list[NoisyRun]:
    """List the runs of a design, seed after seed; a forecast comes before what it is of."""
    if name == "flat":
        own = NoisyRun(coin=None, rate=FLAT_RATE, kind="approach")
        return [dataclasses.replace(own, kind=kind, variant=variant, seed=seed)
                for seed in SEEDS for kind, variants in FLAT_KINDS for variant in variants]
    if name == "accounts":
        return [NoisyRun(kind=kind, seed=seed, **of)
                for kind, seeds in (COIN_KINDS[0], ("accounted", SEEDS)) for seed in seeds
                for of in ACCOUNTED if kind == "accounted" or "coin" not in of]
    if name == "adapters":
        return [NoisyRun(**{"task": "chain-sum", "variant": "LoRA"} | of, kind=kind, seed=seed)
                for of, own in ADAPTERS
                for kind, seeds in (COIN_KINDS[0], ("accounted", own)) for seed in seeds
                if kind == "accounted" or "coin" not in of]
    if name == "lengths":
        return [NoisyRun(optimizer=optimizer, rate=rate, seed=seed)
                for seed in SEEDS for optimizer, rate in LENGTHENED.items()]
    if name == "bonus":
        both, none = "bonus .001, KL .001", "bonus 0, KL .001"
        return [NoisyRun(coin=coin, optimizer=optimizer, variant=variant, seed=seed,
                         rate=1e-2 if optimizer == "SGD" else FLAT_RATE)
                for seed in SEEDS for coin, optimizer, variant in (
                    *((1.0, "AdamW", each) for each in BONUS), (1.0, "SGD", both),
                    (None, "AdamW", both), (None, "AdamW", none))]
    if name == "groups":
        return [NoisyRun(variant=variant, kind=kind, seed=seed)
                for kind, seeds in COIN_KINDS for seed in seeds for variant in ("plain", *GROUPS)]
    if name == "variants":
        return [NoisyRun(variant=variant, rate=LORA_RATES.get(variant, MATCHED), seed=seed)
                for seed in SEEDS for variant in VARIANTS if variant not in GROUPS | BONUS]
    if name == "pretrained":
        return [NoisyRun(task="chain-sum", optimizer=other, rate=rate, seed=seed)
                for other, rate in PRETRAINED_RATES.items() for seed in SEEDS]
    return [
        NoisyRun(task=task, coin=coin, optimizer=optimizer, rate=rate, kind=kind, seed=seed)
        for part in COINS[name]
        for kind, seeds in COIN_KINDS
        for seed in seeds for task in ("sum", "split") for coin, optimizer, rate in part
    ]


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
    given = dict(VARIANTS.get(asked.variant, {}))
    samples, times = given.pop("samples", size.samples), given.pop("prompts", 1)
    steps = {"approach": FLAT_STEPS, "forecast": PILOT + FROZEN}.get(asked.kind, size.steps)
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
    if asked.variant in LORA_RATES:
        import peft

        transformers.set_seed(asked.seed)  # an adapter starts at random
        model = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules="all-linear"))
    if asked.coin is not None:
        task = dataclasses.replace(task, reward=Coin(asked.coin, asked.seed))
    trainer = build_trainer(checked, model, tokenizer, task, log.append)
    sampler = OtherSampler(trainer, **SAMPLERS[asked.variant]) if asked.variant in SAMPLERS else None
    parts = None
    if asked.kind == "accounted":
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
        self._trainer.generating_model.load_state_dict(self._start.weights)
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
    for asked in (one for name in config.design for one in design(name)):
        if asked.name in done and asked.kind != "approach":
            continue
        if asked.kind == "approach" and all(
            one.name in done for one in design("flat") if one.seed == asked.seed
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
