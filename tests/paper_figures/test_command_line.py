"""The commands as a user types them, and the queue of GPU runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.paper_figures.conftest import write_run


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
    assert "aepo-figure-1: not made" in found.stderr
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
