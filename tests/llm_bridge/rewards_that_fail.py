"""Rewards for test_processes and test_runs_left_alone: those of language_models, until step $FAIL_AT on
rank $FAIL_ON (1), where $FAIL_HOW says what happens. The file $FAILED is made then."""

import errno
import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.llm_bridge.language_models import low_digit


def constant(prompts: Any, completions: list[str], *, trainer_state: Any = None, **_: Any) -> list[float]:
    """1 for all; raises at the step."""
    if is_due(trainer_state):
        raise ArithmeticError("judged to death")
    return [1.0] * len(completions)


def digit(prompts: Any, completions: list[str], *, trainer_state: Any = None, **_: Any) -> list[float]:
    """`low_digit`; at the step what $FAIL_HOW names, by default the process is killed. The folder $RANKS
    gets a file for each process that judges."""
    if "RANKS" in os.environ:
        Path(os.environ["RANKS"], str(os.getpid())).touch()
    if is_due(trainer_state):
        HOW[os.environ.get("FAIL_HOW", "kill")]()
    return low_digit(prompts, completions)


def is_due(trainer_state: Any) -> bool:
    # A task's constant answer is judged outside training.
    here = os.environ.get("RANK") == os.environ.get("FAIL_ON", "1") and trainer_state is not None
    due = here and trainer_state.global_step == int(os.environ.get("FAIL_AT", "-1"))
    if due and "FAILED" in os.environ:
        Path(os.environ["FAILED"]).touch()
    return due


def hang() -> None:
    """As code does that retries whatever happens."""
    while True:
        try:
            time.sleep(600)
        except Exception:
            continue


def fill_the_disk() -> None:
    import torch

    def save(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    torch.save = save


def spoil_the_loss() -> None:
    from llm_bridge.objective import micro_batch

    original = micro_batch.loss_of

    def loss_of(*arguments: Any) -> Any:
        loss, seen = original(*arguments)
        return loss * float("nan"), seen

    micro_batch.loss_of = loss_of


def kill_the_launcher() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


HOW = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "hang": hang, "disk": fill_the_disk,
    "nan": spoil_the_loss, "slow": lambda: time.sleep(8), "launcher": kill_the_launcher,
}
