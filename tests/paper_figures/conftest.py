"""Real results at the smallest size, made once: the simulations, and training runs as files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas
import pytest

from paper_figures.data import inputs
from paper_figures.site import bandit

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
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


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The panel with its scripts, on a page of its own; the site has it in the site's colors."""
    folder = tmp_path_factory.mktemp("bandit")
    (folder / "_static").mkdir()
    for name, content in bandit.files().items():
        (folder / "_static" / name).write_bytes(content)
    _, _, raw = bandit.page({}).partition("{raw} html\n")
    page = folder / "bandit.html"
    page.write_text(f'<!doctype html>\n<meta charset="utf-8">\n{raw.rpartition("```")[0]}')
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # (For one file: a second driver in this process, such as the site's, has to wait until it ends.)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install '.[dev]'")
    if (path := next(filter(None, map(shutil.which, BROWSERS)), None)) is None:
        pytest.skip("no chromium on PATH: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """``opened(folder, name, address, **options of the context)``: a page in a fresh window.

    None may leave an error on its console, or ask for anything outside its folder.
    """
    contexts, troubles = [], []

    def open_page(folder: Path, name: str, address: str = "", **options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options}))
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("data:", folder.as_uri()))
                or troubles.append(f"asked for {request.url[:200]}"))
        page.goto((folder / f"{name}.html").as_uri() + address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def at_rest(browser: Any, page_file: Path) -> Any:
    """The page, for tests that only compute with its functions."""
    page = browser.new_page()
    page.goto(page_file.as_uri())
    return page
