"""The contract of update rules, as checks that find a small batch on which a rule breaks it.

Training cuts a batch into micro-batches and deals it out over processes, pads it, runs on torch and in
float32; the simulator runs on numpy, many runs at once, and pools rows where a rule allows it. A rule
that keeps the clauses below takes the same step everywhere. The package's own rules are held to them by
its tests, a user's by ``python -m entropy_theory check my_rules.py``.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import array_api_compat
import numpy as np

from entropy_theory import entropy_change, policy, tabular
from entropy_theory.token_batch import OPTIONAL_COLUMNS, TokenBatch, concatenate
from entropy_theory.update_rules.declared import reads_undeclared, remembers
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.outputs import difference, first, outputs, place
from entropy_theory.update_rules.rule import UpdateRule

ROUNDING = 1e-12
"""Relative and in nats: what the order of a sum over some thousand float64 terms moves."""
AFTER_ROUNDING = 1e-6
"""The allowed change of a step then, relative to its largest score: the root of ``ROUNDING``, so that a
rule may divide by what nearly cancels, or take a root."""
STEEPEST = 1e3
"""The largest slope of a score that a rule's own numbers explain: it divides by spreads of rewards and of
covariances, which are not below 0.001 in the contract's batches unless they are 0."""
ACCURACY = 1e-12
"""Allowed error relative to the largest score: sums over some dozen rows, a few roundings each."""
CONDITIONED = 1e-8
"""The allowed error of a user's rule, which may divide by what nearly cancels: four digits less."""
BLOCKED = "not checked: see the broken one above"
STATE_TERMS = ("entropy", "clamped_entropy", "reference_kl")
_GARBAGE: dict[str, Any] = {
    "reward": 7.0, "group": 99, "sampling_temperature": 1.0,
    **dict.fromkeys(("log_prob", "old_log_prob", "entropy", "clamped_entropy", "reference_log_prob",
                     "sampling_log_prob", "advantage", "entropy_effect", "target_offset"), np.nan),
}
"""Values that may stand where the mask is False."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class ClauseResult:
    """What checking one clause on a rule found."""

    clause: Clause
    outcome: Literal["kept", "broken", "skipped"]
    detail: str
    """How many batches kept it, what is wrong, or why it was not checked."""
    batch: TokenBatch | None = None
    """The smallest batch found on which the clause is broken, simplified."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntropyEffect:
    """The first-order effect of a rule's expected step on the entropy of random tabular policies."""

    policies: int
    falls: float
    """The share of the policies whose entropy falls."""
    grpo_falls: float
    ratio: float
    """The mean first-order change, divided by that of plain GRPO."""


# ------------------------------------------------------------------ the clauses


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
                        f"{after[at]} (other rules and later steps read the batch: compute a new "
                        "array, as namespace(x).where does)")
    return ""


def _is_undefined(rule: UpdateRule, batch: TokenBatch | None) -> bool:
    try:
        with np.errstate(all="ignore"):
            return batch is not None and bool(_not_defined(rule, batch))
    except Exception:
        return True


def _not_defined(rule: UpdateRule, batch: TokenBatch) -> str:
    """Find out whether scores and state terms are computed on numpy, one number a token."""
    try:
        found = outputs(rule, batch)
    except (TypeError, AttributeError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        return (f"{type(error).__name__}: {reason} (rules run on numpy, torch and traced arrays: write "
                "them with entropy_theory.policy.namespace)")
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
        found = outputs(rule, _poisoned(padded), metrics=True)
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
    found = outputs(rule, _poisoned(longer.replace(**changes)))
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
    for rows in (batch, _poisoned(left_padded(batch))):
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
              "clamped_entropy": 0.0113, "entropy_effect": 0.0113}
    changed = {name: 1.0137 * getattr(batch, name) + shift for name, shift in shifts.items()
               if getattr(batch, name) is not None}
    change = 1.0137 * (batch.log_prob - batch.old_log_prob)
    return batch.replace(**changed, log_prob=changed["old_log_prob"] + change)


def _moved_by_rounding(batch: TokenBatch, rng: np.random.Generator) -> TokenBatch:
    shape = batch.mask.shape
    changes = {}
    for name in ("log_prob", "old_log_prob", "reference_log_prob", "entropy", "clamped_entropy",
                 "entropy_effect"):
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
would they where there are no scores (`_is_undefined`)."""
REFUSED = next(clause for clause in CLAUSES if clause.name == "finite")
"""The clause that a rule breaks if it refuses every batch."""


# ------------------------------------------------------------------ checking a rule


def check_rule(rule: UpdateRule, *, repeats: int = 8, seed: int = 0) -> list[ClauseResult]:
    """Check every clause on random batches, small ones first; report the first that breaks a clause.

    Batches that ``prepare`` refuses with a ValueError do not count, unless it refuses all of them. The
    check is deterministic.

    Args:
        rule: the rule, with the options that it is checked with.
        repeats: number of batches of each size.
        seed: of the batches.
    """
    # A rule that counts its calls must not have counted to its end before that is looked for.
    pristine = copy.deepcopy(rule)
    batches = list(_batches(rule, repeats, seed))
    judged: list[TokenBatch] = []
    refusals: list[str] = []
    # Before anything else, since a memory outside of the rule is not forgotten by a copy of it.
    # It may settle: large batches, whose scores are not 0, come first.
    memory = _result(CLAUSES[1], copy.deepcopy(pristine), batches[::-1], f"{len(batches)} batches")
    untouched = _result(CLAUSES[0], copy.deepcopy(pristine), batches, f"{len(batches)} batches")
    if untouched.outcome == "broken":
        return [untouched, *_blocked(untouched)]
    for batch in batches:
        converted(batch, _read_only)
        if violation := _refusal(rule, batch):
            refusals.append(violation)
        else:
            judged.append(batch)
    if not judged:
        return [ClauseResult(clause=REFUSED, outcome="broken",
                        detail=f"every batch is refused: {refusals[0]}")]
    kept = f"{len(judged)} batches" + (f", {len(refusals)} refused" if refusals else "")
    found = [untouched]
    for clause in CLAUSES[1:]:
        found.append(memory if clause.name == "memory"
                     else _result(clause, copy.deepcopy(pristine), judged, kept))
        if found[-1].outcome == "broken" and (clause.name in BASIC or (
                clause is REFUSED and _is_undefined(rule, found[-1].batch))):
            return [*found, *_blocked(found[-1])]
    return found


def _blocked(cause: ClauseResult) -> list[ClauseResult]:
    """The detail of the clauses that are not checked after one of ``BASIC`` is broken."""
    after = CLAUSES[CLAUSES.index(cause.clause) + 1:]
    return [ClauseResult(clause=clause, outcome="skipped", detail=BLOCKED) for clause in after]


def _read_only(column: np.ndarray) -> np.ndarray:
    column.flags.writeable = False
    return column


def _result(clause: Clause, rule: UpdateRule, judged: Sequence[TokenBatch], kept: str) -> ClauseResult:
    if reason := clause.skip_reason(rule):
        return ClauseResult(clause=clause, outcome="skipped", detail=reason)
    found = ((batch, violation) for batch in judged if (violation := _violation(clause, rule, batch)))
    batch, violation = next(found, (None, ""))
    if batch is None:
        return ClauseResult(clause=clause, outcome="kept", detail=kept)
    if clause.name == "memory":  # Asked again it might answer otherwise.
        return ClauseResult(clause=clause, outcome="broken", detail=violation)
    for simplify in () if rule.needs.listing else _SIMPLER:
        simpler = simplify(batch)
        if not _refusal(rule, simpler) and (other := _violation(clause, rule, simpler)):
            batch, violation = simpler, other
    return ClauseResult(clause=clause, outcome="broken", detail=violation, batch=batch)


def entropy_effect(rule: UpdateRule, *, seed: int = 0) -> EntropyEffect:
    """Measure what expected steps do to the entropy of 200 random policies each of 3 to 8 actions.

    A random few actions are right. Logits are N(0, 1), and 1 nat higher for right actions, as after some
    training: entropy then mostly falls under GRPO. Steps are those on the exact listing of all actions,
    per unit learning rate, under the tabular assumption.

    Raises:
        ValueError: a listing that the rule refuses, for instance because it counts samples.
    """
    rng = np.random.default_rng(seed)
    rates: list[tuple[np.ndarray, np.ndarray]] = []
    for actions in range(3, 9):
        reward = (rng.random((200, 1, actions)) < 0.5).astype(float)
        reward[..., :2] = 1.0, 0.0
        logits = rng.normal(size=reward.shape) + reward
        controller = rule.controller()
        batch = tabular.exact_batch(
            logits, reward, reference_logits=rng.normal(size=logits.shape),
            removed_fraction=rule.needs.removed_fraction,
            temperature=None if controller is None else controller.observe(
                policy.entropy(logits)[..., 0]))
        plain = tabular.listing(logits, reward)
        rates.append(tuple(
            entropy_change.first_order(logits, tabular.logit_step(logits, rows, each)).ravel()
            for rows, each in ((batch, rule), (plain, Grpo()))))
    own, grpo = (np.concatenate(part) for part in zip(*rates, strict=True))
    noise = ACCURACY * np.abs(grpo).max()
    return EntropyEffect(policies=len(own), falls=float((own < -noise).mean()),
                         grpo_falls=float((grpo < -noise).mean()), ratio=float(own.mean() / grpo.mean()))


def rules_in(module: ModuleType) -> dict[str, UpdateRule]:
    """Return the rules that a module defines: classes with their defaults, and named instances.

    Raises:
        ValueError: a class that has no name, that cannot be made without options, or that declares
            options without being a dataclass.
    """
    found: dict[str, UpdateRule] = {}
    for name, value in vars(module).items():
        if isinstance(value, UpdateRule):
            found[name] = value
        elif (isinstance(value, type) and issubclass(value, UpdateRule)
              and value.__module__ == module.__name__):
            if not isinstance(getattr(value, "name", None), str):
                raise ValueError(f'{name} has no name: put @update_rule("thrifty") above the class')
            if not_options := _options_without_dataclass(value):
                raise ValueError(
                    f"{name} declares {', '.join(not_options)} without being a dataclass, so that nobody "
                    "can set it: put @update_rule(NAME) above the class")
            try:
                found[name] = value()
            except TypeError as error:
                raise ValueError(f"{name}() fails ({error}): give each option a default") from error
    return found


def _options_without_dataclass(kind: type[UpdateRule]) -> list[str]:
    """Return what a class annotates as a dataclass would its options, where it is none of its own."""
    if "__dataclass_fields__" in vars(kind):
        return []
    return [name for name, hint in inspect.get_annotations(kind).items() if "ClassVar" not in str(hint)]


# ------------------------------------------------------------------ batches


_SIZES = (
    (1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 2, 2), (1, 3, 1), (2, 2, 1), (1, 3, 2), (2, 2, 2), (2, 3, 3),
)
"""The sizes of the small batches: (prompts, responses to each, tokens of the longest)."""
_SIMPLER: tuple[Callable[[TokenBatch], TokenBatch], ...] = (
    lambda batch: batch.replace(log_prob=batch.old_log_prob),
    lambda batch: batch.replace(log_prob=batch.log_prob - batch.old_log_prob - 1.0,
                                old_log_prob=0 * batch.old_log_prob - 1.0),
    lambda batch: batch.replace(entropy=0 * batch.log_prob + 1.0),
    lambda batch: batch.replace(reward=0 * batch.reward),
)
"""Changes that are tried to make a batch easier to read."""


def _batches(rule: UpdateRule, repeats: int, seed: int) -> Iterator[TokenBatch]:
    """Yield batches as the rule may meet them, small ones first; numbers are multiples of 1/4."""
    second = rule.controller() is not None
    if rule.needs.listing:
        rng = np.random.default_rng(seed)
        for actions in (2, 3, 4):
            for _ in range(3 * repeats):
                logits = np.log(rng.integers(1, 5, size=(1, actions)))
                yield tabular.exact_batch(
                    logits, rng.integers(0, 2, size=logits.shape).astype(float),
                    reference_logits=0 * logits, effects=True, temperature=1.25 if second else None,
                    removed_fraction=rule.needs.removed_fraction)
        return
    for number, size in enumerate(_SIZES):
        for repeat in range(repeats):
            drawn = random_batch(1000 * seed + number + 100 * repeat, *size, second)
            yield _filled(_rounded(drawn), rule)
    for number in range(3):
        yield _filled(random_batch(1000 * seed + number, second_batch=second), rule)


def _rounded(batch: TokenBatch) -> TokenBatch:
    columns = ("log_prob", "old_log_prob", "entropy", "reference_log_prob")
    return batch.replace(**{name: np.round(4 * getattr(batch, name)) / 4 for name in columns})


def random_batch(
    seed: int = 0, prompts: int = 3, group_size: int = 4, positions: int = 5, second_batch: bool = True
) -> TokenBatch:
    """Draw a sampled batch of ragged lengths, off-policy enough for clips to bind."""
    rng = np.random.default_rng(seed)

    def rows(tempered: bool) -> TokenBatch:
        sequences = prompts * group_size
        length = rng.integers(1, positions + 1, size=(sequences, 1))
        mask = np.arange(positions) < length
        old = -rng.exponential(size=mask.shape)
        reward = rng.integers(0, 2, size=(sequences, 1)) * np.ones(mask.shape)
        group = np.repeat(np.arange(prompts), group_size)[:, None] * np.ones(mask.shape, dtype=int)
        sequence = np.arange(sequences)[:, None] + sequences * tempered + np.zeros(mask.shape, int)
        return TokenBatch(
            log_prob=old + 0.3 * rng.normal(size=mask.shape),
            old_log_prob=old,
            reward=reward,
            mask=mask,
            weight=np.where(mask, 1 / mask.sum(), 0.0),
            entropy=rng.exponential(size=mask.shape),
            sampling_temperature=np.full(mask.shape, 1.2 if tempered else 1.0),
            tempered=np.full(mask.shape, tempered),
            group=group.astype(int),
            sequence=sequence,
            reference_log_prob=old + 0.2 * rng.normal(size=mask.shape),
            entropy_effect=0.1 * rng.normal(size=mask.shape),
            target_offset=0.1 * (group - 1.0),
        )

    return concatenate([rows(False), rows(True)]) if second_batch else rows(False)


def converted(batch: TokenBatch, convert: Callable[[Any], Any]) -> TokenBatch:
    """Return the batch with every column converted."""
    return batch.replace(**{name: convert(column) for name, column in batch._columns()})


def to_torch(batch: TokenBatch) -> TokenBatch:
    """Return a numpy batch as one of torch tensors."""
    torch = importlib.import_module("torch")
    return converted(batch, lambda column: torch.tensor(np.ascontiguousarray(column)))


def left_padded(batch: TokenBatch) -> TokenBatch:
    """Mask the first token of every second row, if the row has another; weights are 1/N again."""
    mask = batch.mask.copy()
    if mask.shape[-1] > 1:
        mask[..., ::2, 0] &= ~mask[..., ::2, 1]
    if (mask == batch.mask).all():
        return batch
    tempered = batch.is_tempered
    weight = np.zeros(mask.shape)
    for rows in (mask & ~tempered, mask & tempered):
        weight = np.where(rows, 1 / max(rows.sum(), 1), weight)
    return batch.replace(mask=mask, weight=weight)


def describe(batch: TokenBatch, columns: Sequence[str] = ()) -> list[str]:
    """Describe the rows of a batch, one a line: reward, prompt and what differs by response token."""
    lines = []
    names = ("log_prob", "old_log_prob", *(c for c in columns if c not in ("group", "sequence")))
    for row in range(batch.mask.shape[-2]):
        mask = batch.mask[row]
        first = int(np.argmax(mask))
        parts = [f"row {row}"]
        if batch.tempered is not None and batch.tempered[row].any():
            parts[0] += " (second batch)"
        if batch.group is not None:
            parts.append(f"prompt {batch.group[row, first]}")
        parts.append(f"reward {batch.reward[row, first]:g}")
        for name in names:
            column = getattr(batch, name)
            if column is not None and (name != "old_log_prob" or (column != batch.log_prob).any()):
                parts.append(f"{name} ({', '.join(f'{v:.4g}' for v in column[row][mask])})")
        lines.append("  ".join(parts))
    return lines


def _filled(batch: TokenBatch, rule: UpdateRule) -> TokenBatch:
    """Add the columns that the rule requires and samples do not bring."""
    shape = batch.mask.shape
    assert batch.entropy is not None
    entropy = batch.entropy
    known: dict[str, Callable[[], Any]] = {
        "clamped_entropy": lambda: entropy / 2,
        "sampling_log_prob": lambda: batch.old_log_prob,
        "state": lambda: np.arange(batch.mask.size).reshape(shape),
        "action": lambda: np.zeros(shape, dtype=int),
        "advantage": lambda: batch.reward - 0.5,
        "coefficient": lambda: np.full(shape, 0.1),
    }
    return batch.replace(**{name: make() for name, make in known.items()
                            if name in rule.needs.columns and getattr(batch, name) is None})


def _poisoned(batch: TokenBatch) -> TokenBatch:
    return batch.replace(**{
        name: np.where(batch.mask, getattr(batch, name), value).astype(getattr(batch, name).dtype)
        for name, value in _GARBAGE.items() if getattr(batch, name) is not None})


# ------------------------------------------------------------------ telling


def _refusal(rule: UpdateRule, batch: TokenBatch) -> str:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            rule.prepare(batch)
        except ValueError as error:
            return str(error)
        except Exception:
            return ""  # a clause will tell
    return ""


def _violation(clause: Clause, rule: UpdateRule, batch: TokenBatch) -> str:
    """Return what ``clause.broken`` says; an exception breaks the clause too, a warning does not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return clause.broken(rule, batch, CONDITIONED)
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0]
