"""Guards the help of every command, whose words stand in helps.txt alone.

``python -m tests.policy_entropy.test_help`` writes that file, to be read before it is committed.
"""

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from unittest import mock

import pytest

from policy_entropy import __main__ as console

FILE = Path(__file__).with_name("helps.txt")
WIDTH = "100"


def helped(name: str) -> str:
    """Return what a command prints of itself, at one width and without colours."""
    out = io.StringIO()
    with (mock.patch.object(sys, "argv", ["policy-entropy", name, "--help"]),
          mock.patch.dict(os.environ, {"COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}),
          contextlib.redirect_stdout(out), contextlib.suppress(SystemExit)):
        console.command()
    plain = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())
    return "\n".join(line.rstrip() for line in plain.splitlines())


def kept() -> dict[str, str]:
    """Return the helps of the file, by command."""
    return {name: text.strip("\n") for name, text in re.findall(
        r"^\$ policy-entropy (\S+) --help\n(.*?)(?=^\$ policy-entropy \S+ --help$|\Z)",
        FILE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)}


def test_the_file_has_every_command():
    assert kept().keys() == console.COMMANDS.keys()


@pytest.mark.parametrize("name", console.COMMANDS)
def test_a_help_has_the_words_of_the_file(name):
    assert helped(name).strip("\n") == kept()[name], "run python -m tests.policy_entropy.test_help"


if __name__ == "__main__":
    FILE.write_text("\n\n".join(f"$ policy-entropy {name} --help\n{helped(name).strip(chr(10))}"
                                for name in console.COMMANDS) + "\n", encoding="utf-8")
