"""Results on disk: computed once, replaced when anything that determines them changes, whole."""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from entropy_theory.support.imported_sources import imported_sources
from entropy_theory.support.locks import lock_of
from simulations.computing import code_digest, store
from simulations.computing.cells import cell_key, identity_of, map_cells
from simulations.computing.store import Experiment, path_of, read, result
from simulations.computing.workers import attempt, in_this_process, local_processes
from tests.simulations import counting_cells

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class Config:
    size: int = 3


def an_experiment(calls, **changes):
    def compute(config, seed, progress):
        calls.append(seed)
        values = np.random.default_rng(seed).normal(size=config.size)
        progress(config.size)
        held = np.array([True, False, True])[: config.size]
        return xr.Dataset({"x": ("i", values), "held": ("i", held)})

    options = {
        "name": "an_experiment",
        "source": "Nowhere, Figure 0",
        "title": "A test",
        "caption": "Seen.",
        "profiles": dict.fromkeys(store.PROFILES, Config()),
        "compute": compute,
        "work": lambda config: config.size,
        **changes,
    }
    return Experiment(**options)


def test_computed_once_and_the_same_when_read_back(tmp_path):
    calls = []
    experiment = an_experiment(calls)
    first = result(experiment, tmp_path, seed=3)
    second = result(experiment, tmp_path, seed=3)
    assert calls == [3]
    assert os.listdir(tmp_path) == ["an_experiment.nc"]
    xr.testing.assert_identical(first, second)
    assert second.held.dtype == bool


def test_a_result_carries_its_provenance(tmp_path):
    dataset = result(an_experiment([]), tmp_path, seed=5)
    assert {"title", "caption", "source", "profile", "config_key"} <= set(dataset.attrs)
    provenance = json.loads(dataset.attrs["provenance"])
    assert provenance["seed"] == 5
    assert provenance["config"] == {"size": 3}
    assert {"numpy", "python", "entropy_theory"} <= set(provenance["versions"])


@pytest.mark.parametrize("change", ["seed", "config", "code", "damage"])
def test_a_stale_or_damaged_result_is_computed_again(tmp_path, monkeypatch, change):
    calls = []
    experiment, seed = an_experiment(calls), 0
    result(experiment, tmp_path, seed=seed)
    if change == "seed":
        seed = 1
    elif change == "config":
        experiment = an_experiment(calls, profiles=dict.fromkeys(store.PROFILES, Config(size=2)))
    elif change == "code":
        monkeypatch.setattr(store, "code_digest", lambda module: "other")
    else:
        path = path_of(experiment, tmp_path)
        path.write_bytes(path.read_bytes()[:40])
    result(experiment, tmp_path, seed=seed)
    assert len(calls) == 2
    result(experiment, tmp_path, seed=seed)
    assert len(calls) == 2


def test_a_failed_write_leaves_the_old_result(tmp_path, monkeypatch):
    experiment = an_experiment([])
    before = result(experiment, tmp_path, seed=0)

    def full_disk(dataset, path, **options):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", full_disk)
    with pytest.raises(OSError, match=r"an_experiment\.nc .*No space left"):
        result(experiment, tmp_path, seed=1)
    assert [p.name for p in tmp_path.iterdir()] == ["an_experiment.nc"]
    xr.testing.assert_identical(before, result(experiment, tmp_path, seed=0))


@pytest.mark.parametrize("size", [0, 500])
def test_a_file_cut_short_at_any_place_is_an_error_that_names_it(tmp_path, size):
    experiment = an_experiment([])
    result(experiment, tmp_path)
    path = path_of(experiment, tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"an_experiment\.nc is damaged"):
        read(path)
    with pytest.raises(ValueError, match="python -m simulations run other"):
        read(tmp_path / "other.nc")


def run_counted(output, log, *, n_cells=6, seconds=0.0, workers=1):
    """The experiment of counting_cells as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.simulations.counting_cells", str(output), str(log),
         str(n_cells), str(seconds), str(workers)],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )


def wait_until(condition, seconds=300.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def without_time(dataset):
    """The Dataset without the only thing that two computations of it may differ in."""
    return dataset.drop_attrs().assign_attrs(
        {name: value for name, value in dataset.attrs.items() if name != "provenance"})


@pytest.mark.deep
def test_two_processes_at_once_compute_everything_once(tmp_path):
    """The second waits for the first; when the first is killed, it goes on from its cells."""
    log, output = tmp_path / "log", tmp_path / "out"
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(run_counted(output, log, n_cells=6, seconds=0.3))
        wait_until(lambda: len(list((output / "cells" / "counted").glob("[!.]*.nc"))) >= 2)
        first.send_signal(signal.SIGSTOP)  # or it may be done before the second has started
        second = stack.enter_context(run_counted(output, log, n_cells=6, seconds=0.3))
        stack.callback(first.kill)
        assert "another process computes counted" in second.stdout.readline()
        first.kill()
        first.wait()
        there = len(list((output / "cells" / "counted").glob("[!.]*.nc")))
        finished = len(counting_cells.finished(log))
        assert second.communicate(timeout=600) == ("", None)
    assert second.returncode == 0
    assert len(counting_cells.finished(log)) == finished + 6 - there
    assert os.listdir(output) == ["counted.nc"]
    config = counting_cells.Config(log=str(log), n_cells=6, seconds=0.3)
    result(counting_cells.experiment(config), output)
    assert len(counting_cells.finished(log)) == finished + 6 - there


def test_what_a_process_killed_at_the_very_end_left_is_removed(tmp_path):
    """Its result is whole, its cells are still there, and so is its lock."""
    calls = []
    experiment = an_experiment(calls)
    result(experiment, tmp_path)
    cells = tmp_path / "cells" / "an_experiment"
    for leave in (lambda: cells.mkdir(parents=True), lock_of(path_of(experiment, tmp_path)).touch):
        leave()
        result(experiment, tmp_path)
        assert os.listdir(tmp_path) == ["an_experiment.nc"]
    assert len(calls) == 1


def test_equal_cells_are_computed_once(tmp_path):
    log = tmp_path / "log"
    cell, other = counting_cells.cells(log, 2)

    def compute(config, seed, progress):
        parts = map_cells(counting_cells.compute, [cell, other, cell], progress)
        return xr.concat(parts, dim="cell")

    steps = []
    dataset = result(an_experiment([], compute=compute), tmp_path, progress=steps.append)
    assert counting_cells.finished(log) == [0, 1]
    np.testing.assert_array_equal(dataset.x[0], dataset.x[2])
    assert sum(steps) == 30


def test_workers_report_what_fails_and_finish_the_rest(tmp_path):
    """An error, a death, a result that cannot be sent: each is that cell's, the others are done."""
    log = tmp_path / "log"
    cells = counting_cells.cells(
        log, 7, cell_0="error", cell_1="exit", cell_2="exit once", cell_3="memory", cell_4="lambda")
    steps = []
    found = dict(local_processes(2)(counting_cells.compute, cells, steps.append))
    assert sorted(found) == list(range(7))
    kinds = {i: getattr(outcome, "kind", "Dataset") for i, outcome in found.items()}
    assert kinds == {0: "ValueError", 1: "died", 2: "Dataset", 3: "MemoryError", 4: kinds[4],
                     5: "Dataset", 6: "Dataset"}
    assert kinds[4] != "Dataset"
    assert "cell 0 cannot be computed" in found[0].message
    assert "exit status 3, 2 times" in found[1].message
    assert "out of memory" in found[3].message
    assert counting_cells.finished(log) == [2, 4, 5, 6]
    assert sum(steps) == 60, "the steps of a process that died do not count"


def test_the_first_failure_is_raised_when_the_other_cells_are_kept(tmp_path):
    log = tmp_path / "log"
    cells = counting_cells.cells(log, 4, cell_1="error")

    def compute(config, seed, progress):
        return map_cells(counting_cells.compute, cells, progress)[0]

    experiment = an_experiment([], compute=compute)
    with pytest.raises(ValueError, match=r'cell 1 cannot be computed \(in cell .*"number": 1'):
        result(experiment, tmp_path, backend=local_processes(2))
    assert counting_cells.finished(log) == [0, 2, 3]
    assert len(list((tmp_path / "cells" / "an_experiment").iterdir())) == 3


def test_a_worker_with_other_code_is_refused(tmp_path):
    cell = counting_cells.cells(tmp_path, 1)[0]
    outcome = attempt(counting_cells.compute, cell, lambda steps: None, code="other")
    assert "another version of tests.simulations.counting_cells" in outcome.message
    assert counting_cells.finished(tmp_path) == []


def test_a_key_tells_apart_what_equal_numbers_hide(tmp_path):
    """GRPO and clip-higher with equal options have equal fields."""
    from entropy_theory.update_rules import get

    same = {"clip_low": 0.2, "clip_high": 0.28}
    assert identity_of(get("grpo", **same)) != identity_of(get("clip-higher", **same))
    cell = counting_cells.cells(tmp_path, 1)[0]
    keys = {
        cell_key(counting_cells.compute, cell),
        cell_key(counting_cells.compute, dataclasses.replace(cell, number=1)),
        cell_key(counting_cells.cells, cell),
        cell_key(in_this_process, cell),
    }
    assert len(keys) == 4
    with pytest.raises(ValueError, match="cannot be part of a key"):
        identity_of({"schedule": lambda step: 0.0})


def test_the_code_of_a_result_is_what_its_module_imports(tmp_path):
    """Imports in functions count, a package only where something is imported from it."""
    package = tmp_path / "room"
    (package / "inner").mkdir(parents=True)
    for name, text in {
        "__init__": "", "inner/__init__": "from room.late import x", "inner/leaf": "",
        "late": "", "unused": "", "relative": "",
        "main": "import numpy\nfrom room.inner import leaf\nfrom . import relative",
        "other": "def f():\n    from room.inner import x",
    }.items():
        (package / f"{name}.py").write_text(text)

    def of(name):
        return set(imported_sources(f"room.{name}", package / f"{name}.py", {"room": package}))

    assert of("main") == {"room.main", "room.inner.leaf", "room.relative"}
    assert of("other") == {"room.other", "room.inner", "room.late"}


def test_every_experiment_depends_on_engine_and_rules_and_not_on_the_others():
    from simulations.experiments import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        module = experiment.compute.__module__
        found = imported_sources(module, Path(sys.modules[module].__file__), code_digest.ROOTS,
                                 without=code_digest.BOOKKEEPING)
        assert module in found
        assert any(name.startswith("entropy_theory.") for name in found)
        assert not any(name.startswith("simulations.sweeps.sweep") for name in found)
    assert code_digest.code_digest("numpy") != code_digest.code_digest("json")
    with pytest.raises(ValueError, match="'sys' has no source file"):
        code_digest.code_digest("sys")
