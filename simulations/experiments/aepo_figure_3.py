"""Entropy bonus against AEPO (AEPO, Figures 3 and 4): collapse, explosion, control.

GRPO plus coefficient x entropy runs over a range of coefficients (0 is GRPO alone). Beside it AEPO at a
target, and GRPO with entropy-shaped advantages (Entropy-Adv), run from the same starts. With one right
answer an entropy bonus trades reward for entropy. At a fixed point coefficient x (logit gap) = kappa(p),
so entropy is bought with wrong answers. With several right answers the only fixed point makes all right
answers equally likely, but runs reach it slowly. Within these steps the entropy of a run depends on its
start rather than on its coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import xarray as xr

from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.experiments.grid import Grid, trained
from simulations.problems.bandits import Bandit

COLLAPSED = 0.05
"""Entropy below which a run counts as collapsed, nats."""
EXPLODED = 0.1
"""A run counts as exploded if a wrong answer is at least this likely."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; 0.015 is the coefficient of AEPO's Entropy-Reg baseline, and Entropy-Adv's
    beta and kappa are Table 4's."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 4, 8)
    coefficients: tuple[float, ...] = (0.0, 0.015, 0.05, 0.15, 0.5, 1.0, 1.5, 3.0)
    targets: tuple[float, ...] = (0.25, 0.5, 1.0)
    alpha: float = 1.0
    n_starts: int = 8
    learning_rate: float = 0.5
    steps: int = 6000
    record_every: int = 20
    group_size: int = 8


PROFILES = {
    "smoke": Config(
        right_answers=(1, 4), coefficients=(0.0, 0.015, 0.15, 3.0), targets=(0.25,), n_starts=4,
        learning_rate=3.0, steps=500,
    ),
    "default": Config(),
    "full": Config(
        coefficients=(0.0, 0.005, 0.015, 0.05, 0.1, 0.15, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
        n_starts=32, steps=30000, record_every=100,
    ),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy and reward under an entropy bonus at each coefficient, under AEPO, and shaped."""
    problems = tuple(Bandit(n_actions=config.n_actions, n_correct=m) for m in config.right_answers)
    base = get("grpo", group_size=config.group_size)

    def run(name: str, axis: str, values: tuple[float, ...], **options: Any) -> xr.Dataset:
        grid = Grid(problems, config.n_starts, axis, values, seed)
        if axis == "coefficient":
            options["coefficient"] = grid.run_values
        trajectory = trained(
            grid.logits, grid.correct, get(name, base=base, **options), config, seed, progress,
            targets=tuple(grid.run_values.tolist()) if axis == "target" else None)
        tail = {n: getattr(trajectory, n) for n in ("tail_entropy", "tail_reward")}
        curves = grid.curves(trajectory, ("entropy",))
        return curves.merge(grid.unflatten(tail))

    bonus = run("entropy-bonus", "coefficient", config.coefficients)
    aepo = run("aepo", "target", config.targets, alpha=config.alpha)
    shaped = run("entropy-advantage", "once", (0.0,)).isel(once=0, drop=True)
    dataset = xr.merge([
        found.rename({name: f"{of}_{name}" for name in found.data_vars})
        for of, found in (("bonus", bonus), ("aepo", aepo), ("shaped", shaped))])
    dataset["collapsed"] = dataset.bonus_tail_entropy < COLLAPSED
    dataset["exploded"] = dataset.bonus_tail_reward <= 1 - EXPLODED
    dataset.collapsed.attrs["long_name"] = f"tail entropy below {COLLAPSED:g} nats"
    dataset.exploded.attrs["long_name"] = f"wrong answers at least {EXPLODED:.0%} in the tail"
    return dataset


EXPERIMENT = Experiment.of(
    __name__, name="aepo_figure_3",
    source="AEPO, Figures 3 and 4",
    title="Entropy bonus: collapse or explosion, and AEPO: control",
    caption="GRPO with an entropy bonus over coefficients, AEPO over targets, and Entropy-Adv, from the "
            "same starts: entropy and reward by step and over the tail, and which runs collapse or "
            "explode.",
    work=lambda config: 3 * config.steps,
)
