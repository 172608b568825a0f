"""Instances that are autoregressive policies on token trees."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from entropy_theory import strategies
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.drawn_fields import (
    GRADED_REWARD,
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
    ANY,
    Parameter,
    Parameters,
    Range,
)
from entropy_theory.verification.formula.terms import ACTIONS, PROMPTS, RESPONSES, STATES, Axes
from entropy_theory.verification.instances import Batch, Instances, Larger

MOST_TREES = 3000
"""How many combinations of integer weights are enumerated on one tree, at most."""
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10)
"""Lengths of responses at which trees of the fewest tokens are tried too, as far as they stay small."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Trees:
    """The arguments of `tree_instances`, and the instances drawn from them."""

    scalars: tuple[Scalar, ...]
    tokens: tuple[int, int]
    horizon: tuple[int, int]
    reward: Literal["correct", "graded"] | None
    prompts: tuple[int, int] | None
    vectors: tuple[Vector, ...]

    def _shapes(self) -> list[tuple[TokenTree, int | None]]:
        return [
            (TokenTree(n_tokens, length), n_prompts)
            for length in range(self.horizon[0], self.horizon[1] + 1)
            for n_tokens in range(self.tokens[0], self.tokens[1] + 1)
            for n_prompts in (range(self.prompts[0], self.prompts[1] + 1) if self.prompts else (None,))
        ]

    def sample(self, generator: np.random.Generator, size: int) -> Batch:
        shapes = self._shapes()
        return self._draw(generator, size, *shapes[int(generator.integers(len(shapes)))])

    def _draw(
        self, generator: np.random.Generator, size: int, tree: TokenTree, n_prompts: int | None
    ) -> Batch:
        many = size * (n_prompts or 1)
        flat = sample_logits(generator, many * tree.n_states, tree.n_tokens)
        shape = (size, *_lead(n_prompts))
        batch: Batch = {"logits": flat.reshape(*shape, tree.n_states, tree.n_tokens)}
        if self.reward == "correct":
            drawn = sample_correct(generator, many, tree.n_responses)
            batch["correct"] = drawn.reshape(*shape, -1)
        elif self.reward == "graded":
            batch["reward"] = sample_vector(generator, GRADED_REWARD, (*shape, tree.n_responses))
        for vector in self.vectors:
            batch[vector.name] = sample_vector(
                generator, vector, (*shape, tree.n_states, tree.n_tokens))
        return {**batch, **sample_scalars(generator, self.scalars, size)}

    def _sample_large(self, generator: np.random.Generator, size: int, n: int) -> Batch:
        """Trees of n tokens, of one level where n is large; half of them at the regularized optimum."""
        tree = TokenTree(n, 1 if n > 6 else int(generator.integers(1, 4)))
        batch = self._draw(generator, size, tree, None if self.prompts is None else 1)
        if self.reward == "graded" and tree.horizon == 1 and "coefficient" in batch:
            chosen = generator.random(size) < 0.5
            one = np.zeros_like(batch["reward"])
            one[..., 0] = 1
            batch["coefficient"][chosen] = generator.uniform(0.5, 2.0, int(chosen.sum())) / math.log(n)
            batch["reward"][chosen] = one[chosen]
            scaled = one / batch["coefficient"].reshape(-1, *(1,) * (one.ndim - 1))
            batch["logits"][chosen] = scaled.reshape(batch["logits"].shape)[chosen]
        return batch

    def larger(self) -> Iterator[Larger]:
        """Yield the ways in which these trees can be larger."""
        (least, shortest), prompts = (self.tokens[0], self.horizon[0]), self.prompts
        one = prompts[0] if prompts else None
        if least != self.tokens[1]:
            yield Larger(unit="tokens", fewest=least, draw=self._sample_large)
        if shortest < self.horizon[1]:
            yield Larger(
                unit="tokens long", fewest=shortest,
                sizes=tuple(h for h in LENGTHS if least**h <= MOST_TREES),
                draw=lambda generator, size, n: self._draw(generator, size, TokenTree(least, n), one))
        if prompts and prompts[0] < prompts[1]:
            yield Larger(
                unit="prompts", fewest=prompts[0], sizes=(1, 2, 3, 4, 16),
                draw=lambda generator, size, n: self._draw(
                    generator, size, TokenTree(least, shortest), n))

    def enumerate(self, largest_total: int) -> Iterator[Batch]:
        """Weights 1 and 2 (later 3, ...) at each state, on trees with few enough instances."""
        for largest in range(2, max(2, largest_total // 3) + 1):
            for tree, n_prompts in self._shapes():
                entries = (n_prompts or 1) * tree.n_states
                rows = list(_state_weights(tree.n_tokens, largest))
                if len(rows) ** entries <= MOST_TREES:
                    shape = (*_lead(n_prompts), tree.n_states, tree.n_tokens)
                    weights = (np.reshape(w, shape).tolist()
                               for w in itertools.product(rows, repeat=entries)
                               if largest == 2 or largest in itertools.chain(*w))
                    yield from product({"weights": weights, **self._columns(tree, n_prompts)})

    def _columns(self, tree: TokenTree, n_prompts: int | None) -> dict[str, Iterable[Any]]:
        columns: dict[str, Iterable[Any]] = {}
        outcomes = tree.n_responses * (n_prompts or 1)
        response_shape = (*_lead(n_prompts), tree.n_responses)
        if self.reward == "correct":
            columns["correct"] = _small_masks(outcomes, response_shape)
        elif self.reward == "graded":
            columns["reward"] = [np.asarray(m, float).tolist()
                                 for m in _small_masks(outcomes, response_shape)]
        for vector in self.vectors:
            columns[vector.name] = _unit_vectors(
                vector, (*_lead(n_prompts), tree.n_states, tree.n_tokens))
        for scalar in self.scalars:
            columns[scalar.name] = map(float, scalar.grid)
        return columns


def _lead(n_prompts: int | None) -> tuple[int, ...]:
    return () if n_prompts is None else (n_prompts,)


def tree_instances(
    *scalars: Scalar,
    tokens: tuple[int, int] = (2, 3),
    horizon: tuple[int, int] = (1, 3),
    reward: Literal["correct", "graded"] | None = "correct",
    prompts: tuple[int, int] | None = None,
    vectors: tuple[Vector, ...] = (),
) -> Instances:
    """Autoregressive policies on complete token trees (`entropy_theory.token_tree`).

    Fields are ``logits`` [states, tokens], and ``correct`` [responses], a mask that is never empty, or
    ``reward`` [responses] in [0, 1]. There is one field [states, tokens] per vector, and one field per
    scalar. With ``prompts`` each prompt has a tree of its own, on a leading axis of ``logits``,
    ``correct``, ``reward`` and vectors.

    Args:
        scalars: coefficients, learning rates and the like.
        tokens: smallest and largest vocabulary; if both are equal, the statement is about no other.
        horizon: shortest and longest response; if both are equal, the statement is about no other.
        reward: 0/1 rewards of responses as a mask, graded ones, or none.
        prompts: fewest and most prompts; if both are equal, the statement is about no other.
        vectors: per (state, token) numbers, such as a logit step.
    """
    drawn = _Trees(scalars=scalars, tokens=tokens, horizon=horizon, reward=reward, prompts=prompts,
                   vectors=vectors)
    return Instances(
        strategy=strategies.token_trees(
            tokens=tokens, horizon=horizon, reward=reward, prompts=prompts,
            vectors={v.name: vector_entries(v) for v in vectors}, **scalar_entries(scalars),
        ),
        sample=drawn.sample,
        enumerate=drawn.enumerate,
        movable=("logits", *(v.name for v in vectors if v.range == ANY), *(s.name for s in scalars)),
        ranges={s.name: (s.low, s.high) for s in scalars},
        families=f"trees of {tokens[0]}-{tokens[1]} tokens, {horizon[0]}-{horizon[1]} long; Gaussian, "
                 "tied, saturated, nearly tied and Dirichlet logits",
        large=tuple(drawn.larger()),
        parameters=_tree_parameters(scalars, tokens, reward, prompts is not None, vectors),
    )


def with_rewards_in(parameters: Parameters, range: Range) -> Parameters:
    """The parameters with graded rewards in another range, for what holds of more than [0, 1]."""
    return dataclasses.replace(parameters, fields=tuple(
        dataclasses.replace(p, range=range) if p.name == "reward" else p for p in parameters.fields))


def _tree_parameters(
    scalars: Sequence[Scalar], tokens: tuple[int, int], reward: str | None, prompts: bool,
    vectors: Sequence[Vector],
) -> Parameters:
    lead: Axes = (PROMPTS,) if prompts else ()
    outcome = () if reward is None else (
        Parameter(name="correct", axes=(*lead, RESPONSES), kind="mask", nonempty=True)
        if reward == "correct" else
        Parameter(name="reward", axes=(*lead, RESPONSES), range=GRADED_REWARD.range),
    )
    return Parameters(fields=(
        Parameter(name="logits", axes=(*lead, STATES, ACTIONS)), *outcome,
        *(Parameter(name=v.name, axes=(*lead, STATES, ACTIONS), range=v.range) for v in vectors),
        *(Parameter(name=s.name, range=s.range) for s in scalars),
    ), fewest=tokens[0], most=tokens[1] if tokens[0] == tokens[1] else None)


def _unit_vectors(vector: Vector, shape: tuple[int, ...]) -> list[Any]:
    """Vectors with one entry that is not the grid's first value."""
    found = []
    for value in vector.grid[1:]:
        for k in range(math.prod(shape)):
            flat = np.full(math.prod(shape), float(vector.grid[0]))
            flat[k] = float(value)
            found.append(flat.reshape(shape).tolist())
    return found


def _state_weights(n_tokens: int, largest: int) -> Iterator[tuple[int, ...]]:
    return (w for w in itertools.product(range(1, largest + 1), repeat=n_tokens)
            if math.gcd(*w) == 1)


def _small_masks(n: int, shape: tuple[int, ...]) -> list[Any]:
    """Masks in which each prompt has a right response; where there are too many, small ones."""
    groups = shape[0] if len(shape) > 1 else 1
    each = n // groups
    one = masks(each) if each <= 4 else [
        tuple(k in chosen for k in range(each))
        for size in (1, 2) for chosen in itertools.combinations(range(each), size)
    ]
    return [np.reshape(m, shape).tolist() for m in itertools.product(one, repeat=groups)]
