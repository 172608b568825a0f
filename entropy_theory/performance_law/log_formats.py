"""The rows of a training log, as they stand: CSV, JSON lines, TensorBoard events, W&B's exports."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support.stored import parsed

EVENT_FILE = "tfevents"
"""The word that the names of TensorBoard's event files contain."""


@dataclass(frozen=True, slots=True)
class Row:
    """The named values of one line, record or event of a log."""

    place: str
    """Where the row stands, for messages: "log.csv, line 7"."""
    values: dict[str, Any]
    step: Any = None


@dataclass(slots=True)
class Log:
    """The rows of a file or a folder, by run."""

    runs: dict[str, list[Row]]
    """The rows of each run, by its name, which is "" where the log names none."""
    notes: list[str]


def read_rows(path: Path) -> Log:
    """Read the rows of a file, or of a folder with event files, a metrics.jsonl or a trainer_state.json.

    The format is recognized by the content. Raises ValueError for what cannot be read, with the line
    and what to do.
    """
    if path.is_dir():
        metrics, state = path / "metrics.jsonl", path / "trainer_state.json"
        if any(path.rglob(f"*{EVENT_FILE}*")) and not metrics.exists():
            return _tensorboard(path)
        if not metrics.exists() and not state.exists():
            raise ValueError(
                f"{path} holds no TensorBoard event file, no metrics.jsonl and no trainer_state.json: "
                "name the log file itself"
            )
        path = metrics if metrics.exists() else state
    if EVENT_FILE in path.name:
        return _tensorboard(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"no such file: {path}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path} ({error.strerror}): check its path") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text ({error.reason} at byte {error.start}): give a CSV, a JSON-lines file "
            "or TensorBoard event files (with 'tfevents' in their names)"
        ) from None
    if not text.strip():
        raise ValueError(f"{path} is empty: nothing has been logged yet")
    is_json = text.lstrip()[0] in "{["
    log = _json(path, text) if is_json else _csv(path, text)
    if not any(log.runs.values()):
        raise ValueError(f"{path} holds no rows: nothing has been logged yet")
    return log


def _json(path: Path, text: str) -> Log:
    try:
        whole = parsed(text)
    except ValueError:
        return _json_lines(path, text)
    if isinstance(whole, dict) and isinstance(whole.get("log_history"), list):
        whole = whole["log_history"]
    records = whole if isinstance(whole, list) else [whole]
    rows = []
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise ValueError(f"{path}, record {number} is no object with named numbers: remove it")
        rows.append(Row(f"{path}, record {number}", dict(_flat(record))))
    return Log({"": rows}, [])


def _json_lines(path: Path, text: str) -> Log:
    rows, notes = [], []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parsed(line)
        except ValueError as error:
            if number == len(lines):  # no newline: what was writing it was stopped
                notes.append(f"line {number} of {path} is cut off at its end and left out")
                continue
            raise ValueError(
                f"{path}, line {number} is not valid JSON ({error}): correct or delete the "
                "line"
            ) from None
        if not isinstance(record, dict):
            raise ValueError(
                f"{path}, line {number} is no object with named numbers, such as "
                '{"step": 1, "entropy": 0.5, "reward": 0.3}: correct or delete the line'
            )
        rows.append(Row(f"{path}, line {number}", dict(_flat(record))))
    return Log({"": rows}, notes)


def _flat(record: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """The values with names joined by dots, in order; a deep record would exhaust a recursion."""
    open_ = [("", iter(record.items()))]
    while open_:
        prefix, items = open_[-1]
        for name, value in items:
            if isinstance(value, dict):
                open_.append((f"{prefix}{name}.", iter(value.items())))
                break
            yield f"{prefix}{name}", value
        else:
            open_.pop()


def _csv(path: Path, text: str) -> Log:
    first = text.lstrip("\r\n").split("\n")[0]
    delimiter = max(",;\t", key=first.count)
    # (Lines end where files end them: `splitlines` would cut at every separator that Unicode knows.)
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    rows = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _header(path, cells)
            elif len(cells) != len(header):
                raise ValueError(
                    f"{path}, line {reader.line_num} has {len(cells)} fields where the header has "
                    f"{len(header)}: correct or delete the line"
                )
            else:
                place = f"{path}, line {reader.line_num}"
                rows.append(Row(place, dict(zip(header, cells, strict=True))))
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {reader.line_num} is not valid CSV ({error}): correct or delete the line"
        ) from None
    return _by_run(header, rows)


def _header(path: Path, cells: list[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    if all(_is_number(cell) for cell in header):
        raise ValueError(
            f"{path} begins with numbers: put a first line with the columns' names, such as "
            "step,entropy,reward"
        )
    twice = {name for name in header if name and header.count(name) > 1}
    if twice:
        raise ValueError(f"{path} has two columns named '{min(twice)}': rename one in the first line")
    return header


def _by_run(header: list[str], rows: list[Row]) -> Log:
    """Split W&B's "run - metric" columns by run; any other table stays as it is."""
    bounds = [name for name in header if re.search(r"__(MIN|MAX)$", name)]
    kept = [name for name in header if name not in bounds]
    ours = [name for name in kept if " - " in name]
    if not ours or (not bounds and len(ours) < len(kept) - 1):
        return Log({"": rows}, [])
    runs: dict[str, list[Row]] = {}
    shared = [name for name in kept if name not in ours]
    for run in dict.fromkeys(name.rsplit(" - ", 1)[0] for name in ours):
        own = {name: name.rsplit(" - ", 1)[1] for name in ours if name.rsplit(" - ", 1)[0] == run}
        runs[run] = [
            Row(row.place, {n: row.values[n] for n in shared} | {own[n]: row.values[n] for n in own})
            for row in rows
        ]
    return Log(runs, [])


def _tensorboard(path: Path) -> Log:
    if not path.exists():
        raise ValueError(f"no such file: {path}")
    files = sorted(path.rglob(f"*{EVENT_FILE}*")) if path.is_dir() else [path]
    folders = list(dict.fromkeys(file.parent for file in files))
    log = Log({}, [])
    for file in files:
        name = "" if len(folders) == 1 else str(file.parent.relative_to(path))
        rows = _event_file(file, log.notes)
        if rows:
            log.runs.setdefault(name, []).extend(rows)
    if not log.runs:
        raise ValueError(f"{path} holds no scalars: are these the event files of a training run?")
    return log


def _event_file(file: Path, notes: list[str]) -> list[Row]:
    try:
        from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError:
        raise ValueError(
            f"reading TensorBoard events ({file}) needs the package tensorboard: pip install "
            "'policy-entropy[llm]', or export the run as CSV from TensorBoard's page"
        ) from None
    rows, size, count = [], 0, 0
    for record in RawEventFileLoader(str(file)).Load():
        size, count = size + len(record) + 16, count + 1  # a length and two checksums
        event = Event.FromString(record)
        for value in event.summary.value:
            number = np.asarray(value.simple_value) if value.HasField("simple_value") else None
            if value.HasField("tensor"):
                number = make_ndarray(value.tensor)
            if number is not None and number.ndim == 0 and np.issubdtype(number.dtype, np.number):
                rows.append(Row(f"{file}, event {count}",
                                 {"step": event.step, value.tag: float(number)}))
    left = file.stat().st_size - size
    if left > 0:
        notes.append(f"{file} is damaged, or was being written, after event {count}: its last {left} "
                     "bytes are left out")
    return rows


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
