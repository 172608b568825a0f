"""The commands as a user types them, and the queue of GPU runs."""

import dataclasses
import json
import time
from collections.abc import Callable

import pytest
import torch

import simulations.__main__
from entropy_theory.support.user_errors import run_command
from paper_figures import __main__ as commands
from paper_figures import names
from paper_figures.catalog import FIGURES
from paper_figures.commands import figures
from paper_figures.reproduce import gpu, progress
from paper_figures.reproduce.stage import StageRun
from paper_figures.reproduce.stages import stages
from simulations.__main__ import run as simulate
from tests.paper_figures.conftest import write_run

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch, capfd):
    """(exit status, output, errors) of a command line, in this process, which has imported it all."""

    def run(*arguments):
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr("sys.argv", ["paper_figures", *arguments])
        with pytest.raises(SystemExit) as end:
            run_command(commands.main)
        return int(end.value.code or 0), *capfd.readouterr()

    return run


def test_an_unknown_figure_is_one_line_with_the_nearest_names(command, tmp_path):
    """A traceback where a name was mistyped."""
    status, _, errors = command("build", "aepo-figure1", "--output", str(tmp_path))
    assert status == 2
    assert errors.startswith("error: unknown figure 'aepo-figure1': did you mean aepo-figure-1")
    assert len(errors.strip().splitlines()) == 1


def test_a_named_figure_computes_the_simulation_that_it_lacks(command, tmp_path, monkeypatch):
    """An error that names a command, in place of the figure."""
    asked = []

    def at_its_smallest(names, output):
        asked.extend(names)
        return simulate(names, output=output, profile="smoke")

    monkeypatch.setattr(simulations.__main__, "run", at_its_smallest)
    where = ("aepo-figure-2", "--output", str(tmp_path), "--formats", "svg")
    assert command("build", *where)[0] == 0
    assert (tmp_path / "figures" / "aepo-figure-2.svg").exists()
    (tmp_path / "simulations" / "aepo_figure_2.nc").write_bytes(b"damaged")
    assert command("build", *where)[0] == 2
    assert asked == ["aepo-figure-2"]


def test_what_can_be_drawn_is_drawn_and_the_rest_is_named(command, tmp_path, monkeypatch):
    """One missing dataset that costs every figure; a named figure's absence passed over."""
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    status, _, errors = command("build", "--output", str(tmp_path), "--formats", "svg")
    assert status == 0
    assert (tmp_path / "figures" / "small-transformer-training.svg").exists()
    assert "aepo-figure-1: not made" in errors
    monkeypatch.setattr(simulations.__main__, "run", lambda names, output: 0)
    status, _, errors = command("build", "aepo-figure-1", "--output", str(tmp_path / "nothere"))
    assert status == 2
    assert errors.startswith("error: aepo-figure-1 is not made: ")
    assert not (tmp_path / "nothere").exists()


def test_what_is_listed_is_what_is_there():
    """A figure that cannot be asked for, because its source is laid out otherwise."""
    assert names.figures() == [(one.name, one.source, one.title) for _, one in sorted(FIGURES.items())]


def test_what_was_made_is_written_as_json(tmp_path):
    """An option that is taken, and nothing written."""
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    name, written = "small-transformer-training", tmp_path / "found.json"
    assert figures((name,), output=tmp_path, formats=("svg",), json=written) == 0
    assert json.loads(written.read_text())["made"][name]["verdicts"] == [
        {"verdict": "our own", "says": "our own"}]


def test_an_unwritable_folder_is_named(command, tmp_path):
    """A traceback where the output cannot be written."""
    (tmp_path / "report").write_text("a file in the way")
    status, _, errors = command("report", "--output", str(tmp_path))
    assert status == 2
    assert errors.startswith("error: cannot write")


def test_the_gpu_queue_refuses_where_there_is_none(command, monkeypatch):
    """Hours of CPU in place of minutes of GPU, without a word."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    status, _, errors = command("gpu")
    assert status == 2
    assert errors.startswith("error: torch")
    assert "finds no GPU" in errors


def test_the_gpu_queue_refuses_outside_a_checkout(command, monkeypatch, tmp_path):
    """Tests that are not there, planned or run, and results written among installed packages."""
    monkeypatch.setattr(gpu, "__file__", str(tmp_path / "paper_figures" / "reproduce" / "gpu.py"))
    for options in ((), ("--dry-run",), ("--rehearse",)):
        status, _, errors = command("gpu", *options)
        assert status == 2
        assert f"installed in {tmp_path}: clone the repository" in errors


def test_a_report_of_no_folder_is_refused(command, tmp_path):
    """An empty report, and status 0, for a mistyped folder."""
    status, _, errors = command("report", "--output", str(tmp_path / "nothere"))
    assert status == 2
    assert errors.startswith(f"error: no such folder: {tmp_path / 'nothere'}")


def test_the_time_left_is_one_that_can_be_true(tmp_path):
    """A stage that ran longer than expected had "about 0:01 left" for over a minute."""
    first, second, last = (
        StageRun(stage=dataclasses.replace(stage, seconds=100.0, after=after), log=tmp_path / "log")
        for stage, after in zip(stages("smoke", tmp_path)[:3], ((), (), ("*",)), strict=True))
    shown = progress.Progress([first, second, last], lanes=2)
    assert shown.remaining() == 200  # two side by side, then the one that waits for all
    first.status, first.seconds = "done", 150.0
    assert shown.remaining() == pytest.approx(300)  # this machine takes half as long again
    second.status, second.started = "running", time.monotonic() - 200
    assert shown.remaining() is None
    last.status, last.started = "running", time.monotonic()  # in time, so not named
    assert shown._left() == f"time left unknown: {second.stage.name} takes longer than expected"
    second.status, second.seconds, last.status = "done", 50.0, "kept"
    assert shown._left() == "about 0:00 left"
