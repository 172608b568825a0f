"""The bias that an entropy bonus brings, against vocabulary, horizon and sparsity (AEnt, Proposition 2).

Returns are 0 and 1. Responses have h tokens out of n, and m of them are right. The optimum of ``E[R] +
lambda H`` takes each response with probability ~ e^{R/lambda}. With ``k = (n^h - m)/m`` wrong responses
to a right one it gives away exactly

::

    bias = k/(e^{1/lambda} + k) = sigmoid(log k - 1/lambda)    <=    lambda log(n^h/m),

the bound of Lemma 5. The bias is a switch: it turns from 0 to 1 at lambda* = 1/log k. There the bound has
reached 1 and excludes nothing any more. Below, the bound promises a bias of order one where there is
practically none. Clamping keeps ``(1 - p) n`` tokens and turns log n into ``log n + log(1 - p)``. At a
vocabulary of 151,936 the paper's p = 0.33 moves lambda* by 3 to 4 %. To double lambda* all but a few
hundred tokens have to go.

There are two readings of lambda. H is a sum over tokens in the paper. In its code the bonus is a mean
over tokens, which makes lambda h times smaller, and lambda* = 1/log n whatever the length. This is 0.08,
forty times the 0.002 of the paper's runs. The optimum of that objective has no bias to reduce.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import expit

from simulations.computing.store import Experiment, Progress
from simulations.problems.bandits import VOCABULARY


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    vocabularies: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000, VOCABULARY)
    horizons: tuple[int, ...] = (1, 4, 16)
    right_responses: tuple[int, ...] = (1, 5, 10, 15)
    """Numbers m of right responses; an m is left out at vocabularies of no more than m tokens."""
    removed_fractions: tuple[float, ...] = (0.0, 0.33, 0.9, 0.99, 0.999)
    coefficients: tuple[float, ...] = tuple(np.geomspace(2e-3, 2.0, 61).tolist())


PROFILES = {
    "smoke": Config(coefficients=(0.05, 0.1, 0.3)),
    "default": Config(),
    "full": Config(coefficients=tuple(np.geomspace(2e-3, 2.0, 241).tolist())),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Bias and bound of the optimum over the map."""
    dataset = _map(config)
    progress(1)
    return dataset


LONG_NAMES = {
    "bias": "value given away by the optimum",
    "bound": "Lemma 5: lambda log(|A|^h / m)",
    "critical_coefficient": "coefficient at which the optimum gives away one half",
}


def log_odds_of_wrong(
    n_tokens: np.ndarray, horizon: np.ndarray, n_right: np.ndarray
) -> np.ndarray:
    """Return log k with ``k = (n^h - m)/m``; NaN where m exceeds n^h. Arguments broadcast."""
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


EXPERIMENT = Experiment.of(
    __name__, name="aent_bias",
    source="AEnt, Propositions 1 and 2, section 4.1",
    title="Bias of the entropy bonus against vocabulary, horizon and sparsity",
    caption="Exact optimum of E[R] + lambda H and its bias, beside the paper's bound, over "
            "vocabularies, horizons, numbers of right responses, removed shares of tokens and "
            "coefficients.",
    work=lambda _: 1,
)
