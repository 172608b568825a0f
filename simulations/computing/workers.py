"""Computes cells in this process, or in local processes of one thread each.

A *backend* maps a function over cells and yields the outcomes as they come, in any order. The function
takes (cell, progress) and returns a Dataset. An error in one cell is the outcome of that cell alone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import xarray as xr

from entropy_theory.support.parent_process import clean_context, end_with_parent
from simulations.computing.code_digest import code_digest

Progress = Callable[[int], object]
"""Called now and then with the number of engine steps taken since the last call."""
CellFunction = Callable[[Any, Progress], xr.Dataset]
ATTEMPTS = 2
"""How often a cell is tried if its process dies: other programs may have left too little memory once."""
REPORT_SECONDS = 0.1
"""Least time between two messages about progress, seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a cell has no Dataset."""

    kind: str
    """The kind of error: "ValueError" or "OSError" (subclasses included), the name of another exception's
    class, or "died"."""
    message: str
    detail: str = ""
    """The traceback, where there is one."""

    def error(self, where: str) -> Exception:
        """Return the failure as an exception.

        A failure that a user can mend is one sentence; any other comes with its traceback.
        """
        if self.kind == "ValueError":
            return ValueError(f"{self.message} ({where})")
        if self.kind in ("OSError", "MemoryError", "died"):
            return OSError(f"{self.message} ({where})")
        return RuntimeError(f"{self.detail or self.message} ({where})")


Outcome = xr.Dataset | Failure
Backend = Callable[[CellFunction, Sequence[Any], Progress], Iterator[tuple[int, Outcome]]]
"""A function of (function, cells, progress) that yields (place in ``cells``, outcome) of each cell."""


def in_this_process(
    function: CellFunction, cells: Sequence[Any], progress: Progress
) -> Iterator[tuple[int, Outcome]]:
    """Compute the cells one after the other in this process; exceptions are not caught."""
    for place, cell in enumerate(cells):
        yield place, _counted(function, cell, progress)


def _counted(function: CellFunction, cell: Any, progress: Progress) -> xr.Dataset:
    """Compute a cell's Dataset, with the engine steps that it took in the attribute `cell_steps`."""
    total = 0

    def count(steps: int) -> None:
        nonlocal total
        total += int(steps)
        progress(int(steps))

    return function(cell, count).assign_attrs(cell_steps=total)


def attempt(function: CellFunction, cell: Any, progress: Progress, code: str) -> Outcome:
    """Compute a cell and return its Dataset with `cell_steps`, or the failure.

    It fails too if this process runs other code than the one that handed out the work.

    Args:
        code: `code_digest` of the function's module where the work was handed out.
    """
    try:
        if code_digest(function.__module__) != code:
            raise ValueError(
                f"the worker process has another version of {function.__module__} or of what it "
                "imports: install the same source there and restart the workers"
            )
        return _counted(function, cell, progress)
    except Exception as error:
        message = str(error) or type(error).__name__
        if isinstance(error, MemoryError):
            message = f"out of memory ({message}): use fewer workers, or smaller problems"
        kind = next((known.__name__ for known in (ValueError, OSError) if isinstance(error, known)),
                    type(error).__name__)
        return Failure(kind=kind, message=message, detail=traceback.format_exc())


def local_processes(n_workers: int) -> Backend:
    """Return a backend of ``n_workers`` processes, which end when this process does, however it ends.

    Raises:
        ValueError: fewer than one worker.
    """
    if n_workers < 1:
        raise ValueError(f"jobs must be at least 1, got {n_workers}")

    def run(
        function: CellFunction, cells: Sequence[Any], progress: Progress
    ) -> Iterator[tuple[int, Outcome]]:
        code = code_digest(function.__module__)
        # All that the first work needs, so that workers have nothing to import; xarray asks for
        # dask.array if it is there. What is missing is skipped.
        context = clean_context([function.__module__, "dask.array"])
        waiting = deque((place, 1) for place in range(len(cells)))
        busy: dict[Connection, _Worker] = {}
        idle: list[_Worker] = []
        try:
            while waiting or busy:
                while waiting and len(busy) < n_workers:
                    worker = idle.pop() if idle else _start(context)
                    place, tries = waiting.popleft()
                    worker.place, worker.tries, worker.steps = place, tries, 0
                    busy[worker.connection] = worker
                    with contextlib.suppress(BrokenPipeError):  # it died idle: seen below
                        worker.connection.send((function, cells[place], code))
                for connection in wait(list(busy)):
                    assert isinstance(connection, Connection)
                    worker = busy[connection]
                    try:
                        message = connection.recv()
                    except (EOFError, ConnectionResetError):
                        worker.end()
                        del busy[connection]
                        progress(-worker.steps)
                        if worker.tries < ATTEMPTS:
                            waiting.append((worker.place, worker.tries + 1))
                        else:
                            yield worker.place, _death(worker)
                        continue
                    if isinstance(message, int):
                        worker.steps += message
                        progress(message)
                        continue
                    idle.append(busy.pop(connection))
                    yield worker.place, message
        finally:
            for worker in (*busy.values(), *idle):
                worker.end()

    return run


@dataclass(kw_only=True, slots=True)
class _Worker:
    process: Any
    connection: Connection
    place: int = -1
    """Place of the worker's cell among all cells; -1 without one."""
    tries: int = 0
    steps: int = 0
    """Engine steps of this cell reported so far."""

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _start(context: Any) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process=process, connection=ours)


def _serve(connection: Connection) -> None:
    """Run a worker process: receive cells, send steps and outcomes, until the parent is gone."""
    # Ctrl-C reaches the whole process group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"  # the engine's own threads, whatever the user set for others
    end_with_parent()
    while True:
        try:
            function, cell, code = connection.recv()
        except EOFError:
            return
        except Exception as error:  # a rule's own file that is not there, or has changed
            connection.send(Failure(kind=type(error).__name__, message=str(error)))
            continue
        reporter = _Reporter(connection)
        outcome = attempt(function, cell, reporter, code)
        reporter.flush()
        try:
            connection.send(outcome)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            connection.send(Failure(kind="PicklingError", message=str(error)))


class _Reporter:
    """Gathers the progress of a worker so that it sends few messages."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.steps, self.last = 0, time.monotonic()

    def __call__(self, steps: int) -> None:
        self.steps += int(steps)
        if time.monotonic() - self.last > REPORT_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self.steps:
            self.connection.send(self.steps)
        self.steps, self.last = 0, time.monotonic()


def _death(worker: _Worker) -> Failure:
    code = worker.process.exitcode
    how = f"by {signal.Signals(-code).name}" if code and code < 0 else f"with exit status {code}"
    return Failure(
        kind="died",
        message=(
            f"its process ended {how}, {ATTEMPTS} times: probably out of memory; use fewer workers, "
            "or smaller problems"
        ),
    )
