"""Writes the measured tables into docs/hold_an_entropy.md, from the records that are committed.

    python -m paper_figures.extensions.holding_page

Everything between a comment that begins a table and the one that ends it is the table's.
"""

from __future__ import annotations

import re
from pathlib import Path

from entropy_theory.support.results import write_text
from paper_figures.data.inputs import MEASURED
from paper_figures.drawing.table import Table
from paper_figures.extensions import holding_a_target

PAGE = Path(__file__).parents[2] / "docs" / "hold_an_entropy.md"
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of the table -->)", re.DOTALL)
TABLES = ("step", "distance", "reward", "pass-at-4", "distinct-answers")
"""The names that the page gives to the tables of figure ``holding-a-target``, in its order."""


def filled(page: str, tables: dict[str, Table]) -> str:
    """Return the page with each table in its place.

    Raises:
        ValueError: a place without a table, or a table without a place.
    """
    places = [name for _, name, _ in PLACE.findall(page)]
    if sorted(places) != sorted(tables):
        raise ValueError(
            f"the page has places for {', '.join(places)}; the tables are {', '.join(tables)}")
    return PLACE.sub(lambda found: f"{found[1]}\n{tables[found[2]].markdown()}\n{found[3]}", page)


def measured() -> dict[str, Table]:
    """Return the tables of the committed records, by name."""
    found = holding_a_target.tables(holding_a_target.data(MEASURED))
    return dict(zip(TABLES, found, strict=True))


def main() -> None:
    """Write the page anew."""
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), measured()))


if __name__ == "__main__":
    main()
