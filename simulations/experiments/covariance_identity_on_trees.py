"""Entropy change of a response against the sum of its states' (Cui et al., Lemma 1, Theorems 1 and 2).

The entropy of a response is that of its tokens weighed by the probability d(s) that they are chosen:
H(pi) = sum_s d(s) H(pi(.|s)). Lemma 1 of Cui et al. gives its change as sum_s d(s) x (change of
H(pi(.|s))), the sum of covariances over visited states. That keeps d where it was. Exactly,

::

    H' - H = sum_s d(s) (H'(s) - H(s))  +  sum_s (d'(s) - d(s)) H'(s).

Both parts are of first order in the step: a token leads to states of more or of less entropy, and its
probability moves. Token trees have responses of fixed and of variable length. They are trained by the
exact policy gradient of the expected reward (PG), by the natural gradient (NPG) and by GRPO in
expectation. At every step both parts stand beside the exact change and the theorems' forecasts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.policy import entropy, log_softmax, softmax
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.trajectory import Record
from simulations.experiments.grid import over, trained
from simulations.problems.token_trees import TokenProblem

LENGTHS = ("fixed", "variable")
RULES = ("PG", "NPG", "GRPO")
CHANGES = ("measured", "state_wise", "visitation", "theorem", "gradient", "response")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_tokens: int = 3
    horizons: tuple[int, ...] = (1, 2, 3, 5)
    """The number of tokens of a response; the largest where lengths vary."""
    right_share: float = 0.2
    """Share of right responses among all, rounded up to a whole number of them."""
    accuracies: tuple[float, ...] = (0.125, 0.3, 0.5, 0.7, 0.875)
    """The accuracies of the prompts at the start."""
    learning_rates: tuple[float, ...] = (0.05, 1.0)
    """The learning rates of each prompt."""
    group_size: int = 8
    n_starts: int = 4
    steps: int = 40


PROFILES = {
    "smoke": Config(horizons=(1, 3), n_starts=2, steps=10),
    "default": Config(),
    "full": Config(horizons=(1, 2, 3, 4, 5, 6), n_starts=8, steps=80),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """The parts of each step's entropy change, and what each announcement misses of it."""
    axes = {"length": LENGTHS, "horizon": config.horizons}
    return over(_on_tree, axes, config, seed, progress).assign_coords(
        rule=list(RULES), learning_rate=list(config.learning_rates), step=np.arange(config.steps),
        announcement=list(CHANGES[1:]))


LONG_NAMES = {
    "relative_error": "rms of announced minus measured change at a prompt, over rms measured",
}


def problem_of(config: Config, length: str, horizon: int) -> TokenProblem:
    """Make prompts of graded difficulty on a tree, with right responses drawn at random."""
    tree = TokenTree(config.n_tokens, horizon, end_token=length == "variable")
    return TokenProblem(
        n_tokens=config.n_tokens, horizon=horizon, end_token=tree.end_token,
        n_correct=int(np.ceil(config.right_share * tree.n_responses)), accuracies=config.accuracies)


def _on_tree(cell: tuple[Config, int, str, int], progress: Progress) -> xr.Dataset:
    config, seed, length, horizon = cell
    problem = problem_of(config, length, horizon)
    rates = np.asarray(config.learning_rates)[:, None, None]
    # [rules, changes, steps, rates, starts, prompts]
    tables = np.stack([entropy_parts(problem.tree, problem.correct[0], rule, rates, logits)
                       for rule, logits in _runs(problem, config, seed, progress)])
    axes = (-4, -2, -1)
    measured = tables[:, :1]
    announced = tables[:, 1:]
    scale = np.sqrt((measured**2).mean(axis=axes))
    error = np.sqrt(((announced - measured) ** 2).mean(axis=axes)) / scale
    return xr.Dataset({"relative_error": (("rule", "announcement", "learning_rate"), error)})


def _runs(
    problem: TokenProblem, config: Config, seed: int, progress: Progress
) -> Iterator[tuple[str, np.ndarray]]:
    """Logits [records, rates, starts, prompts, states, tokens] of each rule, from the same starts."""
    tree, prompts = problem.tree, len(problem.accuracies)
    starts = problem.starts(config.n_starts, seed)
    shape = (len(config.learning_rates), config.n_starts, prompts, tree.n_states, tree.n_tokens)
    runs = np.tile(starts, (len(config.learning_rates), 1, 1))
    rates = np.repeat(config.learning_rates, config.n_starts)
    for name in RULES:
        if name == "NPG":
            logits = natural_gradient(
                runs.reshape(shape), problem, rates.reshape(shape[0], -1, 1, 1, 1), config.steps)
            progress(config.steps)
        else:
            rule, factor = _rule(name, config, tree)
            # The engine's objective is a mean over prompts.
            run = trained(runs, problem.correct, rule, config, seed, progress, tree=tree, record_every=1,
                          learning_rate=tuple((factor * prompts * rates).tolist()),
                          record=Record(logits=True))
            logits = run.logits.reshape(config.steps + 1, *shape)
        yield name, logits


def _rule(name: str, config: Config, tree: TokenTree) -> tuple[UpdateRule, float]:
    """Return the rule, and the factor that turns its learning rate into one of the expected reward."""
    if name == "PG":  # dr-grpo divides every token by the horizon
        return get("reinforce", normalization="dr-grpo"), float(tree.horizon)
    return get("grpo", group_size=config.group_size), 1.0


def natural_gradient(
    logits: np.ndarray, problem: TokenProblem, rates: np.ndarray, steps: int
) -> np.ndarray:
    """Logits [steps + 1, ..., prompts, states, tokens] along steps of rates x (Q - V).

    The natural gradient of tabular softmax states that are all visited.
    """
    edge = problem.tree.edge_reward(problem.correct[0].astype(float))
    found = [logits]
    for _ in range(steps):
        found.append(found[-1] + rates * _advantage(problem.tree, softmax(found[-1]), edge))
    return np.stack(found)


def _advantage(tree: TokenTree, p: np.ndarray, edge: np.ndarray) -> np.ndarray:
    values, action_values = tree.values(p, edge)
    return action_values - values[..., None]


def entropy_parts(
    tree: TokenTree, correct: np.ndarray, rule: str, eta: np.ndarray, logits: np.ndarray
) -> np.ndarray:
    """`CHANGES` of each step: [changes, steps, rates, starts, prompts].

    Args:
        tree: the tree of each prompt.
        correct: boolean [prompts, responses].
        rule: one of ``RULES``, which decides the theorem that is compared.
        eta: learning rate of the expected reward, [rates, 1, 1].
        logits: [steps + 1, rates, starts, prompts, states, tokens].
    """
    right = correct.astype(float)
    log_p = log_softmax(logits)
    p, h = np.exp(log_p), entropy(logits)
    visits = tree.visitation(p)
    before, after = slice(None, -1), slice(1, None)
    step = np.diff(logits, axis=0)
    measured = np.diff((visits * h).sum(axis=-1), axis=0)
    of_states = np.diff(h, axis=0)
    state_wise = (visits[before] * of_states).sum(axis=-1)
    visitation = (np.diff(visits, axis=0) * h[after]).sum(axis=-1)

    now, log_now, d = p[before], log_p[before], visits[before]
    centered = log_now + h[before][..., None]  # its mean is 0
    advantage = _advantage(tree, now, tree.edge_reward(right))
    weight = now if rule == "NPG" else now**2
    theorem = -eta * (d * (weight * advantage * centered).sum(axis=-1)).sum(axis=-1)
    slope = tree.expectation_gradient(now, -log_now)
    gradient = (slope * step).sum(axis=(-2, -1))

    answers, log_answers = tree.response_probabilities(p), tree.sum_along(log_p)
    p_y, log_y = answers[before], log_answers[before]
    centered_y = log_y - (p_y * log_y).sum(axis=-1, keepdims=True)
    a_y = right - (p_y * right).sum(axis=-1, keepdims=True)
    response = -eta * ((p_y if rule == "NPG" else p_y**2) * a_y * centered_y).sum(axis=-1)

    columns = (measured, state_wise, visitation, theorem, gradient, response)
    return np.stack(columns)


EXPERIMENT = Experiment.of(
    __name__, name="covariance_identity_on_trees",
    source="Cui et al., Lemma 1, Theorems 1 and 2",
    title="The covariance identity on token trees: states, visitation, whole responses",
    caption="Entropy change of whole responses beside Lemma 1, Theorems 1 and 2 and the full gradient, "
            "as relative errors over rules, learning rates and lengths of token trees.",
    work=lambda config: len(LENGTHS) * len(config.horizons) * len(RULES) * config.steps,
)
