"""When entropy grows, holds and collapses: signal, noise, the optimizer, shared parameters, the sampler.

A response has several tokens, each drawn from a policy of its own. The first decides on the reward, and
the others are idle. The first token sets the probability that the reward is 1. It is ``ceiling`` where
the token is right and 0 where it is wrong, or one number for both: a *coin*, without any signal. If the
logits of a policy over responses are sums of those of the tokens, it is that product of policies. A coin
is one more token that no parameter moves. So these are bandits with shared parameters. Policies start
with one action ahead of all others, which are alike, as those of a language model mostly are.

- *course*: training on a reward that saturates, with a parameter for each logit or fewer parameters than
  logits. It saturates at 1, where groups have no contrast and the noise ends too, or below, where noise
  goes on.
- *drift*: one token and a coin, from several entropies: is there a level to which they all drift?
- planes of the change of entropy under coins: success rate by group size and by the number of prompts,
  and optimizer by learning rate. Batches of several prompts are with and without shared parameters;
- planes of the change of idle entropy with signal, by the number of idle tokens and of shared parameters;
- *sampler*: one token with several right answers, sampled from a distribution that departs from the
  policy. How the probability is spread over them is idle. (A sampler would bend a coin that is an action
  too.)

Under SGD a coin does nothing of first order. Under Adam it does, because a logit that seldom gets a
gradient moves by its sign more than by its size. Where most samples succeed, most standardized advantages
are positive: they are small, beside few that are large and negative. So unlikely actions rise where
success is likely, and sink where it is rare. In groups of 2, whose advantages have no skew, they do
neither.

Shared parameters are random features; means are then over several draws of them, and standard errors
over those means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.policy import entropy, log_softmax
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.dynamics import Dynamics
from simulations.engine.optimizer import Adam, Optimizer, Sgd
from simulations.engine.sampler import Sampler
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record
from simulations.experiments.grid import gridded, over, trained
from simulations.experiments.noise_and_entropy import of_entropy

# Learning rates at which the reward rises about as fast under each.
OPTIMIZERS: dict[str, tuple[Optimizer, float]] = {
    "sgd": (Sgd(), 0.08),
    "momentum": (Sgd(momentum=0.9), 0.008),
    "adam": (Adam(), 0.01),
    "adam, beta2 = 0.9": (Adam(betas=(0.9, 0.9)), 0.01),
    "adam, eps = 0.1": (Adam(eps=0.1), 0.025),
}
SAMPLERS: dict[str, Sampler | None] = {
    "none": None,
    "temperature 0.8": Sampler(temperature=0.8), "temperature 1.2": Sampler(temperature=1.2),
    "top-p 0.95": Sampler(top_p=0.95), "int8 logits": Sampler(rounding="int8"),
    "1 step old": Sampler(steps_old=1), "8 steps old": Sampler(steps_old=8),
}
CERTAIN = 1e-12
"""How far the probability of a reward stays from 0 and 1, whose logarithms a coin's logits are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; entropies are over the log of the number of actions."""

    n_actions: int = 4
    n_idle: int = 2
    start_entropy: float = 0.6
    """That of the token that matters, at the start."""
    idle_entropy: float = 0.1
    """That of each idle token, at the start."""
    ceilings: tuple[float, ...] = (1.0, 0.9)
    """The probability of a reward after the right token; 0 after others."""
    capacities: tuple[float, ...] = (0.0, 0.5, 2.0)
    """The number of shared parameters over that of the tokens' logits; 0: every logit is its own."""
    idle_tokens: tuple[int, ...] = (1, 3)
    success_rates: tuple[float, ...] = (0.02, 0.1, 0.5, 0.9, 0.98)
    group_sizes: tuple[int, ...] = (2, 4, 8, 16, 64)
    prompts: tuple[int, ...] = (1, 4)
    """The number of prompts in a batch, all with one policy and coins of their own."""
    rate_factors: tuple[float, ...] = (0.25, 1.0, 4.0)
    """The learning rates, over those of `OPTIMIZERS`."""
    drift_actions: int = 8
    drift_entropies: tuple[float, ...] = (0.05, 0.2, 0.5, 0.95)
    drift_factor: float = 5.0
    """The learning rate of the long runs, and of SGD under coins, over those of `OPTIMIZERS`."""
    right_answers: int = 4
    """Those of the ``drift_actions`` actions, for the samplers."""
    n_seeds: int = 48
    n_draws: int = 6
    """The number of draws of shared parameters, among which the seeds are divided."""
    group_size: int = 8
    steps: int = 2000
    drift_steps: int = 6000
    n_records: int = 20


PROFILES = {
    "smoke": Config(
        ceilings=(0.9,), capacities=(0.0, 0.5), idle_tokens=(1,), success_rates=(0.5,),
        group_sizes=(2, 8), prompts=(2,), rate_factors=(4.0,), drift_entropies=(0.05, 0.95), n_seeds=6,
        n_draws=2, steps=40, drift_steps=60, n_records=4, n_idle=1),
    "default": Config(),
    "full": Config(n_seeds=96, n_draws=12, steps=4000, drift_steps=12000, prompts=(1, 4, 16)),
}
LONG_NAMES = {
    "course_reward": "expected reward",
    "course_matters": "entropy of the token that matters, over log of the actions",
    "course_idle": "mean entropy of idle tokens, over log of the actions",
    "course_error": "standard error of the mean entropy of idle tokens, over seeds",
    "drift_entropy": "entropy under a coin, over log of the actions",
    "drift_error": "standard error of that, over seeds",
    "coin_change": "change of entropy under a coin, over log of the actions",
    "coin_error": "standard error of that, over seeds",
    "batch_change": "change of entropy under coins, Adam, over log of the actions",
    "batch_error": "standard error of that, over seeds, or draws of parameters",
    "rate_change": "change of entropy under a coin, over log of the actions",
    "rate_error": "standard error of that, over seeds",
    "size_change": "change of idle entropy with signal, Adam, over log of the actions",
    "size_error": "standard error of that, over seeds, or draws of parameters",
    "sampler_change": "change of the entropy given a right answer, over log of the right ones",
    "sampler_error": "standard error of that, over seeds",
    "sampler_reward": "expected reward at the end",
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """The courses, the drift, and the planes."""
    names = tuple(OPTIMIZERS)
    adams = ("sgd", "adam")
    slices = (
        (_course, {"optimizer": names, "capacity": config.capacities[:2]}),
        (_drift, {"drift_optimizer": names[:3]}),
        (_coin, {"coin_optimizer": adams, "group_size": config.group_sizes}),
        (_rate, {"rate_optimizer": names}),
        (_batch, {"prompts": config.prompts, "batch_capacity": config.capacities[:2]}),
        (_size, {"idle_tokens": config.idle_tokens, "size_capacity": config.capacities}),
        (_sampler, {"sampler_optimizer": adams, "sampler": tuple(SAMPLERS)}),
    )
    return xr.merge([over(function, axes, config, seed, progress) for function, axes in slices])


def _course(cell: tuple[Config, int, str, float], progress: Progress) -> xr.Dataset:
    config, seed, name, capacity = cell
    found = _trained(config, seed, name, progress, ceilings=config.ceilings, capacity=capacity)
    idle = found.entropy[..., 1:].mean(axis=-1)
    return gridded(
        {"ceiling": config.ceilings, "step": found.step}, course_reward=found.reward.mean(axis=-1),
        course_matters=found.entropy[..., 0].mean(axis=-1), course_idle=idle.mean(axis=-1),
        course_error=_error(idle, found.n_draws))


def _drift(cell: tuple[Config, int, str], progress: Progress) -> xr.Dataset:
    config, seed, name = cell
    n_starts = len(config.drift_entropies)
    found = _trained(
        config, seed, name, progress, n_actions=config.drift_actions, starts=(1.0,),
        own_starts=config.drift_entropies, coins=(0.5,) * n_starts,
        factors=(config.drift_factor,) * n_starts, steps=config.drift_steps)
    drifted = found.entropy[..., 0]
    return gridded({"start": config.drift_entropies, "drift_step": found.step},
                   drift_entropy=drifted.mean(axis=-1), drift_error=_error(drifted))


def _coin(cell: tuple[Config, int, str, int], progress: Progress) -> xr.Dataset:
    config, seed, name, group_size = cell
    factor = config.drift_factor if name == "sgd" else 1.0  # (It moves peaked policies little.)
    found = _trained(config, seed, name, progress, coins=config.success_rates, group_size=group_size,
                     factors=(factor,) * len(config.success_rates), starts=(config.idle_entropy,))
    return gridded({"success_rate": config.success_rates}, **_changed("coin", found.entropy))


def _batch(cell: tuple[Config, int, int, float], progress: Progress) -> xr.Dataset:
    config, seed, n_prompts, capacity = cell
    found = _trained(
        config, seed, "adam", progress, coins=config.success_rates, n_prompts=n_prompts,
        capacity=capacity, starts=(config.idle_entropy,) * config.n_idle)
    return gridded({"success_rate": config.success_rates},
                   **_changed("batch", found.entropy, found.n_draws))


def _rate(cell: tuple[Config, int, str], progress: Progress) -> xr.Dataset:
    config, seed, name = cell
    found = _trained(config, seed, name, progress, coins=(0.5,) * len(config.rate_factors),
                     factors=config.rate_factors, starts=(config.idle_entropy,))
    return gridded({"rate_factor": config.rate_factors}, **_changed("rate", found.entropy))


def _size(cell: tuple[Config, int, int, float], progress: Progress) -> xr.Dataset:
    config, seed, n_idle, capacity = cell
    found = _trained(
        config, seed, "adam", progress, ceilings=config.ceilings[-1:], capacity=capacity,
        starts=(config.start_entropy, *(config.idle_entropy,) * n_idle))
    return xr.Dataset(_changed("size", found.entropy[0, ..., 1:], found.n_draws))


def _sampler(cell: tuple[Config, int, str, str], progress: Progress) -> xr.Dataset:
    config, seed, name, sampler = cell
    start = ahead(config.drift_actions, config.start_entropy)
    optimizer, rate = OPTIMIZERS[name]
    run = trained(
        np.broadcast_to(start, (config.n_seeds, 1, len(start))),
        np.arange(len(start)) < config.right_answers, get("grpo"), config, seed, progress,
        learning_rate=rate, optimizer=optimizer, sampler=SAMPLERS[sampler],
        samples=Samples(group_size=config.group_size), record_every=config.steps)
    within = run.entropy_within_correct[..., None] / np.log(config.right_answers)
    return xr.Dataset(_changed("sampler", within) | {"sampler_reward": run.reward[-1].mean()})


def _changed(name: str, entropies: np.ndarray, n_draws: int = 1) -> dict[str, Any]:
    """The change of the tokens' mean entropy from the first to the last record, and its standard error.

    ``entropies``: [..., records, seeds, tokens].
    """
    mean = entropies.mean(axis=-1)
    change = mean[..., -1, :] - mean[..., 0, :]
    return {f"{name}_change": change.mean(axis=-1), f"{name}_error": _error(change, n_draws)}


def _error(values: np.ndarray, n_draws: int = 1) -> Any:
    """The standard error of the mean over seeds, the last axis: over the means of draws if there are."""
    if n_draws > 1:
        values = values.reshape(*values.shape[:-1], n_draws, -1).mean(axis=-1)
    return values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


@dataclass(frozen=True, kw_only=True, slots=True)
class Courses:
    """The course of trained policies; entropies are over the log of the number of actions."""

    step: np.ndarray
    """[records]."""
    reward: np.ndarray
    """The expected reward, [variants, records, seeds]."""
    entropy: np.ndarray
    """[variants, records, seeds, tokens]; seeds of one draw of parameters stand together."""
    n_draws: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """The trained variants. Each is a ceiling or a coin, with a factor of the learning rate."""

    starts: tuple[float, ...]
    """The entropies of the tokens at the start."""
    n_actions: int
    steps: int
    group_size: int
    own_starts: tuple[float, ...] = ()
    """Those of a single token under each coin, whose runs then have the same draws."""
    ceilings: tuple[float, ...] = ()
    coins: tuple[float, ...] = ()
    factors: tuple[float, ...] = (1.0,)
    """The factors of the learning rate, of each variant or one for all."""
    capacity: float = 0.0
    n_prompts: int = 1

    @property
    def places(self) -> np.ndarray:
        """The actions of each response, integer [tokens, responses]."""
        return np.indices((self.n_actions,) * len(self.starts)).reshape(len(self.starts), -1)

    @property
    def own(self) -> np.ndarray:
        """The features with which each token's logit is its own: [responses, tokens * actions]."""
        one_hot = np.eye(self.n_actions)[self.places].transpose(1, 0, 2)
        return one_hot.reshape(-1, len(self.starts) * self.n_actions)

    @property
    def pairs(self) -> np.ndarray:
        """The logits of responses with a coin up, then down, of each variant: [variants, actions]."""
        logits = self.own @ np.concatenate([ahead(self.n_actions, start) for start in self.starts])
        # The right token is the second action, one of those that are alike.
        chances = [np.where(self.places[0] == 1, ceiling, 0.0) for ceiling in self.ceilings]
        chances += [np.full(len(logits), coin) for coin in self.coins]
        starts = [ahead(self.n_actions, start) for start in self.own_starts] or [logits] * len(chances)
        return np.stack([
            (start + np.log(np.clip([up, 1 - up], CERTAIN, 1 - CERTAIN))).ravel()
            for start, up in zip(starts, chances, strict=True)])


def _trained(
    config: Config, seed: int, name: str, progress: Progress, **options: Any
) -> Courses:
    """Train each variant of a `Setting`, of the config but for the options, with every seed."""
    of_config: dict[str, Any] = {
        "starts": (config.start_entropy, *(config.idle_entropy,) * config.n_idle),
        "n_actions": config.n_actions, "steps": config.steps, "group_size": config.group_size}
    setting = Setting(**(of_config | options))
    features = setting.own[None]
    size = round(setting.capacity * features.shape[-1])
    if size:
        features = np.stack([
            setting.own @ np.random.default_rng((seed, draw, *setting.places.shape, size)).normal(
                scale=size**-0.5, size=(setting.own.shape[1], size)) for draw in range(config.n_draws)])
    step, reward, chance = _simulated(config, seed, name, progress, setting, features)
    tokens = range(len(setting.starts))
    chance = chance.reshape(*reward.shape, *(setting.n_actions for _ in tokens))
    entropies = [entropy(np.log(np.maximum(
        chance.sum(axis=tuple(3 + other for other in tokens if other != token)), 1e-300)))
        for token in tokens]
    return Courses(step=step, reward=reward, n_draws=len(features),
                   entropy=np.stack(entropies, axis=-1) / np.log(setting.n_actions))


def _simulated(
    config: Config, seed: int, name: str, progress: Progress, setting: Setting, features: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The steps, the reward [variants, records, seeds] and the responses' chances [..., responses].

    ``features``: [draws, responses, parameters]. A draw's seeds of each variant are runs in a row.
    """
    n_draws, n_responses, _ = features.shape
    pairs = setting.pairs
    n_seeds = config.n_seeds // n_draws
    optimizer, rate = OPTIMIZERS[name]
    rates = np.repeat(rate * np.broadcast_to(setting.factors, len(pairs)), n_seeds)
    alike = tuple(range(n_seeds)) * len(pairs) if setting.own_starts else 0
    dynamics = Dynamics(
        rule=get("grpo"), optimizer=optimizer, learning_rate=tuple(np.tile(rates, n_draws).tolist()),
        seed=seed, samples=Samples(group_size=setting.group_size), steps=setting.steps,
        record_every=max(1, setting.steps // config.n_records), first_run=alike)
    starts = np.tile(np.repeat(pairs, n_seeds, axis=0)[:, None], (n_draws, setting.n_prompts, 1))
    run = simulate(
        starts, np.repeat([1.0, 0.0], n_responses), dynamics, record=Record(logits=True),
        features=np.tile(features, (1, 2 * setting.n_prompts, 1)), progress=progress)
    shape = (len(run.step), n_draws, len(pairs), n_seeds)
    chance = np.exp(log_softmax(run.logits[:, :, 0])).reshape(*shape, 2, -1).sum(axis=-2)

    def by_variant(values: np.ndarray) -> np.ndarray:
        """Return [records, draws, variants, seeds of a draw, ...] as [variants, records, seeds, ...]."""
        moved = values.transpose(2, 0, 1, *range(3, values.ndim))
        return moved.reshape(len(pairs), len(run.step), config.n_seeds, *values.shape[4:])

    return run.step, by_variant(run.reward.reshape(shape)), by_variant(chance)


def ahead(n_actions: int, relative_entropy: float) -> np.ndarray:
    """Logits [actions] with the first ahead of all others, which are alike, of an entropy over log n."""
    return of_entropy(np.eye(n_actions)[0], (relative_entropy,))[0]


def work(config: Config) -> int:
    """Return the number of steps in all."""
    cells = (len(OPTIMIZERS) + len(config.prompts)) * len(config.capacities[:2]) + len(OPTIMIZERS) + 2 * (
        len(config.group_sizes) + len(SAMPLERS)) + len(config.idle_tokens) * len(config.capacities)
    return cells * config.steps + 3 * config.drift_steps


EXPERIMENT = Experiment.of(
    __name__, name="growth_and_collapse",
    source="Cui et al., Section 2.4: what follows the fall of entropy, once the reward is flat",
    title="When entropy grows, holds and collapses, with and without signal",
    caption="Entropies of the token that matters and of idle ones while rewards saturate, and the drift "
            "under a coin. Changes over success rates, group sizes, prompts, learning rates, "
            "optimizers, shared parameters and samplers, with standard errors over seeds.",
    modes=("sampled",),
)
