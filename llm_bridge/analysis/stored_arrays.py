"""Keeps the arrays of an audited step in a file, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from entropy_theory.support import results

Record = TypeVar("Record")


def write_arrays(path: Path, columns: dict[str, Any]) -> None:
    """Write arrays by name as an .npz file."""
    with results.atomic_path(path) as temporary:
        np.savez_compressed(temporary, **columns)


def read_record(path: Path, made_of: Callable[[dict[str, Any]], Record], what: str) -> Record:
    """Read what `write_arrays` wrote, and make a record of it.

    Raises:
        ValueError: a file that is missing or damaged, or holds something else than ``what``.
    """
    columns = read_arrays(path)
    try:
        return made_of(columns)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a record of {what} ({error}): audit again") from None


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the arrays of an .npz file, by name; objects, which only a pickle can hold, are refused.

    Raises:
        ValueError: a file that is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise ValueError(f"no such file: {path}") from None
    except Exception as error:  # the reader raises whatever a damaged file makes it stumble over
        raise ValueError(
            f"{path} is damaged ({type(error).__name__}): delete it and run again") from error
