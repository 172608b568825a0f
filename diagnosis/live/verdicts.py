"""Says when the diagnosis of a run changes while it trains.

    verdicts = Verdicts("this run", every=10)
    for record in training:
        if said := verdicts.add(record):
            print(said)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diagnosis.engine import diagnose
from diagnosis.findings import Diagnosis
from entropy_theory.training_logs.logs import Run, from_records


class Verdicts:
    """The diagnoses of a run so far.

    Args:
        name: what the run is called.
        every: of records that are added, a diagnosis is made after so many.
        records: those of the run so far.

    Raises:
        ValueError: an ``every`` that is no whole number of at least 1.
    """

    def __init__(self, name: str, *, every: int = 10, records: Iterable[Mapping[str, Any]] = ()):
        if type(every) is not int or every < 1:
            raise ValueError(f"every must be a whole number of at least 1, got {every!r}")
        self._name, self._every = name, every
        self._records = list(records)
        self.found: Diagnosis | None = None
        """The last diagnosis."""

    def add(self, record: Mapping[str, Any]) -> str | None:
        """Add a step's record; return what there is to say, if the verdict changed."""
        self._records.append(record)
        return None if len(self._records) % self._every else self.judge(self._records)

    def judge(self, records: Sequence[Mapping[str, Any]]) -> str | None:
        """Diagnose a run of which these are all records; return what to say, if the verdict changed."""
        runs = from_records(records, self._name)
        return self.look(runs) if runs and runs[-1].series else None

    def look(self, runs: Sequence[Run]) -> str | None:
        """Diagnose the last of some runs; return what to say, if the verdict changed."""
        *others, run = runs
        before, self.found = self.found, diagnose(run, others)
        if before is not None and _names(before) == _names(self.found):
            return None
        step = max((float(one.step[-1]) for one in run.series.values()), default=0.0)
        first = self.found.findings[0]
        change = "".join(f" Change {one.option}: {one.size}." for one in first.remedies[:1])
        return f"step {step:g}: {self.found.sentence}{change}"


def _names(found: Diagnosis) -> frozenset[str]:
    return frozenset(one.name for one in found.findings)
