"""Conclusions that no finite computation decides: derivatives, limits, all steps of a run.

These are propositions, terms of kind "mask" without numbers. A statement has them beside its margin
(``Statement.beyond``); only a proof that the kernel accepts can establish them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PARAMETERS,
    Axes,
    Axis,
    Operation,
    Term,
    UntraceableError,
    constant,
    elementwise,
    is_term,
    make,
)

STEPS = Axis("steps")
"""The steps of a run, 0, 1, 2, ..."""
TIME = Axis("time")
"""The real numbers, along which a curve runs."""
_FRESH = itertools.count()
Traced: TypeAlias = Callable[[Any], Any]
"""A function of terms: most are written for arrays, and say that they return some."""


def bound(name: str, axes: Axes = ()) -> Term:
    """A variable that a derivative, a limit or "for all" binds; each is another one."""
    return make(Operation("bound", detail=(name, next(_FRESH))), (), axes)


def has_derivative(function: Traced, at: Any, value: Any) -> Term:
    """The function of one number has this derivative there, entry by entry."""
    variable = bound("t")
    body, place, slope = function(variable), constant(at), constant(value)
    axes = body.axes if body.axes else slope.axes
    return make(Operation("has_derivative", detail=variable), (body, place, slope), axes, "mask")


def limsup_at_most(sequence: Callable[[Term], Term], most: Term | float) -> Term:
    """The limes superior of the sequence, a function of the step, is at most this."""
    step = bound("k")
    return make(Operation("limsup_at_most", detail=step), (sequence(step), constant(most)), (), "mask")


def tends_to(sequence: Callable[[Term], Term], limit: Term | float) -> Term:
    """The sequence, a function of the step, has this limit."""
    step = bound("k")
    return make(Operation("tends_to", detail=step), (sequence(step), constant(limit)), (), "mask")


def for_every(
    name: str, axes: Axes, proposition: Traced, *, given: Traced | None = None
) -> Term:
    """It holds for every number, vector, schedule (axes ``(STEPS,)``) or curve (``(TIME, ...)``).

    Those that meet ``given``, if it is there.
    """
    variable = bound(name, axes)
    parts = ((given(variable),) if given else ()) + (proposition(variable),)
    return make(Operation("for_every", detail=variable), parts, (), "mask")


def at_every_step(proposition: Callable[[Term], Term]) -> Term:
    """It holds at every step k = 0, 1, 2, ..."""
    step = bound("k")
    return make(Operation("at_every_step", detail=step), (proposition(step),), (), "mask")


def implies(premise: Any, conclusion: Any) -> Term:
    """Where the first holds, so does the second."""
    return make(Operation("implies"), (premise, conclusion), (), "mask")


def equal(x: Any, y: Any) -> Term:
    """The two are the same number, entry by entry."""
    return elementwise("equal", x, y)


def run(step: Callable[..., Any], start: Any, count: Term | int) -> Any:
    """Where a run is after ``count`` steps; ``step(k, z)`` is where step k leads from z.

    A run is of the logits of one state, or of shared parameters. The start may be a tuple, of them and of
    numbers that are carried along with them; then ``step(k, *parts)`` returns a tuple, and so does the
    run. After a given number of steps a run has numbers; after a bound one it is a part of a proposition.
    """
    parts = start if isinstance(start, tuple) else (start,)
    if not is_term(*parts):
        for number in range(int(count)):
            parts = _as_tuple(step(number, *parts))
        return parts if isinstance(start, tuple) else parts[0]
    names = {(): "c", (ACTIONS,): "z", (PARAMETERS,): "point"}
    if any(part.axes not in names for part in parts):
        raise UntraceableError(
            "a run of something other than the logits of one state, shared parameters and numbers")
    k, places = bound("j"), tuple(bound(names[part.axes], part.axes) for part in parts)
    following = tuple(map(constant, _as_tuple(step(k, *places))))
    if [part.axes for part in following] != [part.axes for part in parts]:
        raise UntraceableError("a step of a run that leads to something of another shape")
    arguments = (*following, *parts, constant(count))
    found = tuple(make(Operation("run", detail=(k, places, part)), arguments, parts[part].axes)
                  for part in range(len(parts)))
    return found if isinstance(start, tuple) else found[0]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def entry(sequence: Term, step: Term) -> Term:
    """A schedule's value at a step, or a curve's at a time."""
    return make(Operation("entry"), (sequence, step), sequence.axes[1:])


def along(start: Any, t: Any, direction: Any) -> Any:
    """Return start + t direction, at the number t."""
    return start + t[(..., *[None] * len(start.axes))] * direction


def has_gradient(function: Traced, at: Any, gradient: Any) -> Term:
    """The derivative of the function along every direction is the inner product with the gradient."""

    def slope(direction: Any) -> Any:
        inner = gradient * direction
        while inner.axes:
            inner = inner.sum(axis=-1)
        return inner

    return for_every("direction", at.axes, lambda x: has_derivative(
        lambda t: function(along(at, t, x)), 0, slope(x)))


def after(step: Term) -> Term:
    """The next step."""
    return make(Operation("after"), (step,), ())


def number_of(step: Term) -> Term:
    """The number of a step, as a real number."""
    return make(Operation("number_of"), (step,), ())
