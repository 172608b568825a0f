"""Checks the values of a TOML file against the annotations of a dataclass."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any

from entropy_theory.support.typed_values import in_words
from entropy_theory.support.user_errors import lookup


def checked(kinds: dict[str, Any], table: dict[str, Any], where: str) -> dict[str, Any]:
    """Return ``table`` with every value converted to the annotation of its key.

    Args:
        kinds: known keys and their annotations.
        where: name of the table for errors.

    Raises:
        ValueError: an unknown key (the nearest known ones are named), or a value of another kind.
    """
    found = {}
    for key, value in table.items():
        kind = lookup(kinds, key, f"key of {where}:")
        found[key] = _converted(value, kind, f"{where}: {key}")
    return found


def one_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether the value is of one of the kinds; true and false are no numbers."""
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _converted(value: Any, kind: Any, where: str) -> Any:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kinds = [part for part in typing.get_args(kind) if part is not type(None)]
        several = next((part for part in kinds if typing.get_origin(part) is tuple), None)
        if several is not None and isinstance(value, list):
            return tuple(_converted(item, typing.get_args(several)[0], where) for item in value)
        kind = kinds[0]
    if typing.get_origin(kind) is typing.Literal:
        allowed = typing.get_args(kind)
        if value not in allowed:
            raise ValueError(f"{where} must be one of {', '.join(allowed)}, got {value!r}")
        return value
    wanted = {Path: (str,), float: (int, float)}.get(kind, (kind,))
    if not one_of(value, wanted):
        raise ValueError(f"{where} must be {in_words(wanted[-1])}, got {value!r}")
    return kind(value)
