"""The frame of all command lines: sub-commands that are imported when they run, errors in one line.

A room's ``__main__`` lists its `Command` objects and calls `run`; the console script ``policy-entropy``
lists those of all rooms. Each of these options has one meaning everywhere::

    --output    where the results go: a folder, or the file of a command that writes one
    --jobs      processes, or claims and files, at once
    --profile   how much is computed: smoke, default, full
    --seed      seed of everything random
    --json      a file for what was found, as JSON; "-" prints it in place of the text
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from entropy_theory import __version__
from entropy_theory.support.results import check_writable, plain, write_json
from entropy_theory.support.user_errors import check_choice

SHELLS = ("bash", "zsh", "fish")
KINDS = {"INT": "a whole number", "FLOAT": "a number"}
"""Words for the names that tyro gives the values of an option."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A sub-command: its summary, and the place of its function."""

    place: str
    """``module:function``, imported only when the command is run."""
    summary: str
    """A line for the list of commands."""
    parses: bool = False
    """Whether the function is given the texts of the command line and its own name, and reads them
    itself. Otherwise its parameters are the options."""

    def function(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)


def run(
    prog: str, description: str, commands: Mapping[str, Command], examples: Sequence[str] = (),
    arguments: Sequence[str] | None = None,
) -> int:
    """Run the command that the arguments name, and return the exit status.

    Args:
        prog: name of the program.
        description: a sentence on the program.
        commands: its sub-commands, by name.
        examples: whole command lines for its help.
        arguments: those of the process by default.

    Raises:
        ValueError: an unknown command, option or value, in one line with the nearest name.
    """
    name, *rest = arguments if arguments else sys.argv[1:] or [""]
    if name in ("", "-h", "--help"):
        print(_usage(prog, description, commands, examples), end="")
        return 0 if name else 2
    if name == "--version":
        print(f"policy-entropy {__version__}")
        return 0
    look_here_last()
    if name.startswith("-"):
        check_choice(name, ("--version", "--help"), "option")
    check_choice(name, (*commands, "--help"), "command")
    command = commands[name]
    if command.parses:
        return command.function()(rest, f"{prog} {name}") or 0
    return parse(deferred(command.function()), rest, prog=f"{prog} {name}")() or 0


def look_here_last() -> None:
    """Have Python search the current directory last.

    A reward or a rule of the user's own may be named as module:name, but a user's folder "simulations"
    must not be imported in place of ours.
    """
    here = os.getcwd()
    sys.path[:] = [*(place for place in sys.path if place not in ("", here)), here]


def deferred(function: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    """Return a function of the same parameters that returns the call in place of making it."""

    @functools.wraps(function)
    def bound(*values: Any, **options: Any) -> Callable[[], Any]:
        return functools.partial(function, *values, **options)

    return bound


def parse(kind: Any, arguments: Sequence[str], *, prog: str, **options: Any) -> Any:
    """Read a command line as `tyro.cli` does.

    Args:
        kind: a dataclass, or a function of the options.
        arguments: the texts after the command's name.
        prog: how the command is called.
        options: further options of `tyro.cli`.

    Raises:
        ValueError: an unknown option or a bad value, in one line; `tyro.cli` draws a box and exits.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(kind, args=list(arguments), prog=prog, **options)
    except SystemExit as end:
        if end.code in (0, None):  # --help
            raise
        raise ValueError(f"{_in_one_line(said.getvalue())} ({prog} --help lists the options)") from None


def _in_one_line(box: str) -> str:
    """Return what a box of tyro's says, with the options that it would have understood.

    In the box, a ruled line ends each part: first what is wrong, then what may have been meant.
    """
    parts: list[list[str]] = [[]]
    for line in box.splitlines():
        content = line.strip("│ \t")
        if content and not content.strip("─"):
            parts.append([])
        elif content[:1] not in ("╭", "╰", ""):
            parts[-1].append(content)
    wrong = " ".join(parts[0])
    value = re.match(r"Error parsing (--\S+): (?:no type matching .*? from \[(.*?)\]\.|.*: (.*))", wrong)
    if value:
        option, *given = value.groups()
        kind = next((line for part in parts[1:] for line in part if line.startswith(option)), "")
        wanted = next((words for name, words in KINDS.items() if name in kind), None)
        if wanted:
            return f"{option} must be {wanted}, got {given[0] or given[1]}"
    near = [line.split()[0].rstrip(",") for part in parts[1:] for line in part if line.startswith("--")]
    hint = f": did you mean {', '.join(dict.fromkeys(near))}?" if near and "option" in box else ""
    return (wrong[:1].lower() + wrong[1:]).rstrip(".") + hint


def _usage(
    prog: str, description: str, commands: Mapping[str, Command], examples: Sequence[str]
) -> str:
    width = max(map(len, commands))
    lines = [f"usage: {prog} COMMAND [OPTIONS]", "", description, "",
             *(f"  {name:<{width}}  {command.summary}" for name, command in commands.items()), "",
             f"{prog} COMMAND --help lists a command's options; --debug shows where an error arose."]
    return "\n".join([*lines, *(["", "examples:"] if examples else []),
                      *(f"  {example}" for example in examples)]) + "\n"


@contextlib.contextmanager
def json_output(file: Path | None) -> Iterator[Callable[[Any], None]]:
    """Give the block of a command a function that writes its results as JSON.

    Args:
        file: the file, or None to write nothing. With "-" standard output holds the JSON alone, and the
            text goes to standard error.

    Raises:
        OSError: a file that cannot be written, before the block does its work.
    """
    if file is None:
        yield lambda value: None
    elif str(file) == "-":
        output = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield lambda value: print(json.dumps(plain(value), indent=2, ensure_ascii=False), file=output)
    else:
        check_writable(file)
        yield lambda value: write_json(file, value)


def print_list(columns: Sequence[str], rows: Iterable[Sequence[str]], json: Path | None = None) -> None:
    """Print a list as all commands do: one thing a line, its name first, a tab between columns.

    Args:
        columns: what the columns are, the keys in JSON.
        rows: the cells of each line.
        json: as of `json_output`.
    """
    rows = list(rows)
    with json_output(json) as write:
        if str(json) != "-":
            for row in rows:
                print("\t".join(row))
        write([dict(zip(columns, row, strict=True)) for row in rows])


@contextlib.contextmanager
def keeping(what: str) -> Iterator[None]:
    """Have Ctrl-C inside the block end with a sentence on what is kept.

    Args:
        what: a sentence, such as "finished cells are kept, and the same command goes on from them".
    """
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(what) from None
