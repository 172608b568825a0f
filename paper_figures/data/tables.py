"""Makes the tidy tables of figures: rows of arrays, stacked with the provenance of what they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas
import xarray


def long(array: xarray.DataArray, panel: str, x: str = "", **columns: Any) -> pandas.DataFrame:
    """Return the values of an array as column y, a row each, beside its coordinates.

    Args:
        array: the values.
        panel: what goes into the column of that name.
        x: the coordinate that becomes column x too.
        columns: further columns that all rows have alike.
    """
    frame = array.to_dataframe(name="y").reset_index()
    return frame.assign(panel=panel, **({"x": frame[x]} if x else {}), **columns)


def stacked(
    parts: Iterable[pandas.DataFrame], columns: Sequence[str], shown: pandas.DataFrame | None = None
) -> pandas.DataFrame:
    """Return the parts that have rows, one below the other, with these columns; NaN where one lacks one.

    Args:
        shown: a table whose ``attrs["inputs"]``, the provenance of runs, becomes the result's.
    """
    table = pandas.concat([part for part in parts if len(part)], ignore_index=True)
    table = table.reindex(columns=list(columns))
    table.attrs["inputs"] = {} if shown is None else shown.attrs.get("inputs", {})
    return table


def even_in_log(steps: np.ndarray, points: int) -> np.ndarray:
    """Return indices of the start and of at most ``points`` of the later ``steps``, even in log."""
    positive = np.flatnonzero(steps > 0)
    wanted = np.geomspace(steps[positive[0]], steps[-1], points)
    nearest = np.abs(np.log(steps[positive])[None] - np.log(wanted)[:, None]).argmin(axis=1)
    return np.unique([0, *positive[np.unique(nearest)]])
