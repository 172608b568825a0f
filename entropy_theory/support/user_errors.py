"""Errors that a user can act on: one sentence, the offending value, the remedy, no traceback."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

Value = TypeVar("Value")


def lookup(mapping: Mapping[str, Value], name: str, kind: str) -> Value:
    """Return ``mapping[name]``, or raise a ValueError that names the nearest known names.

    Args:
        mapping: known names and what they stand for.
        name: what the user asked for.
        kind: what it is a name of, in the singular ("update rule", "claim").
    """
    check_choice(name, mapping, kind)
    return mapping[name]


def check_choice(value: str, choices: Iterable[str], what: str) -> None:
    """Raise a ValueError that names the nearest choices, unless ``value`` is one of them.

    Args:
        value: what the user asked for.
        choices: all that may be asked for.
        what: what the choices are, in the singular ("normalization", "column").
    """
    choices = list(choices)
    if value in choices:
        return
    near = difflib.get_close_matches(value, choices, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(sorted(choices))}"
    raise ValueError(f"unknown {what} '{value}': {hint}")


def run_command(main: Callable[[], int | None]) -> None:
    """Run a command-line entry point and exit.

    ValueError and OSError are a user's to mend: they are printed as one line and the exit status is
    2. Anything else is a bug of ours and keeps its traceback. Ctrl-C exits with 130.
    """
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; nothing is left to say, and nowhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print("interrupted; finished results are kept, run the same command to resume",
              file=sys.stderr)
        status = 130
    sys.exit(status)
