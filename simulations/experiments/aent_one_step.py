"""The tokens that an entropy bonus lifts, in one step and in training, clamped or not (AEnt, Figure 1).

There are two scales. *Illustration* has one state of ten tokens: a likely token that is locally optimal,
two rare optimal ones, and a useless tail. It shows probabilities after one exact policy-gradient step.

*Training* is the synthetic MDP of the paper's third version. Its coefficient, clamping, learning rate and
start are not known, so these settings are our own. GRPO trains from sampled groups on several contexts
with 10,000 to 1,000,000 tokens. Of these 15, 5 or 1 are optimal among the plausible ranks. The start is
pi(rank r) ~ r^-1.2, with rank 1 locally optimal. The tail starts tied in forty steps
(`simulations.engine.tied_tokens`), and runs cost the same at every size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.policy import softmax
from entropy_theory.tabular import exact_batch, logit_step
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.tied_tokens import TiedTokens, tie, train
from simulations.experiments.grid import over

TREATMENTS = ("none", "full", "clamped by a third", "clamped to the plausible")
PLAUSIBLE = TREATMENTS[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    illustration: tuple[float, ...] = (60, 20, 8, 2, 2, 2, 2, 2, 1, 1)
    """The weights of the ten tokens; rewards are 0.5 for the first and 1 for the fourth and fifth."""
    illustration_coefficient: float = 0.5
    exponent: float = 1.2
    """The exponent s of the start, pi(rank r) ~ r^-s."""
    local_reward: float = 0.2
    trained: tuple[tuple[int, int], ...] = (
        (10_000, 15), (100_000, 15), (1_000_000, 15), (100_000, 5), (100_000, 1))
    """(number of tokens, how many of them are optimal) of each trained problem."""
    trained_plausible: int = 500
    trained_contexts: int = 8
    tail_steps: int = 40
    """TiedTokens of tied tokens beyond the plausible ones at the start, even in log(rank)."""
    coefficients: tuple[float, ...] = (0.275, 0.3, 0.4)
    group_size: int = 16
    learning_rate: float = 4.0
    """The learning rate of each context."""
    steps: int = 800
    record_every: int = 40


PROFILES = {
    "smoke": Config(
        trained=((1000, 15), (100_000, 15), (100_000, 1)),
        trained_plausible=300, trained_contexts=2, coefficients=(0.3, 0.45), steps=280),
    "default": Config(),
    "full": Config(
        trained=((10_000, 15), (100_000, 15), (1_000_000, 15), (100_000, 10), (100_000, 5),
                 (100_000, 1)),
        trained_contexts=6, coefficients=(0.2, 0.225, 0.25, 0.275, 0.3, 0.35, 0.4, 0.45, 0.5),
        steps=2000, record_every=50),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Probabilities after one step, and reward along training."""
    return xr.merge([_illustration(config), _training(config, seed, progress)])


LONG_NAMES = {
    "token_probability": "probability of each token after one step",
    "trained_reward": "expected reward",
    "trained_entropy": "policy entropy, nats",
}


def rule(
    treatment: str, base: UpdateRule, coefficient: np.ndarray | float, removed: float
) -> UpdateRule:
    """The base rule with this treatment's bonus; ``removed`` is the share that leaves the plausible."""
    if treatment == "none":
        return base
    if treatment == "full":
        return get("entropy-bonus", coefficient=coefficient, base=base)
    fraction = removed if treatment == PLAUSIBLE else 0.33
    return get("aent", coefficient=coefficient, base=base, removed_fraction=fraction, adaptive=False)


def _step(logits: np.ndarray, reward: np.ndarray, chosen: UpdateRule) -> np.ndarray:
    """Exact step of one run, [states, actions], per unit learning rate of a state."""
    batch = exact_batch(logits[None], reward[None], removed_fraction=chosen.needs.removed_fraction)
    return logit_step(logits[None], batch, chosen)[0] * len(logits)


def _illustration(config: Config) -> xr.Dataset:
    logits = np.log(np.asarray(config.illustration))[None]
    reward = np.zeros_like(logits)
    reward[0, 0], reward[0, 3:5] = 0.5, 1.0
    tokens, removed = logits.shape[-1], 0.5
    after = [softmax(logits + _step(logits, reward, rule(
        treatment, get("reinforce"), config.illustration_coefficient, removed)))[0]
        for treatment in TREATMENTS]
    return xr.Dataset(
        {"token_probability": (("policy", "token"), np.stack([softmax(logits)[0], *after]))},
        coords={"policy": ["before", *TREATMENTS], "token": np.arange(tokens)},
    )


def contexts(
    config: Config, n_tokens: int, n_optimal: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw logits and rewards [contexts, tokens], by rank: one locally optimal, ``n_optimal`` optimal.

    The optimal tokens are drawn among the plausible ranks, leaving out the first tenth.
    """
    plausible, n_contexts = config.trained_plausible, config.trained_contexts
    logits = np.tile(-config.exponent * np.log(np.arange(1, n_tokens + 1)), (n_contexts, 1))
    reward = np.zeros_like(logits)
    reward[:, 0] = config.local_reward
    generator = np.random.default_rng([seed, n_tokens, n_optimal])
    ranks = np.arange(plausible // 10, plausible)
    for state in range(n_contexts):
        reward[state, generator.choice(ranks, n_optimal, replace=False)] = 1.0
    return logits, reward


def _training(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    axes = {"problem": range(len(config.trained)), "trained_treatment": TREATMENTS[1:],
            "coefficient": config.coefficients}
    bonus = over(_train, axes, config, seed, progress)
    alone = {**axes, "trained_treatment": TREATMENTS[:1], "coefficient": (0.0,)}
    none = over(_train, alone, config, seed, progress).isel(coefficient=[0] * len(config.coefficients))
    none = none.assign_coords(coefficient=bonus.coefficient)
    vocabulary, optimal = zip(*config.trained, strict=True)
    return xr.concat([none, bonus], "trained_treatment").drop_vars("problem").assign_coords(
        trained_vocabulary=("problem", list(vocabulary)), trained_optimal=("problem", list(optimal)))


def _train(cell: tuple[Config, int, int, str, float], progress: Progress) -> xr.Dataset:
    """Train one cell and return reward and entropy [context, step]."""
    config, seed, problem, treatment, coefficient = cell
    n_tokens, n_optimal = config.trained[problem]
    chosen = rule(treatment, get("grpo"), coefficient, 1 - config.trained_plausible / n_tokens)
    curves = []
    for context, start in enumerate(tied_contexts(config, n_tokens, n_optimal, seed)):
        curves.append(train(
            start, chosen, learning_rate=config.learning_rate, steps=config.steps,
            record_every=config.record_every, samples=Samples(group_size=config.group_size),
            seed=seed, prompt=context))
        progress(config.steps)
    return xr.Dataset(
        {f"trained_{name}": (("context", "step"), np.stack([getattr(curve, name) for curve in curves]))
         for name in ("reward", "entropy")},
        coords={"step": curves[0].step},
    )


def tied_contexts(config: Config, n_tokens: int, n_optimal: int, seed: int) -> list[TiedTokens]:
    """Return the contexts that are trained: as `contexts`, with implausible tokens tied in classes."""
    plausible = config.trained_plausible
    edges = np.unique(np.geomspace(plausible, n_tokens, config.tail_steps + 1).round().astype(int))
    dense = contexts(config, n_tokens, n_optimal, seed)
    return [tie(*state, edges) for state in zip(*dense, strict=True)]


EXPERIMENT = Experiment.of(
    __name__, name="aent_one_step",
    source="AEnt, Figure 1",
    title="What an entropy bonus lifts, with and without clamping",
    caption="Probabilities after one exact step on ten tokens, without a bonus, with the full bonus and "
            "with clamped ones. Reward in training on large vocabularies by coefficient, mean and range "
            "over contexts.",
    modes=("exact", "sampled"),
    work=lambda config: (1 + (len(TREATMENTS) - 1) * len(config.coefficients)) * len(
        config.trained) * config.trained_contexts * config.steps,
)
