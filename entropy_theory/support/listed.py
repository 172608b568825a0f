"""Lists the contents of a room's modules by name, source and title, without importing them.

The list, and the answer to a mistyped name, are read off the source files. Importing the modules would
import what computes or draws, which takes seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Listed(NamedTuple):
    """A line of a list."""

    name: str
    source: str
    title: str


def listed(files: Iterable[Path], kind: str) -> list[Listed]:
    """Return the name, source and title of each object of a class that the files make, by name.

    Args:
        files: Python files that call ``kind(name="...", source="...", title="...", ...)``, or
            ``kind.of(__name__, name="...", ...)``.
        kind: the class.
    """
    made = re.compile(rf'\b{kind}(?:\.of)?\(\s*(?:__name__, )?'
                      r'name="([^"]+)",\s*source="([^"]+)",\s*title="([^"]+)",')
    return sorted(Listed(*found) for file in files
                  for found in made.findall(file.read_text(encoding="utf-8")))
