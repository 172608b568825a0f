"""Functions of arrays that are functions of terms too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from entropy_theory.verification.formula.terms import (
    Axes,
    Kind,
    Operation,
    Term,
    broadcast,
    constant,
    is_term,
    make,
)


def operation(result: Callable[..., Axes], kind: Kind = "real") -> Callable[[Any], Any]:
    """Make a function of arrays one of terms too.

    Args:
        result: the axes of the terms given -> the axes of the result; an argument of None is left out.
        kind: what the result holds.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*arguments: Any, **options: Any) -> Any:
            if not is_term(*arguments, *options.values()):
                return function(*arguments, **options)
            bound = signature.bind(*arguments, **options).arguments
            given = {name: constant(value) for name, value in bound.items() if value is not None}
            names = tuple(given)
            return make(
                Operation(function.__name__,
                          lambda *values: function(**dict(zip(names, values, strict=True))), names),
                tuple(given.values()), result(*given.values()), kind,
            )

        return wrapper

    return decorate


def computed_by(careful: Callable[..., Any]) -> Callable[[Any], Any]:
    """Give a formula a way to its numbers that loses no digits where the formula as written would.

    The decorated function is what formulas say; ``careful``, with the same arguments, computes the same
    numbers, and they are what the decorated function returns for arrays.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*given: Any, **options: Any) -> Any:
            arguments = tuple(signature.bind(*given, **options).arguments.values())
            if not is_term(*arguments):
                return careful(*arguments)
            body = function(*arguments)
            return make(Operation("computed", careful, body), tuple(map(constant, arguments)),
                        body.axes, body.kind)

        return wrapper

    return decorate


def rowwise(*terms: Term) -> Axes:
    """Axes of a result with a number for each entry: those of all arguments, scalars aside.

    A temperature has the shape of the batch without the last axis.
    """
    return broadcast(*(t for t in terms if t.kind == "mask" or t.axes)) if any(
        t.axes for t in terms) else ()


def reduced(*terms: Term) -> Axes:
    """Axes of a result with one number for each row."""
    return rowwise(*terms)[:-1]
