"""The instances that a claim is about, drawn three ways: by strategy, by sampler, exhaustively.

An *instance* is a dict of exact data: integer ``weights`` (policy weights/sum, logits = log weights)
or float ``logits``, a ``correct`` mask, scalars such as ``temperature``. A *batch* is a dict of arrays
with one leading axis; all its instances have the same number of actions. Margins receive a batch as
`Cases` (``i.logits``, ``i.correct``, ``i.temperature``), in float64 or in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from entropy_theory.verification.arithmetic import Ball, Mask, Reals
from entropy_theory.verification.formula.statement import (
    Parameter,
    Parameters,
)
from entropy_theory.verification.formula.terms import ACTIONS

Instance: TypeAlias = Mapping[str, object]
"""Fields by name: integers, fractions, floats or booleans, alone or in nested lists."""
Json: TypeAlias = Any
"""The values that `to_json` writes: numbers, strings that are fractions, nested lists of them."""
Batch: TypeAlias = dict[str, np.ndarray]


class Cases:
    """A batch of instances as a margin sees it: an attribute for each of the instances' fields.

    Each is an array with one leading axis, in float64 or in balls; masks are boolean.

    Attributes:
        logits: [B, actions], or [B, states, tokens] on token trees.
        correct: [B, actions], or [B, responses], where the instances have a correct set.
    """

    logits: Reals
    correct: Mask

    def __init__(self, **fields: Reals) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Reals:
        """Only asked for a field that is not there; the declaration also types those that are."""
        raise AttributeError(f"these instances have no field '{name}', only {sorted(vars(self))}")


Margin: TypeAlias = Callable[[Cases], Reals]
"""One number for each instance, or several, of which the smallest counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Larger:
    """A way in which instances can be larger than the sampler draws them.

    Attributes:
        unit: the kind of thing there is more of: actions, tokens, steps of a response, prompts.
        draw: (generator, rows, how many) -> a float batch, of the shapes in which constants that depend
            on size are attained.
        fewest: how many there are at least.
        sizes: how many are drawn; empty for those of the search (`search.Effort`).
    """

    unit: str
    fewest: int
    draw: Callable[[np.random.Generator, int, int], Batch]
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Instances:
    """The set a claim quantifies over.

    Attributes:
        strategy: one instance at a time, for Hypothesis; simplest first.
        sample: (generator, size) -> a float batch; called repeatedly by the adversary.
        enumerate: (largest total weight) -> exact batches, simplest first.
        movable: float fields that local ascent may change.
        ranges: (low, high) of the fields that are positive numbers; they move in log space.
        families: what the sampler draws from, in words.
        large: the ways in which instances can be far larger; empty where size means nothing.
        parameters: what the statement quantifies over, each with its range; the sampler draws from a part
            of it. None where the instances are not parameters of a formula.
        finite: whether ``enumerate`` lists the whole set, so that nothing is sampled.
    """

    strategy: st.SearchStrategy[Instance]
    sample: Callable[[np.random.Generator, int], Batch]
    enumerate: Callable[[int], Iterator[Batch]]
    movable: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    families: str = ""
    large: tuple[Larger, ...] = ()
    parameters: Parameters | None = None
    finite: bool = False


def drawn_by(sample: Callable[[np.random.Generator, int], Batch]) -> st.SearchStrategy[Instance]:
    """A sampler's instances, one at a time, for Hypothesis; they shrink by their seeds alone."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: pick(sample(np.random.default_rng(seed), 1), 0))


def listed_instances(rows: Sequence[Instance], families: str) -> Instances:
    """A finite set of exact instances, such as the rows of a printed table, in the given order.

    Raises:
        ValueError: an empty list of rows.
    """
    if not rows:
        raise ValueError("a list of instances must not be empty")
    rows = [dict(row) for row in rows]

    def sample(generator: np.random.Generator, size: int) -> Batch:
        return as_batch(rows[int(generator.integers(len(rows)))])

    def enumerate_all(largest_total: int) -> Iterator[Batch]:
        return (as_batch(row) for row in rows)

    return Instances(strategy=st.sampled_from(rows), sample=sample, enumerate=enumerate_all,
                     families=families, finite=True, parameters=_listed_parameters(rows))


def _listed_parameters(rows: Sequence[Instance]) -> Parameters | None:
    """Rows of numbers, alone or in one list for each field; None for rows of anything else."""
    found: list[tuple[tuple[str, Fraction | tuple[Fraction, ...]], ...]] = []
    lengths: set[int] = set()
    for row in rows:
        fields: list[tuple[str, Fraction | tuple[Fraction, ...]]] = []
        for name, value in row.items():
            entries = value if isinstance(value, list) else [value]
            if name in ("weights", "logits") or not all(
                    isinstance(v, (int, Fraction)) and not isinstance(v, bool) for v in entries):
                return None
            exact = tuple(Fraction(v) for v in entries if isinstance(v, (int, Fraction)))
            fields.append((name, exact if isinstance(value, list) else exact[0]))
            lengths |= {len(exact)} if isinstance(value, list) else set()
        found.append(tuple(fields))
    if len(lengths) > 1:
        return None
    axes = {name: (ACTIONS,) if isinstance(value, tuple) else () for name, value in found[0]}
    length = lengths.pop() if lengths else 1
    return Parameters(fields=tuple(Parameter(name=name, axes=a) for name, a in axes.items()),
                      fewest=length, most=length, rows=tuple(found))


def as_floats(batch: Batch) -> Cases:
    """Return the batch as the namespace of float64 arrays that a margin receives."""
    fields = {
        name: value if value.dtype == bool else np.asarray(value, dtype=np.float64)
        for name, value in batch.items()
    }
    if "weights" in fields:
        fields["logits"] = np.log(fields["weights"])
    return Cases(**fields)


def as_balls(instance: Instance) -> Cases:
    """One instance as a batch of one in ball arithmetic, at the current precision."""
    fields = {name: _balls(value)[None, ...] for name, value in instance.items()}
    if "weights" in fields:
        fields["logits"] = np.log(fields["weights"])
    return Cases(**fields)


def as_batch(instance: Instance) -> Batch:
    """One instance as a float batch of one."""
    return {
        name: np.asarray(value if np.asarray(value).dtype == bool else np.asarray(value, float))[None]
        for name, value in instance.items()
    }


def pick(batch: Batch, index: int) -> Instance:
    """One instance of a batch, as exact data; floats that are simple fractions become fractions."""
    return {name: _exact(value[index].tolist()) for name, value in batch.items()}


def to_json(instance: Instance) -> dict[str, Json]:
    """The instance as JSON: fractions as strings, everything else as it is."""
    return {name: _plain(value) for name, value in instance.items()}


def from_json(record: Mapping[str, Json]) -> Instance:
    """Inverse of `to_json`."""
    return {name: _parse(value) for name, value in record.items()}


def _balls(value: object) -> Reals:
    from flint import arb

    array = np.asarray(value, dtype=object)
    if array.size and all(isinstance(v, (bool, np.bool_)) for v in array.flat):
        return array.astype(bool)

    def ball(number: Any) -> Ball:
        if isinstance(number, Fraction):
            return arb(number.numerator) / arb(number.denominator)
        return arb(number)

    return np.asarray(np.frompyfunc(ball, 1, 1)(array), dtype=object)


def _exact(value: object) -> object:
    if isinstance(value, list):
        return [_exact(v) for v in value]
    if isinstance(value, float) and math.isfinite(value):
        simple = Fraction(value).limit_denominator(100_000)
        if float(simple) == value:
            return simple.numerator if simple.denominator == 1 else simple
    return value


def _plain(value: object) -> Json:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Fraction) else value


def _parse(value: Json) -> object:
    if isinstance(value, list):
        return [_parse(v) for v in value]
    return Fraction(value) if isinstance(value, str) else value
