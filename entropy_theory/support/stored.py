"""Reads files that must hold text, JSON, or JSON of a certain form, or raises one clear error."""

from __future__ import annotations

import json
import math
import os
import reprlib
import types
from pathlib import Path
from typing import Any

from entropy_theory.support.user_errors import one_line

WORDS = {str: "a text", int: "a whole number", float: "a finite number", bool: "true or false",
         dict: "an object", list: "a list", types.NoneType: "null"}


def text_of(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> str:
    """Read a text file; a ValueError names one that is missing, no file, or no text."""
    try:
        return Path(path).read_text(encoding=encoding)
    except FileNotFoundError:
        raise ValueError(f"no such file: {path}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path} ({error.strerror}): check its path") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from None


def parsed(text: str) -> Any:
    """Parse JSON; a ValueError names the fault in a few words, without a file's name."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it holds a number of thousands of digits") from None


def check_form(value: Any, form: Any, where: str = "it") -> None:
    """Raise ValueError, naming the first place that differs, unless JSON has a form.

    Args:
        value: parsed JSON.
        form: a type (`NUMBER` for finite numbers), or a tuple of forms that are allowed. ``[form]`` is a
            list of values of a form. A dictionary has a form for each key: "key?" may be missing, and
            ``...`` stands for all other keys.
        where: the name of the value in the message.
    """
    allowed = form if isinstance(form, tuple) else (form,)
    for one in allowed:
        if isinstance(one, type) and _is(value, one):
            return
    nested = [one for one in allowed if isinstance(one, (list, dict)) and type(value) is type(one)]
    if not nested:
        kinds = [one if isinstance(one, type) else type(one) for one in allowed]
        raise ValueError(f"{where} must be {' or '.join(WORDS[kind] for kind in kinds)}, got "
                         f"{reprlib.repr(value)}")
    one = nested[0]
    if isinstance(one, list):
        for place, item in enumerate(value):
            check_form(item, one[0], f"{where}[{place}]")
        return
    for key, inner in one.items():
        if key is ...:
            continue
        name = key.removesuffix("?")
        if name in value:
            check_form(value[name], inner, f"'{name}' of {where}")
        elif name == key:
            raise ValueError(f"{where} has no '{name}'")
    if ... in one:
        for name in value.keys() - {key.removesuffix("?") for key in one if key is not ...}:
            check_form(value[name], one[...], f"'{one_line(name)}' of {where}")


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and _finite(value)
    return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        return False
