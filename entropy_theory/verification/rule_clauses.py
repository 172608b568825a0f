"""The clauses of the contract of update rules: what each promises, and how a rule breaks it."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import array_api_compat
import numpy as np

from entropy_theory import policy, tabular
from entropy_theory.token_batch import OPTIONAL_COLUMNS, TokenBatch
from entropy_theory.update_rules.declared import reads_undeclared, remembers
from entropy_theory.update_rules.outputs import difference, first, outputs, place
from entropy_theory.update_rules.rule import STATE_TERMS, UpdateRule
from entropy_theory.verification.rule_batches import converted, left_padded, poisoned, to_torch

ROUNDING = 1e-12
"""Relative and in nats: what the order of a sum over some thousand float64 terms moves."""
AFTER_ROUNDING = 1e-6
"""The allowed change of a step then, relative to its largest score. It is the root of ``ROUNDING``, so a
rule may take a root or divide by what nearly cancels."""
STEEPEST = 1e3
"""The largest slope of a score that a rule's own numbers explain. A rule divides by spreads of rewards
and of covariances. In the contract's batches they are 0 or at least 0.001."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    """One promise that a rule must keep, and how to find that it is broken."""

    name: str
    promise: str
    broken: Callable[[UpdateRule, TokenBatch, float], str]
    """A function of (rule, batch, accuracy) that says what is wrong, with the place and both numbers; it
    returns "" where the clause is kept."""
    skip_reason: Callable[[UpdateRule], str] = lambda rule: ""
    """A function of the rule that says why it need not keep the clause; "" if it must."""


def _overwrites(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Compare all columns, prepared ones too, before and after: on numpy and torch."""
    own = [converted(batch, np.array)]
    if importlib.util.find_spec("torch"):
        own.append(to_torch(batch))
    for given in own:
        before = {name: policy.to_numpy(column).copy() for name, column in given._columns()}
        columns = dict(given._columns())
        with contextlib.suppress(Exception):  # another clause tells
            prepared = rule.prepare(given)
            columns |= prepared.prepared
            before |= {name: policy.to_numpy(column).copy() for name, column in prepared.prepared.items()}
            rule.scores(prepared)
            rule.state_terms(prepared)
            rule.metrics(prepared)
        for name, column in columns.items():
            after = policy.to_numpy(column)
            changed = np.broadcast_to((after != before[name]) & ~(
                (after != after) & (before[name] != before[name])), batch.mask.shape)
            if changed.any():
                at = first(changed)
                return (f"it overwrites '{name}' of {place(changed)}: {before[name][at]} has become "
                        f"{after[at]}. Other rules and later steps read the batch, so compute a new "
                        "array, as namespace(x).where does")
    return ""


def is_undefined(rule: UpdateRule, batch: TokenBatch | None) -> bool:
    """Whether there are no scores on the batch that other clauses could judge."""
    try:
        with np.errstate(all="ignore"):
            return batch is not None and bool(_not_defined(rule, batch))
    except Exception:  # a user's rule may raise anything; the clause on defined scores tells what
        return True


def _not_defined(rule: UpdateRule, batch: TokenBatch) -> str:
    """Find out whether scores and state terms are computed on numpy, one number per token."""
    try:
        found = outputs(rule, batch)
    except (TypeError, AttributeError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        return (f"{type(error).__name__}: {reason}. Rules run on numpy, torch and traced arrays, so "
                "write them with entropy_theory.policy.namespace")
    for name, column in found.items():
        if tuple(column.shape) != tuple(batch.mask.shape):
            return f"{name} have shape {tuple(column.shape)}, the batch {tuple(batch.mask.shape)}"
    return ""


def _not_finite(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    if violation := _not_defined(rule, batch):
        return violation
    batch = rule.prepare(batch)
    found = {"scores": rule.scores(batch), **rule.state_terms(batch)}
    unknown = found.keys() - {"scores", *STATE_TERMS}
    if unknown:
        return f"unknown state term '{min(unknown)}': known are {', '.join(STATE_TERMS)}"
    if undeclared := found.keys() - {"scores", *rule.needs.moves}:
        return f"state term '{min(undeclared)}' is not declared: it needs moves=('{min(undeclared)}',)"
    for name, column in found.items():
        bad = ~np.isfinite(column) & batch.mask
        if bad.any():
            return f"{name} of {place(bad)}: {column[first(bad)]}"
    padded = (found["scores"] != 0) & ~batch.mask
    if padded.any():
        return f"scores of {place(padded)}, which is padding: {found['scores'][first(padded)]}, not 0"
    return ""


def _not_finite_at_equal_rewards(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    reward = np.where(batch.is_ordinary, 1.0, batch.reward)
    return _not_finite(rule, batch.replace(reward=reward, log_prob=batch.old_log_prob), accuracy)


def _depends_on_cut(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Compare with rows in another order, in micro-batches of one row, of two, and of the rest."""
    rows = np.random.default_rng(0).permutation(batch.mask.shape[-2])
    shuffled = rule.prepare(batch.take_sequences(rows))
    parts = [outputs(rule, shuffled.take_sequences(slice(a, b)))
             for a, b in ((0, 1), (1, 3), (3, len(rows))) if a < len(rows)]
    back = np.argsort(rows)
    joined = {name: np.concatenate([part[name] for part in parts], axis=-2)[..., back, :]
              for name in parts[0]}
    return difference(outputs(rule, batch), joined, accuracy)


def _reads_padding(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Compare with other padding, also on the left: exactly, since the same numbers are added."""
    for padded in (batch, left_padded(batch)):
        expected = outputs(rule, padded, metrics=True)
        found = outputs(rule, poisoned(padded), metrics=True)
        if violation := difference(expected, found, 0.0):
            return violation
    return ""


def _minds_empty_rows(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    rows = batch.mask.shape[-2]
    longer = batch.take_sequences([*range(rows), 0])
    mask, weight = longer.mask.copy(), longer.weight.copy()
    mask[..., -1, :], weight[..., -1, :] = False, 0.0
    changes = {"mask": mask, "weight": weight}
    if longer.sequence is not None:
        sequence = longer.sequence.copy()
        sequence[..., -1, :] = sequence.max() + 1
        changes["sequence"] = sequence
    found = outputs(rule, poisoned(longer.replace(**changes)))
    return difference(outputs(rule, batch), {k: v[..., :rows, :] for k, v in found.items()}, accuracy)


def _reads_more(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    known = {*rule.needs.columns, "tempered"}
    bare = batch.replace(**{name: None for name in OPTIONAL_COLUMNS if name not in known})
    try:
        violation = _not_finite(rule, bare, accuracy)
        return "" if violation and _not_finite(rule, batch, accuracy) else violation
    except (AttributeError, TypeError) as error:
        return f"without the columns that it does not say it needs: {type(error).__name__}: {error}"


def _mixes_runs(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    other = batch.take_sequences(slice(None, None, -1))
    other = other.replace(reward=1.0 - other.reward)
    apart = [outputs(rule, run) for run in (batch, other)]
    columns = dict(other._columns())
    both = batch.replace(
        **{name: np.stack([column, columns[name]]) for name, column in batch._columns()})
    expected = {name: np.stack([run[name] for run in apart]) for name in apart[0]}
    return difference(expected, outputs(rule, both), accuracy)


def _differs_on_torch(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    for rows in (batch, poisoned(left_padded(batch))):
        other = rule.prepare(to_torch(rows))
        for name, column in {"scores": rule.scores(other), **rule.state_terms(other)}.items():
            if not array_api_compat.is_torch_array(column):
                return f"{name} of a torch batch are {type(column).__module__}.{type(column).__name__}"
        expected, found = (outputs(rule, each, metrics=True) for each in (rows, other))
        if violation := difference(expected, found, accuracy):
            return violation
    return ""


def _leaves_float32(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Check that float32 stays float32: one float64 constant would double a language model's memory."""
    single = converted(batch, lambda c: c.astype(np.float32) if c.dtype == np.float64 else c)
    for rows in (single, *((to_torch(single),) if importlib.util.find_spec("torch") else ())):
        prepared = rule.prepare(rows)
        found = {"scores": rule.scores(prepared), **rule.state_terms(prepared), **prepared.prepared}
        for name, column in found.items():
            if "bool" not in str(column.dtype) and not str(column.dtype).endswith("float32"):
                return f"{name} of a float32 batch: {column.dtype}"
    return ""


def _follows_rounding(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Move floats by rounding: off-policy, on-policy, and where some rewards are their prompt's mean."""
    if rule.needs.listing:
        cases = [batch]
    else:
        apart = _off_round_numbers(batch)
        on_policy = apart.replace(log_prob=apart.old_log_prob)
        thirds = on_policy.replace(reward=np.asarray(_sequence_ids(batch) % 3, dtype=float) / 2)
        cases = [apart, on_policy, thirds]
    for number, case in enumerate(cases):
        expected = outputs(rule, case)
        if not all(np.isfinite(column).all() for column in expected.values()):
            continue  # another clause tells
        rng = np.random.default_rng(number)
        for _ in range(2):
            found = outputs(rule, _moved_by_rounding(case, rng))
            for name, column in expected.items():
                # A score that is 0 has no size to be compared with.
                near = abs(found[name] - column) < STEEPEST * ROUNDING
                found[name] = np.where(near, column, found[name])
            if violation := difference(expected, found, max(accuracy, AFTER_ROUNDING)):
                return (f"{violation}, where log-probabilities and rewards are moved by {ROUNDING:g} "
                        "(a threshold or a sign hangs on the last digit: compare by "
                        "entropy_theory.rounding)")
    return ""


def _sequence_ids(batch: TokenBatch) -> np.ndarray:
    return np.broadcast_to(np.arange(batch.mask.shape[-2])[:, None], batch.mask.shape)


def _off_round_numbers(batch: TokenBatch) -> TokenBatch:
    """Return it with numbers that no threshold is at, but equal where they were: ratios of 1, ties.

    Log-probabilities and entropies are equal by chance.
    """
    shifts = {"old_log_prob": -0.0071, "reference_log_prob": -0.0071, "entropy": 0.0113,
              "clamped_entropy": 0.0113, "old_entropy": 0.0113, "entropy_effect": 0.0113}
    changed = {name: 1.0137 * getattr(batch, name) + shift for name, shift in shifts.items()
               if getattr(batch, name) is not None}
    change = 1.0137 * (batch.log_prob - batch.old_log_prob)
    return batch.replace(**changed, log_prob=changed["old_log_prob"] + change)


def _moved_by_rounding(batch: TokenBatch, rng: np.random.Generator) -> TokenBatch:
    shape = batch.mask.shape
    changes = {}
    for name in ("log_prob", "old_log_prob", "reference_log_prob", "entropy", "clamped_entropy",
                 "old_entropy", "entropy_effect", "sampling_log_prob"):
        column = getattr(batch, name)
        if column is not None:
            changes[name] = column + ROUNDING * rng.choice([-1.0, 1.0], size=shape)
    # Relative: a reward of 0 is no sum.
    signs = rng.choice([-1.0, 1.0], size=(*shape[:-1], 1))
    return batch.replace(**changes, reward=batch.reward * (1 + ROUNDING * signs))


def _needs_preparing_again(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Prepare under the policy that sampled, then ask for scores under the one that is trained."""
    early = rule.prepare(batch.replace(log_prob=batch.old_log_prob)).replace(log_prob=batch.log_prob)
    violation = difference(outputs(rule, batch), outputs(rule, early), accuracy)
    return violation and f"{violation} (prepared one step earlier; declare every_step)"


def _minds_pooling(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Pool rows of equal reward in a listing of a policy whose actions are the batch's first tokens."""
    if batch.state is None:
        rows = batch.is_ordinary[..., 0]
        if rows.sum() < 2:
            return ""
        batch = tabular.exact_batch(
            batch.log_prob[rows, 0][None], batch.reward[rows, 0][None],
            temperature=None if rule.controller() is None else 1.25,
            removed_fraction=rule.needs.removed_fraction)
    assert batch.tempered is not None
    assert batch.state is not None
    key = np.stack([batch.tempered[:, 0], batch.state[:, 0], batch.reward[:, 0]])
    _, first, member = np.unique(key, axis=1, return_index=True, return_inverse=True)
    weight = np.bincount(member.ravel(), batch.weight[:, 0])[:, None]
    pooled = batch.take_sequences(first).replace(weight=weight, listed=True)
    found = {name: column[member.ravel()] for name, column in outputs(rule, pooled).items()}
    violation = difference(outputs(rule, batch), found, accuracy)
    return violation and f"{violation} (declare what else it reads)"


def _of_samples(rule: UpdateRule) -> str:
    return "the rule takes exact listings only" if rule.needs.listing else ""


CLAUSES = (
    Clause(name="batch", broken=_overwrites, promise="the batch is left as it is"),
    Clause(name="memory", broken=remembers,
           promise="nothing is kept from call to call: steps and seeds are the batch's"),
    Clause(name="finite", broken=_not_finite, promise="scores are finite, and 0 on padding"),
    Clause(name="equal rewards", broken=_not_finite_at_equal_rewards,
           promise="so they are where all rewards are equal"),
    Clause(name="cut", broken=_depends_on_cut,
           promise="any cut into micro-batches and any order of rows: the same step"),
    Clause(name="padding", broken=_reads_padding, promise="what stands on padding does not matter"),
    Clause(name="empty rows", broken=_minds_empty_rows, skip_reason=_of_samples,
           promise="a row without tokens changes nothing"),
    Clause(name="columns", broken=_reads_more,
           promise="no optional column is read but the columns it needs"),
    Clause(name="runs", broken=_mixes_runs, promise="runs on a leading axis are independent"),
    Clause(name="torch", broken=_differs_on_torch, promise="torch gives what numpy gives",
           skip_reason=lambda rule: "" if importlib.util.find_spec("torch")
           else "torch is not installed"),
    Clause(name="rounding", broken=_follows_rounding,
           promise="rounding of log-probabilities and rewards moves the step by no more than rounding"),
    Clause(name="float32", broken=_leaves_float32, promise="float32 stays float32"),
    Clause(name="prepared once", broken=_needs_preparing_again,
           promise="prepared once for several optimizer steps",
           skip_reason=lambda rule: "every_step is declared" if rule.needs.every_step else ""),
    Clause(name="reads", broken=reads_undeclared,
           promise="the step depends on nothing but what is declared in reads"),
    Clause(name="pooling", broken=_minds_pooling, promise="rows of equal reward may be pooled",
           skip_reason=lambda rule: "" if rule.needs.pools else "not promised"),
)
"""The clauses, in the order in which they are reported."""
BASIC = ("batch", "memory")
"""Clauses that all others take for granted: where one is broken, the others would repeat its cause. So
would they where there are no scores (`is_undefined`)."""
REFUSED = next(clause for clause in CLAUSES if clause.name == "finite")
"""The clause that a rule breaks if it refuses every batch."""
