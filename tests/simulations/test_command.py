"""The command line as a user meets it: names, errors without tracebacks, kills and resumes."""

import os
import signal
import subprocess
import sys
import time

import pytest
import xarray as xr

from entropy_theory.user_errors import run_command
from simulations.__main__ import main
from simulations.experiments import EXPERIMENTS

COMMAND = [sys.executable, "-m", "simulations"]


def test_list_prints_one_name_a_line_with_its_source(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    for line, experiment in zip(lines, EXPERIMENTS.values(), strict=True):
        assert experiment.source in line


def test_run_writes_a_result_and_prints_its_caption(tmp_path, capsys):
    assert main(["run", "tabular_audit", "--profile", "smoke", "--output", str(tmp_path)]) == 0
    with xr.open_dataset(tmp_path / "tabular_audit.nc", engine="scipy") as dataset:
        assert dataset.attrs["caption"] in capsys.readouterr().out
        assert dataset.attrs["profile"] == "smoke"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "aepo_figur_1"], "unknown experiment 'aepo_figur_1': did you mean aepo_figure_1"),
        (["run"], "name an experiment, or all"),
        (["run", "tabular_audit", "--output", "{file}/x"], "choose another output directory"),
    ],
)
def test_errors_are_one_line(tmp_path, capsys, arguments, message):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    arguments = [a.format(file=blocked) for a in arguments]
    with pytest.raises(SystemExit) as exit_:
        run_command(lambda: main(arguments))
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_killed_run_leaves_whole_results_only_and_resumes(tmp_path):
    """SIGKILL in the middle: what is finished stays, nothing else is there, the rest is computed."""
    arguments = ["run", "tabular_audit", "aepo_figure_1", "--output", str(tmp_path)]
    smoke = [*COMMAND, *arguments, "--profile", "smoke"]
    finished = tmp_path / "tabular_audit.nc"
    process = subprocess.Popen(smoke, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not finished.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    assert finished.exists()
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"tabular_audit.nc", "aepo_figure_1.nc"}
    before = finished.stat().st_mtime_ns
    done = subprocess.run(smoke, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert finished.stat().st_mtime_ns == before, "a finished experiment was computed again"
    assert {path.name for path in tmp_path.iterdir()} == {"tabular_audit.nc", "aepo_figure_1.nc"}
    xr.load_dataset(tmp_path / "aepo_figure_1.nc", engine="scipy")
