"""Makes the runs of the bench, one file a run, resumable: what a trainer logged, not yet relabelled."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.diagnosis.causes import Case
from benchmarks.diagnosis.simulated import Simulation, simulated


def make(cases: Sequence[Case], folder: Path) -> None:
    """Train or simulate every run whose records the folder lacks; the tuning part comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {case.name: sum(one.cause == case.cause for one in cases[:i])
              for i, case in enumerate(cases)}
    for case in sorted(cases, key=lambda one: (
            one.cause == cases[-1].cause, one.part != "tuning", places[one.name])):
        path = folder / f"{case.name}.json"
        if path.exists():
            continue
        start = time.process_time()
        if isinstance(case.run, Simulation):
            records = simulated(case.run)
        else:
            from benchmarks.diagnosis.training import train  # takes seconds to import

            gc.freeze()  # what was imported need not be looked through again after every run
            records = train(case.run)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(records))
        part.rename(path)
        print(f"{case.name}: {len(records)} records, {time.process_time() - start:.1f} s", flush=True)


def made(case: Case, folder: Path) -> list[dict[str, float]]:
    """Return the records of a run that `make` made."""
    records: list[dict[str, float]] = json.loads((folder / f"{case.name}.json").read_text())
    return records
