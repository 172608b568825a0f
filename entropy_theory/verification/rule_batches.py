"""The batches on which rules are held to their contract."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from entropy_theory import tabular
from entropy_theory.token_batch import TokenBatch, concatenate
from entropy_theory.update_rules.rule import UpdateRule

_GARBAGE: dict[str, Any] = {
    "reward": 7.0, "group": 99, "sampling_temperature": 1.0,
    **dict.fromkeys(("log_prob", "old_log_prob", "entropy", "clamped_entropy", "old_entropy",
                     "reference_log_prob", "sampling_log_prob", "advantage", "entropy_effect",
                     "target_offset"), np.nan),
}
"""Values that may stand where the mask is False."""
_SIZES = (
    (1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 2, 2), (1, 3, 1), (2, 2, 1), (1, 3, 2), (2, 2, 2), (2, 3, 3),
)
"""The sizes of the small batches: (prompts, responses to each, tokens of the longest)."""
SIMPLER: tuple[Callable[[TokenBatch], TokenBatch], ...] = (
    lambda batch: batch.replace(log_prob=batch.old_log_prob),
    lambda batch: batch.replace(log_prob=batch.log_prob - batch.old_log_prob - 1.0,
                                old_log_prob=0 * batch.old_log_prob - 1.0),
    lambda batch: batch.replace(entropy=0 * batch.log_prob + 1.0),
    lambda batch: batch.replace(reward=0 * batch.reward),
)
"""Changes that are tried to make a batch easier to read."""


def batches_for(rule: UpdateRule, repeats: int, seed: int) -> Iterator[TokenBatch]:
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
    columns = ("log_prob", "old_log_prob", "entropy", "reference_log_prob", "sampling_log_prob",
               "old_entropy")
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
        batch = TokenBatch(
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
        drift = batch.log_prob - old
        # Near enough for some tokens to be within bounds, and far enough for others not to be.
        return batch.replace(sampling_log_prob=old - drift, old_entropy=batch.entropy * np.exp(drift))

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


def _filled(batch: TokenBatch, rule: UpdateRule) -> TokenBatch:
    """Add the columns that the rule requires and samples do not bring."""
    shape = batch.mask.shape
    assert batch.entropy is not None
    entropy = batch.entropy
    known: dict[str, Callable[[], Any]] = {
        "clamped_entropy": lambda: entropy / 2,
        "state": lambda: np.arange(batch.mask.size).reshape(shape),
        "action": lambda: np.zeros(shape, dtype=int),
        "advantage": lambda: batch.reward - 0.5,
        "coefficient": lambda: np.full(shape, 0.1),
    }
    return batch.replace(**{name: make() for name, make in known.items()
                            if name in rule.needs.columns and getattr(batch, name) is None})


def poisoned(batch: TokenBatch) -> TokenBatch:
    """Return the batch with other values on padding."""
    return batch.replace(**{
        name: np.where(batch.mask, getattr(batch, name), value).astype(getattr(batch, name).dtype)
        for name, value in _GARBAGE.items() if getattr(batch, name) is not None})
