"""Following a target that moves (AEPO, introduction: entropy can follow arbitrary functions of time).

AEPO follows a target entropy that steps, ramps or swings, in exact expectation, from policies that the
same control has held at rest first. Temperature moves entropy at a limited speed, whatever the gap to the
target. On the solved face the speed is ``eta alpha F(T_high)`` per step up and ``eta alpha |F(T_low)|``
per step down (claim ``aepo.tracking``). So a slow function is followed, and a fast one is cut to a
triangle of that slope. A step becomes a ramp of that slope, and nothing above ``log |A*|`` is reached.

The speeds are computed for the policy at rest, heated or cooled to each entropy (`speeds`), without
running anything. Two times follow from them. One is the time of a step, the integral of 1/speed. The
other is the shortest period of a sine that can be followed (`shortest_period`). The proportional control
of the paper's later version (T = 1 + target - H, clipped) is run beside the switch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.entropy_change import tempered_reinforce_rate
from entropy_theory.policy import entropy
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.trajectory import Record, Trajectory
from simulations.experiments.grid import gridded, joined, trained
from simulations.problems.bandits import Bandit

CONTROLS = ("switch", "proportional")
COLDEST = -12.0
"""Logarithm of the lowest temperature tried when a policy is cooled to a lower entropy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; times in steps, entropies in nats; T as in AEPO's Table 4."""

    n_actions: int = 20
    n_correct: int = 8
    low: float = 0.5
    high: float = 1.5
    unreachable: float = 2.5
    """The target of a step that cannot be reached, since it is above ``log |A*|``."""
    ramps: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1)
    """Speeds of the ramps from low to high and back, nats per step."""
    periods: tuple[int, ...] = (30, 60, 120, 240, 480, 960)
    amplitude: float = 0.5
    """Amplitude of the sines around the middle of low and high, nats."""
    alpha: float = 1.0
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    n_starts: int = 4
    learning_rate: float = 0.5
    rest: int = 1500
    """Steps at the first target before it moves."""
    moving: int = 2400
    record_every: int = 4
    group_size: int = 8


PROFILES = {
    "smoke": Config(
        ramps=(0.01,), periods=(60, 120), n_starts=2, rest=150, moving=240, record_every=10),
    "default": Config(),
    "full": Config(
        ramps=(0.0003, 0.001, 0.003, 0.01, 0.03, 0.1),
        periods=(20, 30, 45, 60, 90, 120, 180, 240, 480, 960, 1920), n_starts=16, rest=4000,
        moving=8000, record_every=2,
    ),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy beside its moving target, speeds, delays and amplitudes, measured and predicted."""
    problem = Bandit(n_actions=config.n_actions, n_correct=config.n_correct)
    targets = shapes(config)
    starts = problem.starts(config.n_starts, seed)
    parts = {}
    for control in CONTROLS:
        rule = get(
            "aepo", alpha=config.alpha, temperature_high=config.temperature_high,
            temperature_low=config.temperature_low, control=control,
            base=get("grpo", group_size=config.group_size),
        )
        run = trained(
            np.tile(starts, (len(targets), 1, 1)), problem.correct, rule, config, seed, progress,
            record=Record(logits=True), steps=config.rest + config.moving,
            target_schedule=lambda step: np.repeat(
                [target(max(step - config.rest, 0)) for target in targets.values()],
                config.n_starts))
        parts[control] = _measured(run, targets, config)
    dataset = joined("control", parts)
    dataset["target"] = (("shape", "time"), np.asarray(
        [[target(max(int(t), 0)) for t in dataset.time.values] for target in targets.values()]))
    dataset.attrs.update(ceiling=problem.ceiling)
    return dataset


def shapes(config: Config) -> dict[str, Callable[[int], float]]:
    """The targets by name: functions of the steps since they began to move."""
    low, high = config.low, config.high
    middle = (low + high) / 2

    def step(before: float, after: float) -> Callable[[int], float]:
        return lambda t: before if t == 0 else after

    def ramp(speed: float, sign: int) -> Callable[[int], float]:
        begin = low if sign > 0 else high
        return lambda t: float(np.clip(begin + sign * speed * t, low, high))

    def sine(period: int) -> Callable[[int], float]:
        return lambda t: middle + config.amplitude * float(np.sin(2 * np.pi * t / period))

    return {
        "step up": step(low, high),
        "step down": step(high, low),
        "step out of reach": step(low, config.unreachable),
        **{f"ramp up {v:g}": ramp(v, 1) for v in config.ramps},
        **{f"ramp down {v:g}": ramp(v, -1) for v in config.ramps},
        **{f"sine {p}": sine(p) for p in config.periods},
    }


def speeds(right_logits: np.ndarray, entropies: np.ndarray, config: Config) -> np.ndarray:
    """How fast temperature moves entropy where all is right: [2 (up, down), entropies], nats per step.

    0 where no heating reaches the entropy: above ``log |A*|``, or below what is left of it when only the
    likeliest answers remain, if they are nearly tied.

    Args:
        right_logits: logits of the right answers, heated or cooled until the entropy is that asked for.
        entropies: the entropies at which the speed is computed.
        config: temperatures, alpha and step size.
    """
    from scipy.optimize import brentq  # slow to import, and the registry imports every experiment

    found = np.zeros((2, len(entropies)))
    for i, level in enumerate(entropies):
        lack = [_lack(heat, right_logits, level) for heat in (COLDEST, -COLDEST)]
        if lack[0] > 0 or lack[1] < 0:
            continue
        heat = np.exp(brentq(_lack, COLDEST, -COLDEST, args=(right_logits, level)))
        logits = np.broadcast_to(right_logits / heat, (2, len(right_logits)))
        temperatures = np.asarray([config.temperature_high, config.temperature_low])
        rate = tempered_reinforce_rate(logits, np.ones(logits.shape, dtype=bool), temperatures)
        found[:, i] = config.learning_rate * config.alpha * rate * [1, -1]
    return found


def _lack(log_heat: float, logits: np.ndarray, level: float) -> float:
    return float(entropy(logits, np.exp(log_heat))) - level


def shortest_period(right_logits: np.ndarray, config: Config) -> float:
    """The shortest period of a sine that never moves faster than entropy can at its value, steps."""
    phase = np.linspace(0, 2 * np.pi, 33)
    level = (config.low + config.high) / 2 + config.amplitude * np.sin(phase)
    limit = speeds(right_logits, level, config)
    available = np.where(np.cos(phase) > 0, limit[0], limit[1])
    with np.errstate(divide="ignore"):
        return float(np.max(2 * np.pi * config.amplitude * np.abs(np.cos(phase)) / available))


def _measured(run: Trajectory, targets: dict[str, Callable[[int], float]], config: Config) -> xr.Dataset:
    logits = run.logits
    assert logits is not None
    n, names = config.n_starts, list(targets)
    time = run.step - config.rest
    entropies = run.entropy.T.reshape(len(names), n, -1)
    of = dict(zip(names, entropies, strict=True))
    # Right logits when the target begins to move: [starts, right answers].
    first = names.index(f"sine {config.periods[0]}") * n
    at_rest = logits[np.searchsorted(time, 0), first : first + n, 0, : config.n_correct]
    axes: dict[str, Any] = {
        "shape": names, "start": np.arange(n), "time": time, "way": ["up", "down"],
        "period": config.periods, "ramp": config.ramps}
    return gridded(
        axes, entropy=entropies,
        gain=(("period", "start"), [_response(time, of[f"sine {p}"], p, config)
                                    for p in config.periods]),
        ramp_speed=(("way", "ramp", "start"), [
            [0.8 * (config.high - config.low) / _crossing_time(time, of[f"ramp {way} {v:g}"], config)
             for v in config.ramps] for way in axes["way"]]),
        step_time=(("way", "start"), [_crossing_time(time, of[f"step {way}"], config)
                                      for way in axes["way"]]),
        shortest_period=("start", [shortest_period(z, config) for z in at_rest]))


def _response(
    time: np.ndarray, curves: np.ndarray, period: int, config: Config
) -> np.ndarray:
    """Gain of the fundamental over whole periods of the second half: [starts]."""
    cycles = max(1, int(config.moving / 2 / period))
    seen = (time >= config.moving - cycles * period) & (time < config.moving)
    phase = 2 * np.pi * time[seen] / period
    basis = np.stack([np.ones_like(phase), np.sin(phase), np.cos(phase)], axis=1)
    _, in_phase, ahead = np.linalg.lstsq(basis, curves[:, seen].T, rcond=None)[0]
    return np.hypot(in_phase, ahead) / config.amplitude


def _when(time: np.ndarray, curve: np.ndarray, level: float) -> float:
    """The time at which a curve first reaches ``level`` after 0, linear between records; NaN if never."""
    late = time >= 0
    t, gap = time[late], curve[late] - level
    after = int(np.argmax(gap * gap[0] <= 0))
    if after == 0:
        return float("nan")
    return float(np.interp(0.0, sorted(gap[after - 1 : after + 1]),
                           t[after - 1 : after + 1][:: 1 if gap[after] > gap[after - 1] else -1]))


def _crossing_time(time: np.ndarray, curves: np.ndarray, config: Config) -> np.ndarray:
    """Steps between 10 % and 90 % of the way: [starts]."""
    low, high = (config.low + share * (config.high - config.low) for share in (0.1, 0.9))
    return np.array([abs(_when(time, curve, high) - _when(time, curve, low)) for curve in curves])


LONG_NAMES = {
    "entropy": "policy entropy, nats",
    "target": "target entropy, nats",
    "gain": "swing of entropy over swing of its target, at the target's period",
    "ramp_speed": "speed of entropy over the middle 80 % of a ramp, nats per step",
    "step_time": "time from 10 % to 90 % of a step, steps",
    "shortest_period": "of a sine that temperature can follow, from the policy at rest, steps",
}


EXPERIMENT = Experiment.of(
    __name__, name="aepo_tracking",
    source="AEPO, introduction and Figure 1 (arbitrary functions)",
    title="AEPO with a target that steps, ramps and swings",
    caption="AEPO and proportional control at targets that step and swing. Entropy by step, time of a "
            "step up and down, and gain of a sine by its period, over starts.",
    work=lambda config: len(CONTROLS) * (config.rest + config.moving),
)
