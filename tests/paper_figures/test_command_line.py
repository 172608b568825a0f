"""The commands as a user types them, and the queue of GPU runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from paper_figures import __main__ as commands
from tests.paper_figures.conftest import write_run

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """(exit status, output, errors) of a command line, in this process, which has imported it all."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr("sys.argv", ["paper_figures", *arguments])
        with pytest.raises(SystemExit) as end:
            commands.main()
        return int(end.value.code or 0), *capfd.readouterr()

    return run


def test_list_prints_one_figure_a_line_with_its_source() -> None:
    """A figure that cannot be found by name."""
    found = subprocess.run(  # in a process of its own, as a user starts it
        [sys.executable, "-m", "paper_figures", "list"], capture_output=True, text=True, check=False,
    )
    assert found.returncode == 0
    assert "aepo-figure-1\tAEPO, Figure 1\twhich target entropies are held" in found.stdout


def test_an_unknown_figure_is_one_line_with_the_nearest_names(command: Command, tmp_path: Path) -> None:
    """A traceback where a name was mistyped."""
    status, _, errors = command("build", "aepo-figure1", "--results", str(tmp_path))
    assert status == 2
    assert errors.startswith("error: unknown figure 'aepo-figure1': did you mean aepo-figure-1")
    assert len(errors.strip().splitlines()) == 1


def test_what_can_be_drawn_is_drawn_and_the_rest_is_named(command: Command, tmp_path: Path) -> None:
    """One missing dataset that costs every figure; a named figure's absence passed over."""
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    status, _, errors = command("build", "--results", str(tmp_path), "--formats", "svg")
    assert status == 0
    assert (tmp_path / "figures" / "small-transformer-training.svg").exists()
    assert "aepo-figure-1: not made" in errors
    assert command("build", "aepo-figure-1", "--results", str(tmp_path))[0] == 2


def test_an_unwritable_folder_is_named(command: Command, tmp_path: Path) -> None:
    """A traceback where the output cannot be written."""
    (tmp_path / "report").write_text("a file in the way")
    status, _, errors = command("report", "--results", str(tmp_path))
    assert status == 2
    assert errors.startswith("error: cannot write")


def test_the_gpu_queue_refuses_where_there_is_none(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours of CPU in place of minutes of GPU, without a word."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    status, _, errors = command("gpu")
    assert status == 2
    assert errors.startswith("error: no GPU")


def test_a_report_on_a_folder_that_is_not_there_is_refused(tmp_path: Path, command: Command) -> None:
    """An empty report and status 0 for a folder mistyped."""
    status, _, errors = command("report", "--results", str(tmp_path / "nothere"))
    assert status == 2
    assert "nothere is no folder" in errors
    assert not (tmp_path / "nothere").exists()


def test_the_gpu_queue_runs_in_a_checkout_only(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that are not shipped, and results written into site-packages."""
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    status, _, errors = command("gpu", "--dry-run")
    assert status == 2
    assert "run it in a checkout" in errors
