"""Fields of instances that are drawn: scalars, vectors, logits and masks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from entropy_theory.verification.formula.statement import Range
from entropy_theory.verification.instances import Batch

MOST_ROWS = 20_000
"""The largest number of instances in one enumerated batch."""
UNSET = Range()
"""Stands for the range of what is drawn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Drawn:
    """A field of the instances that is drawn.

    Attributes:
        name: field of the instance.
        low: smallest value drawn.
        high: largest value drawn.
        grid: exact values for exhaustive search, simplest first.
        range: the values that the statement is about; by default those that are drawn, from low to high.

    Raises:
        ValueError: a value that may be drawn lies outside the range or is not finite, low is above
            high, or the grid is empty.
    """

    name: str
    low: float
    high: float
    grid: tuple[Fraction | int, ...]
    range: Range = UNSET

    def __post_init__(self) -> None:
        said = f"'{self.name}' is drawn from {self.low} to {self.high} and {self.grid}"
        if not self.name.isidentifier():
            # Formulas, the kernel's too, call it by this name.
            raise ValueError(f"'{self.name}' cannot name a field: use letters, digits and _")
        if not self.grid:
            raise ValueError(f"{said}: give its grid a value, the simplest first")
        if not all(map(math.isfinite, (self.low, self.high, *self.grid))):
            raise ValueError(f"{said}: give finite numbers")
        if self.low > self.high:
            raise ValueError(f"{said}: low is above high")
        if isinstance(self, Scalar) and min(self.low, *self.grid) <= 0:
            raise ValueError(
                f"{said}, but a Scalar is positive, drawn in its logarithm: draw from above 0 (for a "
                "number of any sign, the difference of a positive one and a constant)")
        if self.range is UNSET:
            values = [Fraction(v) for v in (self.low, self.high, *self.grid)]
            object.__setattr__(self, "range", Range(low=min(values), high=max(values)))
        if not self.range.contains([self.low, self.high, *self.grid]):
            raise ValueError(f"{said}, which is not within {self.range}")


class Scalar(_Drawn):
    """A positive number of each instance, such as a temperature, drawn log-uniformly."""

    __slots__ = ()


class Vector(_Drawn):
    """A real number of each action, such as a reward, drawn uniformly, or from the grid."""

    __slots__ = ()


UNIT = Range(low=0, high=1)
GRADED_REWARD = Vector(name="reward", low=0.0, high=1.0, grid=(0, 1, Fraction(1, 2)), range=UNIT)


def sample_logits(generator: np.random.Generator, size: int, n: int) -> np.ndarray:
    """[size, n] logits from five families, mixed: the shapes in which inequalities break."""
    scale = np.exp(generator.uniform(-1.5, 2.0, (size, 1)))
    gaussian = scale * generator.standard_normal((size, n))
    ties = generator.integers(0, 3, (size, n)) * scale
    saturated = 30.0 * generator.standard_normal((size, n))
    nearly_tied = generator.integers(0, 2, (size, n)) * scale + 1e-3 * gaussian
    dirichlet = np.log(generator.standard_gamma(0.5, (size, n)) + 1e-300)
    family = generator.choice(5, size=(size, 1), p=(0.4, 0.2, 0.1, 0.1, 0.2))
    return np.choose(family, (gaussian, ties, saturated, nearly_tied, dirichlet))


def sample_correct(generator: np.random.Generator, size: int, n: int) -> np.ndarray:
    """[size, n] masks, none empty, every size of set about equally often."""
    order = np.argsort(generator.random((size, n)), axis=-1)
    return order < generator.integers(1, n + 1, (size, 1))


def sample_scalars(
    generator: np.random.Generator, scalars: Sequence[Scalar], size: int
) -> Batch:
    """Values of the scalars, each log-uniform in its range."""
    return {
        s.name: np.exp(generator.uniform(math.log(s.low), math.log(s.high), size)) for s in scalars
    }


def sample_vector(
    generator: np.random.Generator, vector: Vector, shape: tuple[int, ...]
) -> np.ndarray:
    """Uniform values and values of the grid; half of the instances have only grid values."""
    uniform = generator.uniform(vector.low, vector.high, shape)
    exact = generator.choice(np.array([float(v) for v in vector.grid]), size=shape)
    only_exact = generator.random((shape[0], *(1 for _ in shape[1:]))) < 0.5
    return np.where(only_exact | (generator.random(shape) < 0.2), exact, uniform)


def scalar_entries(scalars: Sequence[Scalar]) -> dict[str, st.SearchStrategy[Any]]:
    """A strategy for each of the scalars."""
    return {s.name: st.one_of(st.sampled_from(s.grid), st.floats(s.low, s.high)) for s in scalars}


def vector_entries(vector: Vector) -> st.SearchStrategy[float]:
    """A strategy for one entry of a vector."""
    return st.one_of(
        st.sampled_from(vector.grid).map(float),
        st.floats(vector.low, vector.high, allow_subnormal=False),
    )


def product(columns: Mapping[str, Iterable[Any]]) -> Iterator[Batch]:
    """Batches of the rows of a product, at most `MOST_ROWS` each."""
    rows = itertools.product(*columns.values())
    while chunk := list(itertools.islice(rows, MOST_ROWS)):
        yield {name: np.array([row[k] for row in chunk]) for k, name in enumerate(columns)}


def masks(n: int) -> list[tuple[bool, ...]]:
    """All masks of n entries but the empty one, the smallest sets first."""
    masks = [m for m in itertools.product((False, True), repeat=n) if any(m)]
    return sorted(masks, key=sum)
