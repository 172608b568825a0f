"""Snapshots of errors: a room's ``errors.txt`` is the one place where their words are pinned.

A paragraph there that begins with `>>> ` is a call that has to fail, with its error below it, or one
beside such calls that has to pass ("no error"); the others are Python that these calls need. A case is
added as its first line; `python -m tests.ROOM.test_errors` writes the rest, to be read before it is
committed.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest


class Errors:
    """The errors of a room, kept in a file."""

    def __init__(self, file: Path) -> None:
        self.file, self.paragraphs = file, file.read_text().strip().split("\n\n")
        calls = [text.removeprefix(">>> ") for text in self.paragraphs if text.startswith(">>> ")]
        self.cases = {call: said for call, _, said in (text.partition("\n") for text in calls)}

    @cached_property
    def names(self) -> dict[str, Any]:
        """What the calls are made of."""
        found: dict[str, Any] = {}
        for text in self.paragraphs:
            if not text.startswith(">>> "):
                exec(text, found)
        return found

    def said(self, call: str) -> str:
        """The class of the error of a call, the option that it points to, and its message."""
        try:
            with np.errstate(all="ignore"):
                found = eval(call, self.names)
        except Exception as error:
            place = ".".join(getattr(error, "path", ()))
            message = re.sub(r" at 0x\w+", "", str(error))
            return f"{type(error).__name__}{f' at {place}' if place else ''}: {message}"
        return f"no error: {type(found).__name__}"

    def test(self) -> Callable[..., None]:
        """The test of all calls."""

        @pytest.mark.parametrize("call", self.cases)
        @pytest.mark.usefixtures("unchecked_shapes")
        def test(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
            monkeypatch.chdir(tmp_path)
            assert self.said(call) == self.cases[call]
            assert "\n" not in self.cases[call]

        return test

    def write(self) -> None:
        """Write what is said now."""
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            now = [f">>> {call}\n{self.said(call)}" for call in self.cases]
            os.chdir("/")
        others = [text for text in self.paragraphs if not text.startswith(">>> ")]
        self.file.write_text("\n\n".join([*others, *now]) + "\n")
