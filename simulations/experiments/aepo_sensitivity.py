"""How AEPO's control depends on its settings and on the start: range of targets, precision, chatter.

AEPO runs in exact expectation over ``targets x alpha x |A*| x starts``. Pairs of temperatures and group
sizes are each varied about the paper's 1.2 / 0.8 and G = 8. At the paper's values starts of different
accuracy and peakedness are tried. Targets are shares of the ceiling ``log |A*|`` (with one right answer
there is none: ``aepo_figure_1``).

Three things are measured. Does the tail of a run deviate from its target by at most `TOLERANCE` of the
ceiling? Which lowest and highest target do most starts hold? How large is the chatter?

Two things are known beforehand and compared. A run within reach of its target chatters by ``eta alpha
(F(T_high) - F(T_low))/sqrt(12)`` (`phase_diagrams.face_rates`). A start is lost, for so many steps, if
GRPO alone opens a gap D between its likeliest right answers that T_high cannot close in time: alpha < T
e^{D/T}/(2 eta N) (claim ``aepo.revival-time``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.trajectory import Trajectory
from simulations.experiments.grid import Grid, gridded, joined, trained
from simulations.experiments.phase_diagrams import face_rates
from simulations.problems.bandits import Bandit

TOLERANCE = 0.05
"""How far, root mean square, the tail of a held run may deviate from its target, over ``log |A*|``."""

LONG_NAMES = {
    "chatter": "standard deviation of entropy over the tail, nats",
    "predicted_chatter": "the same of an even chatter on the solved face, nats",
    "held": f"deviation from the target at most {TOLERANCE:.0%} of log |A*| (root mean square)",
    "scan_held": "the same as held, over starts of given accuracy and peakedness",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (2, 4, 8)
    target_shares: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9, 1.1)
    alphas: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    settings: tuple[tuple[float, float, int], ...] = (
        (1.2, 0.8, 8), (1.1, 0.9, 8), (1.5, 0.67, 8), (1.2, 0.8, 2), (1.2, 0.8, 32))
    """(T_high, T_low, G) of each setting; the first is that of the scan over starts."""
    n_starts: int = 4
    scan_accuracies: tuple[float, ...] = (0.01, 0.1, 0.5, 0.9, 0.99)
    scan_scales: tuple[float, ...] = (0.5, 1.0, 2.0)
    """Standard deviations of the starting logits."""
    scan_right_answers: int = 4
    scan_share: float = 0.5
    n_scan_starts: int = 8
    scan_alpha: float = 1.0
    learning_rate: float = 1.0
    steps: int = 1500
    record_every: int = 200


PROFILES = {
    "smoke": Config(
        right_answers=(4,), target_shares=(0.25, 1.1), alphas=(0.5, 2.0),
        settings=((1.2, 0.8, 8), (1.5, 0.67, 8)), n_starts=2, scan_accuracies=(0.5, 0.99),
        scan_scales=(0.5, 2.0), n_scan_starts=2, steps=250,
    ),
    "default": Config(),
    "full": Config(
        right_answers=(2, 3, 4, 6, 8), target_shares=(0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.1),
        alphas=(0.125, 0.25, 0.5, 1.0, 2.0),
        settings=((1.2, 0.8, 8), (1.05, 0.95, 8), (1.1, 0.9, 8), (1.35, 0.74, 8), (1.5, 0.67, 8),
                  (2.0, 0.5, 8), (1.2, 0.8, 2), (1.2, 0.8, 4), (1.2, 0.8, 16), (1.2, 0.8, 32)),
        n_starts=32, scan_accuracies=(0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
        scan_scales=(0.25, 0.5, 1.0, 2.0, 3.0), n_scan_starts=32, steps=8000,
    ),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Compute which targets each setting holds, how precisely, and which starts the first one holds."""
    dataset = joined("setting", {
        f"T {setting[0]:g}/{setting[1]:g}, G {setting[2]}": _setting(setting, config, seed, progress)
        for setting in config.settings}).merge(_scan(config, seed, progress))
    dataset.attrs.update(tolerance=TOLERANCE)
    return dataset


def _setting(
    setting: tuple[float, float, int], config: Config, seed: int, progress: Progress
) -> xr.Dataset:
    high, low, _ = setting
    problems = tuple(Bandit(n_actions=config.n_actions, n_correct=m) for m in config.right_answers)
    cells = [(alpha, share) for alpha in config.alphas for share in config.target_shares]
    grid = Grid(problems, config.n_starts, "cell", tuple(range(len(cells))), seed)
    alphas, shares = np.asarray(cells)[grid.run_values].T
    ceilings = np.log(grid.correct[:, 0].sum(axis=-1))
    targets = shares * ceilings
    run = _aepo(setting, alphas, targets, grid.logits, grid.correct, config, seed, progress)
    columns = {
        "chatter": run.tail_spread,
        "held": _is_held(run, targets, ceilings),
    }
    index = {"alpha": ("cell", [alpha for alpha, _ in cells]),
             "target_share": ("cell", [share for _, share in cells])}
    dataset = grid.unflatten(columns).drop_vars("cell").assign_coords(index)
    dataset = dataset.set_index(cell=["alpha", "target_share"]).unstack("cell")
    reachable = tuple(share for share in config.target_shares if share < 1)
    faces = Grid(problems, config.n_starts, "target_share", reachable, seed)
    rates = np.asarray([
        face_rates(z[c], share * np.log(c.sum()), np.asarray([high, low]))
        for z, c, share in zip(
            faces.logits[:, 0], faces.correct[:, 0], faces.run_values, strict=True)
    ])
    width = faces.unflatten({"width": config.learning_rate * (rates[:, 0] - rates[:, 1])}).width
    dataset["predicted_chatter"] = dataset.alpha * width.reindex_like(dataset.target_share) / 12**0.5
    return dataset


def _is_held(run: Trajectory, targets: np.ndarray, ceilings: np.ndarray) -> np.ndarray:
    deviation = np.sqrt((run.tail_entropy - targets) ** 2 + run.tail_spread**2)
    return deviation <= TOLERANCE * ceilings


def _aepo(
    setting: tuple[float, float, int], alpha: np.ndarray | float, targets: np.ndarray,
    logits: np.ndarray, correct: np.ndarray, config: Config, seed: int, progress: Progress,
) -> Trajectory:
    high, low, size = setting
    rule = get("aepo", alpha=alpha, temperature_high=high, temperature_low=low,
               base=get("grpo", group_size=size))
    return trained(logits, correct, rule, config, seed, progress, targets=tuple(targets.tolist()))


def _scan(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Compute which starts are held, by accuracy and peakedness."""
    problems = [
        Bandit(n_actions=config.n_actions, n_correct=config.scan_right_answers, scale=scale,
               accuracies=(accuracy,))
        for accuracy in config.scan_accuracies for scale in config.scan_scales
    ]
    logits = np.concatenate([problem.starts(config.n_scan_starts, seed) for problem in problems])
    ceilings = np.full(len(logits), problems[0].ceiling)
    targets = config.scan_share * ceilings
    run = _aepo(config.settings[0], config.scan_alpha, targets, logits, problems[0].correct, config,
                seed, progress)
    axes: dict[str, Any] = {
        "scan_accuracy": config.scan_accuracies, "scan_scale": config.scan_scales,
        "scan_start": np.arange(config.n_scan_starts)}
    shape = [len(values) for values in axes.values()]
    return gridded(axes, scan_held=_is_held(run, targets, ceilings).reshape(shape))


EXPERIMENT = Experiment.of(
    __name__, name="aepo_sensitivity",
    source="AEPO, Section 4.2 (robust to hyperparameters) and Table 4",
    title="Which targets AEPO holds, by its settings and starts",
    caption="AEPO in exact expectation over targets, alpha, temperatures, group sizes and starts: which "
            "targets are held, and how far entropy swings about them.",
    work=lambda config: (len(config.settings) + 1) * config.steps,
)
