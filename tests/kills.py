"""Kills commands at random moments, starts them again until they end, and compares what they leave.

Only the leading process is killed (SIGKILL), as the kernel does where memory is short: what it started
has to end by itself. The results of a command that was killed must be those of one that was not, byte for
byte, but for what `SAID_OF_TIME` names, and nothing else may be left in the folder.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import xarray as xr

ROOT = Path(__file__).parents[1]
SAID_OF_TIME: dict[str, tuple[str, str]] = {
    "time of a result": (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\+00:00| UTC)?", "when it was made"),
    "seconds and megabytes": (
        r'"(seconds|cpu_seconds|peak_megabytes|peak_megabytes_at_once)": [\d.e+-]+', "what it took"),
    "digest of a result": (
        r'"((simulations|runs|evaluations)/[^"]+|training runs)": "[0-9a-f]{16}"',
        "of what a file says of its time, too, and of when the files of a run were written"),
    "a stage that was done": (
        r'"status": "(done|kept)"', "the last start of reproduce keeps what an earlier one did"),
}
"""What may differ between two runs: a pattern in their files, and why."""
UNCOMPARED = {
    "logs": "what stages print, with times and how they resumed",
    "tensorboard": "a file for each start, named after its time and process",
    ".doctrees": "Sphinx's own notes, with the time at which it read a page",
    ".hypothesis": "Hypothesis's own notes",
    "run.md": "a page that prints seconds and a date", "run.md.txt": "the same",
    "run.html": "the same", "searchindex.js": "the numbers on these pages",
}
"""Folders and files that are not compared, and why; nothing temporary may be in them either."""
ENDED_WITHIN = 30.0
"""Seconds that the processes a killed one started may take to end, on a machine with much to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A command that is killed; its folder is the working directory."""

    arguments: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    """What is there before: names and texts."""


SWEEP = """\
n_starts = 4
[[rule]]
name = "grpo"
[[rule]]
name = "entropy-bonus"
coefficient = 0.01
[dynamics]
steps = 3000
samples = { group_size = 8 }
[grid]
problem.n_actions = [10, 20, 30, 40]
"""
WORKS = {
    "reproduce": Work(arguments=("-m", "paper_figures", "reproduce", "--profile", "smoke")),
    "sweep": Work(
        arguments=("-m", "simulations", "sweep", "grid.toml", "--output", "build", "--jobs", "2"),
        files={"grid.toml": SWEEP}),
    "evaluation": Work(arguments=(
        "-m", "llm_bridge", "evaluate", "--model", "small-sums", "--task", "split",
        "--num-prompts", "192", "--num-samples", "8", "--output", "build/evaluation.json")),
    "training": Work(arguments=(
        "-m", "llm_bridge", "train", "--model", "small-sums", "--task", "split", "--rule", "aepo",
        "--steps", "8", "--prompts", "4", "--save-every", "2", "--audit-every", "2",
        "--output", "build/run")),
}


class DifferentError(AssertionError):
    """What killed commands left is not what an undisturbed one leaves."""


def campaign(name: str, kills: int, folder: Path, seed: int) -> None:
    """Kill a work ``kills`` times; an end in between is compared, and the work begun anew.

    Args:
        name: one of `WORKS`.
        kills: how often.
        folder: an empty folder to work in.
        seed: of the moments of the kills, as parts of the time that an undisturbed run takes.

    Raises:
        DifferentError: something is left, lost or different, or goes on.
    """
    work, draw = WORKS[name], random.Random(f"{name}/{seed}")
    began = time.monotonic()
    finish(work, begun(work, folder / "undisturbed"))
    seconds = time.monotonic() - began
    whole = contents(folder / "undisturbed")
    done = ends = 0
    while done < kills or not ends:
        place = begun(work, folder / f"killed-{ends}")
        # A start after a kill has less to do, so that these moments, one after the other, are all.
        while done < kills and killed(work, place, draw.uniform(0, seconds / 2)):
            done += 1
            check_whole(place)
        finish(work, place)
        compare(whole, contents(place))
        ends += 1


def begun(work: Work, place: Path) -> Path:
    """Make a folder for a work, and return it."""
    place.mkdir(parents=True)
    for name, text in work.files.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


def start(work: Work, place: Path) -> subprocess.Popen[bytes]:
    """Start a work; what it prints is appended to ``PLACE.log``, beside its folder."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    log = (place.parent / f"{place.name}.log").open("ab")
    with log:
        return subprocess.Popen(
            [sys.executable, *work.arguments], cwd=place, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, **threads, "PYTHONPATH": str(ROOT)})


def finish(work: Work, place: Path) -> None:
    """Run a work to its end; raises DifferentError if it fails."""
    process = start(work, place)
    if process.wait() != 0:
        said = (place.parent / f"{place.name}.log").read_text(encoding="utf-8", errors="replace")
        raise DifferentError(f"{place}: exit status {process.returncode}: {said[-2000:]}")


def killed(work: Work, place: Path, after: float) -> bool:
    """Start the work and kill it, and all below it ends; return False if the work ended before."""
    process = start(work, place)
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        began = time.monotonic()
        while any(_is_running(child) for child in below):
            if time.monotonic() - began > ENDED_WITHIN:
                left = [child.cmdline() for child in below if _is_running(child)]
                raise DifferentError(f"{place}: killed, and {ENDED_WITHIN:.0f} s later still running: "
                                f"{left}") from None
            time.sleep(0.05)
        return True
    return False


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _files(place: Path) -> Iterator[Path]:
    return (path for path in sorted(place.rglob("*")) if path.is_file())


def contents(place: Path) -> dict[str, bytes | None]:
    """What is in the files below a folder, by their paths, without what is said of time.

    None stands for what is not compared (`UNCOMPARED`), of a folder for all that is in it.
    """
    found: dict[str, bytes | None] = {}
    for path in _files(place):
        parts = path.relative_to(place).parts
        hidden = [i for i, part in enumerate(parts) if part in UNCOMPARED]
        if hidden and ".partial" not in path.name:
            found["/".join(parts[: hidden[0] + 1])] = None
            continue
        text = path.read_bytes()
        for name, (pattern, _) in SAID_OF_TIME.items():
            text = re.sub(pattern.encode(), name.encode(), text)
        found["/".join(parts)] = text
    return found


def compare(whole: dict[str, bytes | None], found: dict[str, bytes | None]) -> None:
    """Raise DifferentError unless the files are the same."""
    if lost := sorted(whole.keys() - found.keys()):
        raise DifferentError(f"lost: {', '.join(lost)}")
    if left := sorted(found.keys() - whole.keys()):
        raise DifferentError(f"left behind: {', '.join(left)}")
    for name, text in whole.items():
        other = found[name]
        if text != other:
            assert text is not None
            assert other is not None
            place = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b),
                         min(len(text), len(other)))
            around = slice(max(0, place - 80), place + 80)
            raise DifferentError(
                f"{name} differs at byte {place}: {text[around]!r} became {other[around]!r}")


def check_whole(place: Path) -> None:
    """Raise DifferentError if a file that is written at once is there in part.

    A log of lines may end within one: its reader passes that over.
    """
    for path in _files(place):
        if path.name.startswith(".") or "checkpoints" in path.parts or "report" in path.parts:
            continue  # a checkpoint counts once it is sealed, a site is built anew
        try:
            if path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
            elif path.suffix == ".nc":
                xr.load_dataset(path, engine="scipy")
        except Exception as error:
            raise DifferentError(f"{path} is half written: {error!r}") from error


def interruptible(*arguments: str) -> list[str]:
    """Return a command that an interrupt ends; tests in the background start programs that ignore it."""
    reset = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL)"
    return [sys.executable, "-c", f"{reset}; os.execv(sys.argv[1], sys.argv[1:])", *arguments]
