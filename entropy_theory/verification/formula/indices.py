"""Indices of entries of terms."""

from __future__ import annotations

from collections.abc import Iterator

from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PROMPTS,
    STATES,
    Term,
    UntraceableError,
)

Index = tuple[str | None, ...]
"""The name of an entry along each axis; None where the axis has length one."""


def aligned(term: Term, index: Index) -> Index:
    """The part of an index that a term of fewer axes sees."""
    kept = index[len(index) - len(term.axes):] if term.axes else ()
    kept = (*[None] * (len(term.axes) - len(kept)), *kept)
    return tuple(None if axis is None else place
                 for axis, place in zip(term.axes, kept, strict=True))


def picked(view: Term, index: Index) -> Index:
    """The index into an array of which a view is indexed."""
    left: Iterator[str | None] = iter(index)
    whole = view.arguments[0].axes
    axes = iter(whole)
    found: list[str | None] = []
    for entry in view.operation.detail:
        if entry is None:
            next(left)
            continue
        axis = next(axes)
        if entry == ":":
            found.append(next(left))
        elif axis is None:
            found.append(None)
        elif axis is STATES and entry == 0:
            # State 0 is the one without tokens.
            found.append("nil")
        elif isinstance(entry, int) and entry >= 0 and axis in (ACTIONS, PROMPTS):
            found.append(f"{entry}%nat")
        else:
            raise UntraceableError(f"the entry {entry}")
    return (*found, *left)


def lead_of(term: Term, index: Index) -> Index:
    """The part of an index that a term sees of all axes but its own last one."""
    return aligned(term, (*index, None))[:-1]


def aligned_lead(term: Term, lead: Index, own: int = 2) -> Index:
    """The part of a leading index (of prompts) that an argument with ``own`` axes of its own has."""
    return lead[len(lead) - (len(term.axes) - own):] if len(term.axes) > own else ()
