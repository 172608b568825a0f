"""Guards the readers of sweeps and stores against damaged files."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from simulations.__main__ import main
from simulations.computing import cells, store
from simulations.sweeps import plan
from simulations.sweeps.file import read_sweep
from tests.fuzzing import (
    Reader,
    as_toml,
    command_status,
    ends_well,
    holds_of_reader,
    reader_tests,
)

SWEEP = {
    "n_starts": 2, "seed": 3,
    "problem": {"kind": "bandit", "n_actions": 5, "scale": 1.5, "accuracies": [0.25, 0.5]},
    "features": {"kind": "coupled", "coupling": 0.5, "rank": 2},
    "rule": {"name": "aepo", "alpha": 0.5, "base": {"name": "grpo", "clip_high": 0.28},
             "towards": {"name": "shorter-responses", "per_token": 0.02}},
    "dynamics": {"steps": 40, "learning_rate": 0.5, "samples": {"group_size": 4},
                 "target_schedule": {"kind": "points", "points": [[0, 0.5], [20, 0.7]]}},
    "record": {"pass_at": [1, 2]},
    "grid": {"problem.n_correct": [1, 2], "rule.alpha": [0.25, 1.0]},
}


def as_sweep(document):
    """TOML whose grid has keys with dots, as users write them."""
    text = as_toml(document)
    for key in (b"problem.n_correct", b"rule.alpha"):
        text = text.replace(b'"%s"' % key, key)
    return text.replace(b'"alpha" = 0.5, ', b"").replace(b'"alpha" = 0.5\n', b"")


@functools.cache
def dataset():
    """The bytes of a small result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.nc"
        store.save(xr.Dataset({"entropy": ("step", np.ones(4))}, attrs={
            "config_key": "k", "cell_steps": 4, "run_keys": '["a", "b"]'}), path, config=None, seed=0)
        return path.read_bytes()


def planned(path):
    """What a sweep finds kept in a folder."""
    sweep = Path(path.parent) / "sweep.toml"
    sweep.write_text('[rule]\nname = "grpo"\n[dynamics]\nsteps = 5\n')
    found = plan.plan(read_sweep(sweep), path.parent)
    return found.n_kept, found.updates


def stored_dataset(name, read, **further):
    return Reader(read=read, name=name, document=None, write=lambda _: dataset(), **further)


READERS = {
    "sweeps.file.read_sweep": Reader(
        read=read_sweep, name="sweep.toml", document=SWEEP, write=as_sweep,
        check=lambda sweep: [point.dynamics for point in sweep.points]),
    "computing.store.read": stored_dataset("result.nc", store.read),
    "computing.store.kept": stored_dataset(
        "result.nc", lambda path: store.kept(path, "k"), errors=()),
    "computing.cells.read_cell": stored_dataset("cell.nc", cells.read_cell, errors=()),
    "sweeps.plan.plan": stored_dataset("cells/cell.nc", planned, errors=()),
    "policy-entropy sweep": Reader(
        read=lambda path: command_status(
            lambda: main(["sweep", str(path), "--dry-run", "--output", str(path.parent / "out")])),
        name="sweep.toml", document=SWEEP, write=as_sweep, check=ends_well, errors=()),
}


(test_a_reader_takes_a_damaged_file_or_says_what_is_wrong,
 test_a_reader_takes_what_is_not_damaged) = reader_tests(READERS)


# Damages that fuzzing found, which were no error, the wrong one, or no end.
FOUND = [
    ("policy-entropy sweep", [("value", 183)] * 3),
    ("sweeps.plan.plan", [("byte", 168)]),
]


@pytest.mark.parametrize(("name", "damage"), FOUND)
def test_what_fuzzing_found(name, damage, tmp_path):
    holds_of_reader(READERS[name], damage, tmp_path / "files")
