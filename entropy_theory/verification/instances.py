"""The instances that a claim is about, drawn three ways: by strategy, by sampler, exhaustively.

An *instance* is a dict of exact data: integer ``weights`` (policy weights/sum, logits = log weights)
or float ``logits``, a ``correct`` mask, scalars such as ``temperature``. A *batch* is a dict of arrays
with one leading axis; all its instances have the same number of actions. Margins receive a batch as
`Cases` (``i.logits``, ``i.correct``, ``i.temperature``), in float64 or in balls.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from hypothesis import strategies as st

from entropy_theory import strategies
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.arithmetic import Ball, Mask, Reals
from entropy_theory.verification.formula.statement import (
    ANY,
    Parameter,
    Parameters,
    Range,
)
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PROMPTS,
    RESPONSES,
    STATES,
    Axes,
)

Instance: TypeAlias = Mapping[str, object]
"""Fields by name: integers, fractions, floats or booleans, alone or in nested lists."""
Json: TypeAlias = Any
"""What `to_json` writes: numbers, strings that are fractions, nested lists of them."""
Batch: TypeAlias = dict[str, np.ndarray]

MOST_ROWS = 20_000
"""The largest number of instances in one enumerated batch."""
MOST_VECTORS = 250
"""How many combinations of a vector's grid values are enumerated for one policy, at most."""
MOST_TREES = 3000
"""How many combinations of integer weights are enumerated on one tree, at most."""
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10)
"""Lengths of responses at which trees of the fewest tokens are tried too, as far as they stay small."""


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
        unit: what there is more of: actions, tokens, steps of a response, prompts.
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
            of it. None where the instances are no parameters of a formula.
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
            raise ValueError(f"'{self.name}' is no name of a field: use letters, digits and _")
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


def bandit_instances(
    *scalars: Scalar,
    actions: tuple[int, int] = (2, 8),
    correct: bool = True,
    step: bool = False,
    vectors: tuple[Vector, ...] = (),
) -> Instances:
    """Softmax policies at one state, with a correct set and any positive scalars.

    Fields: ``logits`` [n], ``correct`` [n] if asked for (never empty, may be full), ``step`` [n] if
    asked for (a logit step), one field [n] per vector and one field per scalar.

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

    def draw(generator: np.random.Generator, size: int, n: int) -> Batch:
        batch: Batch = {"logits": sample_logits(generator, size, n)}
        if correct:
            batch["correct"] = sample_correct(generator, size, n)
        if step:
            scale = np.exp(generator.uniform(-4, 2.5, (size, 1)))
            batch["step"] = scale * generator.standard_normal((size, n))
        for vector in vectors:
            batch[vector.name] = _sample_vector(generator, vector, (size, n))
        return {**batch, **_sample_scalars(generator, scalars, size)}

    def sample(generator: np.random.Generator, size: int) -> Batch:
        return draw(generator, size, int(generator.integers(low, high + 1)))

    def sample_large(generator: np.random.Generator, size: int, n: int) -> Batch:
        batch = draw(generator, size, n)
        heavy = (generator.random(size) < 0.7) & (n > 2)
        batch["logits"][heavy] = _two_heavy_actions(generator, int(heavy.sum()), n)
        if step:
            # Towards one of the two and away from the other: where curvature is largest.
            apart = np.zeros((int(heavy.sum()), n))
            apart[:, 0] = np.exp(generator.uniform(-6, 1, len(apart)))
            apart[:, 1] = -apart[:, 0]
            batch["step"][heavy] = apart
        return batch

    def enumerate_small(largest_total: int) -> Iterator[Batch]:
        for total in range(low, largest_total + 1):
            for n in range(low, min(high, total, 5) + 1):
                columns: dict[str, Iterable[Any]] = {"weights": _weights_with_total(total, n)}
                if correct:
                    columns["correct"] = _masks(n)
                if step:
                    columns["step"] = _unit_steps(n)
                for vector in vectors:
                    columns[vector.name] = _grid_vectors(vector, n)
                for scalar in scalars:
                    columns[scalar.name] = map(float, scalar.grid)
                yield from _product(columns)

    fields: dict[str, Any] = {}
    for scalar in scalars:
        fields[scalar.name] = st.one_of(
            st.sampled_from(scalar.grid), st.floats(scalar.low, scalar.high)
        )
    movable = ("logits", *(("step",) if step else ()), *(s.name for s in scalars))
    return Instances(
        strategy=strategies.bandits(
            actions=actions, with_correct=correct, with_step=step,
            vectors={v.name: _vector_entries(v) for v in vectors}, **fields
        ),
        sample=sample,
        enumerate=enumerate_small,
        movable=movable,
        ranges={s.name: (s.low, s.high) for s in scalars},
        families=f"{low}-{high} actions; Gaussian, tied, saturated, nearly tied and Dirichlet logits",
        large=() if low == high else (Larger(unit="actions", fewest=low, draw=sample_large),),
        parameters=Parameters(fields=(
            Parameter(name="logits", axes=(ACTIONS,)),
            *((Parameter(name="correct", axes=(ACTIONS,), kind="mask", nonempty=True),)
              if correct else ()),
            *((Parameter(name="step", axes=(ACTIONS,)),) if step else ()),
            *(Parameter(name=v.name, axes=(ACTIONS,), range=v.range) for v in vectors),
            *(Parameter(name=s.name, range=s.range) for s in scalars),
        ), fewest=low, most=low if low == high else None),
    )


def tree_instances(
    *scalars: Scalar,
    tokens: tuple[int, int] = (2, 3),
    horizon: tuple[int, int] = (1, 3),
    reward: Literal["correct", "graded"] | None = "correct",
    prompts: tuple[int, int] | None = None,
    vectors: tuple[Vector, ...] = (),
) -> Instances:
    """Autoregressive policies on complete token trees (`entropy_theory.token_tree`).

    Fields: ``logits`` [states, tokens]; ``correct`` [responses], a mask that is never empty, or
    ``reward`` [responses] in [0, 1]; one field [states, tokens] per vector, one field per scalar. With
    ``prompts`` each prompt has a tree of its own, on a leading axis of ``logits``, ``correct``,
    ``reward`` and vectors.

    Args:
        scalars: coefficients, learning rates and the like.
        tokens: smallest and largest vocabulary; if they are one number, the statement is about no other.
        horizon: shortest and longest response.
        reward: 0/1 rewards of responses as a mask, graded ones, or none.
        prompts: fewest and most prompts; for these and the horizon too, one number is no other.
        vectors: per (state, token) numbers, such as a logit step.
    """
    shapes = [
        (TokenTree(n_tokens, length), n_prompts)
        for length in range(horizon[0], horizon[1] + 1)
        for n_tokens in range(tokens[0], tokens[1] + 1)
        for n_prompts in (range(prompts[0], prompts[1] + 1) if prompts else (None,))
    ]

    def lead(n_prompts: int | None) -> tuple[int, ...]:
        return () if n_prompts is None else (n_prompts,)

    def sample(generator: np.random.Generator, size: int) -> Batch:
        return draw(generator, size, *shapes[int(generator.integers(len(shapes)))])

    def draw(
        generator: np.random.Generator, size: int, tree: TokenTree, n_prompts: int | None
    ) -> Batch:
        many = size * (n_prompts or 1)
        flat = sample_logits(generator, many * tree.n_states, tree.n_tokens)
        shape = (size, *lead(n_prompts))
        batch: Batch = {"logits": flat.reshape(*shape, tree.n_states, tree.n_tokens)}
        if reward == "correct":
            drawn = sample_correct(generator, many, tree.n_responses)
            batch["correct"] = drawn.reshape(*shape, -1)
        elif reward == "graded":
            batch["reward"] = _sample_vector(generator, GRADED_REWARD, (*shape, tree.n_responses))
        for vector in vectors:
            batch[vector.name] = _sample_vector(
                generator, vector, (*shape, tree.n_states, tree.n_tokens))
        return {**batch, **_sample_scalars(generator, scalars, size)}

    def sample_large(generator: np.random.Generator, size: int, n: int) -> Batch:
        """Trees of n tokens, of one level where n is large; half of them at the regularized optimum."""
        tree = TokenTree(n, 1 if n > 6 else int(generator.integers(1, 4)))
        batch = draw(generator, size, tree, None if prompts is None else 1)
        if reward == "graded" and tree.horizon == 1 and "coefficient" in batch:
            chosen = generator.random(size) < 0.5
            one = np.zeros_like(batch["reward"])
            one[..., 0] = 1
            batch["coefficient"][chosen] = generator.uniform(0.5, 2.0, int(chosen.sum())) / math.log(n)
            batch["reward"][chosen] = one[chosen]
            scaled = one / batch["coefficient"].reshape(-1, *(1,) * (one.ndim - 1))
            batch["logits"][chosen] = scaled.reshape(batch["logits"].shape)[chosen]
        return batch

    (least, shortest), one = (tokens[0], horizon[0]), prompts[0] if prompts else None
    larger = [] if least == tokens[1] else [Larger(unit="tokens", fewest=least, draw=sample_large)]
    if shortest < horizon[1]:
        larger.append(Larger(
            unit="tokens long", fewest=shortest,
            sizes=tuple(h for h in LENGTHS if least**h <= MOST_TREES),
            draw=lambda generator, size, n: draw(generator, size, TokenTree(least, n), one)))
    if prompts and prompts[0] < prompts[1]:
        larger.append(Larger(
            unit="prompts", fewest=prompts[0], sizes=(1, 2, 3, 4, 16),
            draw=lambda generator, size, n: draw(generator, size, TokenTree(least, shortest), n)))

    def enumerate_small(largest_total: int) -> Iterator[Batch]:
        """Weights 1 and 2 (later 3, ...) at each state, on trees with few enough instances."""
        for largest in range(2, max(2, largest_total // 3) + 1):
            for tree, n_prompts in shapes:
                entries = (n_prompts or 1) * tree.n_states
                rows = list(_state_weights(tree.n_tokens, largest))
                if len(rows) ** entries > MOST_TREES:
                    continue
                shape = (*lead(n_prompts), tree.n_states, tree.n_tokens)
                columns: dict[str, Iterable[Any]] = {
                    "weights": (np.reshape(w, shape).tolist()
                                for w in itertools.product(rows, repeat=entries)
                                if largest == 2 or largest in itertools.chain(*w))
                }
                outcomes = tree.n_responses * (n_prompts or 1)
                response_shape = (*lead(n_prompts), tree.n_responses)
                if reward == "correct":
                    columns["correct"] = _small_masks(outcomes, response_shape)
                elif reward == "graded":
                    columns["reward"] = [np.asarray(m, float).tolist()
                                         for m in _small_masks(outcomes, response_shape)]
                for vector in vectors:
                    columns[vector.name] = _unit_vectors(vector, shape)
                for scalar in scalars:
                    columns[scalar.name] = map(float, scalar.grid)
                yield from _product(columns)

    fields: dict[str, Any] = {
        s.name: st.one_of(st.sampled_from(s.grid), st.floats(s.low, s.high)) for s in scalars
    }
    return Instances(
        strategy=strategies.token_trees(
            tokens=tokens, horizon=horizon, reward=reward, prompts=prompts,
            vectors={v.name: _vector_entries(v) for v in vectors}, **fields,
        ),
        sample=sample,
        enumerate=enumerate_small,
        movable=("logits", *(v.name for v in vectors if v.range == ANY), *(s.name for s in scalars)),
        ranges={s.name: (s.low, s.high) for s in scalars},
        families=f"trees of {tokens[0]}-{tokens[1]} tokens, {horizon[0]}-{horizon[1]} long; Gaussian, "
                 "tied, saturated, nearly tied and Dirichlet logits",
        large=tuple(larger),
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


def _two_heavy_actions(generator: np.random.Generator, size: int, n: int) -> np.ndarray:
    """[size, n] logits: two equally likely actions hold a given mass, the others share the rest."""
    each = generator.uniform(0.02, 0.49, (size, 1))
    logits = np.zeros((size, n))
    logits[:, :2] = np.log(each * (n - 2) / (1 - 2 * each))
    return logits


def sample_correct(generator: np.random.Generator, size: int, n: int) -> np.ndarray:
    """[size, n] masks, none empty, every size of set about equally often."""
    order = np.argsort(generator.random((size, n)), axis=-1)
    return order < generator.integers(1, n + 1, (size, 1))


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


def _sample_scalars(
    generator: np.random.Generator, scalars: Sequence[Scalar], size: int
) -> Batch:
    return {
        s.name: np.exp(generator.uniform(math.log(s.low), math.log(s.high), size)) for s in scalars
    }


def _sample_vector(
    generator: np.random.Generator, vector: Vector, shape: tuple[int, ...]
) -> np.ndarray:
    """Uniform values and values of the grid; half of the instances have only grid values."""
    uniform = generator.uniform(vector.low, vector.high, shape)
    exact = generator.choice(np.array([float(v) for v in vector.grid]), size=shape)
    only_exact = generator.random((shape[0], *(1 for _ in shape[1:]))) < 0.5
    return np.where(only_exact | (generator.random(shape) < 0.2), exact, uniform)


def _vector_entries(vector: Vector) -> st.SearchStrategy[float]:
    return st.one_of(
        st.sampled_from(vector.grid).map(float),
        st.floats(vector.low, vector.high, allow_subnormal=False),
    )


def _grid_vectors(vector: Vector, n: int) -> list[tuple[float, ...]]:
    values = [float(v) for v in vector.grid]
    while len(values) ** n > MOST_VECTORS and len(values) > 2:
        values.pop()
    return list(itertools.product(values, repeat=n))


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
    one = _masks(each) if each <= 4 else [
        tuple(k in chosen for k in range(each))
        for size in (1, 2) for chosen in itertools.combinations(range(each), size)
    ]
    return [np.reshape(m, shape).tolist() for m in itertools.product(one, repeat=groups)]


def _product(columns: Mapping[str, Iterable[Any]]) -> Iterator[Batch]:
    """Batches of the rows of a product, at most `MOST_ROWS` each."""
    rows = itertools.product(*columns.values())
    while chunk := list(itertools.islice(rows, MOST_ROWS)):
        yield {name: np.array([row[k] for row in chunk]) for k, name in enumerate(columns)}


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


def _masks(n: int) -> list[tuple[bool, ...]]:
    masks = [m for m in itertools.product((False, True), repeat=n) if any(m)]
    return sorted(masks, key=sum)


def _unit_steps(n: int) -> list[tuple[int, ...]]:
    return [s for s in itertools.product((-1, 0, 1), repeat=n) if any(s)]


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
