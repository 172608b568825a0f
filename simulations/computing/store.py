"""Keeps results on disk: one NetCDF file per experiment, written whole or not at all, under a key.

A file that carries the key of the experiment's config, seed and source code is the result, and it is not
computed again. Any other file of that name is replaced. While an experiment is computed its cells
(`simulations.computing.cells`) are kept beside it, and other commands that want it wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from entropy_theory.support.locks import exclusive, lock_of
from entropy_theory.support.results import atomic_path, check_writable, config_key, provenance
from simulations.computing.cells import Keeper, identity_of, keeping, map_cells
from simulations.computing.code_digest import code_digest
from simulations.computing.workers import Backend, Progress, in_this_process

__all__ = [
    "Experiment", "Mode", "Progress", "is_done", "kept", "map_cells", "path_of", "read", "result", "save",
]

PROFILES = ("smoke", "default", "full")
Mode = Literal["exact", "sampled"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """An experiment: the phenomenon, how it is computed, and at which sizes."""

    name: str
    source: str
    """The figure, table or statement of a paper that the experiment is about."""
    title: str
    caption: str
    """The content of the Dataset in one fixed text: the quantities, over what they are, and their
    spread."""
    modes: tuple[Mode, ...] = ("exact",)
    """Whether its numbers are computed in exact expectation, from samples, or both."""
    profiles: dict[str, Any]
    """A frozen config dataclass for each of ``PROFILES``."""
    compute: Callable[[Any, int, Progress], xr.Dataset]
    """A function of (config, seed, progress) that returns a Dataset."""
    work: Callable[[Any], int]
    """The number of engine steps that a config takes: the length of its progress bar."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Text for the axes of plots, by the names of variables and coordinates."""

    @classmethod
    def of(cls, module: str, **described: Any) -> Experiment:
        """Return an experiment of its module's PROFILES, compute, LONG_NAMES (labels) and work.

        Args:
            module: the module's ``__name__``.
            described: all else, and what the module has under no such name.
        """
        own, names = vars(sys.modules[module]), {"LONG_NAMES": "labels", "PROFILES": "profiles"}
        parts = {names.get(name, name): own[name] for name in (*names, "compute", "work") if name in own}
        return cls(**(parts | described))

    def run(self, config: Any, seed: int, progress: Progress) -> xr.Dataset:
        """Compute a config's Dataset, with its labels."""
        dataset = self.compute(config, seed, progress)
        for name, text in self.labels.items():
            dataset[name].attrs["long_name"] = text
        return dataset

    def key(self, profile: str, seed: int) -> str:
        """Return a digest of all that determines the result."""
        config = identity_of(self.profiles[profile])
        code = code_digest(self.compute.__module__)
        return config_key({"name": self.name, "config": config, "seed": seed, "code": code})


def result(
    experiment: Experiment,
    output: str | os.PathLike[str],
    *,
    profile: str = "default",
    seed: int = 0,
    progress: Progress = lambda steps: None,
    backend: Backend = in_this_process,
    notify: Callable[[str], object] = lambda text: None,
) -> xr.Dataset:
    """Return the experiment's Dataset, read from ``output`` if it is there, else computed and saved.

    Args:
        experiment: the experiment to compute.
        output: folder of the results.
        profile: size, one of `PROFILES`.
        seed: seed of starts and samples.
        progress: called with the number of engine steps taken, those of kept cells included.
        backend: where the cells of experiments that have cells are computed.
        notify: called with a sentence if another process is computing the same.

    Raises:
        ValueError: an unknown profile.
        OSError: ``output`` cannot be written.
    """
    if profile not in PROFILES:
        raise ValueError(f"unknown profile '{profile}': use one of {', '.join(PROFILES)}")
    path = path_of(experiment, output)
    key = experiment.key(profile, seed)
    cells = path.parent / "cells" / experiment.name
    # What a process that was killed at the very end has left is removed below.
    is_settled = not (cells.exists() or lock_of(path).exists())
    if is_settled and (found := kept(path, key)) is not None:
        return found
    config = experiment.profiles[profile]
    check_writable(path)
    with exclusive(path, lambda: notify(
            f"another process computes {experiment.name.replace('_', '-')}: waiting")):
        if (found := kept(path, key)) is None:
            with keeping(Keeper(folder=cells, backend=backend)):
                found = experiment.run(config, seed, progress)
            found.attrs.update(
                title=experiment.title, caption=experiment.caption, source=experiment.source,
                profile=profile, config_key=key,
            )
            save(found, path, config=config, seed=seed)
        shutil.rmtree(cells, ignore_errors=True)
        with contextlib.suppress(OSError):  # another experiment's are there, or there were none
            cells.parent.rmdir()
    return found


def save(dataset: xr.Dataset, path: Path, *, config: Any, seed: int | None) -> None:
    """Write ``dataset`` with its provenance to ``path``, whole or not at all."""
    packages = ("numpy", "xarray", "scipy", "llvmlite")
    found = provenance(config=config, seed=seed, packages=packages)
    dataset.attrs["provenance"] = json.dumps(found)
    with atomic_path(path) as temporary:
        dataset.to_netcdf(temporary, engine="scipy")


def is_done(
    experiment: Experiment, output: str | os.PathLike[str], *, profile: str, seed: int
) -> bool:
    """Whether ``output`` holds the result already."""
    return kept(path_of(experiment, output), experiment.key(profile, seed)) is not None


def path_of(experiment: Experiment, output: str | os.PathLike[str]) -> Path:
    """Return the path at which the experiment's Dataset is kept under ``output``."""
    return Path(output) / f"{experiment.name}.nc"


def read(path: str | os.PathLike[str]) -> xr.Dataset:
    """Read into memory the Dataset that `result` saved at ``path``.

    Raises:
        ValueError: a missing or damaged file.
    """
    if not Path(path).is_file():
        name = Path(path).stem.replace("_", "-")
        raise ValueError(f"{path} does not exist: run `python -m simulations run {name}`")
    try:
        return xr.load_dataset(path, engine="scipy")
    except Exception as error:  # the reader raises whatever a damaged file makes it stumble over
        raise ValueError(f"{path} is damaged ({error!r}): delete it and run again") from error


def kept(path: Path, key: str) -> xr.Dataset | None:
    """Read the Dataset at ``path``; None unless it is whole and has this key."""
    try:
        found = read(path)
    except ValueError:
        return None
    return found if found.attrs.get("config_key") == key else None
