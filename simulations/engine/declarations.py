"""Checks that a rule reads no more than it declares, before an engine relies on it.

The package's own rules are held to their declarations by its tests. A user's rule is checked here on a
few small batches; ``python -m entropy_theory check`` checks the whole contract.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import entropy_theory
from entropy_theory.tabular import exact_batch
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.declared import reads_undeclared, remembers
from entropy_theory.update_rules.rule import components, map_options
from simulations.engine.dynamics import cut_options

ACCURACY = 1e-8
"""Allowed error relative to the largest score: a user's rule may divide by what nearly cancels."""


class UndeclaredError(ValueError):
    """Raised where a rule's coefficients depend on what it does not declare; the message names it."""


def confirm(rule: UpdateRule, n_runs: int) -> None:
    """Raise UndeclaredError for a rule that reads what it does not declare, or that keeps state.

    Args:
        rule: any update rule; options may be one a run.
        n_runs: number of runs.
    """
    if is_ours(rule):
        return
    for run in extreme_runs(rule, n_runs):
        one = cut_options(rule, n_runs, slice(run, run + 1)) if n_runs > 1 else rule
        if told := _told(one):
            raise UndeclaredError(
                f"update rule '{rule.name}' is not what it declares: {told}; "
                "see python -m entropy_theory check")


def is_ours(rule: UpdateRule) -> bool:
    """Whether the rule, all that it is made of and its options are this package's own.

    Of other rules nothing is kept from one simulation for the next: what their code reads (an option
    that does not count for equality, a function or constant of a notebook) may have changed.
    """
    return all(_is_own_type(part) and all(
        _is_own_type(getattr(part, each.name)) for each in dataclasses.fields(part))
        for _, part in components(rule))


def _is_own_type(value: Any) -> bool:
    room = type(value).__module__.partition(".")[0]
    return room in ("builtins", "numpy", entropy_theory.__name__)


def extreme_runs(rule: UpdateRule, n_runs: int) -> list[int]:
    """Return the first run and, for each option that is one a run, those of its extremes, in order.

    It is the first run alone where runs do not differ. (With 0 an option hides what it multiplies.)
    """
    found = {0}

    def look(_: UpdateRule, __: str, value: Any) -> Any:
        if not isinstance(value, str) and np.ndim(value) == 1 and len(value) == n_runs:
            found.update((int(np.argmin(value)), int(np.argmax(value))))
        return value

    map_options(rule, look)
    return sorted(found)


def _told(rule: UpdateRule) -> str:
    batch = _probe(rule)
    try:
        rule.prepare(batch)
    except ValueError:
        return ""  # It refuses such a batch; the run says why, should it refuse that one too.
    return remembers(rule, batch, ACCURACY) or reads_undeclared(rule, batch, ACCURACY)


def _probe(rule: UpdateRule) -> TokenBatch:
    """List two states of six actions with three different rewards, one of them far in the tail."""
    rng = np.random.default_rng(20251122)
    logits = rng.normal(scale=2.0, size=(1, 2, 6))
    logits[0, 0, 0], logits[0, 1, 3] = -9.0, 6.0
    batch = exact_batch(
        logits, np.array([1.0, 1.0, 0.0, 0.0, 0.5, 0.0]),
        temperature=None if rule.controller() is None else np.array([1.25]),
        reference_logits=rng.normal(size=logits.shape), removed_fraction=rule.needs.removed_fraction)
    rows = np.arange(batch.mask.shape[-2])[:, None]
    columns = {"sequence": np.broadcast_to(rows, batch.mask.shape), "listed": True}
    if rule.coefficient_controller() is not None:
        columns["coefficient"] = np.full(batch.mask.shape, 0.1)
    return batch.replace(**columns)
