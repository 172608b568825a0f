"""The commands as a user types them, and the queue of GPU runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paper_figures import gpu
from tests.paper_figures.conftest import write_run

ROOM = Path(gpu.__file__).parent


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "paper_figures", *arguments], capture_output=True, text=True,
        check=False, env={**os.environ, "NO_COLOR": "1"},
    )


def test_list_prints_one_figure_a_line_with_its_source() -> None:
    """A figure that cannot be found by name."""
    found = command("list")
    assert found.returncode == 0
    assert "aepo-figure-1\tAEPO, Figure 1\twhich target entropies are held" in found.stdout


def test_an_unknown_figure_is_one_line_with_the_nearest_names(tmp_path: Path) -> None:
    """A traceback where a name was mistyped."""
    found = command("build", "aepo-figure1", "--results", str(tmp_path))
    assert found.returncode == 2
    assert found.stderr.startswith("error: unknown figure 'aepo-figure1': did you mean aepo-figure-1")
    assert len(found.stderr.strip().splitlines()) == 1


def test_what_can_be_drawn_is_drawn_and_the_rest_is_named(tmp_path: Path) -> None:
    """One missing dataset that costs every figure; a named figure's absence passed over."""
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    found = command("build", "--results", str(tmp_path), "--formats", "svg")
    assert found.returncode == 0
    assert (tmp_path / "figures" / "small-transformer-training.svg").exists()
    assert "aepo-figure-1: not drawn" in found.stderr
    assert command("build", "aepo-figure-1", "--results", str(tmp_path)).returncode == 2


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    """A traceback where the output cannot be written."""
    (tmp_path / "report").write_text("a file in the way")
    found = command("report", "--results", str(tmp_path))
    assert found.returncode == 2
    assert found.stderr.startswith("error: cannot write")


def test_the_gpu_queue_refuses_where_there_is_none() -> None:
    """Hours of CPU in place of minutes of GPU, without a word."""
    found = subprocess.run(
        [sys.executable, "-m", "paper_figures", "gpu"], capture_output=True, text=True, check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert found.returncode == 2
    assert "no GPU" in found.stderr


def test_the_waiting_list_is_that_of_the_repository() -> None:
    """A run that is asked for, is not there, and is not on the list."""
    assert (ROOM / "measured" / "WAITING.md").read_text(encoding="utf-8") == gpu.waiting_list()


def test_finished_runs_leave_the_queue(tmp_path: Path) -> None:
    """A finished run made again, or an interrupted one forgotten."""
    first, second, *rest = gpu.RUNS
    write_run(tmp_path / first, rule="grpo", entropies=[1.0])
    write_run(tmp_path / second, rule="aepo", entropies=[1.0], status="running")
    assert gpu.unfinished(tmp_path) == [second, *rest]


def test_a_budget_must_be_positive() -> None:
    """A queue that does nothing and says so with success."""
    with pytest.raises(ValueError, match="budget must be above 0 minutes, got -1"):
        gpu.run_queue(-1)
