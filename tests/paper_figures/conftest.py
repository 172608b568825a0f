"""Real results at the smallest size, made once: the simulations, and training runs as files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pandas
import pytest

from paper_figures.data import inputs

DATA: dict[str, pandas.DataFrame] = {}
"""The data of figures on smoke simulations, by name."""


def write_run(
    folder: Path, *, rule: str, entropies: list[float], task: str = "split", seed: int = 0,
    status: str = "finished", model: str = "small-sums", device: str = "cpu",
    options: tuple[str, ...] = (), rewards: Sequence[float] | None = None,
) -> None:
    """A run folder as `llm_bridge train` leaves it, with the given entropy at each step, and reward."""
    folder.mkdir(parents=True)
    steps = len(entropies)
    description = {
        "status": status, "constant_answer": "1+2", "constant_answer_reward": 0.125,
        "options": {"model": model, "task": task, "rule": rule, "seed": seed, "audit_every": 4,
                    "steps": steps, "rule_options": list(options), "data": None},
    }
    (folder / "run.json").write_text(json.dumps(description))
    (folder / "provenance.json").write_text(
        json.dumps({"commit": "c" * 40, "versions": {}, "device": device, "seed": seed,
                    "created": "2026-01-02T03:04:05+00:00"})
    )
    rewards = [0.5] * steps if rewards is None else rewards
    lines = [
        {"step": i + 1, "entropy": h, "reward": float(rewards[i]), "distinct_answers": 8 * h,
         "seconds": 0.1, "temperature": None, "coefficient": None, "forecast_entropy_change": -1e-9}
        for i, h in enumerate(entropies)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def judged(figure: ModuleType, table: pandas.DataFrame) -> dict[str, str]:
    """The verdict of a figure's module on a table, by model."""
    return dict(figure.FIGURE.verdicts(figure.finding(table)))


def outcomes(figure: ModuleType, table: pandas.DataFrame, said: str = "") -> list[str]:
    """The outcomes of the criteria whose setting or words hold ``said``."""
    return [one.outcome for one in figure.finding(table).criteria if said in f"{one.where}: {one.says}"]


@pytest.fixture
def results(request: pytest.FixtureRequest, simulated: Callable[..., Path]) -> Path:
    """A results folder with the smoke simulations that the figure of the test's module needs."""
    folder, drawn = simulated(), request.module.figure.FIGURE
    while drawn.name not in DATA:
        try:
            DATA[drawn.name] = drawn.data(folder)
        except inputs.MissingInputError as error:
            simulated(error.experiment.replace("-", "_"))
    return folder


@pytest.fixture
def table(request: pytest.FixtureRequest, results: Path) -> pandas.DataFrame:
    """The data of the figure of the test's module."""
    return DATA[request.module.figure.FIGURE.name].copy()


@pytest.fixture(scope="session")
def smoke_results(
    simulated: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A results folder with what the first figures need; treat as read-only."""
    names = ("aepo_figure_1", "aepo_figure_2", "aepo_figure_3", "tabular_audit")
    small = simulated(*names)
    folder = tmp_path_factory.mktemp("results")
    (folder / "simulations").mkdir()
    for name in names:  # other processes are filling the shared folder
        shutil.copy(small / "simulations" / f"{name}.nc", folder / "simulations")
    return folder


@pytest.fixture(autouse=True)
def no_measured_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Tests see their own measured/ folder, not the repository's."""
    folder = tmp_path / "measured"
    monkeypatch.setattr(inputs, "MEASURED", folder)
    return folder
