"""Reads a recipe's file as flat options: YAML, TOML, JSON, or a script that calls an engine.

::

    python3 -m verl.trainer.main_ppo algorithm.gamma=1    algorithm.gamma: 1
    python3 train.py --eps-clip 0.2 --use-kl-loss         eps_clip: 0.2, use_kl_loss: True
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from entropy_theory.support.user_errors import check_file, need

_OVERRIDE = re.compile(r"^(\+{0,2}[A-Za-z_][\w.@/]*)=(.*)$", re.DOTALL)
_FLAG = re.compile(r"^--([A-Za-z][\w.\-]*)(?:=(.*))?$", re.DOTALL)


def options_of(path: Path) -> dict[str, Any]:
    """Return the options of a file by their full names, ``a.b.c``.

    Raises:
        ValueError: a file that cannot be read as what its name says.
    """
    check_file(path, "a recipe: YAML, TOML, JSON, or a script that starts an engine")
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix in (".yaml", ".yml"):
            need("a recipe in YAML", "yaml")
            import yaml

            return flat(yaml.safe_load(text))
        if path.suffix == ".toml":
            return flat(tomllib.loads(text))
        if path.suffix == ".json":
            return flat(json.loads(text))
    except Exception as error:  # each parser has errors of its own
        raise ValueError(f"{path} cannot be read as {path.suffix[1:].upper()}: {error}") from None
    return of_words(_words(text))


def flat(table: Any, prefix: str = "") -> dict[str, Any]:
    """Return the entries of nested tables by their full names."""
    if not isinstance(table, Mapping):
        raise ValueError(f"a recipe is a table of options, got {type(table).__name__}")
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def of_words(words: Iterable[str]) -> dict[str, Any]:
    """Return the options among the words of a command line, overrides and flags; the last one counts.

    A flag takes the words up to the next one; without any it is True. Dashes in its name are
    underscores.
    """
    found: dict[str, Any] = {}
    flag = None
    for word in words:
        if match := _FLAG.match(word):
            flag, value = match[1].replace("-", "_"), match[2]
            found[flag] = True if value is None else scalar(value)
            if value is not None:
                flag = None
        elif match := _OVERRIDE.match(word):
            found[match[1]], flag = scalar(match[2]), None
        elif flag is not None:
            before = found[flag]
            found[flag] = scalar(word) if before is True else (
                [*before, scalar(word)] if isinstance(before, list) else [before, scalar(word)])
    return found


def scalar(text: str) -> Any:
    """Return the value that a text stands for: a number, True, False, None, a list, or the text."""
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered in ("null", "none", "~"):
        return None
    for kind in (int, float):
        try:
            return kind(lowered)
        except ValueError:
            continue
    if lowered.startswith("[") and lowered.endswith("]"):
        return [scalar(each) for each in text.strip()[1:-1].split(",") if each.strip()]
    return text.strip().strip("\"'")


def _words(text: str) -> Iterator[str]:
    """Yield the words of a script, its own variables put in, without its comments."""
    joined = re.sub(r"\\\s*\n", " ", text)
    known: dict[str, str] = {}
    for line in joined.splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quote that goes on over lines holds no option
            continue
        for word in words:
            word = re.sub(r"\$\{?(\w+)(?::-([^}]*))?\}?",
                          lambda use: known.get(use[1], use[2] if use[2] is not None else use[0]), word)
            # A word of several is an array of options: ARGS=( --a 1 --b 2 ), or ARGS="--a 1".
            for part in word.split() if word.count("--") > 1 else (word,):
                if (match := _OVERRIDE.match(part)) and "." not in match[1]:
                    known[match[1]] = match[2]
                yield part.strip("()")
