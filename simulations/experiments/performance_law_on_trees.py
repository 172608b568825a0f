"""The law R = -a e^H + b on token trees: whose entropy, and how long a response (Cui et al., Figure 1).

Cui et al. put the mean entropy of a *token* into e^H. A task of one-token answers cannot tell it from the
entropy of the whole response. Here prompts of graded difficulty are answered by responses of several
tokens. Responses have a fixed length (complete trees) or a variable length (an end token). GRPO trains
them in exact expectation as in `performance_law_curves`, with the same schedule and the same 36 + 200
points. The law is fitted twice, to the entropy of a token, as the paper does, and to that of a response.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.policy import log_softmax
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.trajectory import Record
from simulations.experiments.curves import matched_horizon, resample
from simulations.experiments.grid import over, trained
from simulations.experiments.performance_law_curves import (
    EARLY,
    FITTED,
    LATER,
    LONG_NAMES,
    fits,
    graded,
)
from simulations.problems.token_trees import TokenProblem

LENGTHS = ("fixed", "variable")
ENTROPIES = ("token", "response")
"""The entropies to which the law is fitted: mean over a response's tokens, or of the whole response."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; ``steps`` has one entry a horizon: the longest run that may be needed."""

    n_tokens: int = 3
    horizons: tuple[int, ...] = (1, 2, 3, 4)
    """The number of tokens of a response; the largest where lengths vary."""
    steps: tuple[int, ...] = (150, 180, 400, 560)
    right_share: float = 0.1
    """Share of right responses among all; at least one response is right."""
    prompts: int = 9
    n_starts: int = 3
    group_size: int = 8
    learning_rate: float = 1.0
    """The learning rate of each prompt and token, whatever the number of both."""


PROFILES = {
    "smoke": Config(horizons=(1, 2), steps=(80, 100), prompts=3, n_starts=2, learning_rate=2.0),
    "default": Config(),
    "full": Config(
        horizons=(1, 2, 3, 4, 5, 6), steps=(300, 400, 800, 1200, 2000, 3000), prompts=24,
        n_starts=4),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """The law fitted to both entropies of curves on the paper's schedule."""
    axes = {"length": LENGTHS, "horizon": config.horizons}
    return over(_train_and_fit, axes, config, seed, progress).assign_coords(
        start=np.arange(config.n_starts), of=list(ENTROPIES))


def problem_of(config: Config, length: str, horizon: int) -> TokenProblem:
    """Make prompts of graded difficulty on a tree, with right responses drawn at random."""
    problem = TokenProblem(
        n_tokens=config.n_tokens, horizon=horizon, end_token=length == "variable",
        accuracies=graded(config.prompts))
    n_correct = max(1, round(config.right_share * problem.tree.n_responses))
    return dataclasses.replace(problem, n_correct=n_correct)


def response_entropy(problem: TokenProblem, logits: np.ndarray) -> np.ndarray:
    """Mean over prompts of the entropy of a whole response, nats: [...].

    Args:
        problem: the problem whose tree the logits are on.
        logits: [..., prompts * states, tokens].
    """
    tree = problem.tree
    log_p = log_softmax(logits).reshape(
        *logits.shape[:-2], len(problem.accuracies), tree.n_states, tree.n_tokens)
    return tree.values(np.exp(log_p), -log_p)[0][..., 0].mean(axis=-1)


def _train_and_fit(cell: tuple[Config, int, str, int], progress: Progress) -> xr.Dataset:
    config, seed, length, horizon = cell
    problem, steps = problem_of(config, length, horizon), config.steps[config.horizons.index(horizon)]
    run = trained(
        problem.starts(config.n_starts, seed), problem.correct,
        get("grpo", group_size=config.group_size), config, seed, progress, steps=steps,
        # The objective is a mean over prompts, and over the tokens of a response.
        learning_rate=config.learning_rate * config.prompts * horizon,
        record_every=max(steps // 400, 1), tree=problem.tree, record=Record(logits=True))
    entropies = (run.entropy, response_entropy(problem, run.logits))
    end = matched_horizon(run.step, run.entropy)
    columns = {name: np.full((config.n_starts, len(ENTROPIES)), np.nan) for name in FITTED}
    for i in np.flatnonzero(np.isfinite(end)):
        reward, *both = (resample(run.step, values[:, [i]], end[[i]], EARLY + LATER)[:, 0]
                         for values in (run.reward, *entropies))
        for k, entropy in enumerate(both):
            for name, value in fits(entropy, reward).items():
                columns[name][i, k] = value
    return xr.Dataset({name: (("start", "of"), values) for name, values in columns.items()})


EXPERIMENT = Experiment.of(
    __name__, name="performance_law_on_trees",
    source="Cui et al., Figures 1 and 5",
    title="Reward against entropy on token trees: of a token, and of a response",
    caption="Reward against entropy along exact GRPO on responses of several tokens, with entropy per "
            "token and per response, and the fit and early prediction of R = b - a exp(H).",
    labels={name: LONG_NAMES[name] for name in FITTED},
    work=lambda config: len(LENGTHS) * sum(config.steps),
)
