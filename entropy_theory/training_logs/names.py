"""Recognizes the quantity of a log's column by the names that engines use (names.toml)."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from importlib.resources import files
from typing import Literal, get_args

Quantity = Literal[
    "entropy", "entropy_sampled", "entropy_sum", "reward", "reward_part", "score", "length", "truncated",
    "kl_reference", "kl_step", "kl_coefficient", "clipped", "clipped_low", "clipped_high",
    "gradient_norm", "learning_rate", "mismatch", "zero_variance", "all_right", "all_wrong",
    "mixed_groups", "entropy_coefficient", "loss", "entropy_change", "part_gradient", "part_clipping",
    "part_momentum", "part_weight_decay", "part_rounding", "part_right", "part_wrong",
]
"""A quantity of a training log, by the name that this package gives it."""
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
MEANING: Mapping[Quantity, str] = {
    "entropy": "mean entropy per token, nats",
    "entropy_sampled": "mean entropy per token, nats, estimated by -log p of the sampled tokens",
    "entropy_sum": "entropy summed over the tokens of a response, nats",
    "reward": "mean training reward",
    "reward_part": "mean of one part of the training reward",
    "score": "held-out score",
    "length": "mean response length, tokens",
    "truncated": "share of responses cut at the length limit",
    "kl_reference": "KL divergence from the reference policy, nats",
    "kl_step": "KL divergence between the policy that sampled and the one in training, nats",
    "kl_coefficient": "coefficient of the KL penalty",
    "clipped": "share of tokens that the ratio clip stops",
    "clipped_low": "share of tokens that the lower clip stops",
    "clipped_high": "share of tokens that the upper clip stops",
    "gradient_norm": "norm of the gradient",
    "learning_rate": "learning rate",
    "mismatch": "difference between the sampler's probabilities and the trainer's",
    "zero_variance": "share of groups whose rewards are all equal",
    "all_right": "share of groups whose responses are all right",
    "all_wrong": "share of groups whose responses are all wrong",
    "mixed_groups": "share of groups with right and wrong responses",
    "entropy_coefficient": "coefficient of the entropy bonus",
    "loss": "loss",
    "entropy_change": "change of the mean entropy by a step, nats, measured",
    "part_gradient": "part of that change by the batch's gradient",
    "part_clipping": "part of that change by gradient clipping",
    "part_momentum": "part of that change by momentum",
    "part_weight_decay": "part of that change by weight decay",
    "part_rounding": "part of that change by the rounding of weights",
    "part_right": "part of that change by right responses, or tokens of positive advantage",
    "part_wrong": "part of that change by wrong responses, or tokens of negative advantage",
}
STEPS = ("step", "_step", "global_step", "train/global_step", "training/global_step",
         "trainer/global_step", "train/step", "rollout/step", "progress/batch", "iteration", "epoch")
"""Names of the step column, best first; case does not matter."""
NOT_UNASKED = frozenset((
    "timing", "time", "perf", "seconds", "std", "stddev", "var", "min", "max", "minimum", "maximum",
    "advantage", "advantages", "adv", "centered", "centred", "normalized", "normalised", "whitened",
    "target", "ref", "reference", "teacher", "rank", "percentile", "p90", "p95", "p99",
))
"""Words in names that no engine's table has, of columns that are read only where they are asked for."""
HELD_OUT = frozenset(("val", "valid", "validation", "eval", "test", "heldout", "dev"))
PARTS: tuple[Quantity, ...] = (
    "part_gradient", "part_clipping", "part_momentum", "part_weight_decay", "part_rounding")
"""The parts of an optimizer's step (`llm_bridge.accounting`)."""
GENERIC: tuple[tuple[str, Quantity], ...] = (
    (r"(.*/)?((mean|policy|token|avg|average|actor)_)?entropy(_mean|_avg|_token_mean)?(/mean|/avg)?",
     "entropy"),
    (r"(.*/)?policy_entropy_(mean|avg)", "entropy"),
    (r"(.*/)?entropy_loss", "entropy"),
    (r"(.*/)?((mean|avg|average)_)?rewards?(_mean|_avg|_total)?(/mean|/avg)?", "reward"),
    (r"(.*/)?((mean|avg|average)_)?(score|accuracy|acc|pass@1|pass_at_1|success_rate|performance)"
     r"(_mean|_avg)?(/mean|/avg)?", "reward"),
    (r"(.*/)?((mean|avg|average)_)?(response|completion|answer|output|generation)s?[_/]?(mean_)?"
     r"len(gth)?(_mean|_avg)?(/mean|/avg)?", "length"),
    (r"(.*/)?(truncated|truncation|clipped)(_ratio|_rate|_share|_frac)?", "truncated"),
    (r"(.*/)?kl(_loss|_mean|_div|_divergence)?", "kl_reference"),
    (r"(.*/)?(clip_?frac(tion)?|clip_ratio|pg_clipfrac)", "clipped"),
    (r"(.*/)?grad(ient)?_norm", "gradient_norm"),
    (r"(.*/)?(learning_rate|lr)", "learning_rate"),
    (r"(.*/)?(train(ing)?_|policy_|pg_)?loss", "loss"),
    # What this package logs beside an engine: the account of a step, or else its forecast.
    (r"(.*/)?measured_entropy_change", "entropy_change"),
    (r"(.*/)?accounted/(right|better)", "part_right"),
    (r"(.*/)?accounted/(wrong|worse)", "part_wrong"),
    *((f"(.*/)?accounted/{part.removeprefix('part_')}", part) for part in PARTS),
    *((f"(.*/)?entropy_gradient/{part.removeprefix('part_')}", part) for part in PARTS),
)
"""Names of logs that no engine's table has, best first."""


ENOUGH = 4
"""From this weight on, the names of a log are those of an engine."""


@dataclass(frozen=True, slots=True)
class Column:
    """A name that an engine gives to a quantity."""

    name: str
    quantity: Quantity
    at: str
    versions: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """The quantities that an engine logs, and how to have it log entropies."""

    name: str
    source: str
    setting: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Recognized:
    """The columns of a log by quantity, best first, and whose names they are ("": no engine's)."""

    engine: str
    columns: dict[Quantity, tuple[str, ...]]


@functools.cache
def engines() -> dict[str, Engine]:
    """Return the engines of names.toml, by name."""
    text = files("entropy_theory.training_logs").joinpath("names.toml").read_text(encoding="utf-8")
    return {name: Engine(name, entry["source"], entry.get("setting", ""), tuple(
        Column(one["name"], one["is"], one["at"], one.get("versions", "")) for one in entry["columns"]))
        for name, entry in tomllib.loads(text).items()}


def recognize(names: Iterable[str]) -> Recognized:
    """Return which names are which quantity: by the engine most of them are of, then by their words."""
    names = list(dict.fromkeys(names))
    found = {engine: _matches(names, engine) for engine in engines()}
    best = max(found, key=lambda engine: _weight(found[engine]))
    chosen = found[best] if _weight(found[best]) >= ENOUGH else {}
    columns: dict[Quantity, list[str]] = {quantity: list(own) for quantity, own in chosen.items()}
    taken = {name for own in columns.values() for name in own}
    for name in names:
        if name not in taken and (quantity := _by_words(name)) is not None:
            columns.setdefault(quantity, []).append(name)
    order = {name: _generic_rank(name) for own in columns.values() for name in own}
    for quantity, own in columns.items():
        first = len(chosen.get(quantity, ()))
        columns[quantity] = own[:first] + sorted(own[first:], key=order.__getitem__)
    return Recognized(best if chosen else "", {q: tuple(own) for q, own in columns.items()})


@functools.cache
def is_known(name: str) -> bool:
    """Whether a name may be one of a quantity, in the words of any engine or by itself."""
    return _by_words(name) is not None or any(
        _pattern(column.name).fullmatch(form)
        for engine in engines().values() for column in engine.columns for form in (name, _inner(name)))


def _matches(names: list[str], engine: str) -> dict[Quantity, list[str]]:
    found: dict[Quantity, list[str]] = {}
    for column in engines()[engine].columns:
        pattern = _pattern(column.name)
        own = [name for name in names if pattern.fullmatch(_inner(name)) or pattern.fullmatch(name)]
        held_out = column.quantity == "score"
        for name in own:
            taken = found.setdefault(column.quantity, [])
            if name not in taken and (held_out or not HELD_OUT & set(_words(name))):
                taken.append(name)
    return {quantity: own for quantity, own in found.items() if own}


def _weight(found: Mapping[Quantity, list[str]]) -> int:
    """Return how much speaks for an engine: a name with a folder says more than a plain word."""
    return sum(4 if any("/" in name for name in own) else 1 for own in found.values())


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(translate(name), re.IGNORECASE)


def _inner(name: str) -> str:
    """Return a name without the prefixes of W&B and Hugging Face."""
    return re.sub(r"^(data|metrics|train)[/.]", "", name)


def _words(name: str) -> list[str]:
    return re.split(r"[^a-z0-9]+", name.lower())


def _by_words(name: str) -> Quantity | None:
    if NOT_UNASKED & set(_words(name)) or _generic_rank(name) == len(GENERIC):
        return None
    quantity = GENERIC[_generic_rank(name)][1]
    if HELD_OUT & set(_words(name)):
        return "score" if quantity == "reward" else None
    return quantity


def _generic_rank(name: str) -> int:
    lower = name.lower().replace(".", "/").replace(" ", "_")
    return next((rank for rank, (pattern, _) in enumerate(GENERIC) if re.fullmatch(pattern, lower)),
                len(GENERIC))
