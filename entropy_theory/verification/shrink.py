"""Makes a counterexample small: fewer actions, equal logits, zeros, round numbers.

Each simpler instance is put to the same test as what was found; so what is returned is certified like it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.formula.statement import ANY, POSITIVE, Parameter, Range
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PROMPTS,
    RESPONSES,
    STATES,
    Axes,
    Axis,
)
from entropy_theory.verification.instances import Instance, Instances

T = TypeVar("T")
FEW = 40
"""Entries of a vector up to which each is simplified by itself."""


def shrink(
    violates: Callable[[Instance], T | None], instances: Instances, found: tuple[Instance, T],
    seconds: float,
) -> tuple[Instance, T]:
    """The simplest violation that greedy steps lead to, with its certificate.

    Args:
        violates: the certificate that an instance violates the statement; None if it does not.
        instances: the set that it is about. Instances of listed sets, or of kinds that are not parameters
            of a formula, stay as they are.
        found: a certified violation.
        seconds: processor time after which it stops.
    """
    parameters = instances.parameters
    if parameters is None or instances.finite or parameters.rows:
        return found
    fields = {p.name: p for p in parameters.fields}
    if not set(found[0]) <= {*fields, "weights"}:
        return found
    deadline = time.thread_time() + seconds
    improved = True
    while improved:
        improved, cost = False, _cost(found[0])
        for candidate in _simpler(found[0], instances, fields):
            if time.thread_time() > deadline:
                return found
            if _cost(candidate) >= cost:
                continue
            try:
                certificate = violates(candidate)
            except Exception:  # a margin of the user's may have no number there
                continue
            if certificate is not None:
                found, improved = (candidate, certificate), True
                break
    return found


# ---------------------------------------------------------------- how simple an instance is


def _cost(instance: Instance) -> tuple[int, float]:
    """The number of entries, then how much there is to say of them."""
    flat = [_flat(value) for value in instance.values()]
    said = 0.0
    for entries in flat:
        counts = Counter(entries)
        said += sum(map(_of_number, counts)) + 0.01 * (len(entries) - counts[0])
    return sum(map(len, flat)), said


def _of_number(value: Any) -> float:
    if isinstance(value, bool):
        return 0.0
    exact = Fraction(value)
    sign = 0.1 if exact < 0 else 0.0
    return math.log2(1 + abs(exact.numerator)) + 2 * math.log2(exact.denominator) + sign + (exact != 0)


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value]
    return [entry for part in value for entry in _flat(part)]


# ---------------------------------------------------------------- steps


def _simpler(
    instance: Instance, instances: Instances, fields: dict[str, Parameter]
) -> Iterator[Instance]:
    """Instances that may be simpler, the largest steps first."""
    fewest = {larger.unit: larger.fewest for larger in instances.large}
    arrays = {name: np.array(value, dtype=object) for name, value in instance.items()}
    axes = {name: fields["logits" if name == "weights" else name].axes for name in arrays}
    for smaller in _smaller(arrays, axes, fewest):
        if not any(fields[name].nonempty and not array.any(axis=-1).all()
                   for name, array in smaller.items() if name != "weights"):
            yield {name: array.tolist() for name, array in smaller.items()}
    for name, value in instance.items():
        bounds = POSITIVE if name == "weights" else fields[name].range
        if name != "weights" and fields[name].kind == "mask":
            yield from ({**instance, name: mask} for mask in _simpler_masks(value))
            continue
        for simpler in _simpler_numbers(value, bounds):
            whole = name != "weights" or all(isinstance(v, int) for v in _flat(simpler))
            if whole and bounds.contains(_flat(simpler)):
                yield {**instance, name: simpler}


Arrays = dict[str, np.ndarray]


def _smaller(
    arrays: Arrays, axes: Mapping[str, Axes], fewest: Mapping[str, int]
) -> Iterator[Arrays]:
    """Fewer actions, tokens, levels of a tree or prompts."""
    name = next((name for name in ("weights", "logits") if name in arrays), "")
    if not name:
        return
    logits = arrays[name]
    if STATES in axes[name]:
        tree = TokenTree.of(logits)
        sizes = [(n, tree.horizon) for n in range(fewest.get("tokens", tree.n_tokens), tree.n_tokens)]
        sizes += [(tree.n_tokens, h)
                  for h in range(fewest.get("tokens long", tree.horizon), tree.horizon)]
        cuts = [_subtree(tree, *size) for size in sizes]
    else:
        n = logits.shape[-1]
        least = fewest.get("actions", n)
        sizes_ = [*range(least, min(n, FEW)), *(n >> k for k in range(6, 0, -1)),
                  *(n - (n >> k) for k in range(2, 12)), n - 1]
        kept = [np.arange(size) for size in sizes_ if least <= size < n]
        kept += [np.delete(np.arange(n), k) for k in range(n) if least < n <= FEW]
        cuts = [{ACTIONS: keep} for keep in kept]
    for cut in cuts:
        smaller = {key: _taken(array, axes[key], cut) for key, array in arrays.items()}
        one = int(name == "weights")
        if (smaller[name] != one).any():
            yield {**smaller, name: np.full_like(smaller[name], one)}
        yield smaller
    if PROMPTS in axes[name] and len(logits) > fewest.get("prompts", len(logits)):
        for k in range(len(logits)):
            cut = {PROMPTS: np.delete(np.arange(len(logits)), k)}
            yield {key: _taken(array, axes[key], cut) for key, array in arrays.items()}


def _taken(array: np.ndarray, axes: Axes, cut: Mapping[Axis, Any]) -> np.ndarray:
    for place, axis in enumerate(axes):
        if axis is not None and axis in cut:
            array = np.take(array, cut[axis], axis=place)
    return array


def _subtree(tree: TokenTree, n_tokens: int, horizon: int) -> dict[Axis, Any]:
    """The places of a tree of the first tokens and levels.

    A response of it stands for the first one that begins so.
    """
    states, last = [0], [0]
    for _ in range(horizon - 1):
        last = [s * tree.n_tokens + a + 1 for s in last for a in range(n_tokens)]
        states += last
    before = sum(tree.n_tokens**k for k in range(horizon - 1))
    each = tree.n_tokens ** (tree.horizon - horizon)
    responses = [((s - before) * tree.n_tokens + a) * each for s in last for a in range(n_tokens)]
    return {STATES: states, ACTIONS: range(n_tokens), RESPONSES: responses}


def _simpler_masks(mask: Any) -> Iterator[Any]:
    array = np.array(mask, dtype=bool)
    for place in ([0], [-1]):
        alone = np.zeros_like(array)
        alone[..., place] = True
        yield alone.tolist()
    if array.size <= FEW:
        for index in np.argwhere(array):
            fewer = array.copy()
            fewer[tuple(index)] = False
            if fewer.any(axis=-1).all():
                yield fewer.tolist()


def _simpler_numbers(value: Any, bounds: Range) -> Iterator[Any]:
    """All entries at once, then one at a time; a number alone has but one."""
    shape = np.shape(value)
    entries = [Fraction(v) for v in _flat(value)]
    least = 1 if bounds.low is not None and bounds.low >= 0 and bounds.open_low else 0

    def shaped(numbers: list[Fraction]) -> Any:
        simple = [int(v) if v.denominator == 1 else v for v in numbers]
        array = np.empty(len(simple), dtype=object)
        array[:] = simple
        return array.reshape(shape).tolist() if shape else simple[0]

    for one in (Fraction(least), Fraction(1)):
        yield shaped([one] * len(entries))
    if bounds == ANY and shape:
        for shift in (min(entries), max(entries)):
            yield shaped([v - shift for v in entries])
    for move in (_whole, _to_tenth, _to_hundredth, _half):
        yield shaped([move(v) for v in entries])
    if len(entries) > FEW:
        return
    for k, entry in enumerate(entries):
        others = sorted({v for v in entries if v != entry}, key=_of_number)
        for simpler in (Fraction(least), Fraction(1), Fraction(-1), *others, _whole(entry),
                        _half(_whole(entry)), _whole(entry * 3 / 4), _whole(entry) - _sign(entry),
                        Fraction(math.trunc(entry)), _to_tenth(entry), _to_hundredth(entry)):
            yield shaped([*entries[:k], simpler, *entries[k + 1:]])


def _whole(value: Fraction) -> Fraction:
    return Fraction(round(value))


def _to_tenth(value: Fraction) -> Fraction:
    return Fraction(round(value * 10), 10)


def _to_hundredth(value: Fraction) -> Fraction:
    return Fraction(round(value * 100), 100)


def _half(value: Fraction) -> Fraction:
    return Fraction(round(value / 2)) if abs(value) > 2 else value / 2


def _sign(value: Fraction) -> Fraction:
    return Fraction((value > 0) - (value < 0))
