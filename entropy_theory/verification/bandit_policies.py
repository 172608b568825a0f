"""Instances that are softmax policies at one state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory import strategies
from entropy_theory.verification.claim import Condition
from entropy_theory.verification.drawn_fields import (
    Scalar,
    Vector,
    masks,
    product,
    sample_correct,
    sample_logits,
    sample_scalars,
    sample_vector,
    scalar_entries,
    vector_entries,
)
from entropy_theory.verification.formula.statement import (
    Parameter,
    Parameters,
)
from entropy_theory.verification.formula.terms import ACTIONS
from entropy_theory.verification.instances import Batch, Instances, Larger

MOST_VECTORS = 250
"""How many combinations of a vector's grid values are enumerated for one policy, at most."""

SOME_WRONG = Condition(latex="some action is wrong", value=lambda i: ~np.all(i.correct, axis=-1))
"""The hypothesis of many claims: where every action is right nothing is learned."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bandits:
    """The arguments of `bandit_instances`, and the instances drawn from them."""

    scalars: tuple[Scalar, ...]
    actions: tuple[int, int]
    correct: bool
    step: bool
    vectors: tuple[Vector, ...]

    def _draw(self, generator: np.random.Generator, size: int, n: int) -> Batch:
        batch: Batch = {"logits": sample_logits(generator, size, n)}
        if self.correct:
            batch["correct"] = sample_correct(generator, size, n)
        if self.step:
            scale = np.exp(generator.uniform(-4, 2.5, (size, 1)))
            batch["step"] = scale * generator.standard_normal((size, n))
        for vector in self.vectors:
            batch[vector.name] = sample_vector(generator, vector, (size, n))
        return {**batch, **sample_scalars(generator, self.scalars, size)}

    def sample(self, generator: np.random.Generator, size: int) -> Batch:
        return self._draw(generator, size, int(generator.integers(self.actions[0], self.actions[1] + 1)))

    def sample_large(self, generator: np.random.Generator, size: int, n: int) -> Batch:
        batch = self._draw(generator, size, n)
        heavy = (generator.random(size) < 0.7) & (n > 2)
        batch["logits"][heavy] = _two_heavy_actions(generator, int(heavy.sum()), n)
        if self.step:
            # Towards one of the two and away from the other: where curvature is largest.
            apart = np.zeros((int(heavy.sum()), n))
            apart[:, 0] = np.exp(generator.uniform(-6, 1, len(apart)))
            apart[:, 1] = -apart[:, 0]
            batch["step"][heavy] = apart
        return batch

    def enumerate(self, largest_total: int) -> Iterator[Batch]:
        low, high = self.actions
        for total in range(low, largest_total + 1):
            for n in range(low, min(high, total, 5) + 1):
                columns: dict[str, Iterable[Any]] = {"weights": _weights_with_total(total, n)}
                if self.correct:
                    columns["correct"] = masks(n)
                if self.step:
                    columns["step"] = _unit_steps(n)
                for vector in self.vectors:
                    columns[vector.name] = _grid_vectors(vector, n)
                for scalar in self.scalars:
                    columns[scalar.name] = map(float, scalar.grid)
                yield from product(columns)


def bandit_instances(
    *scalars: Scalar,
    actions: tuple[int, int] = (2, 8),
    correct: bool = True,
    step: bool = False,
    vectors: tuple[Vector, ...] = (),
) -> Instances:
    """Softmax policies at one state, with a correct set and any positive scalars.

    Fields are ``logits`` [n], and if asked for ``correct`` [n] (never empty, may be full) and ``step``
    [n], a logit step. There is one field [n] per vector and one field per scalar.

    Args:
        scalars: temperatures, learning rates and the like.
        actions: fewest and most actions.
        correct: whether an instance has a correct set.
        step: whether an instance has an arbitrary logit step.
        vectors: rewards, advantages and the like.
    """
    low, high = actions
    if not 2 <= low <= high:
        raise ValueError(f"actions must be 2 <= fewest <= most, got {actions}")
    drawn = _Bandits(scalars=scalars, actions=actions, correct=correct, step=step, vectors=vectors)
    fields: dict[str, Any] = scalar_entries(scalars)
    return Instances(
        strategy=strategies.bandits(
            actions=actions, with_correct=correct, with_step=step,
            vectors={v.name: vector_entries(v) for v in vectors}, **fields
        ),
        sample=drawn.sample,
        enumerate=drawn.enumerate,
        movable=("logits", *(("step",) if step else ()), *(s.name for s in scalars)),
        ranges={s.name: (s.low, s.high) for s in scalars},
        families=f"{low}-{high} actions; Gaussian, tied, saturated, nearly tied and Dirichlet logits",
        large=() if low == high else (Larger(unit="actions", fewest=low, draw=drawn.sample_large),),
        parameters=Parameters(fields=(
            Parameter(name="logits", axes=(ACTIONS,)),
            *((Parameter(name="correct", axes=(ACTIONS,), kind="mask", nonempty=True),)
              if correct else ()),
            *((Parameter(name="step", axes=(ACTIONS,)),) if step else ()),
            *(Parameter(name=v.name, axes=(ACTIONS,), range=v.range) for v in vectors),
            *(Parameter(name=s.name, range=s.range) for s in scalars),
        ), fewest=low, most=low if low == high else None),
    )


def _two_heavy_actions(generator: np.random.Generator, size: int, n: int) -> np.ndarray:
    """[size, n] logits: two equally likely actions hold a given mass, the others share the rest."""
    each = generator.uniform(0.02, 0.49, (size, 1))
    logits = np.zeros((size, n))
    logits[:, :2] = np.log(each * (n - 2) / (1 - 2 * each))
    return logits


def _grid_vectors(vector: Vector, n: int) -> list[tuple[float, ...]]:
    values = [float(v) for v in vector.grid]
    while len(values) ** n > MOST_VECTORS and len(values) > 2:
        values.pop()
    return list(itertools.product(values, repeat=n))


def _weights_with_total(total: int, n: int) -> Iterator[tuple[int, ...]]:
    """Nondecreasing positive integers with this sum and no common factor."""

    def partitions(rest: int, parts: int, smallest: int) -> Iterator[tuple[int, ...]]:
        if parts == 1:
            yield (rest,)
            return
        for first in range(smallest, rest // parts + 1):
            for others in partitions(rest - first, parts - 1, first):
                yield (first, *others)

    return (w for w in partitions(total, n, 1) if math.gcd(*w) == 1)


def _unit_steps(n: int) -> list[tuple[int, ...]]:
    return [s for s in itertools.product((-1, 0, 1), repeat=n) if any(s)]
