"""The bias that an entropy bonus brings, against vocabulary, horizon and sparsity (AEnt, Proposition 2).

Returns 0 and 1, n tokens, responses of h tokens of which m are right. The optimum of E[R] + lambda H
takes each response with probability ~ e^{R/lambda}; with k = (n^h - m)/m wrong responses to a right
one it gives away exactly

    bias = k/(e^{1/lambda} + k) = sigmoid(log k - 1/lambda)    <=    lambda log(n^h/m),

the bound of Lemma 5. The bias is a switch: it turns from 0 to 1 at lambda* = 1/log k, where the bound
has reached 1 and says nothing any more; below, the bound promises a bias of order one where there is
practically none. Clamping keeps (1 - p) n tokens and turns log n into log n + log(1 - p): at a
vocabulary of 151,936 the paper's p = 0.33 moves lambda* by 3 to 4 %, and to double it all but a few
hundred tokens have to go.

Two readings of lambda. H is a sum over tokens in the paper; in its code the bonus is a mean over
tokens, which makes lambda h times smaller and lambda* = 1/log n whatever the length: 0.08, forty times
the 0.002 of the paper's runs. The optimum of that objective has no bias to reduce.

Then training: exact runs of the policy gradient and of GRPO with the full and with the clamped bonus
end at those optima. GRPO's advantages are kappa(p) times larger, so its lambda counts 1/kappa(p)
times. A right answer that the cut leaves out gets no bonus and can stay out for good: the others then
carry the policy, with the bias of fewer right answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import expit

from entropy_theory.advantages import group_normalization_gain
from entropy_theory.policy import kept_actions
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.dynamics import Dynamics
from simulations.engine.simulation import simulate
from simulations.problems.bandits import VOCABULARY, Bandit

TERMS = ("full", "clamped")
BASES = ("PG", "GRPO")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    vocabularies: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000, VOCABULARY)
    horizons: tuple[int, ...] = (1, 4, 16)
    right_responses: tuple[int, ...] = (1, 5, 10, 15)
    """Numbers m of right responses; an m is left out at vocabularies of no more than m tokens."""
    removed_fractions: tuple[float, ...] = (0.0, 0.33, 0.9, 0.99, 0.999)
    coefficients: tuple[float, ...] = tuple(np.geomspace(2e-3, 2.0, 61).tolist())
    paper_coefficient: float = 0.002
    paper_removed: float = 0.33
    trained_actions: int = 40
    trained_right: tuple[int, ...] = (1, 4)
    trained_removed: float = 0.5
    trained_coefficients: tuple[float, ...] = (0.2, 0.3, 0.5, 1.0)
    group_size: int = 8
    n_starts: int = 3
    learning_rates: tuple[float, float] = (8.0, 4.0)
    """The learning rates of PG and of GRPO, whose steps are longer: at 8 its kept set never settles."""
    steps: int = 1500


PROFILES = {
    "smoke": Config(coefficients=(0.05, 0.1, 0.3), trained_right=(1,), trained_coefficients=(0.3, 1.0),
                    n_starts=2, steps=300),
    "default": Config(),
    "full": Config(n_starts=8, steps=6000),
}


def work(config: Config) -> int:
    """Return the number of engine steps in all."""
    return len(TERMS) * len(BASES) * config.steps


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Bias and bound of the optimum over the map; bias of trained policies beside the exact one."""
    dataset = xr.merge([_map(config), _trained(config, seed, progress)])
    for name, label in LONG_NAMES.items():
        dataset[name].attrs["long_name"] = label
    return dataset


LONG_NAMES = {
    "bias": "value given away by the optimum",
    "bound": "Lemma 5: lambda log(|A|^h / m)",
    "critical_coefficient": "coefficient at which the optimum gives away one half",
    "trained_bias": "1 - reward at the end of training",
    "predicted_bias": "the same at the exact optimum, kept set and kappa those of the end",
    "kept_right": "right answers in the kept set at the end",
}


def log_odds_of_wrong(
    n_tokens: np.ndarray, horizon: np.ndarray, n_right: np.ndarray
) -> np.ndarray:
    """Return log k with k = (n^h - m)/m; NaN where m exceeds n^h. Arguments broadcast."""
    log_responses = horizon * np.log(n_tokens)
    with np.errstate(divide="ignore"):
        sparse = np.log(n_right) - log_responses
        left = np.log1p(-np.exp(np.minimum(sparse, 0.0)))
    return np.where(sparse <= 0, -sparse + left, np.nan)


def _map(config: Config) -> xr.Dataset:
    n = xr.DataArray(list(config.vocabularies), dims="vocabulary")
    h = xr.DataArray(list(config.horizons), dims="horizon")
    m = xr.DataArray(list(config.right_responses), dims="right_responses")
    removed = xr.DataArray(list(config.removed_fractions), dims="removed_fraction")
    coefficient = xr.DataArray(list(config.coefficients), dims="coefficient")
    kept = n - np.floor(removed * n + 1e-9)
    log_k = xr.apply_ufunc(log_odds_of_wrong, kept, h, m)
    return xr.Dataset({
        "bias": expit(log_k - 1 / coefficient),
        "bound": (coefficient * (h * np.log(kept) - np.log(m))).where(log_k.notnull()),
        "critical_coefficient": (1 / log_k).where(log_k > 0),
    }, coords={
        "vocabulary": list(config.vocabularies), "horizon": list(config.horizons),
        "right_responses": list(config.right_responses),
        "removed_fraction": list(config.removed_fractions),
        "coefficient": list(config.coefficients),
    })


def _trained(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    n, shape = config.trained_actions, (
        len(config.trained_right), len(config.trained_coefficients), config.n_starts)
    problems = [Bandit(n_actions=n, n_correct=m) for m in config.trained_right]
    starts = np.stack([problem.starts(config.n_starts, seed) for problem in problems])
    logits = np.broadcast_to(starts[:, None], (*shape, 1, n)).reshape(-1, 1, n)
    masks = np.stack([problem.correct[0] for problem in problems])
    correct = np.broadcast_to(masks[:, None, None], (*shape, 1, n)).reshape(-1, 1, n)
    coefficient = np.broadcast_to(
        np.asarray(config.trained_coefficients)[:, None], shape).ravel()
    axes = ("base", "term", "trained_right", "trained_coefficient", "start")
    columns = {name: np.empty((len(BASES), len(TERMS), *shape))
               for name in ("trained_bias", "predicted_bias", "kept_right")}
    for b, base in enumerate((get("reinforce"), get("grpo", group_size=config.group_size))):
        for t, term in enumerate(TERMS):
            rule = get("entropy-bonus", coefficient=coefficient, base=base)
            removed = config.trained_removed if term == "clamped" else 0.0
            if term == "clamped":
                rule = get("aent", coefficient=coefficient, base=base, removed_fraction=removed,
                           adaptive=False)
            run = simulate(
                logits, correct,
                Dynamics(rule=rule, learning_rate=config.learning_rates[b], steps=config.steps,
                         record_every=config.steps, seed=seed),
                progress=progress,
            )
            right = run.reward[-1]
            kept = kept_actions(run.final_logits, removed)
            inside = (kept & correct).sum(axis=(-2, -1))
            gain = np.ones_like(right)
            if BASES[b] == "GRPO":
                gain = group_normalization_gain(right, 1 - right, group_size=config.group_size)
            log_k = np.log(kept.sum(axis=(-2, -1)) - inside) - np.log(inside)
            for name, values in (("trained_bias", 1 - right), ("kept_right", inside),
                                 ("predicted_bias", expit(log_k - gain / coefficient))):
                columns[name][b, t] = values.reshape(shape)
    return xr.Dataset(
        {name: (axes, values) for name, values in columns.items()},
        coords={"base": list(BASES), "term": list(TERMS),
                "trained_right": list(config.trained_right),
                "trained_coefficient": list(config.trained_coefficients),
                "start": np.arange(config.n_starts)},
    )


EXPERIMENT = Experiment(
    name="aent_bias",
    source="AEnt, Propositions 1 and 2, section 4.1",
    title="Bias of the entropy bonus against vocabulary, horizon and sparsity",
    caption="Exact optimum of E[R] + lambda H and its bias, beside the paper's bound, over "
            "vocabularies, horizons, numbers of right responses, removed shares of tokens and "
            "coefficients; trained policies beside it.",
    modes=("exact",),
    profiles=PROFILES,
    compute=compute,
    work=work,
)
