"""A task in a JSONL file, read line by line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from entropy_theory.support.stored import parsed, text_of


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line of a JSONL file that is not empty."""
    # (`splitlines` would also cut at separators of Unicode, which may stand within a text.)
    for number, line in enumerate(text_of(path, encoding="utf-8-sig").split("\n"), start=1):
        try:
            if line.strip():
                yield number, parsed(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: not valid JSON ({error})") from None


def items_of(path: Path) -> Iterator[tuple[str, str, float]]:
    """Yield the prompt, answer and target offset on each line of a user's file of tasks."""
    for number, item in json_lines(path):
        if not isinstance(item, dict):
            raise ValueError(f'{path}, line {number}: expected {{"prompt": ..., "answer": ...}}, got '
                             f"{json.dumps(item)[:60]}")
        for key in ("prompt", "answer"):
            if key not in item:
                found = ", ".join(map(json.dumps, sorted(item))) or "nothing"
                raise ValueError(f'{path}, line {number}: no "{key}", only {found}')
        prompt, answer = item["prompt"], item["answer"]
        if not isinstance(prompt, str) or not prompt:
            raise ValueError(f'{path}, line {number}: "prompt" must be a non-empty string')
        if isinstance(answer, bool) or not isinstance(answer, (str, int, float)):
            raise ValueError(f'{path}, line {number}: "answer" must be a string or a number')
        if isinstance(answer, float) and not math.isfinite(answer):
            raise ValueError(f'{path}, line {number}: "answer" must be a finite number, got {answer}')
        offset = as_nats(item.get("target_offset", 0.0))
        if offset is None:
            raise ValueError(f'{path}, line {number}: "target_offset" must be a finite number of nats')
        for key, value in (("prompt", prompt), ("answer", str(answer))):
            check_letters(value, f'{path}, line {number}: "{key}"')
        yield prompt, str(answer), offset


def check_letters(text: str, where: str) -> None:
    """Raise ValueError for half of a surrogate pair, which JSON can hold; the error names ``where``."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(
            f"{where} has half of a surrogate pair: correct its \\u escape")


def as_nats(value: Any) -> float | None:
    """Return a finite number as a float, None for anything else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
