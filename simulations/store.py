"""Results on disk: one NetCDF file an experiment, written whole or not at all, keyed by its config.

A file whose key is that of the experiment's config, seed and source code is the result, and is not
computed again; any other file of that name is replaced.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

import entropy_theory
from entropy_theory.results import atomic_path, check_writable, config_key, provenance

PROFILES = ("smoke", "default", "full")
Progress = Callable[[int], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """A phenomenon, how it is computed, and at which sizes."""

    name: str
    source: str
    """The figure, table or statement of a paper that it is about."""
    title: str
    profiles: dict[str, Any]
    """A frozen config dataclass for each of ``PROFILES``."""
    compute: Callable[[Any, int, Progress], xr.Dataset]
    """(config, seed, progress) -> Dataset with a ``caption`` that says what is seen."""
    work: Callable[[Any], int]
    """Engine steps that a config takes: the length of its progress bar."""

    def key(self, profile: str, seed: int) -> str:
        """Digest of all that determines the result."""
        return config_key(
            {"name": self.name, "config": self.profiles[profile], "seed": seed, "code": _code()}
        )


def result(
    experiment: Experiment,
    output: str | os.PathLike[str],
    *,
    profile: str = "default",
    seed: int = 0,
    progress: Progress = lambda steps: None,
) -> xr.Dataset:
    """The experiment's Dataset, read from ``output`` if it is there, else computed and saved.

    Raises:
        ValueError: an unknown profile.
        OSError: ``output`` cannot be written.
    """
    if profile not in PROFILES:
        raise ValueError(f"unknown profile '{profile}': use one of {', '.join(PROFILES)}")
    path = path_of(experiment, output)
    key = experiment.key(profile, seed)
    if (found := _read(path)) is not None and found.attrs.get("config_key") == key:
        return found
    config = experiment.profiles[profile]
    check_writable(path)
    dataset = experiment.compute(config, seed, progress)
    dataset.attrs.update(
        title=experiment.title,
        source=experiment.source,
        profile=profile,
        config_key=key,
        provenance=json.dumps(
            provenance(config=config, seed=seed, packages=("numpy", "xarray", "scipy"))
        ),
    )
    with atomic_path(path) as temporary:
        dataset.to_netcdf(temporary, engine="scipy")
    return dataset


def is_done(
    experiment: Experiment, output: str | os.PathLike[str], *, profile: str, seed: int
) -> bool:
    """Whether ``output`` holds the result already."""
    found = _read(path_of(experiment, output))
    return found is not None and found.attrs.get("config_key") == experiment.key(profile, seed)


def path_of(experiment: Experiment, output: str | os.PathLike[str]) -> Path:
    """Where the experiment's Dataset is kept under ``output``."""
    return Path(output) / f"{experiment.name}.nc"


def read(path: str | os.PathLike[str]) -> xr.Dataset:
    """The Dataset that `result` saved at ``path``, in memory.

    Raises:
        ValueError: there is none, or the file is damaged.
    """
    if not Path(path).is_file():
        raise ValueError(f"{path} does not exist: run `python -m simulations run {Path(path).stem}`")
    try:
        return xr.load_dataset(path, engine="scipy")
    except Exception as error:  # the reader raises whatever a damaged file makes it stumble over
        raise ValueError(f"{path} is damaged ({error!r}): delete it and run again") from error


def _read(path: Path) -> xr.Dataset | None:
    try:
        return read(path)
    except ValueError:
        return None


@functools.cache
def _code() -> str:
    """Digest of the source that results depend on: an old result of other code is not reused."""
    theory = Path(entropy_theory.__file__).parent
    here = Path(__file__).parent
    files = [*theory.glob("*.py"), *theory.glob("update_rules/*.py"), *here.rglob("*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
