"""A table as a reader sees it: rows of text, written as Markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Origin = Literal["the paper", "ours"]
LATEX_SPECIAL = re.compile(r"([&%#_])")
FORMULA = re.compile(r"(\$[^$]*\$)")
LATEX_TEXT = str.maketrans({
    "–": "--", "−": "$-$", "±": r"$\pm$", "<": "$<$", "≥": r"$\ge$", "≤": r"$\le$", "→": r"$\to$",
    "×": r"$\times$", "~": r"$\sim$", "^": r"\^{}", "∞": r"$\infty$",
})


def estimate(value: float, error: float, *, digits: int, sign: str = "") -> str:
    """Write a mean with its standard error; "± 0.00" would say that it is known exactly.

    Args:
        value: the mean.
        error: its standard error; what float64 makes of equal values, and NaN, is none.
        digits: after the point.
        sign: "+" shows that of a value above 0 too.
    """
    text = f"{value:{sign}.{digits}f}"
    if not error > 1e-12 * abs(value):
        return text
    smallest = 10.0**-digits
    return f"{text} ± " + (f"{error:.{digits}f}" if error >= smallest / 2 else f"<{smallest:.{digits}f}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table, all of whose numbers have the same origin.

    Raises:
        ValueError: a row of another length than the header.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The cells as text, with formulas between dollar signs; the first column names the row."""
    origin: Origin
    note: str = ""
    """A note for the reader: the source, recomputed values, the number of seeds."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(
                    f"table '{self.title}': row {row} has {len(row)} cells, the header "
                    f"{len(self.header)}"
                )

    def markdown(self) -> str:
        """Return a GitHub table under its title."""
        cells = [self.header, *self.rows]
        widths = [max(3, *(len(_pipe(row[i])) for row in cells)) for i in range(len(self.header))]
        rule = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
        lines = [
            "| " + " | ".join(
                text.ljust(w) if i == 0 else text.rjust(w)
                for i, (text, w) in enumerate(zip(map(_pipe, row), widths, strict=True))
            ) + " |"
            for row in (self.header, rule, *self.rows)
        ]
        head = f"**{self.title}** ({self.origin})"
        return "\n".join([head, "", *lines, *(["", self.note] if self.note else [])]) + "\n"

    def latex(self) -> str:
        """Return a booktabs tabular under its title, which is a comment."""
        body = [_latex_row(row) for row in self.rows]
        return "\n".join([
            f"% {self.title} ({self.origin})",
            r"\begin{tabular}{l" + "r" * (len(self.header) - 1) + "}",
            r"\toprule",
            _latex_row(self.header),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *([f"% {self.note}"] if self.note else []),
        ]) + "\n"

    def record(self) -> dict[str, Any]:
        """Return the table as JSON-like data."""
        return {
            "title": self.title, "header": list(self.header), "rows": [list(r) for r in self.rows],
            "origin": self.origin, "note": self.note,
        }


def _pipe(text: str) -> str:
    return text.replace("|", r"\|")


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(_latex(cell) for cell in cells) + r" \\"


def _latex(text: str) -> str:
    """Escape text for LaTeX, leaving its formulas as they are."""
    return "".join(
        part if FORMULA.fullmatch(part)
        else LATEX_SPECIAL.sub(r"\\\1", part).translate(LATEX_TEXT)
        for part in FORMULA.split(text)
    )
