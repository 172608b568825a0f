"""Finds records of numbers in the lines of a log, whoever wrote them.

Each line is recognized by itself, so that text between records, progress bars, colour codes and prefixes
of Ray do not matter:

- ``step:12 - actor/entropy:0.35 - critic/score/mean:0.43`` (verl's console), several in a line too;
- ``{"step": 1, "entropy": 0.3}`` (JSON, several in a line, cut or nested);
- ``{'loss': 0.1, 'reward': 0.5}`` (Python dictionaries, as TRL prints them);
- tables with a line of names: CSV, TSV, semicolons, Markdown, ``a | b``, columns of spaces;
- ``Step 3 | Reward: 0.5 | Entropy 0.22`` and ``step=3 reward=0.5`` (names with their numbers).
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator
from typing import Any

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WORKER = re.compile(r"^\s*\([^()]*\bpid=\d+[^()]*\)\s*")
"""The prefix that Ray puts before the lines of its workers."""
VERL = re.compile(r"(?:^|(?<=\s))step:(\d+) - ")
WRAPPED = re.compile(r"(?:np\.|numpy\.|torch\.)?(?:float|int|bfloat|tensor)\d*\(\s*([^(),]+)[^()]*\)")
"""A number inside its type, as ``np.float64(0.5)``."""
PLAIN = re.compile(r"[-+]?(?:\d[\d_,.]*|\.\d+)(?:[eE][-+]?\d+)?\s*%?|[-+]?(?:nan|inf(?:inity)?)", re.I)
PAIR = re.compile(
    r"([A-Za-z][\w/.@() -]*?)\s*[:=\s]\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)(%?)"
    r"(?=$|[\s,;|)\]])")
RULER = re.compile(r"^[\s|:+=-]*-{2,}[\s|:+=-]*$")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(?!\d).*")
MISSING = frozenset(("", "null", "none", "n/a", "na", "-", "--", "no log"))
MOST_NAMES = 5_000
"""The most names of a table."""


def number(value: Any, *, comma: bool = False) -> float | None:
    """Return a value of a log as a number; None where it is missing or no number.

    Args:
        value: a number, or text such as ``"0.5"``, ``"44 %"``, ``"np.float64(0.5)"``, ``"1,024"``.
        comma: whether a comma is the decimal sign.
    """
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            return None
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        pass
    text = value.strip()
    if text.lower() in MISSING:
        return None
    if wrapped := WRAPPED.fullmatch(text):
        text = wrapped[1].strip()
    if not PLAIN.fullmatch(text):
        return None
    share = text.endswith("%")
    text = text.rstrip("% ").replace(",", "." if comma else "")
    try:
        return float(text) / (100 if share else 1)
    except ValueError:
        return None


class LineReader:
    """Turns the lines of a log into records, in order; a table's names are kept until another begins.

    Attributes:
        cut: the numbers of lines that hold a record which is cut off.
        odd: the numbers of lines within a table that have more or fewer cells than it has names.
        objects: how many records there were of JSON or of Python's dictionaries.
    """

    def __init__(self) -> None:
        self.cut: list[int] = []
        self.odd: list[int] = []
        self.objects = 0
        self._table: _Table | None = None
        self._pending: tuple[str, str] | None = None

    def read(self, line: str, at: int) -> list[dict[str, Any]]:
        """Return the records of a line (without its newline), which is the ``at``-th."""
        if "\x1b" in line:
            line = COLOUR.sub("", line)
        if line.startswith("(") or line.startswith(" ("):
            line = WORKER.sub("", line)
        text = line.strip()
        if not text:
            self._pending = None
            return []
        if "step:" in text and " - " in text and VERL.search(text):
            return list(_verl(text))
        if "{" in text and (found := self._objects(text, at)):
            self.objects += len(found)
            return found
        if self._table is not None:
            if (row := self._table.row(line)) is not None:
                return [row]
            if self._table.delimiter in line.strip() and self._table.delimiter != " ":
                self.odd.append(at)
        if pairs := _pairs(text):
            return [pairs]
        row = self._table.row(line) if self._starts_table(line) and self._table is not None else None
        return [row] if row is not None else []

    def _objects(self, text: str, at: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        start = text.find("{")
        decoder = json.JSONDecoder()
        while start >= 0:
            if text[start + 1: start + 2] == "'":
                end = _closing(text, start)
                record = _dictionary(text[start:end]) if end else None
                if not end:
                    self.cut.append(at)
                    break
            else:
                try:
                    record, end = decoder.raw_decode(text, start)
                except json.JSONDecodeError as error:
                    if start == 0 or "Unterminated" in error.msg:
                        self.cut.append(at)
                        break
                    record, end = None, start + 1
                except RecursionError:
                    break
            if isinstance(record, dict):
                found += expanded(record)
            start = text.find("{", end)
        return found

    def _starts_table(self, line: str) -> bool:
        """Take a line of names for the head of a table, if the next line is one of numbers below them."""
        if RULER.match(line):
            return self._pending is not None
        if self._pending is not None:
            head, delimiter = self._pending
            table = _Table(head, delimiter)
            if table.row(line) is not None:
                self._table, self._pending = table, None
                return True
        self._pending = _head(line)
        return self._pending is not None


def _verl(text: str) -> Iterator[dict[str, Any]]:
    starts = list(VERL.finditer(text))
    for match, after in zip(starts, [*starts[1:], None], strict=True):
        record: dict[str, Any] = {"step": float(match[1])}
        for field in text[match.end(): after.start() if after else len(text)].split(" - "):
            name, colon, value = field.rpartition(":")
            if colon:
                record[name.strip()] = value
        yield record


def _closing(text: str, start: int) -> int:
    """Return the end of a dictionary that starts at a brace; 0 if it is not closed."""
    depth, quote = 0, ""
    for place in range(start, len(text)):
        sign = text[place]
        if quote:
            if sign == quote and text[place - 1] != "\\":
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                return place + 1
    return 0


def _dictionary(text: str) -> dict[str, Any] | None:
    """Return a printed dictionary of numbers; None if it is none."""
    plain = WRAPPED.sub(r"\1", text) if "(" in text else text
    plain = re.sub(r"(?<=[:\s])(nan|-?inf)(?=\s*[,}])", "None", plain)
    try:
        record = ast.literal_eval(plain)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def expanded(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a record with its nested names joined by "/", or the records of a history in it."""
    history = record.get("log_history")
    if isinstance(history, list):
        return [flat for one in history if isinstance(one, dict) for flat in expanded(one)]
    flat: dict[str, Any] = {}
    open_ = [("", iter(record.items()))]
    while open_:  # a deep record would exhaust a recursion
        prefix, items = open_[-1]
        for name, value in items:
            if isinstance(value, dict):
                inner = prefix if name in ("data", "metrics") else f"{prefix}{name}/"
                open_.append((inner, iter(value.items())))
                break
            flat.setdefault(f"{prefix}{name}", value)
        else:
            open_.pop()
    return [flat]


def _pairs(text: str) -> dict[str, Any] | None:
    """Return the named numbers of a line which names its step and another; else None."""
    if not re.search(r"\b(step|iteration|epoch)\b", text, re.I):
        return None
    found = {}
    for piece in text.split("|"):
        for name, value, percent in PAIR.findall(piece.strip()):
            # A log's level may stand before its first name.
            key = "step" if name.split()[-1].lower() in ("step", "iteration") else name.strip()
            found[key] = float(value) / (100 if percent else 1)
    return found if len(found) > 1 and not {"step", "epoch", "global_step"}.isdisjoint(found) else None


# ------------------------------------------------------------------ tables


def _head(line: str) -> tuple[str, str] | None:
    """Return a line with its delimiter if it may be a line of names."""
    for delimiter in ("|", "\t", ";", ",", " "):
        if delimiter not in line.strip():
            continue
        cells = _cells(line, delimiter)
        if 2 <= len(cells) <= MOST_NAMES and all(cells) and len(set(cells)) == len(cells) and all(
                number(cell) is None and len(cell) < 200 for cell in cells):
            return line, delimiter
        if delimiter != " ":
            return None
    return None


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == "|":
        return [cell.strip() for cell in line.strip().strip("|").split("|")]
    if delimiter == " ":
        return re.split(r"\s{2,}|\t", line.strip()) if re.search(r"\S\s{2,}\S", line) else line.split()
    return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter))]


class _Table:
    """The names of a table and how its rows are cut."""

    def __init__(self, head: str, delimiter: str) -> None:
        self.delimiter = delimiter
        self.names = _cells(head, delimiter)
        self.comma = delimiter != ","

    def row(self, line: str) -> dict[str, Any] | None:
        """Return a line's cells by the table's names; None if the line is not a row of the table."""
        try:
            cells = _cells(line, self.delimiter)
        except csv.Error:
            return None
        if len(cells) != len(self.names):
            cells = line.split() if self.delimiter == " " else cells
        if len(cells) != len(self.names):
            return None
        values = [self._number(cell) for cell in cells]
        if all(value is None for value in values):
            return None
        return {name: cell if value is None else value
                for name, cell, value in zip(self.names, cells, values, strict=True)}

    def _number(self, cell: str) -> float | None:
        decimal = "." not in cell and re.fullmatch(r"[-+]?\d+,\d+(e[-+]?\d+)?\s*%?", cell)
        if decimal and not THOUSANDS.fullmatch(cell):
            self.comma = True  # also where cells are quoted and commas part them
        return number(cell, comma=bool(decimal) and self.comma)
