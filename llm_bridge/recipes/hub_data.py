"""Fetches a recipe's data set as the JSONL file that training reads: {"prompt": ..., "answer": ...}."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropy_theory.support import results
from llm_bridge.data.benchmarks import last_boxed

if TYPE_CHECKING:
    from llm_bridge.recipes import HubData


def fetch(data: HubData, output: Path) -> int:
    """Write the data set to ``output``; return how many lines it has.

    Raises:
        ValueError: a hub that does not answer, an unknown column, or no line that is left.
        OSError: ``output`` cannot be written.
    """
    import datasets

    results.check_writable(output)
    try:
        found: Any = datasets.load_dataset(data.name, data.subset, split=data.split)
    except (OSError, ValueError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"cannot load data set '{data.name}' ({reason}): check the connection to the hub, or "
            'write the JSONL file yourself, {"prompt": ..., "answer": ...} on each line'
        ) from error
    lines = [json.dumps(item, ensure_ascii=False) for item in items(data, found)]
    if not lines:
        raise ValueError(f"data set '{data.name}' has no line with an answer")
    results.write_text(output, "\n".join(lines) + "\n")
    return len(lines)


def items(data: HubData, rows: Iterable[Any]) -> Iterator[dict[str, str]]:
    """Yield the prompts and answers of rows, without repeated prompts and rows without an answer."""
    seen: set[str] = set()
    for row in rows:
        prompt, answer = (str(_at(row, path, data.name)) for path in (data.prompt, data.answer))
        found = last_boxed(answer) if data.boxed else answer
        prompt += data.instruction
        if not found or prompt in seen:
            continue
        seen.add(prompt)
        yield {"prompt": prompt, "answer": found}
        if len(seen) == data.size:
            return


def _at(row: Any, path: str, name: str) -> Any:
    found = row
    for step in path.split("."):
        try:
            found = found[int(step)] if step.isdigit() else found[step]
        except (KeyError, IndexError, TypeError):
            known = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
            raise ValueError(
                f"data set '{name}' has no column {path} (it has {known}): correct the recipe's "
                "[data] table"
            ) from None
    return found
