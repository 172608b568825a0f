"""Reads the arrays that an audit has stored."""

from __future__ import annotations

import os

import numpy as np


def read_arrays(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
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
