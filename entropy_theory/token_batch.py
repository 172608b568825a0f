"""TokenBatch: the one table that every update rule reads, for a bandit as for an LLM batch.

Columns have shape [..., sequences, positions]. Leading axes are independent runs; statistics are
taken over the last two axes where ``mask`` holds. A bandit state listed exactly is [actions, 1]:
each action is a sequence of one token, and ``weight`` its probability under the sampling policy.

A batch may hold two kinds of rows. *Ordinary* rows are samples of the policy at temperature 1.
*Tempered* rows (AEPO's second batch) are samples of the policy at another temperature. ``weight``
sums to 1 over the ordinary rows and, separately, over the tempered rows.

The table shows how a rule treats a batch that is not as it should be. Every rule is tested on it
(`tests/entropy_theory/test_bad_batches.py`):

============================================ ======================================================
the batch                                    what happens
============================================ ======================================================
two columns of different shapes              ValueError when it is built, naming both shapes
a required column, such as the old           when it is built: ValueError if it is None, TypeError if
log-probabilities, missing                   it is left out, naming the column
an optional column missing that a rule reads ValueError from ``prepare``, naming rule and column
the mask False everywhere (in any run)       ValueError from ``prepare``
NaN or infinity on a response token, or a    ValueError from ``prepare``, naming the column
number whose square overflows
rewards that vary within a sequence          ValueError from ``prepare`` of rules that need one for
                                             each sequence: all but ``reinforce`` with estimator
                                             "reward" and rules given an ``advantage`` column
samples, where the rule needs every answer   ValueError from ``prepare`` (``natural-gradient``,
                                             option ``group_size``)
all rewards of a prompt equal, but for       its advantage is 0 exactly; other terms (bonus, KL,
rounding (`entropy_theory.rounding`)         right answers of the second batch) act; metric
                                             ``groups_without_signal`` counts
no right answer in the second batch          a step without AEPO's term; metric
                                             ``tempered_positive_share`` is 0
no second batch                              a step without AEPO's term; metric ``tempered_sequences``
                                             is 0
============================================ ======================================================

In a batch that is ``checked`` no value is looked at, so the rows about values do not hold.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from entropy_theory.array_types import Array, TokenColumn, TokenMask
from entropy_theory.policy import namespace

REQUIRED_COLUMNS = ("log_prob", "old_log_prob", "reward", "mask", "weight")
OPTIONAL_COLUMNS = (
    "advantage",
    "entropy",
    "clamped_entropy",
    "old_entropy",
    "reference_log_prob",
    "sampling_log_prob",
    "sampling_temperature",
    "tempered",
    "coefficient",
    "target_offset",
    "entropy_effect",
    "group",
    "sequence",
    "state",
    "action",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenBatch:
    """Per-token statistics of one optimizer step (or of any cut of it), [..., sequences, positions].

    Raises ValueError when a required column is None, two columns differ in shape or the mask is not
    boolean; the message names them.
    """

    log_prob: TokenColumn
    """log pi(a_t | s_t) of the policy being trained, at temperature 1, nats."""
    old_log_prob: TokenColumn
    """Log-probability of the token under the policy that the step started from, nats."""
    reward: TokenColumn
    """The sequence's reward, repeated over its tokens; outside the mask it may have any value."""
    mask: TokenMask
    """Boolean: the token belongs to a response (not padding, not prompt)."""
    weight: TokenColumn
    """The expectation under the sampling policy: 1/N for N sampled tokens, pi(a) for a listing."""
    advantage: TokenColumn | None = None
    """Advantages that every advantage-based rule uses in place of its own estimate, where given."""
    entropy: TokenColumn | None = None
    """Entropy of pi(. | s_t) at temperature 1, nats."""
    clamped_entropy: TokenColumn | None = None
    """AEnt's clamped entropy of pi(. | s_t), nats."""
    old_entropy: TokenColumn | None = None
    """Entropy, at s_t, of the policy that the step started from (that of ``old_log_prob``), nats."""
    reference_log_prob: TokenColumn | None = None
    """log-probability of the token under a frozen reference policy, nats."""
    sampling_log_prob: TokenColumn | None = None
    """log-probability under what the token was drawn from (pi^T for tempered rows), nats."""
    sampling_temperature: TokenColumn | None = None
    """Temperature the row was sampled at; 1 for ordinary rows."""
    tempered: TokenMask | None = None
    """Boolean: the row belongs to the second batch. By default, sampling_temperature != 1; give it
    when the second batch is drawn at temperature 1 (AEPO's ablation, Eq. 2)."""
    coefficient: TokenColumn | None = None
    """The coefficient that a controller chose for this step, for a rule that adapts its own."""
    target_offset: TokenColumn | None = None
    """By how much the entropy wanted of the row's prompt is above the rule's target, nats; None for the
    same target at all prompts."""
    entropy_effect: TokenColumn | None = None
    """Derivative of H by c for each token, where the parameters move by c P grad log pi(a_t | s_t). H is
    the mean entropy of the ordinary rows' states, in nats. P is the optimizer's scaling of a gradient, up
    to one positive factor for all tokens. With independent logits and P = 1 it is the derivative of the
    entropy of s_t alone, times the share of the state in the mean."""
    group: TokenColumn | None = None
    """Integer id of the prompt; None if all rows answer one prompt."""
    sequence: TokenColumn | None = None
    """Integer id of the sequence, unique and stable under any split."""
    state: TokenColumn | None = None
    """Integer id of the state s_t (prompt and prefix); equal prefixes share it."""
    action: TokenColumn | None = None
    """Integer id of the token a_t."""
    step: int = 0
    """The optimizer step about to be taken, counted from 0 over the whole run. Several steps on one batch
    of samples have different numbers, and a resumed run goes on counting."""
    seed: int = 0
    """The run's seed: one for all its steps. Randomness is keyed by (seed, step, sequence, position)."""
    listed: bool = False
    """Whether the rows list every answer of each prompt with its probability as weight, or stand for such
    a listing (the simulator's pooled rows). The caller vouches for it: rules that need a listing do not
    check, and mean lengths go by ``weight``. A part of a listing is not listed."""
    checked: bool = False
    """Whether the caller vouches for the values: rules then look at none, and are functions of arrays
    that a tracer or compiler can follow. Shapes and names of columns are checked all the same."""
    prepared: Mapping[str, Array] = field(default_factory=dict)
    """Columns that rules' ``prepare`` added, because computing them needs the whole batch."""

    def __post_init__(self) -> None:
        for name in REQUIRED_COLUMNS:
            if getattr(self, name) is None:
                raise ValueError(
                    f"a TokenBatch needs the column '{name}', got None"
                    + (": give the log-probabilities under the policy that sampled, or 'log_prob' "
                       "itself where each batch is used for one step" * (name == "old_log_prob"))
                )
        shape = self.log_prob.shape
        if len(shape) < 2:
            raise ValueError(f"columns are [..., sequences, positions], log_prob has shape {shape}")
        _check_columns(shape, self._columns())

    def _columns(self) -> list[tuple[str, Array]]:
        named = [(name, getattr(self, name)) for name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS]
        return [(name, column) for name, column in named if column is not None] + list(
            self.prepared.items()
        )

    def replace(self, **changes: Any) -> TokenBatch:
        """Return a copy with some fields replaced; only the new columns are checked.

        Raises ValueError as the class does.
        """
        lost = any(name in changes and changes[name] is None for name in REQUIRED_COLUMNS)
        if lost or "log_prob" in changes or not changes.keys() <= _FIELDS:
            return dataclasses.replace(self, **changes)
        copy = object.__new__(TokenBatch)
        for name in _FIELDS:
            object.__setattr__(copy, name, changes.get(name, getattr(self, name)))
        columns = [(name, changes[name]) for name in changes if name in _COLUMNS]
        new = changes.get("prepared", {})
        columns += [(name, new[name]) for name in new if new[name] is not self.prepared.get(name)]
        _check_columns(
            self.log_prob.shape, [(name, column) for name, column in columns if column is not None]
        )
        return copy

    def with_prepared(self, **columns: Array) -> TokenBatch:
        """Return a copy with columns added to ``prepared``."""
        return self.replace(prepared={**self.prepared, **columns})

    def take_sequences(self, index: Any) -> TokenBatch:
        """Return the rows ``index`` (slice or integer array) of the sequence axis, a micro-batch."""
        cut = {name: column[..., index, :] for name, column in self._columns()}
        own = {name: cut[name] for name in cut if name not in self.prepared}
        return self.replace(
            **own, prepared={name: cut[name] for name in self.prepared}, listed=False
        )

    def require(self, rule: str, *names: str) -> None:
        """Raise ValueError unless all columns ``names`` are there, naming the missing ones."""
        missing = [name for name in names if getattr(self, name) is None]
        if missing:
            raise ValueError(
                f"update rule '{rule}' needs the column {', '.join(repr(n) for n in missing)}, "
                "which this TokenBatch lacks"
            )

    def check_values(self, names: Sequence[str] = ()) -> None:
        """Raise ValueError unless there are response tokens, on which all that rules multiply is finite.

        That is the required columns, ``names`` and those that every rule takes where they are given.
        """
        if self.checked:
            return
        xp = namespace(self.log_prob)
        if not bool(xp.all(xp.any(self.mask, axis=(-2, -1)))):
            raise ValueError(
                "the mask is False everywhere: the batch has no response token (were all rewards "
                "missing, or all responses cut off and masked?)"
            )
        # A sum is finite only if its terms are: one look at the usual batch, where all is well. Rules
        # multiply these columns, by themselves and by each other: squares overflow before a product does.
        total = sum(column * column
                    for column in (self.log_prob, self.old_log_prob, self.reward, self.weight))
        names = (*names, *(name for name in ("advantage", "target_offset")
                           if getattr(self, name) is not None))
        if not names and bool(xp.all(xp.isfinite(total) | ~self.mask)):
            return
        for name in ("log_prob", "old_log_prob", "reward", "weight", *names):
            column = getattr(self, name)
            # An action of probability 0 in an exact listing has log-probability -inf and weight 0.
            counts = self.mask & (self.weight != 0) if name.endswith("log_prob") else self.mask
            if not bool(xp.all(xp.isfinite(column * column) | ~counts)):
                raise ValueError(
                    f"column '{name}' holds NaN or infinite values on response tokens, or numbers whose "
                    "squares are: look for a diverged policy or a faulty reward function"
                )

    @property
    def kinds(self) -> tuple[Array, ...]:
        """Masks of the ordinary and of the tempered tokens, without a kind of which there is none.

        Where values are not looked at, both are there if rows could be tempered.
        """
        if self.tempered is None and self.sampling_temperature is None:
            return (self.mask,)
        both = (self.is_ordinary, self.is_tempered)
        xp = namespace(self.mask)
        return both if self.checked else tuple(rows for rows in both if bool(xp.any(rows)))

    @property
    def is_tempered(self) -> Array:
        """Boolean [..., sequences, positions]: masked tokens of the tempered rows."""
        if self.tempered is not None:
            return self.mask & self.tempered
        if self.sampling_temperature is not None:
            return self.mask & (self.sampling_temperature != 1)
        return namespace(self.mask).zeros_like(self.mask)

    @property
    def is_ordinary(self) -> Array:
        """Boolean [..., sequences, positions]: masked tokens of the ordinary rows."""
        return self.mask & ~self.is_tempered


_FIELDS = frozenset(field.name for field in dataclasses.fields(TokenBatch))
_COLUMNS = frozenset(REQUIRED_COLUMNS + OPTIONAL_COLUMNS)


def _check_columns(shape: Any, columns: list[tuple[str, Array]]) -> None:
    for name, column in columns:
        if name == "mask" and column.dtype != namespace(column).bool:
            raise ValueError(f"column 'mask' must be boolean, got dtype {column.dtype}")
        if column.shape != shape:
            raise ValueError(
                f"column '{name}' has shape {tuple(column.shape)}, 'log_prob' has {tuple(shape)}"
            )


def concatenate(batches: Sequence[TokenBatch]) -> TokenBatch:
    """Join the rows of all batches, in order, in one batch, whose step and seed are the first's.

    Raises ValueError when a column is present in some batches only, or shapes do not fit.
    """
    first = batches[0]
    xp = namespace(first.log_prob)
    shapes = [tuple(batch.mask.shape) for batch in batches]
    if len({(*shape[:-2], shape[-1]) for shape in shapes}) > 1:
        raise ValueError(
            f"batches of shapes {', '.join(map(str, shapes))} cannot be joined: they may differ in the "
            "number of sequences only, pad the shorter ones with a mask of False"
        )
    columns = {}
    for name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS:
        parts = [getattr(batch, name) for batch in batches]
        if all(part is None for part in parts):
            continue
        if any(part is None for part in parts):
            raise ValueError(f"column '{name}' is present in some of the batches only")
        columns[name] = xp.concat(parts, axis=-2)
    return first.replace(**columns, prepared={}, listed=all(batch.listed for batch in batches),
                         checked=all(batch.checked for batch in batches))


def masked_sum(values: Array, mask: Array) -> Array:
    """Sum over sequences and positions where ``mask`` holds: [..., 1, 1].

    Values where the mask is False do not count, NaN included.
    """
    xp = namespace(values)
    return xp.sum(xp.where(mask, values, xp.zeros_like(values)), axis=(-2, -1), keepdims=True)


def sequence_weight(batch: TokenBatch, rows: Array) -> Array:
    """One weight a sequence, [..., sequences, 1]: that of its tokens where ``rows`` holds, else 0.

    Group statistics count sequences, not tokens; all tokens of a sampled sequence carry the same
    weight, so the largest is the sequence's.
    """
    xp = namespace(batch.weight)
    return xp.max(xp.where(rows, batch.weight, xp.zeros_like(batch.weight)), axis=-1, keepdims=True)


def sequence_value(
    column: Array, rows: Array, name: str = "reward", *, checked: bool = False
) -> Array:
    """The one value of each sequence, [..., sequences, 1]: that of its tokens where ``rows`` holds.

    A sequence without such a token has the value at its first position.

    Raises:
        ValueError: a column that varies within a sequence, named ``name``, unless it is ``checked``.
    """
    if column.shape[-1] == 1:
        return column
    xp = namespace(column)
    at = xp.argmax(xp.astype(rows, xp.int64), axis=-1, keepdims=True)
    first = xp.take_along_axis(column, at, axis=-1)
    if not checked and bool(xp.any(rows & (column != first))):
        raise ValueError(
            f"column '{name}' varies within a sequence, but the rule needs one value per sequence: "
            "repeat it over the sequence's tokens, or give an 'advantage' column. For a reward of each "
            "token use 'reinforce' with estimator 'reward'"
        )
    return first


def mean_entropy(batch: TokenBatch) -> Array:
    """Mean token entropy of the ordinary rows, per sequence and then over sequences: [...], nats.

    Controllers read this mean (Cui et al., Eq. 5; AEPO, section 3.2). It is the full-vocabulary entropy
    at temperature 1, with tempered rows left out.

    Raises:
        ValueError: the batch lacks ``entropy``, or has no ordinary row.
    """
    return mean_over_sequences(batch, "entropy")


def mean_over_sequences(batch: TokenBatch, name: str) -> Array:
    """Mean of a column over the ordinary rows, per sequence and then over sequences: [...].

    Raises ValueError as `mean_entropy`.
    """
    batch.require("mean_over_sequences", name)
    xp = namespace(batch.log_prob)
    rows = batch.is_ordinary
    if not batch.checked and not bool(xp.all(xp.any(rows, axis=(-2, -1)))):
        raise ValueError("no ordinary (temperature 1) token in the batch: check mask and tempered")
    per_sequence = sequence_mean(getattr(batch, name), rows)
    weight = sequence_weight(batch, rows)
    return (xp.sum(weight * per_sequence, axis=(-2, -1)) / xp.sum(weight, axis=(-2, -1)))


def sequence_mean(column: Array, rows: Array) -> Array:
    """Mean over each sequence's tokens where ``rows`` holds, 0 where none is: [..., sequences, 1]."""
    xp = namespace(column)
    zeros = xp.zeros_like(column)
    length = xp.sum(xp.where(rows, zeros + 1, zeros), axis=-1, keepdims=True)
    total = xp.sum(xp.where(rows, column, zeros), axis=-1, keepdims=True)
    return total / xp.clip(length, 1, None)
