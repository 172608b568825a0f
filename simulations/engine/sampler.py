"""The sampler: the distribution of responses where it is not quite the policy that is trained.

Inference engines differ from trainers: they sample at a temperature, cut the tail, serve weights that are
some steps old, and compute in fewer bits. The distribution is made in this order, that of vLLM:

1. the logits of ``steps_old`` optimizer steps ago (the start's, where there were not so many);
2. + ``noise`` times a normal number of each state and action, new in every batch;
3. rounded, as logits or as log-probabilities;
4. divided by the temperature, that of the row where a second batch has one of its own;
5. cut: `min_p`, then `top_k`, then `top_p` of what is left. Actions that tie stay or go together.

The normal numbers are functions of (seed, batch, run, state, action): Box and Muller's, of the uniforms
of `simulations.engine.sampling` of the kind NOISE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.array_types import Array
from entropy_theory.policy import log_softmax, namespace
from entropy_theory.support.user_errors import check_choice
from simulations.engine.array_types import RunNumbers
from simulations.engine.sampling import lanes
from simulations.problems.bandits import check_count

NOISE = 2
"""The kind of uniforms that noise is made of, beside `sampling.ORDINARY` and `sampling.TEMPERED`."""
ROUNDINGS = ("none", "bfloat16", "int8")
_INT8_MOST = 127


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampler:
    """How the distribution that is sampled departs from the policy; by default it does not.

    Raises ValueError for options out of range, naming them.
    """

    temperature: float = 1.0
    """The temperature of ordinary rows. A second batch has its own, in place of it."""
    top_p: float = 1.0
    """The largest actions are kept until their probability reaches this share; 1 keeps all."""
    top_k: int = 0
    """The number of largest actions that are kept; 0 keeps all."""
    min_p: float = 0.0
    """Actions are kept whose probability is at least this share of the largest one."""
    steps_old: int = 0
    """By how many optimizer steps the sampled policy lags behind the one that the batch trains."""
    rounding: str = "none"
    """"bfloat16" rounds to 8 significant bits, ties to even. "int8" rounds to a 127th of the state's
    largest absolute value."""
    rounded: str = "logits"
    """Whether "logits" or "log-probabilities" (at temperature 1) are rounded."""
    noise: float = 0.0
    """The standard deviation of the noise that is added to each logit, nats."""

    def __post_init__(self) -> None:
        for name, least in (("top_k", 0), ("steps_old", 0)):
            check_count(name, getattr(self, name), least)
        check_choice(self.rounding, ROUNDINGS, "rounding of the sampler")
        check_choice(self.rounded, ("logits", "log-probabilities"), "option rounded of the sampler")
        for name, is_met, allowed in (
                ("temperature", 0 < self.temperature < math.inf, "above 0 and finite"),
                ("top_p", 0 < self.top_p <= 1, "above 0, at most 1"),
                ("min_p", 0 <= self.min_p <= 1, "from 0 to 1"),
                ("noise", 0 <= self.noise < math.inf, "at least 0 and finite")):
            if not is_met:
                raise ValueError(f"the sampler's {name} must be {allowed}, got {getattr(self, name)}")

    def log_probabilities(self, logits: Array, temperature: Array | None = None) -> Array:
        """The log-probabilities of what is drawn from: [..., actions], nats; -inf at what is cut off.

        Args:
            logits: [..., actions], finite: those of the policy sampled, with their noise.
            temperature: scalar or [...], in place of the sampler's own.
        """
        xp = namespace(logits)
        if self.rounding != "none":
            given = logits if self.rounded == "logits" else log_softmax(logits)
            logits = _to_bfloat16(xp, given) if self.rounding == "bfloat16" else _to_int8(xp, given)
        log_prob = log_softmax(logits, self.temperature if temperature is None else temperature)
        if self.top_k == 0 and self.top_p == 1 and self.min_p == 0:
            return log_prob
        floor = self._floor(xp, log_prob)
        return log_softmax(xp.where(log_prob >= floor, log_prob, xp.full_like(log_prob, -math.inf)))

    def _floor(self, xp: Any, log_prob: Array) -> Array:
        """The log-probability from which on actions are kept, [..., 1]."""
        top = xp.max(log_prob, axis=-1, keepdims=True)
        floor = top + (math.log(self.min_p) if self.min_p else -math.inf)
        if self.top_k == 0 and self.top_p == 1:
            return floor
        rising = xp.sort(log_prob, axis=-1, stable=True)
        if 0 < self.top_k < log_prob.shape[-1]:
            place = log_prob.shape[-1] - self.top_k
            floor = xp.maximum(floor, rising[..., place : place + 1])
        if self.top_p == 1:
            return floor
        mass = xp.where(rising >= floor, xp.exp(rising), xp.zeros_like(rising))
        running = xp.cumulative_sum(mass, axis=-1)
        total = running[..., -1:]
        # What is above an action has not reached the share yet, by more than sums are rounded.
        is_kept = total - running < total * (self.top_p * (1 - 1e-12))
        return xp.maximum(floor, xp.min(
            xp.where(is_kept, rising, xp.zeros_like(rising)), axis=-1, keepdims=True))


def _to_bfloat16(xp: Any, values: Array) -> Array:
    """Round to 8 significant bits, of 24 or 53 (Dekker's splitting; ties go to even)."""
    large = values * (2.0 ** {32: 16, 64: 45}[xp.finfo(values.dtype).bits] + 1)
    return large - (large - values)


def _to_int8(xp: Any, values: Array) -> Array:
    scale = xp.max(xp.abs(values), axis=-1, keepdims=True) / _INT8_MOST
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    return xp.round(values / scale) * scale


def noise_lanes(runs: RunNumbers, states: int, actions: int) -> tuple[Any, Any]:
    """Return the words from which the two uniforms of each normal number are made.

    They hold neither seed nor batch; both are uint64 [runs, states, actions].
    """
    return tuple(lanes(NOISE, runs, states, actions, position) for position in (0, 1))  # type: ignore


def normal(xp: Any, first: Array, second: Array) -> Array:
    """Return normal numbers of mean 0 and variance 1, from two uniforms in [0, 1) each."""
    return xp.sqrt(-2 * xp.log1p(-first)) * xp.cos(2 * np.pi * second)
