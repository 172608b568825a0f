"""Makes the tidy tables of figures: rows of arrays, stacked with the provenance of what they show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import xarray


class Shared(dict[str, Any]):
    """Provenance that copies of a table share: pandas copies ``attrs`` deeply in each operation."""

    def __deepcopy__(self, _: dict[int, Any]) -> Shared:
        """Return the dictionary itself."""
        return self


def pick(table: pandas.DataFrame, **values: Any) -> pandas.DataFrame:
    """Return the rows whose columns have these values; a list stands for any of its values, None for
    none."""
    chosen = np.ones(len(table), dtype=bool)
    for name, value in values.items():
        column = table[name]
        same = column.isna() if value is None else (
            column.isin(value) if isinstance(value, list) else column == value)
        chosen &= same.to_numpy()
    return table[chosen]


def last_tenth(
    table: pandas.DataFrame, of: str | Sequence[str], along: str = "step"
) -> pandas.DataFrame:
    """Return the rows of the last tenth of the steps, of each group of rows alike in these columns."""
    return table[table[along] > 0.9 * table.groupby(of)[along].transform("max")]


def by_panel(table: pandas.DataFrame) -> dict[str, pandas.DataFrame]:
    """Return the rows of each panel, by its name."""
    return {str(name): pick(table, panel=name) for name in table["panel"].unique()}


def long(
    data: xarray.DataArray | xarray.Dataset, panel: str, x: str = "",
    rename: Mapping[str, str] | None = None, **columns: Any,
) -> pandas.DataFrame:
    """Return the values of an array as column y, a row each, beside its coordinates.

    Args:
        data: the values; a Dataset's become columns by their names.
        panel: what goes into the column of that name.
        x: the coordinate that becomes column x too.
        rename: other names of columns.
        columns: further columns that all rows have alike.
    """
    frame = data.to_dataframe(**({"name": "y"} if isinstance(data, xarray.DataArray) else {}))
    frame = frame.reset_index().rename(columns=rename or {})
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
    table.attrs["inputs"] = Shared({} if shown is None else shown.attrs.get("inputs", {}))
    return table


def even_in_log(steps: np.ndarray, points: int) -> np.ndarray:
    """Return indices of the start and of at most ``points`` of the later ``steps``, even in log."""
    positive = np.flatnonzero(steps > 0)
    wanted = np.geomspace(steps[positive[0]], steps[-1], points)
    nearest = np.abs(np.log(steps[positive])[None] - np.log(wanted)[:, None]).argmin(axis=1)
    return np.unique([0, *positive[np.unique(nearest)]])
