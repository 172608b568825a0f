"""Phase diagrams: where entropy collapses, is held, and goes astray, and where theory draws the lines.

Two planes are computed in exact expectation, from the same starts. One is AEPO on (T_high, alpha), at
half of the ceiling ``log |A*|``. The other is GRPO with an entropy bonus on (coefficient, ``|A*|``). The
outcome of N steps of size eta stands beside what was to be expected without training by the rule:

- AEPO *collapses* (within N steps) where N is too short to revive. Let D be the logit gap that N steps of
  GRPO alone open between the two likeliest right answers. T_high needs at least ``(T/(2 eta alpha))
  e^{D/T}`` steps to close it (claim ``aepo.revival-time``). So the line is ``alpha = T e^{D/T}/(2 eta
  N)``.
- AEPO *chatters* where its own step is too long. On the solved face entropy moves up by ``u = eta alpha
  F(T_high)`` and down by ``d = eta alpha |F(T_low)|``. A two-point switch then fills ``[target - d,
  target + u]`` evenly, with a root mean square deviation of ``sqrt((u^2 - u d + d^2)/3)``.
- A bonus has one fixed point, at which all right answers are equally likely, as are all wrong ones:
  coefficient x (logit gap) = kappa(p) (`bonus_fixed_point`). It tells where wrong answers come back
  (*explodes*). With one right answer it also tells where entropy collapses. With several, no positive
  coefficient collapses for good, but unlikely right answers come back in a time like e^D/(2 eta
  coefficient D) (the speed of claim ``extension.entropy-bonus-two-actions``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.advantages import group_normalization_gain
from entropy_theory.entropy_change import tempered_reinforce_rate
from entropy_theory.policy import entropy
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.trajectory import Trajectory
from simulations.experiments.aepo_figure_3 import COLLAPSED, EXPLODED
from simulations.experiments.grid import Grid, trained
from simulations.problems.bandits import Bandit

TOLERANCE = 0.05
"""How far, root mean square, the tail of a held run may deviate from its target, over ``log |A*|``."""
TARGET = 0.5
"""Target entropy over ``log |A*|``; a run below half of the target counts as collapsed."""

LONG_NAMES = {
    "aepo_outcome": "0 collapsed, 1 held, 2 chatters",
    "aepo_predicted": "the outcome that both lines predict",
    "aepo_tail_entropy": "mean entropy over the tail, nats",
    "aepo_deviation": "root mean square deviation from the target over the tail, share of log |A*|",
    "aepo_predicted_deviation": "the same of an even chatter on the solved face",
    "collapse_line": "alpha below which N steps are too few to revive",
    "chatter_line": "alpha above which chatter exceeds the tolerance",
    "gap": "logit gap of the two likeliest right answers after N steps of GRPO alone",
    "bonus_outcome": "0 collapsed, 1 neither, 2 exploded",
    "bonus_tail_entropy": "mean entropy over the tail, nats",
    "bonus_tail_reward": "mean probability of a right answer over the tail",
    "bonus_fixed_entropy": "entropy at the fixed point, nats",
    "bonus_fixed_reward": "probability of a right answer at the fixed point",
    "explosion_line": f"coefficient at whose fixed point wrong answers have {EXPLODED:g}",
    "bonus_collapse_line": "coefficient below which entropy is expected to be collapsed after N steps",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; T_low and G are AEPO's."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (2, 4, 8)
    temperatures: tuple[float, ...] = (1.1, 1.2, 1.4, 2.0, 3.0)
    alphas: tuple[float, ...] = (0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.0)
    temperature_low: float = 0.8
    bonus_right_answers: tuple[int, ...] = (1, 2, 4, 8, 12)
    coefficients: tuple[float, ...] = (
        0.01, 0.02, 0.04, 0.08, 0.125, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
    n_starts: int = 8
    learning_rate: float = 1.0
    steps: int = 2000
    group_size: int = 8


PROFILES = {
    "smoke": Config(
        right_answers=(4,), temperatures=(1.2, 2.0), alphas=(0.125, 2.0),
        bonus_right_answers=(1, 4), coefficients=(0.02, 0.25, 1.4), n_starts=2, steps=150,
    ),
    "default": Config(),
    "full": Config(
        right_answers=(2, 3, 4, 6, 8), temperatures=(1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.6, 2.0, 2.5, 3.0),
        alphas=(0.03, 0.045, 0.06, 0.09, 0.125, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0),
        bonus_right_answers=(1, 2, 3, 4, 6, 8, 10, 12), n_starts=32, steps=6000,
    ),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Outcomes on both planes, the lines that theory draws, and how well they tell them apart."""
    return _aepo_plane(config, seed, progress).merge(_bonus_plane(config, seed, progress))


def revival_alpha(
    gap: np.ndarray, temperature: float, learning_rate: float, steps: int
) -> np.ndarray:
    """The alpha at which ``steps`` steps at ``temperature`` are just enough to close ``gap``.

    T e^{D/T}/(2 eta N): the lower bound of claim ``aepo.revival-time``, solved for alpha.
    """
    return temperature * np.exp(gap / temperature) / (2 * learning_rate * steps)


def chatter(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Root mean square of a number that fills [-down, up] evenly."""
    return np.sqrt((up**2 - up * down + down**2) / 3)


def bonus_fixed_point(
    coefficient: float, n_actions: int, n_correct: int, group_size: int
) -> tuple[float, float]:
    """Return (p, H) where GRPO and bonus balance.

    There ``coefficient x log(p (n - m)/((1 - p) m)) = kappa(p)``.
    """
    spread = np.log((n_actions - n_correct) / n_correct)

    def excess(log_odds: float) -> float:
        return coefficient * (log_odds + spread) - _kappa(log_odds, group_size)

    log_odds = _root(excess, -30.0, 10.0 + np.sqrt(group_size) / coefficient)
    return float(_sigmoid(log_odds)), _entropy_at(log_odds, n_actions, n_correct)


def explosion_coefficient(n_actions: int, n_correct: int, group_size: int) -> float:
    """The coefficient at whose fixed point wrong answers have probability `EXPLODED`."""
    log_odds = np.log((1 - EXPLODED) / EXPLODED)
    gap = log_odds + np.log((n_actions - n_correct) / n_correct)
    return float(_kappa(log_odds, group_size) / gap) if gap > 0 else np.inf


def collapse_coefficient(n_actions: int, group_size: int) -> float:
    """The coefficient at whose fixed point, with one right answer, entropy is `COLLAPSED`."""
    log_odds = _root(lambda x: _entropy_at(x, n_actions, 1) - COLLAPSED, 1.0, 60.0)
    return float(_kappa(log_odds, group_size) / (log_odds + np.log(n_actions - 1)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq  # slow to import, and the registry imports every experiment

    return float(brentq(function, low, high))


def _kappa(log_odds: float, group_size: int) -> float:
    right, wrong = np.asarray(_sigmoid(log_odds)), np.asarray(_sigmoid(-log_odds))
    return float(group_normalization_gain(right, wrong, group_size=group_size))


def _sigmoid(x: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -x)))


def _entropy_at(log_odds: float, n_actions: int, n_correct: int) -> float:
    """Entropy of a policy that is uniform on the right answers and on the wrong ones."""
    of_right = log_odds + np.log((n_actions - n_correct) / n_correct)
    logits = np.where(np.arange(n_actions) < n_correct, of_right, 0.0)
    return float(entropy(logits))


def _aepo_plane(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    problems = _problems(config, config.right_answers)
    grid = Grid(problems, config.n_starts, "alpha", config.alphas, seed)
    starts = Grid(problems, config.n_starts, "rule", ("grpo",), seed)
    ceilings = xr.DataArray(np.log(config.right_answers), dims="right_answers")
    targets = TARGET * np.repeat(ceilings.values, config.n_starts * len(config.alphas))
    base = get("grpo", group_size=config.group_size)
    grpo = _run(starts, base, config, seed, progress)
    per_temperature = []
    for temperature in config.temperatures:
        rule = get(
            "aepo", alpha=grid.run_values, temperature_high=temperature,
            temperature_low=config.temperature_low, base=base,
        )
        run = _run(grid, rule, config, seed, progress, targets=tuple(targets.tolist()))
        deviation = np.sqrt((run.tail_entropy - targets) ** 2 + run.tail_spread**2)
        columns = {"aepo_tail_entropy": run.tail_entropy, "aepo_deviation": deviation}
        per_temperature.append(grid.unflatten(columns))
    axis = xr.DataArray(list(config.temperatures), dims="temperature", name="temperature")
    axis.attrs["long_name"] = "T_high"
    dataset = xr.concat(per_temperature, dim="temperature").assign_coords(temperature=axis)
    dataset["aepo_deviation"] = dataset.aepo_deviation / ceilings
    collapsed = dataset.aepo_tail_entropy < 0.5 * TARGET * ceilings
    held = dataset.aepo_deviation <= TOLERANCE
    dataset["aepo_outcome"] = xr.where(collapsed, 0, xr.where(held, 1, 2))
    dataset = dataset.merge(_lines(grpo, starts, config))
    is_short = dataset.alpha < dataset.collapse_line
    is_steady = dataset.aepo_predicted_deviation <= TOLERANCE
    dataset["aepo_predicted"] = xr.where(is_short, 0, xr.where(is_steady, 1, 2))
    return dataset.transpose("temperature", "alpha", "right_answers", "start")


def _lines(grpo: Trajectory, starts: Grid, config: Config) -> xr.Dataset:
    """Compute the lines of theory on (T_high, alpha), from GRPO alone and from the solved face."""
    dims, shape = ("right_answers", "start"), starts.shape[:2]
    correct = starts.correct[:, 0]
    ceilings = np.log(correct.sum(axis=-1))
    gap = top_gap(grpo.final_logits[:, 0], correct)
    temperatures = np.asarray((config.temperature_low, *config.temperatures))
    rates = np.stack([
        face_rates(z[c], TARGET * ceiling, temperatures)
        for z, c, ceiling in zip(starts.logits[:, 0], correct, ceilings, strict=True)
    ])
    # Per unit alpha, as a share of the ceiling: [runs, temperatures].
    moves = config.learning_rate * rates / ceilings[:, None]
    deviation = chatter(moves[:, 1:], -moves[:, :1]).T.reshape(-1, *shape)
    collapse = []
    for temperature in config.temperatures:
        collapse.append(revival_alpha(gap, temperature, config.learning_rate, config.steps))
    alphas = np.asarray(config.alphas)
    return xr.Dataset({
        "gap": (dims, gap.reshape(shape)),
        "collapse_line": (("temperature", *dims), np.reshape(collapse, deviation.shape)),
        "chatter_line": (("temperature", *dims), TOLERANCE / deviation),
        "aepo_predicted_deviation": (
            ("alpha", "temperature", *dims), alphas[:, None, None, None] * deviation),
    })


def top_gap(logits: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The gap between the two largest logits of right answers: [runs], from logits [runs, actions]."""
    right = np.sort(np.where(correct, logits, -np.inf), axis=-1)
    return right[:, -1] - right[:, -2]


def face_rates(right_logits: np.ndarray, target: float, temperatures: np.ndarray) -> np.ndarray:
    """F at each temperature for a policy that is always right and has entropy ``target``: [temperatures].

    The policy is that of ``right_logits``, heated or cooled until it has that entropy.
    """
    heat = _root(lambda x: float(entropy(right_logits, np.exp(x))) - target, -12.0, 12.0)
    logits = np.broadcast_to(right_logits * np.exp(-heat), (len(temperatures), len(right_logits)))
    return tempered_reinforce_rate(logits, np.ones(logits.shape, dtype=bool), temperatures)


def _bonus_plane(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    problems = _problems(config, config.bonus_right_answers)
    grid = Grid(problems, config.n_starts, "coefficient", config.coefficients, seed)
    starts = Grid(problems, config.n_starts, "rule", ("grpo",), seed)
    base = get("grpo", group_size=config.group_size)
    rule = get("entropy-bonus", coefficient=grid.run_values, base=base)
    run = _run(grid, rule, config, seed, progress)
    grpo = _run(starts, base, config, seed, progress)
    dataset = grid.unflatten({
        "bonus_tail_entropy": run.tail_entropy, "bonus_tail_reward": run.tail_reward})
    collapsed = dataset.bonus_tail_entropy < COLLAPSED
    exploded = dataset.bonus_tail_reward <= 1 - EXPLODED
    dataset["bonus_outcome"] = xr.where(collapsed, 0, xr.where(exploded, 2, 1))
    fixed = np.asarray([
        [bonus_fixed_point(c, config.n_actions, m, config.group_size) for c in config.coefficients]
        for m in config.bonus_right_answers
    ])
    plane = ("right_answers", "coefficient")
    dataset["bonus_fixed_reward"] = (plane, fixed[..., 0])
    dataset["bonus_fixed_entropy"] = (plane, fixed[..., 1])
    dataset["explosion_line"] = ("right_answers", [
        explosion_coefficient(config.n_actions, m, config.group_size)
        for m in config.bonus_right_answers])
    several = np.repeat(np.asarray(config.bonus_right_answers) > 1, config.n_starts)
    line = np.full(len(several), collapse_coefficient(config.n_actions, config.group_size))
    gap = top_gap(grpo.final_logits[several, 0], starts.correct[several, 0])
    line[several] = np.exp(gap) / (2 * config.learning_rate * config.steps * gap)
    dataset["bonus_collapse_line"] = (("right_answers", "start"), line.reshape(starts.shape[:2]))
    return dataset.rename(right_answers="bonus_right_answers", start="bonus_start")


def _problems(config: Config, right_answers: tuple[int, ...]) -> tuple[Bandit, ...]:
    return tuple(Bandit(n_actions=config.n_actions, n_correct=m) for m in right_answers)


def _run(
    grid: Grid, rule: UpdateRule, config: Config, seed: int, progress: Progress, **options: Any
) -> Trajectory:
    return trained(grid.logits, grid.correct, rule, config, seed, progress, record_every=config.steps,
                   **options)


EXPERIMENT = Experiment.of(
    __name__, name="phase_diagrams",
    source="AEPO, Figures 1 and 3 (where they hold)",
    title="Collapse, control and explosion: (temperature, alpha) and (coefficient, |A*|)",
    caption="Outcome of AEPO's runs over T_high and alpha, and of runs with a bonus over coefficients, "
            "by number of right answers and start, beside the lines that predict it.",
    work=lambda config: (len(config.temperatures) + 3) * config.steps,
)
