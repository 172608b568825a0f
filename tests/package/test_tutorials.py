"""The tutorials run as printed: code and commands, in order, each page in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
TRAINS = {"trl-run"}
"""Pages that train a transformer, a minute's work."""


def blocks(page: str) -> list[tuple[str, str, str | None]]:
    """(language, content, file) of each block; the file is the one that the paragraph before it names."""
    found, end = [], 0
    for match in BLOCK.finditer(page):
        before = page[end:match.start()].rstrip().rsplit("\n\n", 1)[-1]
        named = re.search(r"`(\w+\.py)`\)?(?:, once more)?:$", before)
        found.append((match[1], match[2], named[1] if named else None))
        end = match.end()
    return found


def commands(console: str) -> list[tuple[str, list[str]]]:
    """Each command of a console block with the lines that its output must hold; "..." stands for any."""
    found: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() not in ("", "..."):
            found[-1][1].append(" ".join(line.split()))
    return found


def run(command: list[str] | str, folder: Path) -> str:
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    environment = {**clean, "PYTHONPATH": paths, "COLUMNS": "200",
                   "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, shell=isinstance(command, str),
                          capture_output=True, text=True)
    assert not re.search(r"^(Traceback|error:)", done.stderr, re.MULTILINE), done.stderr[-3000:]
    return done.stdout + done.stderr


def test_a_block_that_is_wrong_is_found(tmp_path):
    """A harness that runs nothing would find every page right."""
    assert blocks("See `a.py`:\n\n```python\n1\n```\n\nthen\n\n```console\n$ ls\n```") == [
        ("python", "1\n", "a.py"), ("console", "$ ls\n", None)]
    assert commands("$ one\na  b\n...\n$ two\n") == [("one", ["a b"]), ("two", [])]
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run([sys.executable, "-c", "1/0"], tmp_path)


@pytest.mark.parametrize("page", [
    pytest.param(page, id=page.stem, marks=[pytest.mark.deep] if page.stem in TRAINS else [])
    for page in PAGES])
def test_it_runs_as_printed(tmp_path, page):
    found = blocks(page.read_text())
    assert {language for language, _, _ in found} <= {"python", "console"}
    assert any(language == "console" for language, _, _ in found)
    for language, content, file in found:
        if file is not None:
            (tmp_path / file).write_text(content)
        elif language == "python":
            run([sys.executable, "-c", content], tmp_path)
        else:
            for command, expected in commands(content):
                printed = " ".join(run(command, tmp_path).split())
                for line in expected:
                    assert line in printed, f"{command}: {line!r} not in {printed[-3000:]}"
