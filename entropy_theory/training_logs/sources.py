"""Opens the logs that people have: files, folders and standard input, and yields their records in order.

A file of text is read line by line by `lines`, compressed by gzip or not, in UTF-8 or UTF-16.
TensorBoard's events, W&B's run files, MLflow's folders, and the databases of MLflow and trackio are read
as what they are.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from entropy_theory.training_logs import wandb_file
from entropy_theory.training_logs.lines import LineReader, expanded

EVENTS, SQLITE, GZIP = "tfevents", b"SQLite format 3\0", b"\x1f\x8b"
WHOLE = 256 * 2**20
"""The most bytes of a file that is read as one JSON value."""
TEXT = frozenset((
    ".log", ".txt", ".out", ".err", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".md", ".gz"))
"""The endings of files that are read in a folder of logs."""


@dataclass(frozen=True, slots=True)
class Record:
    """The named values that one line, row or event of a log has."""

    values: dict[str, Any]
    run: str = ""
    """The run that it is of, where a log names several."""


@dataclass(slots=True)
class Source:
    """A log that is being read, with notes from the reading."""

    name: str
    notes: list[str] = field(default_factory=list)
    counts_rows: bool = False
    """Whether its rows are counted, for want of a step."""


def sources(path: str | Path) -> Iterator[tuple[Source, Iterator[Record]]]:
    """Yield each log of a path with its records: a file, all logs of a folder, "-" for standard input.

    Raises:
        ValueError: nothing there can be read as a log; names the path and the remedy.
    """
    if str(path) == "-":
        source = Source("standard input")
        yield source, _text(cast(io.BufferedReader, sys.stdin.buffer), source)
        return
    path = Path(path)
    if not path.exists():
        raise ValueError(f"no such file: {path}")
    if path.is_dir():
        yield from _folder(path)
        return
    source = Source(str(path))
    yield source, _file(path, source)


def _folder(path: Path) -> Iterator[tuple[Source, Iterator[Record]]]:
    known = [path / name for name in ("metrics.jsonl", "trainer_state.json")]
    files = next(([file] for file in known if file.exists()), [])
    if not files or files[0].suffix == ".json":
        events = sorted(path.rglob(f"*{EVENTS}*"))
        for file in events:
            source = Source(str(file))
            single = len({one.parent for one in events}) == 1
            within = "" if single else str(file.parent.relative_to(path))
            yield source, (Record(one.values, within) for one in _events(file, source))
        if events:
            return
        mlflow = sorted(folder for folder in (path, *path.rglob("metrics")) if _is_mlflow(folder))
        for folder in mlflow:
            yield Source(str(folder)), _mlflow(folder, folder.parent.name if len(mlflow) > 1 else "")
        if mlflow:
            return
        # W&B links its latest run beside the runs, and leaves empty files of runs that did not begin.
        files = files or sorted({one.resolve() for one in path.rglob("*.wandb") if one.stat().st_size})
        # transformers writes the whole log into each checkpoint.
        files = files or sorted(path.glob("checkpoint-*/trainer_state.json"),
                                key=lambda file: file.stat().st_mtime)[-1:]
    files = files or sorted(file for file in path.iterdir() if file.suffix in TEXT | {".db"})
    if not files:
        raise ValueError(f"{path} holds no log: name the log file itself, or a folder with TensorBoard "
                         "events, W&B's or MLflow's runs, a metrics.jsonl or a trainer_state.json")
    for file in files:
        source = Source(str(file))
        run = "" if len(files) == 1 else file.name
        yield source, (Record(one.values, run or one.run) for one in _file(file, source))


def _file(path: Path, source: Source) -> Iterator[Record]:
    if EVENTS in path.name:
        yield from _events(path, source)
        return
    if path.suffix == ".wandb":
        for values in wandb_file.history(path, source.notes):
            yield from map(Record, expanded(values))
        return
    try:
        with path.open("rb") as stream:
            head = stream.read(len(SQLITE))
            if head == SQLITE:
                yield from _database(path)
                return
            stream.seek(0)
            yield from _text(stream, source)
    except OSError as error:
        raise ValueError(f"cannot read {path} ({error.strerror or error}): check its path") from None


def _text(stream: io.BufferedReader, source: Source) -> Iterator[Record]:
    start = stream.peek(4)[:4]
    inner: io.BufferedReader | gzip.GzipFile = stream
    if start[:2] == GZIP:
        inner = gzip.GzipFile(fileobj=stream)
        with contextlib.suppress(EOFError, OSError, zlib.error):  # reading says what is wrong
            start = inner.peek(4)[:4]
    encoding = "utf-16" if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    # Universal newlines: a progress bar's carriage returns end lines too.
    text = io.TextIOWrapper(inner, encoding=encoding, errors="replace")
    reader, first, count, at = LineReader(), list[str](), 0, 0
    try:
        for at, line in enumerate(text, 1):
            if count == 0 and at * len(line) < WHOLE:
                first.append(line)
            for values in reader.read(line.rstrip("\n"), at):
                count, first = count + 1, []
                yield Record(values)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        source.notes.append(f"{source.name} is damaged after line {at} ({error}), and read up to there")
    finally:
        text.detach()
    if count == 0:
        whole = "".join(first)
        if not whole.strip():
            raise ValueError(f"{source.name} is empty: nothing has been logged yet" if not source.notes
                             else f"{source.notes[-1]}: copy it again")
        for record in _whole(whole):
            count += 1
            yield record
        if count:
            return
    # Settings printed over several lines look like a record that was cut, and are none.
    cut = reader.cut if len(reader.cut) <= reader.objects else []
    for lines, what in ((cut, "records are cut off"), (reader.odd, "lines are not of the table")):
        if lines:
            shown = ", ".join(map(str, lines[:3])) + (", ..." if len(lines) > 3 else "")
            source.notes.append(f"{source.name}: {len(lines)} {what} and left out (line {shown})")


def _whole(text: str) -> Iterator[Record]:
    """Yield the records of a text that is one JSON value over several lines."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield from map(Record, expanded(one))


def _events(path: Path, source: Source) -> Iterator[Record]:
    try:
        from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError:
        raise ValueError(
            f"reading TensorBoard events ({path}) needs the package tensorboard: pip install "
            "'policy-entropy[llm]', or export the run as CSV from TensorBoard's page") from None
    size, count = 0, 0
    for raw in RawEventFileLoader(str(path)).Load():
        size, count = size + len(raw) + 16, count + 1  # a length and two checksums
        event = Event.FromString(raw)
        for value in event.summary.value:
            found = np.asarray(value.simple_value) if value.HasField("simple_value") else None
            if value.HasField("tensor"):
                found = make_ndarray(value.tensor)
            if found is not None and found.ndim == 0 and np.issubdtype(found.dtype, np.number):
                yield Record({"step": event.step, value.tag: float(found)})
    if (left := path.stat().st_size - size) > 0:
        source.notes.append(f"{path} is damaged, or was being written, after event {count}: its last "
                            f"{left} bytes are left out")


def _is_mlflow(folder: Path) -> bool:
    return folder.name == "metrics" and (folder.parent / "meta.yaml").exists()


def _mlflow(folder: Path, run: str) -> Iterator[Record]:
    """Yield the values of MLflow's files, one per metric, with lines of time, value and step."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            cells = line.split()
            if len(cells) == 3:
                yield Record({"step": cells[2], file.relative_to(folder).as_posix(): cells[1]}, run)


def _database(path: Path) -> Iterator[Record]:
    """Yield the records of a database of trackio, a row per step, or of MLflow, a row per value."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        columns = {name for _, name, *_ in base.execute("PRAGMA table_info(metrics)")}
        if "run_uuid" in columns:
            rows = base.execute("SELECT name, step, key, value FROM metrics JOIN runs USING (run_uuid) "
                                "WHERE NOT is_nan ORDER BY run_uuid, step, timestamp")
            for run, step, name, value in rows:
                yield Record({"step": step, name: value}, run)
        elif "run_name" in columns:
            rows = base.execute(
                "SELECT run_name, step, metrics FROM metrics ORDER BY run_name, rowid")
            for run, step, values in rows:
                record = json.loads(values)
                if isinstance(record, dict):
                    yield Record({"step": step, **expanded(record)[0]}, str(run))
        else:
            raise ValueError(f"{path} is a database, but not of trackio or MLflow, which have a table "
                             "'metrics': name another file")
