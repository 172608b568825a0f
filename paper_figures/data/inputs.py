"""Reads what the other rooms wrote: simulations, training runs, audits, evaluations, the ledger.

Runs come from two places: RESULTS/runs, made by this user, and measured/, made on machines that not
everyone has and kept in the repository.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray

from entropy_theory.support.results import read_json
from entropy_theory.update_rules.aepo import Aepo
from llm_bridge.running import run_folder

MEASURED = Path(__file__).parents[1] / "measured"
BRIDGE = Path(__file__).parents[2] / "llm_bridge"


class MissingInputError(ValueError):
    """Raised where a result that a figure needs does not exist; the message names the command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was read inside a `reading` block."""

    results: Path
    digests: dict[str, str] = field(default_factory=dict)
    """The digest of each file or collection, by its name under the results folder."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """The provenance of each file that carries one, by the file's name."""


_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)


@contextmanager
def reading(results: Path) -> Iterator[Reading]:
    """Record what is read from ``results`` inside the block."""
    found = Reading(results=results)
    token = _reading.set(found)
    try:
        yield found
    finally:
        _reading.reset(token)


def unchanged(digests: Mapping[str, str], results: Path) -> bool:
    """Whether everything that was read (`Reading.digests`) is unchanged; False if nothing was read."""
    return bool(digests) and all(_digest(name, results) == old for name, old in digests.items())


def _note(name: str, provenance: Mapping[str, Any] | None = None) -> None:
    found = _reading.get()
    if found is None:
        return
    if name not in found.digests:
        found.digests[name] = _digest(name, found.results)
    if provenance:
        found.provenance[name] = dict(provenance)


def _digest(name: str, results: Path) -> str:
    """Return a digest of a file's content, or of the list of files of a collection."""
    if name not in _COLLECTIONS:
        try:
            return hashlib.sha256((results / name).read_bytes()).hexdigest()[:16]
        except OSError:
            return "absent"
    states = []
    for path in sorted(_COLLECTIONS[name](results)):
        with contextlib.suppress(OSError):  # gone in between
            state = path.stat()
            states.append([str(path), state.st_size, state.st_mtime_ns])
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()[:16]


def recipes() -> None:
    """Record that a figure shows settings of `llm_bridge.recipes` and protocols of evaluation."""
    _note(RECIPES)


def theory() -> None:
    """Record that a figure is computed from `entropy_theory` alone and changes with the code only."""
    _note(NOTHING)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRun:
    """One run of `llm_bridge train` or `audit`."""

    name: str
    folder: Path
    metrics: pandas.DataFrame
    """The metrics, one row a step, as in metrics.jsonl; empty where there is none."""
    audit: pandas.DataFrame
    """The audited steps, one a row; empty where there is none."""
    kernel: dict[str, Any] | None
    """What an audit found of the logit kernel; None where it did not look."""
    options: dict[str, Any]
    """The options with which the run was started."""
    constant_answer: float | None
    """What always giving the most common right answer would score; None while the run goes on."""
    finished: bool
    provenance: dict[str, Any]

    @property
    def measured(self) -> bool:
        """Whether the run came with the repository, from another machine."""
        return self.folder.parent == MEASURED

    @property
    def device(self) -> str:
        """The device on which it ran."""
        return str(self.provenance.get("device", "unknown"))

    @property
    def rule_options(self) -> dict[str, str]:
        """The options of the rule that were given, as text."""
        return dict(item.split("=", 1) for item in self.options.get("rule_options", ()))

    @property
    def target(self) -> float | None:
        """The target entropy of AEPO, nats; None for rules without one."""
        if self.options.get("rule") != "aepo":
            return None
        return float(self.rule_options.get("target", Aepo().target))


def simulation(results: Path, name: str) -> xarray.Dataset:
    """Read into memory the dataset that ``python -m simulations run NAME`` wrote.

    Raises:
        MissingInputError: a missing or damaged file.
    """
    path, short = results / "simulations" / f"{name}.nc", f"simulations/{name}.nc"
    # Before it is read: one that is replaced meanwhile must not pass for what was read.
    _note(short)
    command = f"python -m simulations run {name} --output {path.parent}"
    if not path.exists():
        raise MissingInputError(f"{path} does not exist: run `{command}`")
    try:
        dataset = xarray.load_dataset(path)
    except (OSError, ValueError) as error:
        raise MissingInputError(f"{path} cannot be read ({error}): delete it, run `{command}`") from error
    _note(short, dataset_provenance(dataset))
    return dataset


def dataset_provenance(dataset: xarray.Dataset) -> dict[str, Any]:
    """Return the provenance that a simulation's dataset carries; empty where it has none."""
    return dict(json.loads(dataset.attrs.get("provenance", "{}")))


def even_in_log(steps: np.ndarray, points: int) -> np.ndarray:
    """Return indices of at most ``points`` of increasing ``steps``, even in log; step 0 is left out."""
    positive = np.flatnonzero(steps > 0)
    wanted = np.geomspace(steps[positive[0]], steps[-1], points)
    nearest = np.abs(np.log(steps[positive])[None] - np.log(wanted)[:, None]).argmin(axis=1)
    return positive[np.unique(nearest)]


def training_runs(results: Path) -> list[TrainingRun]:
    """Read all runs there are, the user's own first, sorted by name."""
    _note(RUNS)
    found = run_folder.folders((results / "runs", MEASURED))
    return [run for run in map(_training_run, found) if run is not None]


def _training_run(folder: Path) -> TrainingRun | None:
    """Read the run in a folder; None where it holds nothing readable yet."""
    try:
        run = run_folder.read(folder)
    except ValueError:
        return None
    score = run.constant_answer_reward
    return TrainingRun(
        name=run.name,
        folder=folder,
        metrics=pandas.DataFrame(run.steps),
        audit=pandas.DataFrame([] if run.audit is None else run.audit["steps"]),
        kernel=None if run.audit is None else run.audit.get("kernel"),
        options=run.options,
        constant_answer=None if score is None else float(score),
        finished=run.status == run_folder.FINISHED,
        provenance=run.provenance or {},
    )


def evaluations(results: Path) -> list[dict[str, Any]]:
    """Read the results of `llm_bridge evaluate`, sorted by file name; damaged files are left out."""
    _note(EVALUATIONS)
    found = []
    for root in (results / "evaluations", MEASURED / "evaluations"):
        for path in sorted(root.glob("*.json")):
            try:
                found.append({"file": path.name, **read_json(path)})
            except ValueError:
                continue
    return found


def comparison(results: Path, name: str) -> dict[str, Any] | None:
    """Read a comparison of runs, the user's own or else the measured one; None if there is neither."""
    _note(COMPARISONS)
    for root in (results, MEASURED):
        if (root / "comparisons" / name).exists():
            found = read_json(root / "comparisons" / name)
            _note(COMPARISONS, found.get("provenance"))
            return dict(found)
    return None


NOTHING, RUNS, EVALUATIONS, RECIPES = "nothing", "training runs", "evaluations", "recipes"
COMPARISONS = "comparisons"
_COLLECTIONS: dict[str, Callable[[Path], list[Path]]] = {
    NOTHING: lambda results: [],
    RECIPES: lambda results: [*BRIDGE.glob("recipes/*/*.toml"), BRIDGE / "data" / "benchmarks.py"],
    RUNS: lambda results: [
        path for root in (results / "runs", MEASURED)
        for file in (*run_folder.READ, "audit/kernel-*.npz", "audit/tokens-*.npz")
        for path in root.glob(f"*/{file}")
    ],
    EVALUATIONS: lambda results: [
        path for root in (results / "evaluations", MEASURED / "evaluations")
        for path in root.glob("*.json")
    ],
    COMPARISONS: lambda results: [
        path for root in (results, MEASURED) for path in (root / "comparisons").glob("*.json")],
}
