"""The three entropy forecasts along tabular runs: where a forecast errs when every logit is its own.

Four prompts of graded difficulty are trained together, by each rule, exactly and from samples, at three
learning rates. Every recorded step has three forecasts beside the measured entropy change: (i) from the
rule's coefficients, (ii) first order from the logit change, (iii) exact from the logit change. Tabular
logits are independent, so (i) = (ii) up to rounding, and (iii) is the measured change. The whole error of
a forecast is that of first order, and grows with the step size.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record
from simulations.experiments.grid import gridded, trained
from simulations.problems.bandits import Bandit

FORECASTS = ("coefficients", "first_order", "exact", "measured")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_actions: int = 20
    n_correct: int = 4
    accuracies: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    learning_rates: tuple[float, ...] = (0.05, 0.5, 5.0)
    target: float = 0.5
    coefficient: float = 0.05
    group_size: int = 8
    tempered_samples: int = 8
    n_starts: int = 4
    steps: int = 1000
    record_every: int = 10


PROFILES = {
    "smoke": Config(learning_rates=(0.5,), n_starts=2, steps=60),
    "default": Config(),
    "full": Config(n_starts=16, steps=4000, record_every=20),
}
RULES = ("grpo", "aepo", "entropy-bonus")
MODES = ("exact", "sampled")


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """The forecasts and the measured changes."""
    problem = Bandit(
        n_actions=config.n_actions, n_correct=config.n_correct, accuracies=config.accuracies)
    rates = np.repeat(config.learning_rates, config.n_starts)
    logits = np.tile(problem.starts(config.n_starts, seed), (len(config.learning_rates), 1, 1))
    table = []
    for name, mode in itertools.product(RULES, MODES):
        samples = Samples(group_size=config.group_size, tempered=config.tempered_samples)
        run = trained(
            logits, problem.correct, _rule(name, config, exact=mode == "exact"), config, seed, progress,
            record=Record(forecasts=True), learning_rate=tuple(rates.tolist()),
            samples=samples if mode == "sampled" else None)
        table.append([getattr(run.forecasts, column) for column in FORECASTS])
    axes: dict[str, Any] = {
        "rule": RULES, "mode": MODES, "step": run.step[:-1], "learning_rate": config.learning_rates,
        "start": np.arange(config.n_starts)}
    shape = [len(values) for values in axes.values()]
    return gridded(axes, **{name: np.stack([found[i] for found in table]).reshape(shape)
                            for i, name in enumerate(FORECASTS)})


def _rule(name: str, config: Config, *, exact: bool) -> UpdateRule:
    base = get("grpo", group_size=config.group_size if exact else None)
    if name == "grpo":
        return base
    if name == "aepo":
        return get("aepo", target=config.target, base=base)
    return get("entropy-bonus", coefficient=config.coefficient, base=base)


EXPERIMENT = Experiment.of(
    __name__, name="tabular_audit",
    source="AEPO, Theorem 4.3 and Eq. 6",
    title="Entropy forecasts against measured changes in tabular runs",
    caption="Measured entropy change of sampled steps of tabular policies beside three forecasts, by "
            "rule and learning rate.",
    modes=("exact", "sampled"),
    work=lambda config: len(RULES) * len(MODES) * config.steps,
)
