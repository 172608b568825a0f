"""Guards what kills, full and read-only disks, a second process and a clock that was set back do to the
main commands: one clear error or none, nothing half written, and in the end the same results."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import kills
from tests.kills import WORKS, Work

DISK = 300 * 2**20
"""What an undisturbed run of any work needs less of, bytes."""
KILLS = {name: int(os.environ.get("KILLS", "3")) for name in WORKS}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, bytes | None]]:
    """What a work leaves, by its name; run once."""
    folder, found = tmp_path_factory.mktemp("undisturbed"), {}

    def of(name: str) -> dict[str, bytes | None]:
        if name not in found:
            kills.finish(WORKS[name], kills.begun(WORKS[name], folder / name))
            found[name] = kills.contents(folder / name)
        return found[name]

    return of


@contextmanager
def disk(work: Work, place: Path) -> Iterator[Path]:
    """The folder of a work, on a file system of its own in memory, with room enough."""
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(place)],
                          capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"cannot mount a file system ({made.stderr.strip()})")
    try:
        for name, text in work.files.items():
            (place / name).write_text(text, encoding="utf-8")
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def change(place: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(place)], check=True)


ERROR = re.compile(r"(failed: [\w -]+: )?error: ")
"""How such a line begins; `reproduce` names the stage that failed."""


def error_of(process: subprocess.Popen[bytes], place: Path) -> str:
    """The one line that a command ends with."""
    log = place.parent / f"{place.name}.log"
    assert process.wait() in (1, 2), log.read_text()
    text = log.read_text()
    assert "Traceback" not in text, text
    *_, last = [line for line in text.splitlines() if ERROR.match(line)]
    return last


@pytest.mark.deep
@pytest.mark.parametrize("name", WORKS)
def test_killed_commands_leave_what_undisturbed_ones_do(name: str, tmp_path: Path) -> None:
    kills.campaign(name, KILLS[name], tmp_path / "kills", seed=1)


@pytest.mark.deep
@pytest.mark.parametrize("name", WORKS)
def test_a_full_disk_is_one_error_and_with_more_room_the_work_goes_on(
    name: str, tmp_path: Path, undisturbed: Callable[[str], dict[str, bytes | None]]
) -> None:
    work, whole = WORKS[name], undisturbed(name)
    draw = random.Random(name)
    with disk(work, tmp_path / "disk") as place:
        for part in sorted(draw.uniform(0.05, 0.9) for _ in range(2)):
            needed = sum(len(text) for text in whole.values() if text is not None)
            change(place, f"size={int(part * needed)}")
            said = error_of(kills.start(work, place), place)
            assert "No space left" in said or "no space left" in said, said
            assert "free some" in said, said
            kills.check_whole(place)
        change(place, f"size={DISK}")
        kills.finish(work, place)
        kills.compare(whole, kills.contents(place))


@pytest.mark.deep
@pytest.mark.parametrize("name", WORKS)
def test_a_read_only_folder_is_one_error(name: str, tmp_path: Path) -> None:
    work = WORKS[name]
    with disk(work, tmp_path / "disk") as place:
        change(place, "ro")
        said = error_of(kills.start(work, place), place)
        assert "Read-only file system" in said
        assert "build" in said
        assert "choose another output directory" in said
        assert [path.name for path in place.iterdir()] == list(work.files)


@pytest.mark.deep
@pytest.mark.parametrize("name", WORKS)
def test_of_two_processes_on_one_folder_the_second_waits(
    name: str, tmp_path: Path, undisturbed: Callable[[str], dict[str, bytes | None]]
) -> None:
    work, whole = WORKS[name], undisturbed(name)
    place = kills.begun(work, tmp_path / "folder")
    both = [kills.start(work, place) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    text = (tmp_path / "folder.log").read_text()
    assert sum("another process" in line for line in text.splitlines()) == 1, text
    kills.compare(whole, kills.contents(place))


@pytest.mark.deep
@pytest.mark.parametrize("name", WORKS)
def test_a_clock_that_was_set_back_changes_nothing(
    name: str, tmp_path: Path, undisturbed: Callable[[str], dict[str, bytes | None]]
) -> None:
    """All that a killed command has written seems to be of next year."""
    work, whole = WORKS[name], undisturbed(name)
    place = kills.begun(work, tmp_path / "folder")
    is_begun = {"reproduce": "build/simulations/*.nc", "sweep": "build/*/*.nc",
                "evaluation": "build/*.jsonl", "training": "build/run/checkpoints/*"}[name]
    process = kills.start(work, place)
    while not list(place.glob(is_begun)):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    later = time.time() + 365 * 86400
    for path in place.rglob("*"):
        os.utime(path, (later, later))
    kills.finish(work, place)
    kills.compare(whole, kills.contents(place))
