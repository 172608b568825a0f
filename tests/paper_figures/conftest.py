"""Real results at the smallest size, made once: the simulations, and training runs as files."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import ledger
from entropy_theory.verification.claim import Claim, Evidence
from entropy_theory.verification.verdict import Verdict
from paper_figures.catalog import FIGURES
from paper_figures.data import inputs
from paper_figures.figure import build
from paper_figures.report.page import write_report


def write_run(
    folder: Path, *, rule: str, entropies: list[float], task: str = "split", seed: int = 0,
    status: str = "finished", model: str = "small-sums", device: str = "cpu",
    options: tuple[str, ...] = (),
) -> None:
    """A run folder as `llm_bridge train` leaves it, with the given entropy at each step."""
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
    lines = [
        {"step": i + 1, "entropy": h, "reward": 0.5, "distinct_answers": 8 * h, "seconds": 0.1,
         "temperature": None, "coefficient": None, "forecast_entropy_change": -1e-9}
        for i, h in enumerate(entropies)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


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


ON_THE_PAGE = ("aepo-figure-1",)


def steps_of(claim: Claim) -> list[Evidence]:
    """Evidence as a run without a fault would leave it: every experiment on the page."""
    return [
        Evidence(method="experiment", outcome="pass", detail="shown", cases=1, target="experiment",
                 name=step.name)
        for step in claim.experiments
    ]


def accepted_ledger() -> dict[str, Any]:
    """A full ledger with the accepted verdicts."""
    accepted = ledger.read_accepted()
    entries = [
        ledger.entry(claim, steps_of(claim), Verdict(
            statement=accepted[claim.id]["verdict"], problems=(),
            printed_proof=accepted[claim.id]["printed_proof"],
            counterexample=accepted[claim.id]["counterexample"]))
        for claim in all_claims().values()
    ]
    return {"provenance": {"commit": None, "created": "2026-01-01"}, "claims": entries}


@pytest.fixture(scope="session")
def page_file(
    simulated: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Path:
    """The report on all claims and a real figure, written once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    results = (base if worker_id == "master" else base.parent) / "page"
    results.mkdir(exist_ok=True)
    with (results / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        page = results / "report" / "everything.html"
        if not page.exists():
            simulations = simulated("aepo_figure_1")
            (results / "ledger.json").write_text(json.dumps(accepted_ledger()))
            for name in ON_THE_PAGE:
                build(FIGURES[name], simulations, results / "figures", ["svg"])
            write_report(results)
    return page


@pytest.fixture(autouse=True)
def no_measured_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Tests see their own measured/ folder, not the repository's."""
    folder = tmp_path / "measured"
    monkeypatch.setattr(inputs, "MEASURED", folder)
    return folder
