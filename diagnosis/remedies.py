"""Changes for a finding, and settings that log a missing quantity, in each engine (remedies.toml)."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files
from typing import Any

from diagnosis.findings import Missing, Name, Remedy
from entropy_theory.training_logs.names import MEANING, Quantity, engines

MISSED: tuple[Quantity, ...] = ("entropy", "reward", "score", "length", "truncated", "mismatch")
"""The quantities whose absence is worth a line."""
PARTS = "what took the entropy: its change by parts of the step"


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("diagnosis").joinpath("remedies.toml").read_text(encoding="utf-8"))


def remedies(
    finding: Name, engine: str, idle: frozenset[str] = frozenset()
) -> tuple[Remedy, ...]:
    """Return the changes for a finding, the first one first; in words where the engine is not known.

    Args:
        finding: its name.
        engine: as of `entropy_theory.training_logs.logs.Run.engine`.
        idle: actions that change nothing in this run, left out.
    """
    found = []
    for name in _table()["findings"].get(finding, ()):
        if name in idle:
            continue
        action = _table()["actions"][name]
        own = action["options"].get(engine)
        if own is None and engine in engines():
            continue  # that engine has no such option
        option, at = (own["option"], own["at"]) if own else (name.replace("-", " "), "")
        found.append(Remedy(option, action["size"], action["cost"], _address(action["page"]), at))
    return tuple(found)


def _address(page: str) -> str:
    """Return where a reader finds a page: a rule's page is printed by a command."""
    folder, _, rule = page.rpartition("/")
    return f"policy-entropy rules {rule}" if folder == "rules" else f"docs/{page}.md"


def missing(known: frozenset[Quantity], engine: str, *, has_parts: bool) -> tuple[Missing, ...]:
    """Return the quantities that a log lacks, with the settings that log them.

    Args:
        known: the quantities that it has.
        engine: as of `remedies`.
        has_parts: whether it has the parts of the entropy's change.
    """
    settings = _table()["missing"]
    found = []
    for quantity in MISSED:
        if quantity in known or (quantity == "entropy" and "entropy_sampled" in known):
            continue
        setting = settings.get(quantity, {}).get(engine, "")
        if quantity == "entropy" and engine:
            setting = engines()[engine].setting
        if quantity == "entropy" and "entropy_sum" in known:
            setting = "the mean response length beside the sum that is logged"
        found.append(Missing(MEANING[quantity], setting))
    if not has_parts and engine in settings["parts"]:
        found.append(Missing(PARTS, settings["parts"][engine]))
    return tuple(found)
