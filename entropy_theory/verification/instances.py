"""Where a claim lives: its instances, drawn three ways (by strategy, by sampler, exhaustively).

An *instance* is a dict of exact data: integer ``weights`` (policy weights/sum, logits = log weights)
or float ``logits``, a ``correct`` mask, scalars such as ``temperature``. A *batch* is a dict of arrays
with one leading axis; all its instances have the same number of actions. Margins receive a batch as
a namespace (``i.logits``, ``i.correct``, ``i.temperature``), in float64 or in balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from entropy_theory import strategies

Instance = dict[str, Any]
Batch = dict[str, np.ndarray]


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
    """

    strategy: Any
    sample: Callable[[np.random.Generator, int], Batch]
    enumerate: Callable[[int], Iterator[Batch]]
    movable: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    families: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scalar:
    """A positive number of each instance, such as a temperature.

    Attributes:
        name: field of the instance.
        low: smallest value drawn.
        high: largest value drawn (log-uniform in between).
        grid: exact values for exhaustive search, simplest first.
    """

    name: str
    low: float
    high: float
    grid: tuple[Fraction | int, ...]


def bandit_instances(
    *scalars: Scalar,
    actions: tuple[int, int] = (2, 8),
    correct: bool = True,
    step: bool = False,
) -> Instances:
    """Softmax policies at one state, with a correct set and any positive scalars.

    Fields: ``logits`` [n], ``correct`` [n] if asked for (never empty, may be full), ``step`` [n] if
    asked for (a logit step), and one field per scalar.

    Args:
        scalars: temperatures, learning rates and the like.
        actions: fewest and most actions.
        correct: whether an instance has a correct set.
        step: whether an instance has an arbitrary logit step.
    """
    low, high = actions
    if not 2 <= low <= high:
        raise ValueError(f"actions must be 2 <= fewest <= most, got {actions}")

    def sample(generator: np.random.Generator, size: int) -> Batch:
        n = int(generator.integers(low, high + 1))
        batch: Batch = {"logits": sample_logits(generator, size, n)}
        if correct:
            batch["correct"] = sample_correct(generator, size, n)
        if step:
            scale = np.exp(generator.uniform(-4, 2.5, (size, 1)))
            batch["step"] = scale * generator.standard_normal((size, n))
        for scalar in scalars:
            batch[scalar.name] = np.exp(
                generator.uniform(math.log(scalar.low), math.log(scalar.high), size)
            )
        return batch

    def enumerate_small(largest_total: int) -> Iterator[Batch]:
        for total in range(low, largest_total + 1):
            for n in range(low, min(high, total, 5) + 1):
                rows = [
                    (weights, mask, change, values)
                    for weights in _weights_with_total(total, n)
                    for mask in (_masks(n) if correct else (None,))
                    for change in (_unit_steps(n) if step else (None,))
                    for values in itertools.product(*(s.grid for s in scalars))
                ]
                if not rows:
                    continue
                names = [s.name for s in scalars]
                batch: Batch = {"weights": np.array([row[0] for row in rows])}
                if correct:
                    batch["correct"] = np.array([row[1] for row in rows])
                if step:
                    batch["step"] = np.array([row[2] for row in rows], dtype=float)
                for k, name in enumerate(names):
                    batch[name] = np.array([float(row[3][k]) for row in rows])
                yield batch

    fields: dict[str, Any] = {}
    for scalar in scalars:
        fields[scalar.name] = st.one_of(
            st.sampled_from(scalar.grid), st.floats(scalar.low, scalar.high)
        )
    movable = ("logits", *(("step",) if step else ()), *(s.name for s in scalars))
    return Instances(
        strategy=strategies.bandits(
            actions=actions, with_correct=correct, with_step=step, **fields
        ),
        sample=sample,
        enumerate=enumerate_small,
        movable=movable,
        ranges={s.name: (s.low, s.high) for s in scalars},
        families=f"{low}-{high} actions; Gaussian, tied, saturated, nearly tied and Dirichlet logits",
    )


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


def as_floats(batch: Batch) -> SimpleNamespace:
    """The batch as a margin sees it in float64."""
    fields = {
        name: value if value.dtype == bool else np.asarray(value, dtype=np.float64)
        for name, value in batch.items()
    }
    if "weights" in fields:
        fields["logits"] = np.log(fields["weights"])
    return SimpleNamespace(**fields)


def as_balls(instance: Instance) -> SimpleNamespace:
    """One instance as a batch of one in ball arithmetic, at the current precision."""
    fields = {name: _balls(value)[None, ...] for name, value in instance.items()}
    if "weights" in fields:
        fields["logits"] = np.log(fields["weights"])
    return SimpleNamespace(**fields)


def as_batch(instance: Instance) -> Batch:
    """One instance as a float batch of one."""
    return {
        name: np.asarray(value if np.asarray(value).dtype == bool else np.asarray(value, float))[None]
        for name, value in instance.items()
    }


def pick(batch: Batch, index: int) -> Instance:
    """One instance of a batch, as exact data; floats that are simple fractions become fractions."""
    return {name: _exact(value[index].tolist()) for name, value in batch.items()}


def to_json(instance: Instance) -> dict[str, Any]:
    """The instance as JSON: fractions as strings, everything else as it is."""
    return {name: _plain(value) for name, value in instance.items()}


def from_json(record: dict[str, Any]) -> Instance:
    """Inverse of `to_json`."""
    return {name: _parse(value) for name, value in record.items()}


def _weights_with_total(total: int, n: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """Nondecreasing positive integers with this sum and no common factor."""

    def partitions(rest: int, parts: int, smallest: int) -> Iterator[tuple[int, ...]]:
        if parts == 1:
            yield (rest,)
            return
        for first in range(smallest, rest // parts + 1):
            for others in partitions(rest - first, parts - 1, first):
                yield (first, *others)

    return (w for w in partitions(total, n, least) if math.gcd(*w) == 1)


def _masks(n: int) -> list[tuple[bool, ...]]:
    masks = [m for m in itertools.product((False, True), repeat=n) if any(m)]
    return sorted(masks, key=sum)


def _unit_steps(n: int) -> list[tuple[int, ...]]:
    return [s for s in itertools.product((-1, 0, 1), repeat=n) if any(s)]


def _balls(value: Any) -> np.ndarray:
    from flint import arb

    array = np.asarray(value, dtype=object)
    if array.size and all(isinstance(v, (bool, np.bool_)) for v in array.flat):
        return array.astype(bool)

    def ball(number: Any) -> Any:
        if isinstance(number, Fraction):
            return arb(number.numerator) / arb(number.denominator)
        return arb(number)

    return np.asarray(np.frompyfunc(ball, 1, 1)(array), dtype=object)


def _exact(value: Any) -> Any:
    if isinstance(value, list):
        return [_exact(v) for v in value]
    if isinstance(value, float) and math.isfinite(value):
        simple = Fraction(value).limit_denominator(1000)
        if float(simple) == value:
            return simple.numerator if simple.denominator == 1 else simple
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Fraction) else value


def _parse(value: Any) -> Any:
    if isinstance(value, list):
        return [_parse(v) for v in value]
    return Fraction(value) if isinstance(value, str) else value
