"""The outputs of a rule on a batch, as numbers by name, and where two such outputs differ."""

from __future__ import annotations

import numpy as np

from entropy_theory import policy
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import UpdateRule

Outputs = dict[str, np.ndarray]


def outputs(rule: UpdateRule, batch: TokenBatch, *, metrics: bool = False) -> Outputs:
    """Return scores and state terms (and metrics) as float64 numpy arrays, by name."""
    batch = rule.prepare(batch) if f"{rule.name}.prepared" not in batch.prepared else batch
    found = {"scores": rule.scores(batch), **rule.state_terms(batch)}
    found |= rule.metrics(batch) if metrics else {}
    return {name: np.asarray(policy.to_numpy(value), dtype=np.float64) for name, value in found.items()}


def difference(expected: Outputs, found: Outputs, accuracy: float) -> str:
    """Describe the first number that differs, relative to the largest of its column; "" if none does."""
    if expected.keys() != found.keys():
        return f"{', '.join(sorted(found))} are given, not {', '.join(sorted(expected))}"
    for name, column in expected.items():
        if column.shape != found[name].shape:
            return f"{name} have shape {found[name].shape}, not {column.shape}"
        finite = np.abs(column[np.isfinite(column)])
        with np.errstate(invalid="ignore"):  # inf - inf, of numbers that are equal
            near = np.abs(found[name] - column) <= accuracy * finite.max(initial=0.0)
        bad = ~near & (column != found[name]) & ~(np.isnan(column) & np.isnan(found[name]))
        if bad.any():
            at = first(bad)
            where = f" of {place(bad)}" if bad.ndim > 1 else ""
            return f"{name}{where}: {found[name][at]:.9g}, not {column[at]:.9g}"
    return ""


def first(where: np.ndarray) -> tuple[int, ...]:
    """Return the index of the first True."""
    return tuple(int(k) for k in np.argwhere(where)[0])


def place(where: np.ndarray) -> str:
    """Name the place of the first True: ``row 2, token 0``, after ``run 1`` if there are several."""
    *run, row, token = first(where)
    return f"{f'run {run[0]}, ' if run else ''}row {row}, token {token}"
