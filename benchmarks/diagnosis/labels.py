"""The committed bench: its logs, and labels.csv, which says of each what was made wrong."""

from __future__ import annotations

import csv
import json
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.diagnosis.causes import SEED, Case
from benchmarks.diagnosis.making import made
from benchmarks.diagnosis.plain import shown, silent
from benchmarks.diagnosis.relabelled import write

DATA = Path(__file__).parent / "data"
PACKAGES = ("torch", "transformers", "trl", "numpy")


@dataclass(frozen=True, kw_only=True)
class Label:
    """The cause of a run, known by construction, and the findings that fit its numbers.

    Attributes:
        file: its log, in the folder of the data.
        right: the findings that name its cause.
        shown: the findings that its numbers bear out, whatever the cause (`plain`).
        silent: whether its cause moved nothing by its plain criterion.
        prompts: groups of eight answers a step, the noise of its log.
        group: runs of one group have the same prompts in the same order.
        options: everything about the run that is not as by default.
    """

    name: str
    file: str
    cause: str
    part: str
    source: str
    engine: str
    seed: int
    prompts: int
    group: str
    right: tuple[str, ...]
    shown: tuple[str, ...]
    silent: bool
    options: str


def write_all(cases: Iterable[Case], raw: Path, folder: Path = DATA) -> None:
    """Write the logs of the runs that were made, their labels and where they are from.

    Of a run that was not made anew the log and the label stay.
    """
    found, kept = [], {one.name: one for one in labels(folder=folder)} if (
        folder / "labels.csv").exists() else {}
    for case in cases:
        if case.name in kept and not (raw / f"{case.name}.json").exists():
            found.append(kept[case.name])
            continue
        records = made(case, raw)
        path = write(case, records, folder / case.cause.replace(" ", "-").lower())
        found.append(Label(
            name=case.name, file=path.relative_to(folder).as_posix(), cause=case.cause, part=case.part,
            source=case.source, engine=case.engine, seed=case.run.seed, prompts=case.run.prompts,
            group=case.group, right=case.right, shown=tuple(sorted(shown(records))),
            silent=silent(case, records), options=json.dumps(_options(case.run))))
    with (folder / "labels.csv").open("w", newline="") as stream:
        table = csv.DictWriter(stream, [field.name for field in fields(Label)], lineterminator="\n")
        table.writeheader()
        for label in found:
            table.writerow(asdict(label) | {
                "right": ";".join(label.right), "shown": ";".join(label.shown),
                "silent": "yes" if label.silent else "no"})
    before = folder / "provenance.json"
    provenance = (json.loads(before.read_text()) if before.exists() else {}) | {
        "command": "python -m benchmarks.diagnosis --make", "made": date.today().isoformat(),
        "seed_of_the_halves": SEED, "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES}}
    (folder / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n")


def _options(run: Any) -> dict[str, Any]:
    plain, own = asdict(type(run)()), asdict(run)
    return {name: value for name, value in own.items() if value != plain[name]}


def labels(part: str = "", folder: Path = DATA) -> list[Label]:
    """Return the labels of a part of the bench, or of all of it."""
    with (folder / "labels.csv").open(newline="") as stream:
        return [label for label in map(_label, csv.DictReader(stream)) if part in ("", label.part)]


def _label(row: dict[str, str]) -> Label:
    return Label(
        **{name: row[name] for name in ("name", "file", "cause", "part", "source", "engine", "group",
                                        "options")},
        seed=int(row["seed"]), prompts=int(row["prompts"]), silent=row["silent"] == "yes",
        right=tuple(filter(None, row["right"].split(";"))),
        shown=tuple(filter(None, row["shown"].split(";"))))


def groups(found: Iterable[Label]) -> Iterator[tuple[Label, list[Label]]]:
    """Yield each run with the others that have its prompts in its order."""
    found = list(found)
    for one in found:
        yield one, [two for two in found if one.group and two.group == one.group and two is not one]
