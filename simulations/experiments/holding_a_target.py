"""Controls that hold a target entropy: AEPO, an integral rule and the forecast, on two bonuses.

Four prompts have 8 right answers of 20, groups of 8 samples, and independent logits. Targets lie from
deep inside to above ``log |A*|``, or step, ramp and swing. Learning rates span a factor of ten. Three
controls are compared:

- AEPO switches the temperature of a second batch;
- the integral rule (Skywork-OR1, TRL) raises a bonus's coefficient by a fixed step while entropy is at or
  below the target, and lets it act only there. The "two-sided" rule lets it go below 0 and act above it
  too;
- the forecast chooses the coefficient whose first-order effect leads to the target.

The bonus is on the entropy of every state, or on the entropy among right answers alone. Here two things
are known that a language model's run cannot tell from its samples. They are the true entropy at every
step, and the price of holding it in the probability of a right answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.schedules import Points, Sine
from entropy_theory.tracking import second_half, steps_to_follow, stretches, tracked
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.experiments.grid import over, trained
from simulations.problems.bandits import Bandit

CONTROLLERS = (
    "AEPO", "AEPO, alpha 3", "integral, entropy bonus", "two-sided integral, entropy bonus",
    "forecast, entropy bonus", "integral, diverse bonus", "two-sided integral, diverse bonus",
    "forecast, diverse bonus",
)
STEPS = {"entropy-bonus": 0.005, "diverse-bonus": 0.05}
"""Movement of each bonus's coefficient per step under the integral rule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; entropies in nats, of which ``log |A*|`` is 2.08."""

    n_actions: int = 20
    n_correct: int = 8
    accuracies: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    targets: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5, 1.9, 2.3)
    low: float = 0.7
    """The lower end of a moving target, nats."""
    high: float = 1.5
    learning_rates: tuple[float, ...] = (0.3, 1.0, 3.0)
    bound: float = 5.0
    """The largest coefficient, and the least of one that may be negative is its opposite."""
    n_starts: int = 5
    group_size: int = 8
    steps: int = 400


PROFILES = {
    "smoke": Config(targets=(1.0,), learning_rates=(1.0,), n_starts=2, steps=60),
    "default": Config(),
    "full": Config(n_starts=32, steps=1200),
}


def rule(controller: str, config: Config) -> UpdateRule:
    """Return the rule of a controller, with some target."""
    how, _, bonus = controller.partition(", ")
    if how == "AEPO":
        return get("aepo", alpha=3.0 if bonus else 1.0)
    name = bonus.replace(" ", "-")
    if how == "forecast":
        return get(name, target=1.0, hold="forecast", coefficient=0.0,
                   coefficient_low=-config.bound, coefficient_high=config.bound)
    low = -config.bound if how.startswith("two-sided") else 0.0
    return get(name, target=1.0, coefficient=0.0, coefficient_step=STEPS[name], coefficient_low=low,
               coefficient_high=config.bound)


def shapes(config: Config) -> dict[str, Callable[[int], float]]:
    """The targets by name: constants, a step and a ramp from high to low, a sine between them."""
    low, high, steps = config.low, config.high, config.steps
    middle = (low + high) / 2
    return {
        **{f"{target:g}": Points(points=((0, target),)) for target in config.targets},
        "step": Points(points=((steps // 2 - 1, high), (steps // 2, low))),
        "ramp": Points(points=((steps // 4, high), (3 * steps // 4, low))),
        "sine": Sine(middle=middle, amplitude=high - middle, period=steps / 3),
    }


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy beside its target, how well it was held, and what that cost."""
    axes = {"controller": CONTROLLERS, "learning_rate": config.learning_rates}
    dataset = over(_train, axes, config, seed, progress).assign_coords(
        shape=list(shapes(config)), start=np.arange(config.n_starts))
    dataset["target"] = (("shape", "step"), [[target(int(step)) for step in dataset.step.values]
                                             for target in shapes(config).values()])
    dataset.attrs.update(ceiling=float(np.log(config.n_correct)))
    return dataset


def _train(cell: tuple[Config, int, str, float], progress: Progress) -> xr.Dataset:
    config, seed, controller, learning_rate = cell
    problem = Bandit(
        n_actions=config.n_actions, n_correct=config.n_correct, accuracies=config.accuracies)
    targets = list(shapes(config).values())
    starts = np.tile(problem.starts(config.n_starts, seed), (len(targets), 1, 1))
    run = trained(
        starts, problem.correct, rule(controller, config), config, seed, progress,
        learning_rate=learning_rate, record_every=1, samples=Samples(group_size=config.group_size),
        target_schedule=lambda step: np.repeat([target(step) for target in targets], config.n_starts))
    shape = (len(targets), config.n_starts)
    entropy = run.entropy.T.reshape(*shape, -1)
    aims = [np.array([target(int(step)) for step in run.step]) for target in targets]
    found = [[tracked(curve, aim) for curve in curves]
             for curves, aim in zip(entropy, aims, strict=True)]
    follow = [[steps_to_follow(curve, aim) for curve in curves]
              for curves, aim in zip(entropy, aims, strict=True)]
    settled = [second_half(stretches(aim)[-1]) for aim in aims]
    reward = run.reward.T.reshape(*shape, -1)
    dims = ("shape", "start")
    return xr.Dataset(
        {
            "mean_entropy": (dims, [[one.mean for one in row] for row in found]),
            "deviation": (dims, [[one.deviation for one in row] for row in found]),
            "steps_to_follow": (dims, np.array(follow, dtype=float)),
            "reward": (dims, [row[:, part].mean(axis=-1)
                              for row, part in zip(reward, settled, strict=True)]),
            "out_of_power": (dims, ((run.saturated + run.held) / config.steps).reshape(shape)),
            "entropy": ((*dims, "step"), entropy),
        },
        coords={"step": run.step},
    )


LONG_NAMES = {
    "mean_entropy": "mean entropy over the last settled steps, nats",
    "deviation": "mean absolute distance from the target over settled steps, nats",
    "steps_to_follow": "steps from the target's jump, or the start, until entropy had arrived",
    "reward": "probability of a right answer over the last settled steps",
    "out_of_power": "share of the batches at which the coefficient was saturated or held",
    "entropy": "policy entropy, nats",
    "target": "target entropy, nats",
}


EXPERIMENT = Experiment.of(
    __name__, name="holding_a_target",
    source="AEPO, Eq. 1; Skywork-OR1",
    title="What holds a target entropy",
    caption="AEPO, integral rules and forecasts on two bonuses, over targets at rest and moving, "
            "learning rates and starts: entropy, distance from the target, reward and steps to follow.",
    work=lambda config: len(CONTROLLERS) * len(config.learning_rates) * config.steps,
    modes=("sampled",),
)
