"""Reads what the other rooms wrote: simulations, training runs, audits, evaluations, the ledger.

Runs come from two places: RESULTS/runs, made by this user, and measured/, made on machines that not
everyone has and kept in the repository.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import pandas
import xarray

from entropy_theory.support.results import read_json
from entropy_theory.update_rules.aepo import Aepo
from llm_bridge.commands.comparison import MODELS
from llm_bridge.running import run_folder
from simulations.computing.store import Mode
from simulations.experiments import EXPERIMENTS

Evidence = Literal[
    "theory", "tabular, exact", "tabular, sampled", "small transformer", "pretrained model",
    "measured on a GPU", "the paper's numbers",
]
"""The sources of a figure's numbers, which follow from the files that it read."""
RUN_KINDS: tuple[Evidence, ...] = ("small transformer", "pretrained model")
ALONE: tuple[Evidence, ...] = ("theory", "the paper's numbers")
SMALL_MODELS = ("small-sums", "hidden-")
"""How names of models begin that were trained from nothing, here or by the recipe `gpu-small/sizes`."""
MEASURED = Path(__file__).parents[1] / "measured"
BRIDGE = Path(__file__).parents[2] / "llm_bridge"


class MissingInputError(ValueError):
    """Raised where a result that a figure needs does not exist; the message names the command."""

    experiment = ""
    """The simulation that makes the result, where one does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The files that a `reading` block read."""

    results: Path
    digests: dict[str, str] = field(default_factory=dict)
    """The digest of each file or collection, by its name under the results folder."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """The provenance of each file that carries one, by the file's name."""
    kinds: dict[str, tuple[Evidence, ...]] = field(default_factory=dict)
    """Kinds of evidence of each file, run or printed table, by name, whether it is shown or not."""

    def evidence(self, shown: Mapping[str, Any]) -> tuple[Evidence, ...]:
        """Return what the inputs that a figure shows (its ``inputs``) are evidence of.

        Raises:
            ValueError: an input that was not read in the block.
        """
        if strange := shown.keys() - self.kinds.keys():
            raise ValueError(f"shown, but not read: {', '.join(sorted(strange))}; read inputs through "
                             "`paper_figures.data.inputs`")
        found = {kind for name in shown for kind in self.kinds[name]}
        return tuple(kind for kind in get_args(Evidence) if kind in found)

    def described(self, shown: Mapping[str, Any]) -> str:
        """Say in a sentence what a figure is drawn from, with seeds counted, as `evidence` has it."""
        groups: dict[str, list[str]] = {}
        for name in shown:
            kinds = self.kinds[name]
            if any(kind in RUN_KINDS for kind in kinds):
                groups.setdefault(" on a GPU" if "measured on a GPU" in kinds else "", []).append(name)
        runs = [
            f"{_counted(len(names), 'training run')} of {_models(shown, names)}{where} "
            f"({_counted(len({shown[name].get('seed') for name in names}), 'seed')})"
            for where, names in groups.items()
        ]
        simulations = [
            f"{Path(name).stem.replace('_', '-')} "
            f"({' and '.join(kind.partition(', ')[2] for kind in self.kinds[name])})"
            for name in shown if name.startswith("simulations/")
        ]
        others = [name if "theory" in self.kinds[name] else f"numbers of {name}" for name in shown
                  if not name.startswith("simulations/") and self.kinds[name][0] in ALONE]
        tabular = [f"simulations {', '.join(simulations)}"] if simulations else []
        return "; ".join([*tabular, *runs, *dict.fromkeys(others)])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


def _models(shown: Mapping[str, Any], names: list[str]) -> str:
    """Name the models of runs, each by the last part of its path."""
    models = (Path(str(shown[name].get("config", {}).get("model", "a model"))).name for name in names)
    return " and ".join(dict.fromkeys(models))


_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)


@contextlib.contextmanager
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


def note(name: str) -> None:
    """Record that a file under the results folder, or a collection, is read."""
    found = _reading.get()
    if found is not None and name not in found.digests:
        found.digests[name] = _digest(name, found.results)


def note_shown(name: str, provenance: Any, *kinds: Evidence) -> None:
    """Record something that every figure shows which reads it."""
    found = _reading.get()
    if found is not None:
        found.provenance[name] = provenance
        found.kinds[name] = kinds


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
    note(RECIPES)


def theory() -> None:
    """Record that a figure is computed from `entropy_theory` alone and changes with the code only."""
    note(NOTHING)
    note_shown("entropy_theory", "computed from its formulas", "theory")


def printed(source: str) -> None:
    """Record that a figure shows numbers printed in a paper; `paper_numbers.read` does so itself."""
    note_shown(source, "printed in the paper", "the paper's numbers")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRun:
    """One run of `llm_bridge train` or `audit`."""

    name: str
    folder: Path
    metrics: pandas.DataFrame
    """The metrics, one row per step, as in metrics.jsonl; empty where there is none."""
    audit: pandas.DataFrame
    """The audited steps, one per row; empty where there is none."""
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
    def kinds(self) -> tuple[Evidence, ...]:
        """The run's kinds of evidence: the kind of model, and whether a GPU ran it."""
        parts = Path(str(self.options.get("model"))).parts
        small = any(part.startswith(SMALL_MODELS) for part in parts)
        model: Evidence = "small transformer" if small else "pretrained model"
        return (model,) if self.device in ("cpu", "unknown") else (model, "measured on a GPU")

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


def simulation(results: Path, name: str, mode: Mode | None = None) -> xarray.Dataset:
    """Read into memory the dataset that ``python -m simulations run NAME`` wrote.

    Args:
        results: folder with ``simulations/``.
        name: the experiment.
        mode: which of its numbers are shown, where it has exact and sampled ones; None for both.

    Raises:
        MissingInputError: a missing or damaged file.
    """
    path, short = results / "simulations" / f"{name}.nc", f"simulations/{name}.nc"
    # Before it is read: one that is replaced meanwhile must not pass for what was read.
    note(short)
    command = f"python -m simulations run {name.replace('_', '-')} --output {path.parent}"
    if not path.exists():
        error = MissingInputError(f"{path} does not exist: run `{command}`")
        error.experiment = name.replace("_", "-")
        raise error
    try:
        dataset = xarray.load_dataset(path)
        origin = dataset_provenance(dataset)
    except Exception as error:  # the reader raises whatever a damaged file makes it stumble over
        raise MissingInputError(
            f"{path} cannot be read ({type(error).__name__}): delete it, run `{command}`") from error
    kinds: dict[Mode, Evidence] = {"exact": "tabular, exact", "sampled": "tabular, sampled"}
    modes = EXPERIMENTS[name].modes if mode is None else (mode,)
    note_shown(short, origin, *(kinds[one] for one in modes))
    return dataset


def dataset_provenance(dataset: xarray.Dataset) -> dict[str, Any]:
    """Return the provenance that a simulation's dataset carries; empty where it has none."""
    return dict(json.loads(dataset.attrs.get("provenance", "{}")))


def training_runs(results: Path) -> list[TrainingRun]:
    """Read all runs there are, the user's own first, sorted by name."""
    note(RUNS)
    folders = run_folder.folders((results / "runs", MEASURED))
    runs = [run for run in map(_training_run, folders) if run is not None]
    reading = _reading.get()
    if reading is not None:
        for run in reversed(runs):  # of two of one name the user's own is shown
            reading.kinds[run.name] = run.kinds
    return runs


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
    note(EVALUATIONS)
    found = []
    for root in (results / "evaluations", MEASURED / "evaluations"):
        for path in sorted(root.glob("*.json")):
            try:
                found.append({"file": path.name, **read_json(path, {"intervals?": {...: [float]}})})
            except ValueError:
                continue
    return found


def held_targets(
    results: Path, model: str, *, of_prompts: bool = False
) -> list[dict[str, Any]]:
    """Read a model's records of `llm_bridge.commands.holding_comparison`, the user's own runs first.

    Those in which prompts have targets of their own if ``of_prompts``, the others if not. Of equal runs
    the user's is taken; a damaged file is left out. Each record has the ``provenance`` of its file.

    Raises:
        MissingInputError: no record at all.
    """
    note(HELD)
    found: dict[str, dict[str, Any]] = {}
    for path in _held_targets(results):
        try:
            content = read_json(path, HELD_FORM)
        except ValueError:
            continue
        where = content["provenance"]
        for record in content["records"]:
            run = record["run"]
            if MODELS.get(run["task"]) != model or bool(run.get("offset")) != of_prompts:
                continue
            origin = {**where, "seed": run["seed"], "config": {**where["config"], "model": model}}
            if found.setdefault(record["name"], {**record, "provenance": origin})["provenance"] is origin:
                on_gpu: tuple[Evidence, ...] = () if where["device"] == "cpu" else ("measured on a GPU",)
                note_shown(record["name"], origin, MODEL_KINDS[model], *on_gpu)
    if not found:
        folder, options = HELD_OF_PROMPTS if of_prompts else HELD_RUNS[model]
        path = results / folder / "result.json"
        command = f"python -m llm_bridge.commands.holding_comparison --output {path}{options}"
        raise MissingInputError(
            f"{path} does not exist: run `{command}`, or draw in a checkout, which has a measured one")
    return list(found.values())


def _held_targets(results: Path) -> list[Path]:
    return [path for root in (results, MEASURED)
            for path in sorted(root.glob("holding-a-target*/result.json"))]


def comparison(results: Path, name: str) -> dict[str, Any] | None:
    """Read a comparison of runs, the user's own or else the measured one; None if there is neither.

    Args:
        results: the user's folder of results.
        name: the file's path there, and below MEASURED, as in "comparisons/network_covariance.json".

    Raises ValueError for a damaged file.
    """
    note(COMPARISONS)
    for root in (results, MEASURED):
        if (root / name).exists():
            found = read_json(root / name, COMPARISON_FORM)
            where = found["provenance"]
            for record in found["records"]:
                run = record.get("name", f"{record['label']}, {record['task']}, seed {record['seed']}")
                model = MODELS.get(record["task"], MODELS["sum"])
                note_shown(run, {**where, "seed": record["seed"], "config": {"model": model}},
                           MODEL_KINDS[model])
            return dict(found)
    return None


NOTHING, RUNS, EVALUATIONS, RECIPES = "nothing", "training runs", "evaluations", "recipes"
COMPARISONS, LOGS, HELD = "comparisons", "logs of other trainers", "comparison of what holds a target"
COMPARISON_FORM = {"provenance": {}, "records": [{"label": str, "task": str, "seed": int}]}
"""What must be in a file of a comparison (`stored.check_form`)."""
MODEL_KINDS: dict[str | None, Evidence] = {
    "small-sums": "small transformer", "smollm2-135m-instruct": "pretrained model"}
"""The kind of model that a comparison is evidence on."""
HELD_RUNS = {
    "small-sums": ("holding-a-target", ""),
    "smollm2-135m-instruct": (
        "holding-a-target-chain-sum", " --design pretrained-small --steps 32 --prompts 4")}
"""The folder of each model's runs, and the options that make some on a CPU."""
HELD_OF_PROMPTS = ("holding-a-target-each-prompt", " --design each-prompt")
"""The folder, and the options, of the small model's runs in which prompts have targets of their own."""
HELD_FORM = {"provenance": {"config": {}, "device": str},
             "records": [{"name": str, "run": {"task": str, "seed": int}}]}
"""What must be in a file of the comparison (`stored.check_form`)."""
_COLLECTIONS: dict[str, Callable[[Path], list[Path]]] = {
    NOTHING: lambda results: [],
    LOGS: lambda results: [file for file in (results / "training-logs").rglob("*") if file.is_file()],
    HELD: _held_targets,
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
        path for root in (results, MEASURED)
        for path in (*(root / "comparisons").glob("*.json"), *root.glob("forecasts/result.json"),
                     *root.glob("noise*/result.json"))],
}
