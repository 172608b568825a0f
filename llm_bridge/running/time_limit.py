"""Ends a call of the user's code that takes too long, such as a reward function that waits for a server.

The call runs in the main thread as always, so that its own use of signals goes on working
(math-verify has time limits of its own). A second thread counts the seconds and wakes the call by a
signal. If a call stuck in compiled code does not come back to Python even then, the process ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

REWARDS = 600.0
"""Default limit for reward functions on a generation, in seconds. It is shorter than the time that
ranks wait for each other (TRL's ``ddp_timeout``, 1,800), after which the error would not name what
hung."""
GRACE = 10.0
"""Seconds that a call has for coming back to Python once its time is up."""
SIGNAL = signal.SIGVTALRM
"""A signal that neither launchers, nor schedulers, nor math-verify use."""


def check_reward_timeout(seconds: float) -> None:
    """Raise ValueError unless the seconds are finite and at least 0."""
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"reward_timeout must be at least 0 seconds, 0 for any time, got {seconds}")


class _TimeIsUpError(BaseException):
    """No Exception: a reward function that catches those shall not go on."""


@contextlib.contextmanager
def time_limit(seconds: float, message: str) -> Iterator[None]:
    """Raise TimeoutError where the block takes longer than ``seconds``; with 0 there is no limit.

    Args:
        seconds: of wall-clock time.
        message: text of the error.

    Raises:
        TimeoutError: the time was up.
        ValueError: a limit outside the main thread, which alone can be interrupted.
    """
    if not seconds:
        yield
        return
    main = threading.main_thread()
    if threading.current_thread() is not main:
        raise ValueError("reward_timeout needs a run in the main thread: set it to 0, or train there")
    ended, expired = threading.Event(), threading.Event()

    def interrupt(*_: Any) -> None:
        if not ended.is_set():
            raise _TimeIsUpError

    def count() -> None:
        if ended.wait(seconds):
            return
        expired.set()
        assert main.ident is not None
        signal.pthread_kill(main.ident, SIGNAL)
        if not ended.wait(GRACE):
            print(f"error: {message}", file=sys.stderr, flush=True)
            os._exit(2)

    before = signal.signal(SIGNAL, interrupt)
    clock = threading.Thread(target=count, daemon=True)
    clock.start()
    try:
        with contextlib.suppress(_TimeIsUpError):
            try:
                yield
            finally:
                ended.set()
    finally:
        ended.set()
        clock.join()
        signal.signal(SIGNAL, before)
    if expired.is_set():
        raise TimeoutError(message)
