"""The runs that `noise_comparison` makes: designs by name, and the options of their variants."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import torch

from llm_bridge.commands.comparison import Task

MOMENTUM = 0.9
OPTIMIZERS: dict[str, tuple[Literal["adamw", "sgd"], tuple[str, ...]]] = {
    "AdamW": ("adamw", ()),
    "AdamW, beta1 0": ("adamw", ("adam_beta1=0",)),
    "SGD": ("sgd", ()),
    "momentum": ("sgd", (f"optim_args=momentum={MOMENTUM}",)),
}
"""The optimizers by name: the option ``optimizer``, and further options of TRL."""
GROUPS = {f"groups of {size}": {"samples": size} for size in (2, 3, 4, 6, 8, 12, 16, 32)}
PLAIN_GROUPS = "groups of 8"
"""The groups of a plain run of small-sums."""

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
    "KL .001": {"rule": "reference-kl", "rule_options": ("base=grpo", "coefficient=0.001")},
    "KL .1": {"rule": "reference-kl", "rule_options": ("base=grpo", "coefficient=0.1")},
    "eps 1e-4": {"trl_options": ("adam_epsilon=1e-4",)},
    "rate to 0": {"trl_options": ("lr_scheduler_type=linear",)},
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
LORA = "LoRA"
"""A variant that begins so trains an adapter, and has the options that follow."""
LORA_RATE = 10 * MATCHED
"""The rate of an adapter of small-sums."""
REFERENCE_RATE = 1e-2
"""The rate of SGD at which a step's length is measured, from which the matched rate is worked out."""
SEEDS, FEWER = range(5), range(3)
"""The seeds of each row, and those of AdamW that the matched rate is worked out from."""
FORECAST_SEED = 100
PILOT, FROZEN = 10, 24
"""A forecast's steps that are taken, and after them those whose gradient alone is looked at."""
AHEAD = (10, 20, 30, 40, 50, 60, 70)
"""The numbers of steps that are forecast: from the middle of the first block of ten to others'."""
FLAT_RATE, ADAPTER_RATE = 1e-4, 2e-4
"""The rate of the runs on ``sum`` after which reward is flat, and that of most adapters of SmolLM2."""
FLAT_STEPS: dict[Task, int] = {"sum": 800, "chain-sum": 100}
"""How many steps of training by its own reward come before a run "from flat"."""
FIRST, LAST = 10, 20
"""How many first and last steps the entropies of a run are averaged over."""
Kind = Literal["run", "accounted", "forecast", "approach", "from flat"]
Design = Literal[
    "optimizers", "lengths", "bonus", "accounts", "biased", "rates", "variants", "groups", "flat",
    "pretrained", "adapters", "flat adapters"]
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
    {"variant": LORA, "rate": LORA_RATE}, {"coin": None})
"""The runs on sum whose every step is accounted for."""
ADAPTERS: tuple[dict[str, Any], ...] = (
    {}, {"variant": "LoRA, KL .001"}, {"rate": 4e-4}, {"rate": 1e-4}, {"coin": None},
    *({"variant": f"{LORA}, {variant}"} for variant in (
        "bfloat16 sampler", "top-p .95", "1 step stale", "8 steps stale", "groups of 2", "groups of 8")))
"""The accounted runs of adapters of SmolLM2-135M."""
FLAT: dict[str, tuple[dict[str, Any], Sequence[str]]] = {
    "flat": ({"task": "sum", "rate": FLAT_RATE, "variant": "plain"}, REMEDIES),
    "flat adapters": ({"task": "chain-sum", "rate": ADAPTER_RATE, "variant": LORA}, (LORA,)),
}
"""The designs of runs on the task's own reward once it is flat: what they share, and their variants."""


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
    def options(self) -> str:
        """The key of its options in `VARIANTS` and `SAMPLERS`, without the adapter."""
        return self.variant.removeprefix(f"{LORA}, ")

    @property
    def name(self) -> str:
        """Name the run, for its record and for the display."""
        reward = "own reward" if self.coin is None else f"coin {self.coin:g}"
        rate = "matched" if self.rate is None else f"{self.rate:g}"
        return ", ".join([self.task, reward, f"{self.optimizer} {rate}", self.variant, self.kind,
                          f"seed {self.seed}"])


def design(name: Design) -> list[NoisyRun]:
    """List the runs of a design, seed after seed; a forecast comes before what it is of."""
    if name in FLAT:
        shared, variants = FLAT[name]
        own = NoisyRun(**shared, coin=None, kind="approach")
        return [one for seed in SEEDS for one in (
            dataclasses.replace(own, seed=seed),
            *(dataclasses.replace(own, kind="from flat", variant=variant, seed=seed)
              for variant in variants))]
    if name == "accounts":
        return [NoisyRun(kind=kind, seed=seed, **of)
                for kind, seeds in (COIN_KINDS[0], ("accounted", SEEDS)) for seed in seeds
                for of in ACCOUNTED if kind == "accounted" or "coin" not in of]
    if name == "adapters":
        shared = {"task": "chain-sum", "rate": ADAPTER_RATE, "variant": LORA}
        return [NoisyRun(**shared | of, kind=kind, seed=seed)
                for of in ADAPTERS
                for kind, seeds in (COIN_KINDS[0], ("accounted", SEEDS)) for seed in seeds
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
                for kind, seeds in COIN_KINDS for seed in seeds for variant in ("plain", *GROUPS)
                if variant != PLAIN_GROUPS]
    if name == "variants":
        others = {variant: MATCHED for variant in VARIANTS if variant not in GROUPS | BONUS}
        others |= dict.fromkeys((LORA, f"{LORA}, KL .001"), LORA_RATE)
        return [NoisyRun(variant=variant, rate=rate, seed=seed)
                for seed in SEEDS for variant, rate in others.items()]
    if name == "pretrained":
        return [NoisyRun(task="chain-sum", optimizer=other, rate=rate, seed=seed)
                for other, rate in PRETRAINED_RATES.items() for seed in SEEDS]
    return [
        NoisyRun(task=task, coin=coin, optimizer=optimizer, rate=rate, kind=kind, seed=seed)
        for part in COINS[name]
        for kind, seeds in COIN_KINDS
        for seed in seeds for task in ("sum", "split") for coin, optimizer, rate in part
    ]
