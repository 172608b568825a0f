"""Computes cells on a Dask cluster: the backend of ``simulations sweep --cluster ADDRESS``.

It needs the extra ``cluster``. Workers need this package (that its source is the same is checked) and no
shared file system: Datasets come back as they are ready and are kept here. The cell of a lost worker is
computed again by another; cells that had come back are not.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import xarray as xr

from simulations.computing.code_digest import code_digest
from simulations.computing.workers import (
    Backend,
    CellFunction,
    Failure,
    Outcome,
    Progress,
    attempt,
)

PATIENCE_SECONDS = 15
"""How long a scheduler may take to answer, seconds."""


def dask_cluster(address: str) -> Backend:
    """Return a backend on the cluster whose scheduler is at ``address``, such as "tcp://host:8786".

    Raises:
        ValueError: `distributed` is not installed.
    """
    try:
        import distributed
    except ImportError:
        raise ValueError(
            "--cluster needs Dask: pip install 'policy-entropy[cluster]' (or leave out --cluster to "
            "use local processes)"
        ) from None

    def run(
        function: CellFunction, cells: Sequence[Any], progress: Progress
    ) -> Iterator[tuple[int, Outcome]]:
        code = code_digest(function.__module__)
        with _connect(distributed, address) as client:
            places = {}
            for place, cell in enumerate(cells):
                # Not pure: a scheduler remembers results of equal calls while anybody wants them,
                # errors included.
                future = client.submit(_attempt, function, cell, code, pure=False)
                places[future.key] = (place, future)
            done = distributed.as_completed(
                [future for _, future in places.values()],
                loop=client.loop, with_results=True, raise_errors=False,
            )
            for future, outcome in done:
                place, _ = places.pop(future.key)
                status = future.status
                # What is here is no longer wanted there: else it is computed again if its worker dies.
                future.release()
                # The status may be of later than the outcome: of its worker's death since.
                if isinstance(outcome, xr.Dataset):
                    progress(outcome.attrs["cell_steps"])
                elif not isinstance(outcome, Failure):
                    outcome = _lost(status, outcome)
                yield place, outcome

    return run


def _attempt(function: CellFunction, cell: Any, code: str) -> Outcome:
    """Compute a cell on a worker of the cluster, which cannot report steps as they are taken."""
    return attempt(function, cell, lambda steps: None, code)


def _connect(distributed: Any, address: str) -> Any:
    # What is lost is said once, cell by cell, and not with a traceback each.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        return distributed.Client(address, timeout=PATIENCE_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise OSError(
            f"no Dask scheduler answers at '{address}' ({error}): start one with `dask scheduler`, "
            "and workers with `dask worker ADDRESS --nthreads 1`"
        ) from error


def _lost(status: str, result: Any) -> Failure:
    """The failure of a cell that the cluster gave up: workers kept dying, or the scheduler is gone."""
    error = result[1] if isinstance(result, tuple) else result
    if status == "error":
        return Failure(kind=type(error).__name__, message=f"the cluster gave the cell up: {error}")
    return Failure(
        kind="lost", message="the connection to the cluster was lost: run the same command to resume"
    )
