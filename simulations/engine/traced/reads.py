"""Finds what a rule reads of its batch, and so whether rows may be summed, in a trace of its own code."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from entropy_theory.reads import EVERYTHING
from entropy_theory.tabular import exact_batch
from entropy_theory.token_batch import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, TokenBatch
from entropy_theory.update_rules import UpdateRule
from simulations.engine.task import is_ours
from simulations.engine.traced.arrays import Trace, Traced
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.views import INTEGER, kind_of

_ACCURACY = 1e-8  # relative to the largest score: a user's rule may divide by what nearly cancels
_LARGEST = 1e300


class _Integer(Traced):
    """An integer of the batch, for a rule that asks for one."""

    __class__ = int  # type: ignore[assignment]


def pools(rule: UpdateRule, n_runs: int) -> bool:
    """Whether rows of one state and one reward may be summed, as `Needs.pools` has it.

    A rule of the package is what it declares, to which tests hold it. Any other is traced, and may not be
    pooled where the trace does not show all that it reads.

    Args:
        rule: any update rule; options may be one per run.
        n_runs: number of runs.

    Raises:
        ValueError: a rule that returns other scores when it is called again on the same batch.
    """
    if is_ours(rule):
        return rule.needs.pools
    try:
        whole = _listing(rule, n_runs)
        rows = np.arange(whole.mask.shape[-2])
        twice = np.repeat(rows, rows % 2 + 1)
        split = whole.take_sequences(twice)
        ids = np.broadcast_to(np.arange(len(twice))[:, None], split.mask.shape)
        share = 1 / np.bincount(twice)[twice][:, None]
        split = split.replace(weight=split.weight * share, sequence=ids, listed=True)
        # Of a copy: what a rule keeps for itself shall not be what a trace left behind.
        own = copy.deepcopy(rule)
        (found, reads), (again, _), (of_parts, _), (of_samples, _) = (
            _asked(own, b) for b in (whole, whole, split, whole.replace(listed=False)))
    except Exception:  # (The rule's own code runs here, on arrays that are not NumPy's.)
        return False
    if not _alike(found, again):
        raise ValueError(
            f"update rule '{rule.name}' returns other scores when it is called again on the same batch. "
            "Keep nothing from call to call and draw nothing; read batch.step and batch.seed instead")
    summed = {name: value[..., twice, :] for name, value in found.items()}
    # What counts samples is another number of a listing, for which sums of rows stand.
    return not reads and _alike(summed, of_parts, _ACCURACY) and _alike(found, of_samples, _ACCURACY)


def _asked(rule: UpdateRule, batch: TokenBatch) -> tuple[dict[str, np.ndarray], set[str]]:
    """Return the rule's coefficients, and what they depend on of `entropy_theory.reads` or conditions."""
    trace = Trace(len(batch.mask))
    columns: dict[str, Any] = {
        name: _integer(trace, name, getattr(batch, name)) for name in ("step", "seed")}
    for name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS:
        column = getattr(batch, name)
        if column is None:
            continue
        if name in ("mask", "tempered", "group", "reward"):
            columns[name] = trace.constant(column)
            continue
        # (On the policy that was sampled each ratio is 1.)
        source = {"old_log_prob": "log_prob", "old_entropy": "entropy"}.get(name, name)
        low, high = (0.0, 2.0**62) if kind_of(column.dtype) == INTEGER else (-_LARGEST, _LARGEST)
        columns[name] = trace.input(source, column, Interval(low, high, False))
    traced = rule.prepare(batch.replace(**columns, checked=True))
    found = {"scores": rule.scores(traced)} | dict(rule.state_terms(traced))
    waiting = [view for view, _ in trace.graph.guards]
    names = {"a condition"} if waiting else set()
    waiting += [x.recorded for x in found.values() if isinstance(x, Traced) and x.recorded is not None]
    nodes = {view.node for view in waiting}
    while nodes:
        node = nodes.pop()
        nodes |= {view.node for view in node.arguments}
        if node.operation == "input":
            names.add(node.parameter)
    plain = {name: x.example if isinstance(x, Traced) else np.asarray(x) for name, x in found.items()}
    return plain, names & (EVERYTHING | {"a condition"})


def _integer(trace: Trace, name: str, value: int) -> Any:
    view = trace.graph.input(name, (), INTEGER, Interval(0, 2**40, False))
    return _Integer(trace, np.asarray(value), view)


def _alike(
    found: dict[str, np.ndarray], other: dict[str, np.ndarray], accuracy: float = 0.0
) -> bool:
    return found.keys() == other.keys() and all(
        found[name].shape == other[name].shape and np.allclose(
            found[name], other[name], rtol=0, equal_nan=True,
            atol=accuracy * np.abs(found[name]).max(initial=0.0)) for name in found)


def _listing(rule: UpdateRule, n_runs: int) -> TokenBatch:
    """List two states of six actions with three different rewards, one of them far in the tail."""
    rng = np.random.default_rng(20251122)
    logits = np.repeat(rng.normal(scale=2.0, size=(1, 2, 6)), n_runs, axis=0)
    logits[:, 0, 0], logits[:, 1, 3] = -9.0, 6.0
    batch = exact_batch(
        logits, np.array([1.0, 1.0, 0.0, 0.0, 0.5, 0.0]),
        temperature=None if rule.controller() is None else np.full(n_runs, 1.25),
        reference_logits=rng.normal(size=logits.shape), effects=True,
        removed_fraction=rule.needs.removed_fraction or 0.4)
    rows = np.broadcast_to(np.arange(batch.mask.shape[-2])[:, None], batch.mask.shape)
    coefficient = None if rule.coefficient_controller() is None else np.full(batch.mask.shape, 0.1)
    return batch.replace(sequence=rows, coefficient=coefficient, listed=True)
