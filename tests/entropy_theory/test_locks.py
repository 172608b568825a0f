"""Guards support/locks.py, and what support/results.py makes of it: one writer at a time, and a killed
one is in nobody's way."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from entropy_theory.support import locks, results

IN_THE_BLOCK = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from entropy_theory.support import locks, results\n"
    "with {block} as found:\n"
    "    {action}\n"
    "    print('in', flush=True)\n"
    "    time.sleep(600)\n"
)


def in_the_block(block, action="pass"):
    """A process that is in a block, and stays there until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", IN_THE_BLOCK.format(block=block, action=action)],
        stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "in\n"
    return process


def test_a_second_process_waits_says_so_once_and_goes_on_when_the_first_is_killed(tmp_path):
    path, told = tmp_path / "run", []
    first = in_the_block(f"locks.exclusive(Path({str(path)!r}))")
    entered = threading.Event()

    def second():
        with locks.exclusive(path, lambda: told.append("waiting")):
            entered.set()

    waiting = threading.Thread(target=second)
    waiting.start()
    assert not entered.wait(0.3)
    assert told == ["waiting"]
    first.kill()
    first.communicate()
    waiting.join(60)
    assert entered.is_set()
    assert told == ["waiting"]
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_was_handed_on_is_held_until_the_last_holder_ends(tmp_path):
    """What a killed process has started still writes."""
    path = tmp_path / "run"
    handed = (
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " pass_fds=(found,), stdout=subprocess.DEVNULL)\n"
        "    print(child.pid)"
    )
    code = IN_THE_BLOCK.replace("import sys, time", "import subprocess, sys, time")
    first = subprocess.Popen(
        [sys.executable, "-c", code.format(block=f"locks.exclusive(Path({str(path)!r}))", action=handed)],
        stdout=subprocess.PIPE, text=True)
    child = int(first.stdout.readline())
    assert first.stdout.readline() == "in\n"
    first.kill()
    first.communicate()
    try:
        with open(locks.lock_of(path)) as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(child, 9)
    with locks.exclusive(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_replaced(tmp_path):
    """Though it was longer than what is written now."""
    path = tmp_path / "result.json"
    writer = in_the_block(f"results.atomic_path({str(path)!r})", "found.write_text('x' * 1000)")
    assert os.listdir(tmp_path) == [results.partial_path(path).name]
    writer.kill()
    writer.communicate()
    with results.atomic_path(path) as temporary:
        assert temporary.read_bytes() == b""
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["result.json"]


def test_of_two_writers_at_once_each_writes_a_whole_file(tmp_path):
    path, texts = tmp_path / "result.txt", ["a" * 5000, "b" * 100]
    ready = threading.Barrier(2)

    def write(text):
        ready.wait()
        for _ in range(50):
            with results.atomic_path(path) as temporary, temporary.open("w") as file:
                for letter in text[:50]:
                    file.write(letter)
                    file.flush()
                file.write(text[50:])
            assert path.read_text() in texts

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, texts)) == [None, None]
    assert os.listdir(tmp_path) == ["result.txt"]


def test_without_locks_files_are_whole_all_the_same(tmp_path, monkeypatch):
    def refuse(handle, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    path = tmp_path / "result.txt"
    with results.atomic_path(path) as one, results.atomic_path(path) as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"
    with locks.exclusive(path) as handle:
        assert handle is None
    (tmp_path / "folder").mkdir()
    with locks.held(tmp_path / "folder"):
        pass
    assert not locks.is_abandoned(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["folder", "result.txt"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_where_nothing_can_be_written_nothing_is_locked(tmp_path, monkeypatch, number):
    """A finished result in a folder of somebody else's is still read."""
    def refuse(path, flags, mode=0):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks.os, "open", refuse)
    with locks.exclusive(tmp_path / "result.txt") as handle:
        assert handle is None
    with pytest.raises(OSError, match=r"cannot write .*result\.txt \(.*choose another output"):
        results.write_text(tmp_path / "result.txt", "text")


def test_a_disk_too_full_for_a_lock_is_one_error(tmp_path, monkeypatch):
    def refuse(path, flags, mode=0):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(locks.os, "open", refuse)
    for block in (locks.exclusive(tmp_path / "run"), results.atomic_path(tmp_path / "run")):
        with pytest.raises(OSError, match=r"cannot write .*run \(No space left.*free some space"), block:
            raise AssertionError("the block was entered")
    assert os.listdir(tmp_path) == []
