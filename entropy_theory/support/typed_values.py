"""Converts values that a user writes (TOML, JSON or text) to the annotations of a dataclass."""

from __future__ import annotations

import contextlib
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from entropy_theory.support.stored import parsed, text_of
from entropy_theory.support.user_errors import check_file, lookup

NO_MATCH = object()
"""The value that is returned for one that is not of the kind asked for."""
WORDS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text",
         Path: "a text", type(None): '"none"'}


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Args:
        path: the file.
        what: the kind of file, with its article ("a sweep file").

    Raises:
        ValueError: no such file, or one that is not TOML.
    """
    check_file(path, what)
    text = text_of(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply: write it flatter") from None
    except ValueError as error:  # a number of thousands of digits, too
        raise ValueError(f"{path} is not TOML: {error}") from None


def no_table(hint: Any, value: Any) -> Any:
    """The function that converts no value to no annotation."""
    return NO_MATCH


def checked(
    hints: Mapping[str, Any], table: Mapping[str, Any], where: str,
    other: Callable[[Any, Any], Any] = no_table, words: Mapping[Any, str] = types.MappingProxyType({}),
    of_list: str = "",
) -> dict[str, Any]:
    """Return a table with every value converted to the annotation of its key.

    Args:
        hints: the known keys and their annotations.
        table: as TOML has it.
        where: the name of the table for errors.
        other: as of `matched`.
        words: as of `in_words`.
        of_list: what to do, for the error of a list where there must be none.

    Raises:
        ValueError: an unknown key (the nearest known ones are named), or a value of another kind.
    """
    found = {}
    for key, value in table.items():
        hint = lookup(hints, key, f"key of {where}:")
        found[key] = matched(hint, value, other)
        if found[key] is NO_MATCH:
            wanted = in_words(hint, words)
            remedy = of_list if isinstance(value, list) else ""
            raise ValueError(f"{where}: {key} must be {wanted}, got {value!r}{remedy}" if wanted
                             else f"{where}: {key} cannot be set in a file: use Python")
    return found


def matched(
    hint: Any, value: Any, other: Callable[[Any, Any], Any] = no_table
) -> Any:
    """Convert a plain value to the type of an annotation, or return NO_MATCH.

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
    if hint is Path and isinstance(value, str):
        return Path(value)
    if typing.get_origin(hint) is typing.Literal:
        return value if value in typing.get_args(hint) else NO_MATCH
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


def in_words(hint: Any, words: Mapping[Any, str] = types.MappingProxyType({})) -> str | None:
    """Describe the values that an annotation allows, for errors; ``words`` describes further kinds."""
    if is_union(hint):
        parts = [in_words(kind, words) for kind in typing.get_args(hint)]
        return " or ".join(dict.fromkeys(part for part in parts if part)) or None
    if typing.get_origin(hint) is tuple:
        return f"a list, each entry {in_words(typing.get_args(hint)[0], words)}"
    if typing.get_origin(hint) is typing.Literal:
        return f"one of {', '.join(map(str, typing.get_args(hint)))}"
    return {**WORDS, **words}.get(hint)


def is_union(hint: Any) -> bool:
    """Whether an annotation is a union of several."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)
