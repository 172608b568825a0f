"""Reading what the other rooms wrote: simulations, training runs, audits, evaluations, the ledger.

Runs come from two places: RESULTS/runs, made by this user, and measured/, made on machines that not
everyone has and kept in the repository.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray

from entropy_theory.results import read_json
from entropy_theory.update_rules.aepo import Aepo
from paper_figures.figure import MissingInputError

MEASURED = Path(__file__).with_name("measured")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRun:
    """One run of `llm_bridge train` or `audit`."""

    name: str
    folder: Path
    metrics: pandas.DataFrame
    """One row a step, as in metrics.jsonl; empty where there is none."""
    audit: pandas.DataFrame
    """One row an audited step; empty where none was."""
    options: dict[str, Any]
    """What was asked for."""
    constant_answer: float | None
    """What always giving the most common right answer would score; None while the run goes on."""
    finished: bool
    provenance: dict[str, Any]

    @property
    def measured(self) -> bool:
        """Whether it came with the repository, from another machine."""
        return self.folder.parent == MEASURED

    @property
    def device(self) -> str:
        """Where it ran."""
        return str(self.provenance.get("device", "unknown"))

    @property
    def rule_options(self) -> dict[str, str]:
        """Options of the rule that were given, as text."""
        return dict(item.split("=", 1) for item in self.options.get("rule_options", ()))

    @property
    def target(self) -> float | None:
        """The target entropy of AEPO, nats; None for rules without one."""
        if self.options.get("rule") != "aepo":
            return None
        return float(self.rule_options.get("target", Aepo().target))


def simulation(results: Path, name: str) -> xarray.Dataset:
    """The dataset that ``python -m simulations run NAME`` wrote, in memory.

    Raises:
        MissingInputError: it was not run, or the file is damaged.
    """
    path = results / "simulations" / f"{name}.nc"
    command = f"python -m simulations run {name} --output {path.parent}"
    if not path.exists():
        raise MissingInputError(f"{path} does not exist: run `{command}`")
    try:
        return xarray.load_dataset(path)
    except (OSError, ValueError) as error:
        raise MissingInputError(f"{path} cannot be read ({error}): delete it, run `{command}`") from error


def dataset_provenance(dataset: xarray.Dataset) -> dict[str, Any]:
    """The provenance that a simulation's dataset carries; empty where it has none."""
    return dict(json.loads(dataset.attrs.get("provenance", "{}")))


def even_in_log(steps: np.ndarray, points: int) -> np.ndarray:
    """Indices of at most ``points`` entries of increasing ``steps``, even in log; 0 is left out."""
    positive = np.flatnonzero(steps > 0)
    wanted = np.geomspace(steps[positive[0]], steps[-1], points)
    nearest = np.abs(np.log(steps[positive])[None] - np.log(wanted)[:, None]).argmin(axis=1)
    return positive[np.unique(nearest)]


def training_runs(results: Path) -> list[TrainingRun]:
    """All runs found, the user's own first, sorted by name."""
    folders = [
        path.parent
        for root in (results / "runs", MEASURED)
        for path in sorted(root.glob("*/run.json"))
    ]
    return [run for run in map(_training_run, folders) if run is not None]


def _training_run(folder: Path) -> TrainingRun | None:
    """The run in a folder, or None where it holds nothing readable yet."""
    try:
        description = read_json(folder / "run.json")
        audit_file = folder / "audit.json"
        audit = read_json(audit_file)["steps"] if audit_file.exists() else []
        provenance_file = folder / "provenance.json"
        provenance = read_json(provenance_file) if provenance_file.exists() else {}
    except ValueError:
        return None
    metrics = folder / "metrics.jsonl"
    score = description.get("constant_answer_reward")
    return TrainingRun(
        name=folder.name,
        folder=folder,
        metrics=pandas.DataFrame(_json_lines(metrics) if metrics.exists() else []),
        audit=pandas.DataFrame(audit),
        options=description["options"],
        constant_answer=None if score is None else float(score),
        finished=description.get("status") == "finished",
        provenance=provenance,
    )


def _json_lines(path: Path) -> list[dict[str, Any]]:
    """Rows of a log, later ones of an equal step replacing earlier ones (a resumed run)."""
    rows: dict[int, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # the last line of a run that was cut off while writing
            continue
        rows[int(row["step"])] = row
    return [rows[step] for step in sorted(rows)]


def evaluations(results: Path) -> list[dict[str, Any]]:
    """Results of `llm_bridge evaluate`, sorted by file name; damaged files are left out."""
    found = []
    for root in (results / "evaluations", MEASURED / "evaluations"):
        for path in sorted(root.glob("*.json")):
            try:
                found.append({"file": path.name, **read_json(path)})
            except ValueError:
                continue
    return found
