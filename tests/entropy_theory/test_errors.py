"""Guards what errors are and what they say: `errors.txt` is the one place where their words are pinned.

A paragraph there that begins with `>>> ` is a call that has to fail, with its error below it; the others
are Python that these calls need. A case is added as its first line. The rest is written by

    python -m tests.entropy_theory.test_errors

and read before it is committed.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FILE = Path(__file__).with_name("errors.txt")
PARAGRAPHS = FILE.read_text().strip().split("\n\n")
CASES = dict(text.removeprefix(">>> ").split("\n", 1) if "\n" in text else (text.removeprefix(">>> "), "")
             for text in PARAGRAPHS if text.startswith(">>> "))


@functools.cache
def names() -> dict[str, Any]:
    """What the calls are made of."""
    found: dict[str, Any] = {}
    for text in PARAGRAPHS:
        if not text.startswith(">>> "):
            exec(text, found)
    return found


def said(call: str) -> str:
    """The class of the error of a call, the option that it points to, and its message."""
    try:
        with np.errstate(all="ignore"):
            found = eval(call, names())
    except Exception as error:
        place = ".".join(getattr(error, "path", ()))
        message = re.sub(r" at 0x\w+", "", str(error))
        return f"{type(error).__name__}{f' at {place}' if place else ''}: {message}"
    return f"no error: {type(found).__name__}"


@pytest.mark.parametrize("call", CASES)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_wrong_is_told(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said(call) == CASES[call]
    assert "\n" not in CASES[call]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        now = [f">>> {call}\n{said(call)}" for call in CASES]
        os.chdir("/")
    others = [text for text in PARAGRAPHS if not text.startswith(">>> ")]
    FILE.write_text("\n\n".join([*others, *now]) + "\n")
