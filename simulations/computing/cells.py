"""Cells: the independent parts of a long computation, each kept on disk as soon as it is computed.

An experiment opts in with one call in its ``compute``::

    parts = map_cells(train, cells, progress)

where ``train(cell, progress) -> Dataset`` is a function of a module, and a cell, a tuple or a frozen
dataclass, holds all that determines its result, the seed included. Called by itself, ``compute``
computes one cell after the other. Under ``python -m simulations run`` a killed run goes on at the cell
where it was, and ``--jobs`` computes cells side by side. `simulations.sweeps.sweep` is made of the same
pieces.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.support.results import atomic_path, config_key
from entropy_theory.support.user_code import name_of
from simulations.computing.code_digest import code_digest
from simulations.computing.workers import Backend, CellFunction, Failure, Outcome, Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class Keeper:
    """The folder in which cells are kept, and the backend that computes them."""

    folder: Path
    backend: Backend


_KEEPER: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


@contextmanager
def keeping(keeper: Keeper) -> Iterator[None]:
    """Let `map_cells` keep cells in ``keeper.folder``, and find them there, within the block."""
    token = _KEEPER.set(keeper)
    try:
        yield
    finally:
        _KEEPER.reset(token)


def map_cells(
    function: CellFunction, cells: Sequence[Any], progress: Progress
) -> list[xr.Dataset]:
    """Return ``function(cell, progress)`` of each cell, in order; kept cells are read (`keeping`).

    Where cells are kept, a new Dataset too is returned as it is read back from its file.

    Raises:
        ValueError, OSError, RuntimeError: as a cell's function, after all other cells are done.
    """
    keeper = _KEEPER.get()
    if keeper is None:
        return [function(cell, progress) for cell in cells]
    parts: dict[int, xr.Dataset] = {}
    failures: dict[int, Failure] = {}
    for place, outcome in outcomes(function, cells, keeper, progress):
        if isinstance(outcome, Failure):
            failures[place] = outcome
        else:
            parts[place] = outcome
    if failures:
        place = min(failures)
        raise failures[place].error(f"in cell {json.dumps(identity_of(cells[place]))}")
    return [parts[place] for place in range(len(cells))]


def outcomes(
    function: CellFunction, cells: Sequence[Any], keeper: Keeper, progress: Progress
) -> Iterator[tuple[int, Outcome]]:
    """Yield (place in ``cells``, outcome) of each cell: first the kept ones, the others as they end.

    Equal cells are computed once. The file of a cell is whole or absent, whenever the process ends.
    """
    missing: dict[Path, list[int]] = {}
    for place, cell in enumerate(cells):
        path = keeper.folder / f"{cell_key(function, cell)}.nc"
        if path not in missing and (found := read_cell(path)) is not None:
            progress(found.attrs.pop("cell_steps"))
            yield place, found
        else:
            missing.setdefault(path, []).append(place)
    places = list(missing.values())
    paths = list(missing)
    todo = [cells[first] for first, *_ in places]
    for nth, outcome in keeper.backend(function, todo, progress):
        if not isinstance(outcome, Failure):
            with atomic_path(paths[nth]) as temporary:
                outcome.to_netcdf(temporary, engine="scipy")
            # As it will be read after a kill, so that a resumed run gives the same result to the bit.
            kept = read_cell(paths[nth])
            if kept is None:
                raise OSError(f"{paths[nth]} cannot be read back: is the disk full?")
            outcome = kept
            progress((len(places[nth]) - 1) * kept.attrs.pop("cell_steps"))
        for place in places[nth]:
            yield place, outcome


def read_cell(path: Path) -> xr.Dataset | None:
    """Read the kept Dataset; None where there is none or the file is damaged."""
    if not path.is_file():
        return None
    try:
        found = xr.load_dataset(path, engine="scipy").drop_encoding()
    except Exception:  # the reader raises whatever a damaged file makes it stumble over
        return None
    return found if "cell_steps" in found.attrs else None


def cell_key(function: CellFunction, cell: Any) -> str:
    """Return a digest of all that determines a cell's result: the function, its code, the cell."""
    name = f"{function.__module__}.{function.__qualname__}"
    return config_key([name, code_digest(function.__module__), identity_of(cell)])


def identity_of(value: Any) -> Any:
    """``value`` as JSON-like data in which values of different classes differ.

    A class that a user wrote, such as an update rule, carries a digest of its files, so that an edited
    class counts as another one.

    Raises:
        ValueError: a value whose identity cannot be told, such as a lambda.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        fields = {f.name: identity_of(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"class": name_of(kind), **fields}
    if isinstance(value, dict):
        return {str(key): identity_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [identity_of(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, types.FunctionType) and "<" not in value.__qualname__:
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, (str, int, float)):
        return value
    raise ValueError(
        f"{value!r} cannot be part of a key: use numbers, texts, tuples, frozen dataclasses and "
        "functions of a module"
    )
