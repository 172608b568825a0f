"""The contract of update rules, as checks that find a small batch on which a rule breaks it.

Training cuts a batch into micro-batches, deals it out over processes, pads it, and runs on torch in
float32. The simulator runs on numpy, many runs at once, and pools rows where a rule allows it. A rule
that keeps the clauses (`rule_clauses`) takes the same step everywhere. The package's own rules are held
to them by its tests, a user's by ``python -m entropy_theory check my_rules.py``.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

import numpy as np

from entropy_theory import entropy_change, policy, tabular
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import UpdateRule
from entropy_theory.verification.rule_batches import SIMPLER, batches_for, converted
from entropy_theory.verification.rule_clauses import BASIC, CLAUSES, REFUSED, Clause, is_undefined

ACCURACY = 1e-12
"""Allowed error relative to the largest score: sums over some dozen rows, a few roundings each."""
CONDITIONED = 1e-8
"""The allowed error of a user's rule, which may divide by what nearly cancels: four digits less."""
BLOCKED = "not checked: see the broken one above"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClauseResult:
    """The outcome of checking one clause on a rule."""

    clause: Clause
    outcome: Literal["kept", "broken", "skipped"]
    detail: str
    """The number of batches that kept it, the fault, or why it was not checked."""
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
    ratio_error: float
    """The standard error of that ratio."""


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
    batches = list(batches_for(rule, repeats, seed))
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
                clause is REFUSED and is_undefined(rule, found[-1].batch))):
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
    for simplify in () if rule.needs.listing else SIMPLER:
        simpler = simplify(batch)
        if not _refusal(rule, simpler) and (other := _violation(clause, rule, simpler)):
            batch, violation = simpler, other
    return ClauseResult(clause=clause, outcome="broken", detail=violation, batch=batch)


def entropy_effect(rule: UpdateRule, *, seed: int = 0, policies: int = 200) -> EntropyEffect:
    """Measure the effect of expected steps on entropy, on so many random policies each of 3 to 8 actions.

    A random few actions are right. Logits are N(0, 1), and 1 nat higher for right actions, as after some
    training: entropy then mostly falls under GRPO. Steps are those on the exact listing of all actions,
    per unit learning rate, under the tabular assumption.

    Raises:
        ValueError: a listing that the rule refuses, for instance because it counts samples.
    """
    rng = np.random.default_rng(seed)
    rates: list[tuple[np.ndarray, np.ndarray]] = []
    for actions in range(3, 9):
        reward = (rng.random((policies, 1, actions)) < 0.5).astype(float)
        reward[..., :2] = 1.0, 0.0
        logits = rng.normal(size=reward.shape) + reward
        rates.append(tuple(
            entropy_change.first_order(logits, step).ravel() for step in (
                expected_step(rule, logits, reward, rng.normal(size=logits.shape)),
                expected_step(Grpo(), logits, reward))))
    own, grpo = (np.concatenate(part) for part in zip(*rates, strict=True))
    noise = ACCURACY * np.abs(grpo).max()
    ratio = own.mean() / grpo.mean()
    return EntropyEffect(
        policies=len(own), falls=float((own < -noise).mean()),
        grpo_falls=float((grpo < -noise).mean()), ratio=float(ratio),
        ratio_error=float(np.std(own - ratio * grpo) / np.sqrt(len(own)) / abs(grpo.mean())))


def expected_step(
    rule: UpdateRule, logits: np.ndarray, reward: np.ndarray, reference_logits: np.ndarray | None = None
) -> np.ndarray:
    """Return a rule's step on the exact listing of all actions, per unit learning rate.

    Args:
        rule: the rule; its controllers see these policies alone.
        logits: [policies, states, actions].
        reward: of that shape.
        reference_logits: of that shape, the reference policy of rules that have one.

    Raises:
        ValueError: a listing that the rule refuses.
    """
    controller = rule.controller()
    batch = tabular.exact_batch(
        logits, reward, reference_logits=reference_logits,
        removed_fraction=rule.needs.removed_fraction,
        temperature=None if controller is None else controller.observe(
            policy.entropy(logits).mean(axis=-1)))
    return np.asarray(tabular.logit_step(logits, batch, rule))


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


def describe(batch: TokenBatch, columns: Sequence[str] = ()) -> list[str]:
    """Describe the rows of a batch, one per line: reward, prompt and what differs by response token."""
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
