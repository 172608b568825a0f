"""Keeps judged completions in a file, one line each, so that a killed evaluation can be continued.

The first line holds all that the samples depend on; samples of anything else are refused. A chunk of
completions is drawn from a seed of its own and appended by one write. If a kill cuts a chunk short, its
remains are dropped, and drawing it again gives the same completions. A kill can spoil the file's end
only: a line that cannot be read, with lines behind it that can, is an error.
"""

from __future__ import annotations

import dataclasses
import json
import os
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropy_theory.support import results
from entropy_theory.support.stored import check_form, parsed, text_of
from entropy_theory.support.user_errors import one_line


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One judged completion."""

    prompt: int
    """The place of its prompt in the task."""
    sample: int
    """The number of the sample among those of its prompt."""
    completion: str
    reward: float
    length: int
    """The number of tokens, the one that ended it included."""
    entropy: float
    """Entropy of pi at T = 1, mean over its tokens, nats."""
    ended: bool
    """Whether it ended before the length limit."""


LINE = typing.get_type_hints(Line)
"""The form of a line (`stored.check_form`)."""


class SampleStore:
    """A file of samples.

    Args:
        path: the file; None keeps the samples in memory only.
        identity: JSON-like data, all that the samples depend on.

    Raises:
        ValueError: a file of other samples, a file of something else, or a damaged file.
    """

    def __init__(self, path: Path | None, identity: dict[str, Any]):
        self._path = path
        self._head = json.dumps({"samples_of": results.plain(identity)}, sort_keys=True) + "\n"
        self._lines: dict[tuple[int, int], Line] = {}
        if path is not None and path.exists():
            self._read(path)

    def lines(self) -> list[Line]:
        """Return all completions, ordered by prompt and sample."""
        return [self._lines[place] for place in sorted(self._lines)]

    def keep_whole(self, chunks: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
        """Drop all but whole chunks of (prompt, sample) places; return the chunks still to be drawn."""
        whole = [all(place in self._lines for place in chunk) for chunk in chunks]
        kept = {place for chunk, is_whole in zip(chunks, whole, strict=True) if is_whole
                for place in chunk}
        self._lines = {place: line for place, line in self._lines.items() if place in kept}
        if self._path is not None:
            text = "".join(_text(line) for line in self.lines())
            results.write_text(self._path, self._head + text)
        return [i for i, is_whole in enumerate(whole) if not is_whole]

    def append(self, lines: Sequence[Line]) -> None:
        """Add a chunk. Raises OSError, naming the file, when it cannot be written."""
        self._lines |= {(line.prompt, line.sample): line for line in lines}
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("".join(_text(line) for line in lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OSError(
                f"cannot write {self._path} ({error.strerror}): free some space, and run the same "
                "command to go on"
            ) from error

    def _read(self, path: Path) -> None:
        head, *rest = text_of(path).split("\n")
        known = json.loads(self._head)["samples_of"]
        try:
            found = parsed(head)
            check_form(found, {"samples_of": {}})
            found = found["samples_of"]
        except ValueError:
            raise ValueError(
                f"{path} is not a file of samples: choose another output, or delete it"
            ) from None
        if found != known:
            differ = sorted(k for k in {*found, *known} if found.get(k) != known.get(k))
            raise ValueError(
                f"{path} holds samples of something else "
                f"({', '.join(map(one_line, differ))} differ): choose another "
                "output, or delete it"
            )
        lines = [_line(text) for text in rest]
        while lines and lines[-1] is None:
            lines.pop()  # cut short by a kill
        for number, line in enumerate(lines, start=2):
            if line is None:
                raise ValueError(
                    f"{path}, line {number}: not a sample, and samples follow it: mend the line, or "
                    "delete the lines from there on, whose samples are then drawn again")
            self._lines[line.prompt, line.sample] = line


def _line(text: str) -> Line | None:
    """Read a line; return None if it is not a sample."""
    try:
        found = parsed(text)
        check_form(found, LINE)
        return Line(**found)
    except (ValueError, TypeError):
        return None


def _text(line: Line) -> str:
    return json.dumps(dataclasses.asdict(line)) + "\n"
