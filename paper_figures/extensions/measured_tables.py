"""Writes the measured tables into pages of docs/, from the records that are committed.

::

    python -m paper_figures.extensions.measured_tables

Everything between a comment that begins a table and the one that ends it is the table's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas

from entropy_theory.support.results import write_text
from paper_figures.data.inputs import MEASURED
from paper_figures.drawing import Table
from paper_figures.extensions import (
    forecasts_compared,
    holding_a_pretrained_target,
    holding_a_target,
    targets_for_each_prompt,
)

DOCS = Path(__file__).parents[2] / "docs"
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of the table -->)", re.DOTALL)


def _held() -> dict[str, Table]:
    found = [table for figure in (holding_a_target, holding_a_pretrained_target, targets_for_each_prompt)
             for table in figure.tables(figure.data(MEASURED))]
    names = ("step", "distance", "reward", "pass-at-4", "distinct-answers", "pretrained", "each-prompt")
    return dict(zip(names, found, strict=True))


def _forecasts() -> dict[str, Table]:
    (found,) = forecasts_compared.tables(pandas.DataFrame(forecasts_compared.trained(MEASURED)))
    return {"forecasts": found}


PAGES: dict[Path, Callable[[], dict[str, Table]]] = {
    DOCS / "holding_an_entropy_measured.md": _held,
    DOCS / "where_did_my_entropy_go.md": _forecasts,
}
"""The tables of the committed records, by the names that a page gives them."""


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


def main() -> None:
    """Write the pages anew."""
    for page, tables in PAGES.items():
        write_text(page, filled(page.read_text(encoding="utf-8"), tables()))


if __name__ == "__main__":
    main()
