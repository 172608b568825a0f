"""Statements in floats: margins of many instances at once, and instances in words."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from entropy_theory.verification.claim import Statement
from entropy_theory.verification.instances import Batch, as_floats, pick, to_json

IDENTITY_TOLERANCE = 1e-9
"""Float residual of an identity above which balls are asked; only a filter, never a verdict."""
MOST_SHOWN = 24
"""The number of entries of a vector beyond which a description counts equal neighbors."""
MANY_EQUAL = 8
"""The number of entries beyond which equal ones are counted, if all are equal."""


def evaluate(statement: Statement, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return (margins [B], which instances meet the hypotheses [B]) in float64.

    For an identity the margin is minus the largest absolute residual.

    Raises:
        ValueError: a hypothesis is NaN, or a margin is where the hypotheses hold; the message shows
            the instance.
    """
    floats = as_floats(batch)
    size = len(next(iter(batch.values())))
    meets = np.ones(size, dtype=bool)
    # Saturated policies overflow and underflow by design; NaN is looked for below.
    with np.errstate(all="ignore"):
        hypotheses, margins = statement.evaluate(floats)
        for condition, value in zip(statement.conditions, map(np.asarray, hypotheses), strict=True):
            if value.dtype != bool:
                _refuse_nan(value, meets, batch, f"the hypothesis '{condition.latex}'")
                value = value > 0 if condition.relation == ">" else value >= 0
            meets &= value
        if np.asarray(margins).dtype == bool:
            raise ValueError(
                "the margin must be a number, at least 0 where the conclusion holds. Got true or false, "
                "which both count as at least 0: write 3 - h for h <= 3")
        margins = np.asarray(margins, dtype=float)
    if margins.shape[:1] != (size,):
        raise ValueError(
            "the margin must return a number per instance, or several of which all count: shape "
            f"({size}, ...), got {margins.shape}. The first axis is the instances': ar.total, "
            "ar.smallest and the like go over actions"
        )
    margins = margins.reshape(size, -1)
    margins = -np.max(np.abs(margins), axis=1) if statement.relation == "==" else margins.min(axis=1)
    _refuse_nan(margins, meets, batch, "the margin")
    return margins, meets


def _refuse_nan(values: np.ndarray, where: np.ndarray, batch: Batch, what: str) -> None:
    broken = np.flatnonzero(np.isnan(values) & where)
    if broken.size:
        raise ValueError(f"{what} is NaN at {describe(to_json(pick(batch, int(broken[0]))))}")


def is_candidate(statement: Statement, margins: np.ndarray) -> np.ndarray:
    """Which margins violate the statement in floats."""
    if statement.relation == "==":
        return margins < -IDENTITY_TOLERANCE
    return margins <= 0 if statement.relation == ">" else margins < 0


def describe(data: dict[str, Any]) -> str:
    """Describe a counterexample on one line; actions are numbered from 1."""
    parts = []
    for name, value in data.items():
        if name == "margin_interval":
            continue
        if isinstance(value, list) and value and all(isinstance(v, bool) for v in value):
            chosen = _listed([str(k + 1) for k, v in enumerate(value) if v])
            parts.append(f"{name}={{{chosen}}}")
        elif isinstance(value, list) and len(value) > MANY_EQUAL and len(set(map(str, value))) == 1:
            parts.append(f"{len(value):,} equal {name} ({_short(value[0])})")
        elif isinstance(value, list):
            parts.append(f"{name}=({_listed([_short(v) for v in value])})")
        else:
            parts.append(f"{name}={_short(value)}")
    return " ".join(parts)


def _listed(entries: list[str]) -> str:
    """Join entries; of a vocabulary's many equal neighbors are counted, and the rest is left out."""
    if len(entries) > MOST_SHOWN:
        runs = [(entry, len(list(equal))) for entry, equal in itertools.groupby(entries)]
        shown = [f"{count} x {entry}" if count > 1 else entry for entry, count in runs]
        left = sum(count for _, count in runs[MOST_SHOWN:])
        entries = [*shown[:MOST_SHOWN], *([f"and {left} more"] if left else [])]
    return ",".join(entries)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"({','.join(_short(v) for v in value)})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def refuse_mixed(
    statement: Statement, batch: Batch, margins: np.ndarray, meets: np.ndarray
) -> None:
    """Raise a ValueError unless the last instance has by itself the margin that it has in its batch."""
    last = {name: column[-1:] for name, column in batch.items()}
    alone, meets_alone = evaluate(statement, last)
    # Sums of another length may round otherwise, and a margin may be a difference of large numbers.
    if meets_alone[0] != meets[-1] or not np.isclose(
            alone[0], margins[-1], rtol=1e-6, atol=1e-9, equal_nan=True):
        raise ValueError(
            f"the margin of {describe(to_json(pick(last, 0)))} is {alone[0]:g} by itself and "
            f"{margins[-1]:g} among {len(margins)} instances. The first axis of a field is for "
            "instances, the last for actions: the number of actions is i.logits.shape[-1], not "
            "len(i.logits)")
