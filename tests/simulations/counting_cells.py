"""Cells that write down when they are computed, for tests of what is computed, where and how often."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from simulations.computing import store
from simulations.computing.workers import Progress, in_this_process, local_processes


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    number: int
    log: str
    """Folder: a file NUMBER.begin.PID.TIME of each computation, NUMBER.end.PID.TIME if it finished."""
    seconds: float = 0.0
    ending: str = ""
    """"error", "memory", "lambda" (no Dataset that can be sent), "exit", or "exit once"."""


def compute(cell: Cell, progress: Progress) -> xr.Dataset:
    log = Path(cell.log)
    first = not list(log.glob(f"{cell.number}.begin.*"))
    (log / f"{cell.number}.begin.{os.getpid()}.{time.monotonic_ns()}").touch()
    for _ in range(10):
        time.sleep(cell.seconds / 10)
        progress(1)
    if cell.ending == "error":
        raise ValueError(f"cell {cell.number} cannot be computed")
    if cell.ending == "memory":
        raise MemoryError
    if cell.ending == "exit" or (cell.ending == "exit once" and first):
        os._exit(3)
    (log / f"{cell.number}.end.{os.getpid()}.{time.monotonic_ns()}").touch()
    values = np.random.default_rng(cell.number).normal(size=5)
    dataset = xr.Dataset({"x": ("i", values), "name": ("i", [f"cell {cell.number}"] * 5)})
    return dataset.assign_attrs(bad=lambda: None) if cell.ending == "lambda" else dataset


def cells(log: Path, n: int = 6, seconds: float = 0.0, **endings: str) -> list[Cell]:
    """Numbered cells; ``endings`` such as cell_3="error"."""
    log.mkdir(exist_ok=True)
    return [Cell(number=i, log=str(log), seconds=seconds, ending=endings.get(f"cell_{i}", ""))
            for i in range(n)]


def finished(log: Path) -> list[int]:
    """Numbers of finished computations, each as often as it was computed."""
    return sorted(int(path.name.split(".")[0]) for path in log.glob("*.end.*"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    log: str
    n_cells: int = 6
    seconds: float = 0.0


def experiment(config: Config) -> store.Experiment:
    return store.Experiment(
        name="counted", source="Nowhere", title="Cells that count", caption="Counted.",
        compute=_experiment,
        profiles=dict.fromkeys(store.PROFILES, config), work=lambda config: 10 * config.n_cells,
    )


def _experiment(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    parts = store.map_cells(
        compute, cells(Path(config.log), config.n_cells, config.seconds), progress)
    return xr.concat(parts, dim="cell")


def main() -> None:
    """OUTPUT LOG N_CELLS SECONDS WORKERS: the experiment as a process of its own."""
    output, log, n_cells, seconds, workers = sys.argv[1:]
    config = Config(log=log, n_cells=int(n_cells), seconds=float(seconds))
    backend = in_this_process if workers == "1" else local_processes(int(workers))
    store.result(experiment(config), output, backend=backend,
                 notify=lambda text: print(text, flush=True))


if __name__ == "__main__":
    # Under its own name, so that its functions have the same key in every process.
    from tests.simulations import counting_cells

    counting_cells.main()
