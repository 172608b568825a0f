"""Guards llm_bridge/running/ in runs that nobody watches: what ends one rank ends all soon, is told once,
and the next start goes on as if nothing had been."""

import dataclasses
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from llm_bridge.running import time_limit
from tests.llm_bridge.launched_runs import SECONDS, fork, numbers, seconds_since


def test_what_hangs_is_interrupted_and_what_is_done_in_time_is_not():
    """Also where the code catches every exception; afterwards the signal means what it meant."""
    before = time_limit.signal.getsignal(time_limit.SIGNAL)
    with time_limit.time_limit(30, "too slow"):
        found = sum(range(1000))
    assert found == 499500
    started = time.monotonic()
    with pytest.raises(TimeoutError, match="too slow"), time_limit.time_limit(0.2, "too slow"):
        while True:
            try:
                time.sleep(50)
            except Exception:
                continue
    assert time.monotonic() - started < 40
    with pytest.raises(KeyError), time_limit.time_limit(30, "too slow"):
        raise KeyError
    with time_limit.time_limit(0, "never"):
        pass
    assert time_limit.signal.getsignal(time_limit.SIGNAL) is before
    assert threading.active_count() == len(threading.enumerate())


def test_what_never_comes_back_to_python_ends_with_the_process():
    """As a lock in compiled code does; a signal's handler alone would wait for it."""
    code = (
        "import ctypes\n"
        "from llm_bridge.running import time_limit\n"
        "time_limit.GRACE = 0.2\n"
        "library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)\n"
        "with time_limit.time_limit(0.2, 'stuck'):\n"
        "    library.pthread_mutex_lock(mutex)\n"
        "    library.pthread_mutex_lock(mutex)\n"
        "    print('came back')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: stuck\n")


def test_ranks_end_with_their_launcher():
    """Killed outright it ends none of them: they would train on, and the next start beside them."""
    code = (
        "import os, time\n"
        "from llm_bridge.running import ranks\n"
        "launcher = os.getpid()\n"
        "if os.fork():\n"
        "    time.sleep(0.5); os.kill(launcher, 9)\n"
        "ranks._watch_launcher()\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100,
        env={**os.environ, "RANK": "0"})  # returns once the rank too has closed its end of the pipe
    assert done.returncode == -9
    assert done.stderr.count("error: the launcher of this run") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.deep
@pytest.mark.parametrize(("how", "step", "message", "rank"), [
    ("hang", 4, "has not judged 8 completions within 3 s (reward_timeout) at step 5, on rank {}", 1),
    ("disk", 3, "no space left for", 0),
    ("nan", 4, "the gradient of step 5 is not finite", 1),
])
def test_one_error_ends_all_ranks_and_the_next_start_resumes(
    whole, tmp_path, how, step, message, rank
):
    """To the last digit; one line, and within a minute, whether the rank that fails writes the files or
    waits for the one that does."""
    again = dataclasses.replace(whole, output=tmp_path / "again", reward_timeout=3.0)
    failed = tmp_path / "failed"
    shown = fork(again, FAIL_AT=str(step), FAIL_HOW=how, FAIL_ON=str(rank), FAILED=str(failed))
    assert seconds_since(failed) < SECONDS + again.reward_timeout
    assert shown.returncode != 0
    lines = [line for line in shown.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, shown.stderr[-3000:]
    assert message.format(rank) in lines[0]
    assert "Traceback" not in shown.stderr
    checkpoints = sorted(path.name for path in (again.output / "checkpoints").glob("checkpoint-*"))
    assert checkpoints == (["checkpoint-2"] if how == "disk" else ["checkpoint-2", "checkpoint-4"])
    if how == "nan":
        assert {path.name for path in (again.output / "checkpoints").glob("diverged*")} == {
            "diverged-rank0.pt", "diverged-rank1.pt"}
    resumed = fork(again)
    assert resumed.returncode == 0, resumed.stderr[-3000:]
    assert numbers(again.output) == numbers(whole.output)


@pytest.mark.deep
def test_a_slow_rank_changes_nothing_and_two_ranks_speak_with_one_voice(whole, tmp_path):
    """A step that goes on without the slow one's rows; each line of the log said by every rank."""
    slow = dataclasses.replace(whole, output=tmp_path / "slow")
    shown = fork(slow, FAIL_AT="3", FAIL_HOW="slow")
    assert shown.returncode == 0, shown.stderr[-3000:]
    assert numbers(slow.output) == numbers(whole.output)
    lines = [line for line in shown.stderr.splitlines() + shown.stdout.splitlines() if line.strip()]
    assert len(lines) == len(set(lines)), shown.stderr


@pytest.mark.deep
def test_a_killed_launcher_ends_all_ranks(whole, tmp_path):
    """Whether they work, wait for one another or hang in the user's code."""
    again = dataclasses.replace(whole, output=tmp_path / "again")
    (tmp_path / "ranks").mkdir()
    fork(again, FAIL_AT="4", FAIL_HOW="launcher", RANKS=str(tmp_path / "ranks"))
    found = [path.name for path in (tmp_path / "ranks").iterdir()]
    assert len(found) == 2
    until = time.monotonic() + SECONDS
    while any(map(is_running, found)) and time.monotonic() < until:
        time.sleep(1)
    assert not any(map(is_running, found))
    resumed = fork(again)
    assert resumed.returncode == 0, resumed.stderr[-3000:]
    assert numbers(again.output) == numbers(whole.output)


def is_running(process: str) -> bool:
    """Whether a process is there, and not ended without anyone to ask how."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
