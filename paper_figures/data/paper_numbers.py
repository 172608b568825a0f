"""Numbers printed in a paper, as data beside the module that shows them: MODULE.toml for MODULE.py.

::

    source = "Cui et al., Table 2"                 what stands above all tables is their default
    header = ["Method", "AIME24", "AMC", "Avg."]
    average = "Avg."                               the column that is printed as the mean of the row

    [qwen-7b]                                      a table; several where a file has several blocks
    title = "Qwen2.5-7B"
    rows = [["GRPO", 21.2, 58.7, 38.6]]            numbers as printed; text where there is none

Further keys:

- ``averaged``: the columns that the mean is over, by default all numbers but the average;
- ``digits`` behind the point, by default 1, and ``average_digits``, by default as many;
- ``note``.

`PaperTable.printed` is the table for a reader, with averages recomputed. Where the printed average
differs by more than rounding, both are shown.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas

from entropy_theory import claims
from entropy_theory.support.user_errors import check_choice
from paper_figures.data import inputs
from paper_figures.drawing.table import Table

Cell = str | float | int


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperTable:
    """One table of a paper.

    Raises:
        ValueError: a row of another length than the header; an averaged column that is not there.
    """

    source: str
    """The paper, the number of the table, and where it was read."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """The rows as printed; the first cell names the row."""
    average: str | None = None
    averaged: tuple[str, ...] = ()
    digits: int = 1
    average_digits: int | None = None
    """Digits of the average, where it is printed with more or fewer."""
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"{self.source}, '{self.title}': row {list(row)} has {len(row)} cells, "
                                 f"the header {len(self.header)}")
        for name in (*self.averaged, *([self.average] if self.average else [])):
            check_choice(name, self.header, f"column of {self.source}:")

    def column(self, name: str) -> dict[str, float]:
        """The numbers of a column, by row; rows with text there are left out."""
        place = self.header.index(name)
        return {str(row[0]): float(row[place]) for row in self.rows
                if not isinstance(row[place], str)}

    def averages(self) -> dict[str, float]:
        """The mean of each row, recomputed; NaN where a number is missing."""
        names = self.averaged or tuple(
            name for i, name in enumerate(self.header[1:], start=1)
            if name != self.average and any(not isinstance(row[i], str) for row in self.rows)
        )
        columns = [self.column(name) for name in names]
        return {
            str(row[0]): sum(c.get(str(row[0]), math.nan) for c in columns) / len(columns)
            for row in self.rows
        }

    def wrong_averages(self) -> dict[str, tuple[float, float]]:
        """The (printed, recomputed) averages of rows where rounding cannot explain the difference."""
        if self.average is None:
            return {}
        # Each printed number, the average included, is off by half a unit of its last digit at most.
        digits = self.digits if self.average_digits is None else self.average_digits
        slack = (10.0**-self.digits + 10.0**-digits) / 2 * (1 + 1e-9)
        printed, mean = self.column(self.average), self.averages()
        return {row: (value, mean[row]) for row, value in printed.items()
                if abs(value - mean[row]) > slack}

    def tidy(self) -> pandas.DataFrame:
        """Return the numbers and "recomputed" averages: columns title, row, column, value."""
        cells = [
            {"title": self.title, "row": str(row[0]), "column": name, "value": float(cell)}
            for row in self.rows for name, cell in zip(self.header[1:], row[1:], strict=True)
            if not isinstance(cell, str)
        ]
        if self.average is not None:
            cells += [{"title": self.title, "row": row, "column": "recomputed", "value": value}
                      for row, value in self.averages().items()]
        return pandas.DataFrame(cells, columns=["title", "row", "column", "value"])

    def printed(self, *, means: bool = False) -> Table:
        """Return the table as a reader sees it; a wrong average has the right one beside it.

        Args:
            means: whether to show the recomputed averages even where no printed one is wrong.
        """
        wrong, mean = self.wrong_averages(), self.averages() if self.average else {}
        means = bool(wrong) or (means and self.average is not None)
        place = self.header.index(self.average) if self.average else -1
        rows = []
        for row in self.rows:
            cells = [self._text(cell, name) for cell, name in zip(row, self.header, strict=True)]
            if means:
                cells[place] += " (printed)" if str(row[0]) in wrong else ""
                cells.insert(place + 1, f"{mean[str(row[0])]:.{self.digits + 1}f}")
            rows.append(tuple(cells))
        header = list(self.header)
        note = f"{self.source}. {self.note}".strip()
        if means:
            header.insert(place + 1, "mean of the row")
        if wrong:
            note += (f" {len(wrong)} of {len(rows)} printed averages are not the mean of their row: both "
                     "are shown.")
        return Table(title=self.title, header=tuple(header), rows=tuple(rows), origin="the paper",
                     note=note)

    def _text(self, cell: Cell, column: str) -> str:
        own = self.average_digits if column == self.average else None
        digits = self.digits if own is None else own
        if not isinstance(cell, float):
            return str(cell)
        # A column may hold 36.4 and 7.81: no printed digit is lost.
        return f"{cell:.{max(digits, len(str(cell).partition('.')[2]))}f}"


def read(module: str | Path) -> dict[str, PaperTable]:
    """Read the tables of MODULE.toml by name, in the file's order.

    A table that claims judge stands with them, in ``entropy_theory/claims``.

    Args:
        module: the module's ``__file__``.

    Raises:
        ValueError: an unknown key (with the nearest known one), or a table that does not fit its header.
    """
    path = Path(module).with_suffix(".toml")
    if not path.exists():
        path = Path(claims.__file__).parent / path.parent.name / path.name
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = {key: value for key, value in content.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in content.items() if isinstance(value, dict)}
    found = {name: _table({**defaults, **table}, path) for name, table in tables.items()}
    for table in found.values():
        inputs.printed(table.source)
    return found


def _table(values: dict[str, Any], path: Path) -> PaperTable:
    for key in values:
        check_choice(key, [field.name for field in fields(PaperTable)], f"key of {path.name}:")
    found: dict[str, Any] = dict(values)
    for key in ("header", "averaged"):
        found[key] = tuple(values.get(key, ()))
    found["rows"] = tuple(map(tuple, values["rows"]))
    return PaperTable(**found)
