"""Several processes (ranks) as one run: which one writes files, how they agree, how they end.

``accelerate launch`` or ``torchrun`` start the same command several times. Only the main rank writes
files (`on_main`). Work that each rank must do by itself, and may fail at, is done in `agreed`. Work
that any rank may do is `dealt_out`. In one process all of this is plain function calls.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TypeVar

import torch.distributed as dist

from entropy_theory.support.parent_process import end_with_parent
from llm_bridge.running.launched import LAST_WORDS, world_size

Item = TypeVar("Item")
Value = TypeVar("Value")

SETUP_TIMEOUT = timedelta(minutes=30)
"""How long ranks wait for one another; the main one may fetch a model in the meantime."""


class FailedElsewhereError(ValueError):
    """Raised where another rank failed; the error of that rank is the one to read."""


def join(*, cpu: bool, timeout: timedelta = SETUP_TIMEOUT) -> None:
    """Form the process group that a launcher announced; without a launcher do nothing.

    Args:
        cpu: whether to communicate between CPUs (gloo) even where there is a GPU.
        timeout: how long ranks wait for one another.
    """
    if world_size() > 1:
        from accelerate import PartialState

        _watch_launcher()
        device = PartialState(cpu=cpu, timeout=timeout).device
        if device.type == "cpu":
            # transformers would restore an optimizer to "cpu:0", a device that torch does not know.
            os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"


def _watch_launcher() -> None:
    """Have this rank end with its launcher; ranks without one would train on, seen by nobody."""
    said = (f"error: the launcher of this run, process {os.getppid()}, was killed: run the same "
            "command again to resume")
    end_with_parent(last_words=said if os.environ.get("RANK") == "0" else "")


def leave() -> None:
    """Dissolve the process group, once every rank is done."""
    if count() > 1:
        dist.barrier()
        dist.destroy_process_group()


def count() -> int:
    """Number of ranks, 1 without a process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def is_main() -> bool:
    """Whether this rank is the one that writes files and prints."""
    return count() == 1 or dist.get_rank() == 0


def is_main_of_node() -> bool:
    """Whether this rank is the first on its machine."""
    return count() == 1 or int(os.environ.get("LOCAL_RANK", dist.get_rank())) == 0


def agreed(function: Callable[[], Value]) -> Value:
    """Call ``function()`` on every rank; return its result once it has succeeded on all of them.

    All ranks call this together. A rank on which it fails raises that error.

    Raises:
        FailedElsewhereError: it failed on another rank only.
    """
    return _on_those(True, function)


def on_main(function: Callable[[], Value]) -> Value:
    """Call ``function()`` on the main rank; return its result on every rank.

    All ranks call this together. It raises as `agreed` does.
    """
    value = _on_those(is_main(), function)
    if count() == 1:
        return value
    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def dealt_out(
    items: Sequence[Item], function: Callable[[Item], Value], *, everywhere: bool = False
) -> list[Value]:
    """Call ``function`` on each item once, on one rank or another.

    All ranks call this together, with the same items, and get all results, in the order of the items. It
    raises as `agreed` does.

    Args:
        items: what is dealt out.
        function: what is done with an item.
        everywhere: whether to ranks of all machines, and not of the main rank's alone.
    """
    if count() == 1:
        return [function(item) for item in items]
    near = count()
    if not everywhere:
        near = min(near, int(os.environ.get("LOCAL_WORLD_SIZE", near)))
    rank = dist.get_rank()
    own = items[rank::near] if rank < near else []
    shares: list[list[Value]] = [[] for _ in range(count())]
    dist.all_gather_object(shares, agreed(lambda: [function(item) for item in own]))
    return [shares[place % near][place // near] for place in range(len(items))]


def _on_those(chosen: bool, function: Callable[[], Value]) -> Value:
    if count() == 1:
        return function()
    value, error = None, None
    try:
        value = function() if chosen else None
    except Exception as caught:
        error = caught
    errors: list[str | None] = [None] * count()
    dist.all_gather_object(errors, None if error is None else str(error))
    if error is not None:
        raise error
    for rank, message in enumerate(errors):
        if message is not None:
            raise FailedElsewhereError(f"on rank {rank}: {message}")
    return value  # type: ignore[return-value]


@contextlib.contextmanager
def report_once() -> Iterator[None]:
    """Report an error that ends all ranks once, by the first rank that failed by itself.

    The other ranks lose their connection or are ended by the launcher, and each would add a traceback.
    """
    try:
        yield
    except BaseException as error:
        if count() == 1:
            raise
        if not _speaks(error):
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        elif _is_lost_connection(error):
            reason = str(error).strip().splitlines()[0]
            raise OSError(
                f"lost the connection to another process of this run ({reason}). If it ended "
                "without a message, it was killed or out of memory: run the same command again to "
                "resume"
            ) from error
        raise


def _is_lost_connection(error: BaseException) -> bool:
    # gloo raises a plain RuntimeError.
    return isinstance(error, dist.DistBackendError | dist.DistNetworkError) or (
        isinstance(error, RuntimeError) and "onnection" in str(error)
    )


def _speaks(error: BaseException) -> bool:
    """Whether this rank's error is the one to be shown; if not, wait until another has been shown."""
    rank = str(dist.get_rank())
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    first, told = f"llm_bridge/first/{attempt}", f"llm_bridge/told/{attempt}"
    try:
        store = dist.TCPStore(
            os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False,
            wait_for_workers=False, timeout=LAST_WORDS,
        )
        if not isinstance(error, FailedElsewhereError):
            speaker = store.compare_set(first, "", rank)
            if speaker.decode() == rank:
                # Errors are printed further up: at exit this one has been.
                atexit.register(store.set, told, rank)
                return True
        store.wait([told], LAST_WORDS)
    except (KeyError, RuntimeError):
        # Without a store nobody knows who spoke: better twice than never.
        return not isinstance(error, FailedElsewhereError)
    return False
