"""Checks that a rule's coefficients depend only on what it declares (`entropy_theory.reads`).

Engines leave out what a rule does not read, and sum rows that are equal to it. So each undeclared name is
changed to other values that it might have, with all else kept: scores and state terms must not change.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Set
from typing import Any

import numpy as np

from entropy_theory.reads import RATIO
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.outputs import difference, outputs
from entropy_theory.update_rules.rule import UpdateRule

LOG_PROBS = ("log_prob", "old_log_prob")
ENTROPIES = ("entropy", "clamped_entropy", "old_entropy")
TOKENS = ("state", "action")
STEPS = (1, 57, 10**6)
SEEDS = (1, 20251008)


def reads_undeclared(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Find the first name on which the rule depends undeclared, with a place; "" if there is none."""
    reads = rule.needs.reads
    whole = _filled(batch, listed=bool(rule.needs.listing))
    expected = outputs(rule, whole)
    if difference(expected, outputs(rule, whole), 0.0):
        return ""  # It remembers, and no change can be told from that: the clause of `remembers` tells.
    for remedy, other in _changes(whole, reads):
        if violation := difference(expected, outputs(rule, other), accuracy):
            return f"{violation} (declare {remedy} in reads)"
    if "sequence" not in reads and (violation := _tells_sequences_apart(rule, whole, accuracy)):
        return f"{violation} (declare 'sequence' in reads)"
    return "" if "rows" in reads else _counts_rows(rule, whole, accuracy)


def remembers(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Find out whether a rule's coefficients change in a second call, after other batches and seeds."""
    other = batch.take_sequences(slice(None, None, -1))
    asked = [batch.replace(step=step, seed=seed) for step, seed in ((0, 0), (5, 1), (100, 1))]
    asked.append(other.replace(reward=1.0 - other.reward, listed=batch.listed, step=3, seed=2))

    def answers(batches: list[TokenBatch]) -> list[dict[str, Any]]:
        # Copies: a rule that overwrites its batch has another fault.
        copies = (each.replace(**{name: np.array(column) for name, column in each._columns()})
                  for each in batches)
        return [outputs(rule, each) for each in copies]

    try:
        before = answers(asked)
    except Exception:
        return ""  # A rule that fails at once keeps nothing: the clause of its scores reports the error.
    try:
        after = answers(asked[::-1])
    except Exception as error:
        return f"two calls on the same batch differ: a later one raises {type(error).__name__}: {error}"
    for each, expected, found in zip(asked, before, reversed(after), strict=True):
        if violation := difference(expected, found, 0.0):
            return (f"two calls on the same batch differ: asked again at step {each.step}, {violation}. "
                    "Keep nothing from call to call and draw nothing: read batch.step and batch.seed")
    return ""


def _changes(batch: TokenBatch, reads: Set[str]) -> Iterator[tuple[str, TokenBatch]]:
    """Yield batches in which an undeclared name has other values, with what would have to be declared."""
    rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(batch.log_prob).tobytes()))
    shape = batch.mask.shape
    # Some near certainty, some far in the tail; multiples of 1/4, so that differences stay exact.
    far = rng.choice([0.0, 0.25, 1.0, 3.0, 8.0, 20.0], size=shape)
    log_probs: dict[str, Any] = {name: getattr(batch, name) for name in LOG_PROBS}
    if RATIO in reads and not reads & set(LOG_PROBS):
        lower = 0.25 * np.ceil(4 * np.maximum(*log_probs.values()).clip(0)) + far
        yield "'log_prob' or 'old_log_prob', whichever it reads,", batch.replace(
            **{name: values - lower for name, values in log_probs.items()})
    for name in LOG_PROBS:
        if name not in reads and RATIO not in reads:
            yield f"'{name}', or 'ratio' if it is in ratios alone,", batch.replace(**{name: -far})
    for name in ("sampling_log_prob", "reference_log_prob"):
        if name not in reads:
            yield f"'{name}'", batch.replace(**{name: -rng.permutation(far.ravel()).reshape(shape)})
    for name in (*ENTROPIES, "entropy_effect"):
        if name not in reads:
            yield f"'{name}'", batch.replace(**{name: rng.permutation(far.ravel()).reshape(shape)})
    for name in TOKENS:
        if name not in reads:
            yield f"'{name}'", batch.replace(**{name: rng.integers(0, 4, size=shape)})
    for name, values in (("step", STEPS), ("seed", SEEDS)):
        if name not in reads:
            yield f"'{name}'", batch.replace(**{name: int(rng.choice(values))})


def _tells_sequences_apart(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Change ids, on the batch and where all its tokens are alike, since identity mostly breaks ties."""
    shape = batch.mask.shape
    ids = 7 + 3 * np.random.default_rng(shape[-2]).permutation(shape[-2])[:, None]
    alike = batch.replace(old_log_prob=np.full(shape, -1.0), log_prob=np.full(shape, -0.75))
    for rows in (batch, alike):
        other = rows.replace(sequence=np.broadcast_to(ids, shape).copy())
        if violation := difference(outputs(rule, rows), outputs(rule, other), accuracy):
            return violation
    return ""


def _counts_rows(rule: UpdateRule, batch: TokenBatch, accuracy: float) -> str:
    """Write some rows twice, each with half of the weight, as rows that stand for several are."""
    rows = batch.mask.shape[-2]
    rng = np.random.default_rng(rows)
    twice = np.concatenate([np.arange(rows), np.flatnonzero(rng.random(rows) < 0.5), [0]])
    share = 1 / np.bincount(twice)[twice]
    split = batch.take_sequences(twice)
    split = split.replace(weight=split.weight * share[:, None])
    if "sequence" not in rule.needs.reads:
        ids = np.broadcast_to(np.arange(len(twice))[:, None], split.mask.shape)
        split = split.replace(sequence=ids.copy())
    # Mean lengths go by weight where rows stand for more, or less, than themselves.
    expected = outputs(rule, batch.replace(listed=True))
    try:
        found = outputs(rule, split.replace(listed=True))
    except ValueError as error:
        return f"rows that are split in two are refused: {error} (declare 'rows' in reads)"
    doubled = {name: column[..., twice, :] for name, column in expected.items()}
    violation = difference(doubled, found, accuracy)
    return violation and f"{violation} where rows are split in two (declare 'rows' in reads)"


def _filled(batch: TokenBatch, *, listed: bool) -> TokenBatch:
    """Add every column that can be changed, so that a rule that looks for one finds it."""
    shape = batch.mask.shape
    made: dict[str, Any] = {
        "sampling_log_prob": batch.old_log_prob, "reference_log_prob": batch.old_log_prob,
        "entropy": np.ones(shape), "clamped_entropy": np.full(shape, 0.5),
        "old_entropy": np.ones(shape), "entropy_effect": np.ones(shape),
        "state": np.arange(batch.mask.size).reshape(shape), "action": np.zeros(shape, dtype=int),
        "sequence": np.broadcast_to(np.arange(shape[-2])[:, None], shape).copy(),
    }
    missing = {name: column for name, column in made.items() if getattr(batch, name) is None}
    return batch.replace(**missing, listed=listed or batch.listed)
