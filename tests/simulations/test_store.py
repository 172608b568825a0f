"""Results on disk: computed once, replaced when anything that determines them changes, whole."""

import dataclasses
import json
import os

import numpy as np
import pytest
import xarray as xr

from simulations import store
from simulations.store import Experiment, path_of, read, result


@dataclasses.dataclass(frozen=True)
class Config:
    size: int = 3


def an_experiment(calls, **changes):
    def compute(config, seed, progress):
        calls.append(seed)
        values = np.random.default_rng(seed).normal(size=config.size)
        progress(config.size)
        held = np.array([True, False, True])[: config.size]
        return xr.Dataset({"x": ("i", values), "held": ("i", held)}, attrs={"caption": "seen"})

    options = {
        "name": "an_experiment",
        "source": "Nowhere, Figure 0",
        "title": "A test",
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
        monkeypatch.setattr(store, "_code", lambda: "other")
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


def test_an_unwritable_output_is_known_before_the_work(tmp_path):
    calls = []
    blocked = tmp_path / "a_file"
    blocked.write_text("in the way")
    with pytest.raises(OSError, match="choose another output directory"):
        result(an_experiment(calls), blocked / "results")
    assert calls == []


@pytest.mark.parametrize("size", [0, 3, 40, 200, 500])
def test_a_file_cut_short_at_any_place_is_an_error_that_names_it(tmp_path, size):
    experiment = an_experiment([])
    result(experiment, tmp_path)
    path = path_of(experiment, tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"an_experiment\.nc is damaged"):
        read(path)
    with pytest.raises(ValueError, match="python -m simulations run other"):
        read(tmp_path / "other.nc")


def test_an_unknown_profile_is_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown profile 'huge': use one of smoke, default, full"):
        result(an_experiment([]), tmp_path, profile="huge")


def test_nothing_is_left_beside_the_results(tmp_path):
    result(an_experiment([]), tmp_path)
    assert os.listdir(tmp_path) == ["an_experiment.nc"]
