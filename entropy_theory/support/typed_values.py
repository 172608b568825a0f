"""Converts values that a user writes (TOML, JSON or text) to the annotations of a dataclass."""

from __future__ import annotations

import contextlib
import types
import typing
from collections.abc import Callable
from typing import Any

from entropy_theory.support.stored import parsed

NO_MATCH = object()
"""The value that is returned for one that is not of the kind asked for."""
WORDS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text",
         type(None): '"none"'}


def matched(
    hint: Any, value: Any, other: Callable[[Any, Any], Any] = lambda hint, value: NO_MATCH
) -> Any:
    """Convert a plain value to what an annotation asks for, or return NO_MATCH.

    Whole numbers are numbers too, true and false are not; None may be written "none", tuples as lists.

    Args:
        other: function of (hint, value) that converts where the annotation is none of the simple ones.
    """
    if is_union(hint):
        found = (matched(kind, value, other) for kind in typing.get_args(hint))
        return next((item for item in found if item is not NO_MATCH), NO_MATCH)
    if hint is type(None):
        return None if value is None or value == "none" else NO_MATCH
    if typing.get_origin(hint) is tuple and isinstance(value, (list, tuple)):
        kind = typing.get_args(hint)[0]
        items = tuple(matched(kind, item, other) for item in value)
        return NO_MATCH if any(item is NO_MATCH for item in items) else items
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is float and is_number:
        return float(value)
    if hint is int and is_number and isinstance(value, int):
        return value
    if hint in (bool, str) and isinstance(value, hint):
        return value
    return other(hint, value)


def from_text(hint: Any, text: str) -> Any:
    """Convert a text to the first simple kind that it fits and an annotation allows, or return NO_MATCH.

    The order is: None, true or false, a whole number, a number, a list written as in JSON, a text.
    """
    kinds = typing.get_args(hint) if is_union(hint) else (hint,)
    if type(None) in kinds and text.lower() == "none":
        return None
    if bool in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        if number in kinds:
            with contextlib.suppress(ValueError):
                return number(text)
    for kind in kinds:
        if typing.get_origin(kind) is tuple:
            with contextlib.suppress(ValueError):
                return matched(kind, parsed(text))
    return text if str in kinds else NO_MATCH


def in_words(hint: Any, words: typing.Mapping[Any, str] = types.MappingProxyType({})) -> str | None:
    """Describe what an annotation asks for, for error messages; ``words`` describes further kinds."""
    if is_union(hint):
        parts = [in_words(kind, words) for kind in typing.get_args(hint)]
        return " or ".join(dict.fromkeys(part for part in parts if part)) or None
    if typing.get_origin(hint) is tuple:
        return f"a list, each entry {in_words(typing.get_args(hint)[0], words)}"
    return {**WORDS, **words}.get(hint)


def is_union(hint: Any) -> bool:
    """Whether an annotation is a union of several."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)
