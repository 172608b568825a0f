"""How heavy-tailed the tokens' covariance is (Cui et al., Table 1, in the tabular world).

Cui et al. rank the tokens of one step by ``(log pi - mean log pi)(A - mean A)``. They print the mean of
the top 0.02 % to 50 % and of all: 5.654, 3.112, 1.385, 0.351, 0.152, 0.003. Few tokens stand out by three
orders of magnitude, hence rules that act on very few tokens.

Here a response is a row of tokens, and it is right if its first token is. Each token is drawn from its
own state, a softmax over independent normal logits of some scale, the *sharpness*. Prompts have the batch
accuracies of Figure 8, groups of eight are sampled, and prompts without signal are dropped as in the
paper. With one token per response this is a set of bandits. Many tokens share one advantage, as in a
language model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory import advantages
from entropy_theory.policy import log_softmax
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import selection
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import draw
from simulations.experiments.grid import over
from simulations.experiments.performance_law_curves import graded

SHARES = (0.0002, 0.002, 0.02, 0.2, 0.5, 1.0)
ADVANTAGES = {"group-normalized": advantages.group_normalized,
              "group-centered": advantages.group_centered}
KL_COV_SHARE = 0.002
"""Share of the tokens that KL-Cov selects at 7B; which responses they belong to is recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    lengths: tuple[int, ...] = (1, 8, 32)
    """The numbers of tokens of a response."""
    sharpness: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
    """Standard deviation of a state's logits, nats."""
    spread: float = 0.3
    """Standard deviation of log sharpness between the states of responses."""
    n_actions: int = 50
    n_tokens: int = 131072
    """The number of tokens of a batch before prompts without signal are dropped."""
    group_size: int = 8
    repeats: int = 3


PROFILES = {
    "smoke": Config(lengths=(1, 8), sharpness=(1.0, 15.0), n_tokens=32768, repeats=2),
    "default": Config(),
    "full": Config(lengths=(1, 2, 4, 8, 16, 32, 64, 128), n_tokens=2**19, repeats=4,
                   sharpness=(1.0, 2.0, 4.0, 6.0, 8.0, 11.0, 15.0, 20.0, 30.0, 45.0)),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Compute the mean covariance of the top shares of the tokens, and which responses they are from."""
    axes = {"length": config.lengths, "sharpness": config.sharpness, "repeat": range(config.repeats)}
    return over(_batch, axes, config, seed, progress).assign_coords(
        share=list(SHARES), advantage=list(ADVANTAGES))


def _batch(cell: tuple[Config, int, int, float, int], progress: Progress) -> xr.Dataset:
    log_prob, reward = responses(cell)
    columns: dict[str, list[float]] = {}
    table = []
    for estimate in ADVANTAGES.values():
        batch = _rows(log_prob, reward)
        advantage = estimate(batch, batch.mask)
        signal = ~advantages.without_signal(batch, batch.mask)
        kept, of_kept = log_prob[signal][None, :, None], advantage[signal][None, :, None]
        whole = _rows(kept, 0 * kept)
        covariance = selection.token_covariance(whole, kept, of_kept).ravel()
        order = np.argsort(-covariance, kind="stable")
        sizes = [max(int(share * len(covariance)), 1) for share in SHARES]
        table.append([covariance[order[:size]].mean() for size in sizes])
        top = order[: max(int(KL_COV_SHARE * len(covariance)), 1)]
        for name, value in (
            ("surprise", -kept.mean()),
            ("top_of_wrong", np.mean(of_kept.ravel()[top] < 0)),
        ):
            columns.setdefault(name, []).append(float(value))
    progress(1)
    return xr.Dataset({"covariance": (("advantage", "share"), np.asarray(table)),
                       **{name: ("advantage", values) for name, values in columns.items()}})


def responses(cell: tuple[Config, int, int, float, int]) -> tuple[np.ndarray, np.ndarray]:
    """Sample tokens; return log-probabilities and responses' rewards, each [prompts, group, length].

    The first token of a response decides: its state has one right action and the prompt's accuracy.
    """
    config, seed, length, sharpness, repeat = cell
    key = (config.lengths.index(length), config.sharpness.index(sharpness), repeat)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    n_prompts = config.n_tokens // (config.group_size * length)
    shape = (n_prompts, length, 1)
    scale = sharpness * np.exp(config.spread * generator.standard_normal(shape))
    logits = scale * generator.standard_normal((n_prompts, length, config.n_actions))
    accuracy = np.asarray(graded(n_prompts))
    others = np.logaddexp.reduce(logits[:, 0, 1:], axis=-1)
    logits[:, 0, 0] = others + np.log(accuracy) - np.log1p(-accuracy)
    table = log_softmax(logits)
    action = draw(np.exp(table), generator.random((n_prompts, length, config.group_size)))
    log_prob = np.take_along_axis(table, action, axis=-1).swapaxes(1, 2)
    reward = (action[:, 0, :, None] == 0).astype(float)
    return log_prob, np.broadcast_to(reward, log_prob.shape)


def _rows(log_prob: np.ndarray, reward: np.ndarray) -> TokenBatch:
    """Make a batch of equally weighted rows; each entry of the leading axes is a group."""
    ones = np.ones_like(log_prob)
    return TokenBatch(log_prob=log_prob, old_log_prob=log_prob, reward=reward, mask=ones > 0,
                      weight=ones / (log_prob.shape[-1] * log_prob.shape[-2]))


LONG_NAMES = {
    "covariance": "mean covariance of the tokens with the largest, nats times advantage",
    "surprise": "mean negative log-probability of a sampled token, nats",
    "top_of_wrong": "share of wrong responses' tokens among the top 0.2 %",
    "share": "share of the tokens",
    "sharpness": "standard deviation of a state's logits, nats",
    "length": "tokens of a response",
}


EXPERIMENT = Experiment.of(
    __name__, name="covariance_table",
    source="Cui et al., Table 1",
    title="How heavy-tailed the covariance of tokens is",
    caption="Mean covariance of the top shares of tokens of sampled responses, by sharpness, length and "
            "advantage, beside the paper's Table 1; means over repeats.",
    modes=("sampled",),
    work=lambda config: len(config.lengths) * len(config.sharpness) * config.repeats,
)
