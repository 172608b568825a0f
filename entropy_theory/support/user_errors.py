"""Errors that a user can act on: one sentence, the offending value, the remedy, no traceback."""

from __future__ import annotations

import difflib
import importlib.util
import numbers
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from entropy_theory.support.parent_process import end_with_starter

Value = TypeVar("Value")
EXTRA_OF = {
    "sympy": "proofs",
    "jinja2": "figures", "matplotlib": "figures",
    "accelerate": "llm", "datasets": "llm", "gguf": "llm", "math_verify": "llm", "reasoning_gym": "llm",
    "tensorboard": "llm", "torch": "llm", "transformers": "llm", "trl": "llm",
    "yaml": "llm", "verl": "verl", "ray": "verl", "llvmlite": "fast", "distributed": "cluster",
    "triton": "kernels",
    "nbclient": "notebooks", "myst_parser": "docs", "sphinx": "docs", "pytest": "dev",
}
"""The extra of this package (``pip install 'policy-entropy[EXTRA]'``) that brings a module."""


class MissingExtraError(ImportError):
    """A module is not installed that one of this package's extras brings."""


def lookup(mapping: Mapping[str, Value], name: str, kind: str, listed_by: str | None = None) -> Value:
    """Return ``mapping[name]``, or raise a ValueError that names the nearest known names.

    Args:
        mapping: known names and their values.
        name: the name that the user gave.
        kind: the kind of thing that is named, in the singular ("update rule", "claim").
        listed_by: as of `check_choice`.
    """
    check_choice(name, mapping, kind, listed_by)
    return mapping[name]


def check_whole(name: str, value: object, least: int) -> None:
    """Raise a ValueError unless a number is whole and at least so large."""
    if not (isinstance(value, numbers.Integral) and int(value) >= least):
        raise ValueError(f"{name} must be an integer of at least {least}, got {value}")


def check_choice(
    value: str, choices: Iterable[str], what: str, listed_by: str | None = None
) -> None:
    """Raise a ValueError that names the nearest choices, unless ``value`` is one of them.

    Args:
        value: the value that the user gave.
        choices: all that may be asked for.
        what: the kind of choice, in the singular ("normalization", "column").
        listed_by: the command that lists the choices, where they are too many for a line.
    """
    choices = list(choices)
    if value in choices:
        return
    # What a file holds in place of a name need not be a text.
    near = difflib.get_close_matches(str(value), choices, n=3, cutoff=0.5)
    every = ", ".join(sorted(choices)) or "none"
    known = f"known: {every}" if listed_by is None else f"'{listed_by}' lists them"
    hint = f"did you mean {', '.join(near)}?" if near else known
    raise ValueError(f"unknown {what} '{one_line(str(value))}': {hint}")


def one_line(name: str) -> str:
    """Return a name from a file, its control characters escaped: an error is one line."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def check_file(path: Path, what: str) -> None:
    """Raise a ValueError unless the file exists; it names the nearest files, or tells of a folder.

    Args:
        path: the path that the user gave.
        what: the kind of file, with its article ("a training log").
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name {what} in it")
    if not path.is_file():
        try:
            beside = [file.name for file in path.parent.iterdir() if file.is_file()]
        except OSError:
            raise ValueError(f"no such file: {path}: there is no folder {path.parent}") from None
        near = difflib.get_close_matches(path.name, beside, n=3, cutoff=0.7)
        hint = f"did you mean {', '.join(str(path.with_name(name)) for name in near)}?" if near else (
            f"name {what}")
        raise ValueError(f"no such file: {path}: {hint}")


def need(what: str, *modules: str) -> None:
    """Raise a MissingExtraError unless all modules are installed; none of them is imported.

    Args:
        what: the name of the caller that needs them, a sentence's subject ("llm_bridge.trainer").
        modules: top-level modules of `EXTRA_OF`.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise MissingExtraError(_missing(what, *missing), name=missing[0])


def _missing(what: str, *modules: str) -> str:
    extras = ",".join(dict.fromkeys(EXTRA_OF[module] for module in modules))
    return (f"{what} needs {', '.join(modules)}, which {'is' if len(modules) == 1 else 'are'} not "
            f"installed: pip install 'policy-entropy[{extras}]'")


def run_command(main: Callable[[], int | None]) -> None:
    """Run a command-line entry point and exit.

    A user can mend a ValueError, an OSError and a missing extra: each is printed as one line, and the
    exit status is 2. ``--debug`` anywhere on the command line shows where the error arose. Any other
    exception is a bug of ours and keeps its traceback. Ctrl-C exits with 130, and prints what
    `command_line.keeping` keeps. A command that another command started ends with it (`parent_process`).
    """
    for stream in ("stdout", "stderr"):
        # Whoever started this has closed it, as `>&-` does; what takes its place is open to the end.
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    end_with_starter()
    debug = "--debug" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; nothing is left to say, and nowhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except (ValueError, OSError, MissingExtraError) as error:
        status = _told(str(error), debug)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_OF:
            raise
        status = _told(_missing("this command", module), debug)
    except KeyboardInterrupt as interrupt:
        print(f"interrupted; {str(interrupt) or 'nothing is kept'}", file=sys.stderr)
        status = 130
    sys.exit(status)


def _told(message: str, debug: bool) -> int:
    """Print an error, with the traceback of the one being handled if asked for; returns the status."""
    if debug:
        traceback.print_exc()
    print(f"error: {' '.join(message.splitlines())}", file=sys.stderr)
    return 2
