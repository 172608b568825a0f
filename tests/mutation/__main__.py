"""Put small bugs into the package, one at a time, and list those that no fast test notices.

    python -m tests.mutation [--only GLOB ...] [--sample N] [--jobs N]

What was tried is kept in ``build/mutation/GROUP/results.jsonl``
and holds while the file and the test that noticed (where none did: all tests of the group) are as they
were; so an interrupted run goes on, and a second run tries what new tests might notice. Changes elsewhere
are seen by ``--again`` alone. The status is 1 where a bug is neither noticed nor accepted
(``accepted.toml``), and where an accepted one is noticed or is there no longer.
"""

from __future__ import annotations

import fnmatch
import json
import os
import random
import sys
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from tests.mutation.judging import Group, Reach, judge, preload, reach
from tests.mutation.mutants import Mutant, Source

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@dataclass(frozen=True, kw_only=True)
class Command:
    """Put small bugs into the package, and list those that no fast test notices."""

    only: tuple[str, ...] = ("*",)
    """Files, as globs."""
    sample: int = 0
    """Bugs of each file that are tried, drawn at random; 0: all."""
    seed: int = 0
    """Of the draw."""
    jobs: int = 1
    """Processes that try bugs."""
    again: bool = False
    """Forget what was tried before."""


@dataclass(kw_only=True)
class Tried:
    """What became of one file's bugs."""

    mutants: int
    killed: int = 0
    accepted: int = 0
    left: list[tuple[Mutant, str, str]] = field(default_factory=list)
    """Neither noticed nor accepted: with the line before and after."""

    @property
    def tried(self) -> int:
        """How many."""
        return self.killed + self.accepted + len(self.left)


def groups(root: Path = ROOT) -> list[Group]:
    """The tables of ``judges.toml``."""
    found = []
    for name, table in tomllib.loads((HERE / "judges.toml").read_text()).items():
        files = [str(path.relative_to(root)) for pattern in table.pop("files")
                 for path in sorted(root.glob(pattern))]
        missing = [test for test in table["tests"] if not (root / test).is_file()]
        if not files or missing:
            raise ValueError(f"judges.toml, {name}: no file {missing or 'to mutate'}")
        found.append(Group(name=name, root=root, files=tuple(files), **{
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}))
    return found


class Accepted:
    """The entries of ``accepted.toml``, and which of them were met."""

    def __init__(self, path: Path = HERE / "accepted.toml") -> None:
        self.whys: dict[tuple[str, str, str, str], str] = {}
        for file, entries in tomllib.loads(path.read_text()).items():
            for entry in entries:
                after = entry["becomes"]
                for line in [after] if isinstance(after, str) else after:
                    self.whys[file, entry["in"], _squeezed(entry["line"]), _squeezed(line)] = entry["why"]

    def why(self, mutant: Mutant, before: str, after: str) -> str | None:
        """The reason for which this bug need not be noticed, if there is one."""
        return self.whys.get((mutant.file, mutant.scope, before, after))

    def stale(self, source: Source, mutants: Sequence[Mutant], outcomes: dict[str, str]) -> list[str]:
        """Entries of a file that are none of its bugs, or that a test notices."""
        entries = {key for key in self.whys if key[0] == source.file}
        lines = {key[2] for key in entries}
        text = [_squeezed(line) for line in source.text.splitlines()]
        found: dict[tuple[str, ...], list[str | None]] = defaultdict(list)
        for mutant in mutants:
            if text[mutant.line - 1] in lines:
                found[mutant.file, mutant.scope, *source.change(mutant)].append(outcomes.get(mutant.key))
        wrong = [f"{' | '.join(key)}: is no bug of the file" for key in entries if key not in found]
        return wrong + [f"{' | '.join(key)}: is noticed by a test" for key in entries
                        if set(found.get(key, ())) == {"killed"}]


def _squeezed(line: str) -> str:
    return " ".join(line.split())


class Results:
    """What was tried of a group, line by line in a file."""

    def __init__(self, group: Group, again: bool) -> None:
        self.group, self.path = group, group.folder / "results.jsonl"
        group.folder.mkdir(parents=True, exist_ok=True)
        if again:
            self.path.unlink(missing_ok=True)
        self.all_tests = group.digest()
        self.digests = {file: group.digest([file]) for file in [*group.files, *group.tests]}

    def standing(self) -> dict[str, str]:
        """Outcomes by key that hold for files and tests as they are."""
        found = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            kept = json.loads(line)
            test = (kept["by"] or "").split("::")[0]
            judges = self.digests.get(test) if test else self.all_tests
            if kept["outcome"] == "killed" and not test:
                judges = kept["judges"]  # the import failed
            file = kept["key"].split(":")[0]
            if kept["file"] == self.digests.get(file) and kept["judges"] == judges:
                found[kept["key"]] = kept["outcome"]
        return found

    def add(self, answer: dict[str, Any]) -> None:
        """Keep one outcome."""
        test = (answer["by"] or "").split("::")[0]
        line = {**answer, "file": self.digests[answer["key"].split(":")[0]],
                "judges": self.digests[test] if test else self.all_tests}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def run(command: Command, console: Console) -> int:
    """Do what was asked; the exit status."""
    accepted, wrong = Accepted(), []
    for group in groups():
        files = [file for file in group.files
                 if any(fnmatch.fnmatch(file, pattern) for pattern in command.only)]
        if not files:
            continue
        preload(group)
        measured = reach(group)
        sources = {file: Source(group.root, file) for file in files}
        mutants = {file: list(source.mutants()) for file, source in sources.items()}
        chosen = {file: _drawn(found, command) for file, found in mutants.items()}
        results = Results(group, command.again)
        known = results.standing()
        todo = [m for found in chosen.values() for m in found if m.key not in known]
        console.print(f"{group.name}: {sum(map(len, chosen.values()))} bugs, {len(todo)} to be tried",
                      highlight=False)
        _try_all(group, measured, todo, results, command.jobs)
        outcomes = results.standing()
        table, stale = {}, []
        for file, source in sources.items():
            table[file] = _tried(source, mutants[file], chosen[file], outcomes, accepted)
            stale += accepted.stale(source, mutants[file], outcomes)
        report(table, console)
        wrong += [f"accepted.toml: {entry}" for entry in stale]
        wrong += [f"{len(tried.left)} in {file}" for file, tried in table.items() if tried.left]
    for line in wrong:
        console.print(line, style="red", highlight=False, markup=False, soft_wrap=True)
    return 1 if wrong else 0


def _drawn(mutants: list[Mutant], command: Command) -> list[Mutant]:
    """The first of a shuffled list, so that a larger sample holds a smaller one."""
    order = random.Random(command.seed).sample(mutants, len(mutants))
    return order[: command.sample or None]


def _try_all(
    group: Group, measured: Reach, mutants: Sequence[Mutant], results: Results, jobs: int
) -> None:
    children = []
    for job in range(min(jobs, len(mutants))):
        child = os.fork()
        if not child:
            status = 1
            try:
                judge(group, measured, mutants[job::jobs], results.add)
                status = 0
            except RuntimeError as error:
                print(error, file=sys.stderr)
            finally:
                os._exit(status)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        raise RuntimeError("not all bugs were tried; what was is kept, and a second run goes on")


def _tried(source: Source, mutants: Sequence[Mutant], chosen: Sequence[Mutant],
           outcomes: dict[str, str], accepted: Accepted) -> Tried:
    found = Tried(mutants=len(mutants))
    for mutant in chosen:
        outcome = outcomes.get(mutant.key)
        if outcome == "killed":
            found.killed += 1
        elif outcome:
            before, after = source.change(mutant)
            if accepted.why(mutant, before, after):
                found.accepted += 1
            else:
                found.left.append((mutant, before, after))
    return found


def report(table: dict[str, Tried], console: Console) -> None:
    """Print what was not noticed, then the numbers of each file."""
    for file, tried in table.items():
        for mutant, before, after in sorted(tried.left, key=lambda found: found[0].line):
            console.print(f"{file}:{mutant.line} in {mutant.scope or 'the module'}\n  - {before}\n"
                          f"  + {after}", highlight=False, markup=False, soft_wrap=True)
    shown = Table("file", "bugs", "tried", "noticed", "accepted", "left", "share")
    for file, tried in table.items():
        shown.add_row(
            file, str(tried.mutants), str(tried.tried), str(tried.killed), str(tried.accepted),
            str(len(tried.left)), f"{tried.killed / tried.tried:.1%}" if tried.tried else "")
    console.print(shown)


def main() -> None:
    """The command."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    try:
        sys.exit(run(tyro.cli(Command, prog="python -m tests.mutation"), console))
    except (ValueError, RuntimeError) as error:
        console.print(str(error), highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
