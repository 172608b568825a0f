"""Translates training recipes between engines, through the update rule that a recipe describes.

>>> from llm_bridge import translation
>>> recipe = translation.read("trl", {"epsilon_high": 0.28, "beta": 0.04})
>>> recipe.rule.name
'reference-kl'
>>> options, lost = translation.write("verl", recipe)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from entropy_theory.support.user_errors import lookup
from llm_bridge.translation import engine as _engine
from llm_bridge.translation.engine import Engine
from llm_bridge.translation.openrlhf import OPENRLHF
from llm_bridge.translation.prime_rl import PRIME_RL
from llm_bridge.translation.recipe import Recipe, UntranslatableError
from llm_bridge.translation.skyrl import SKYRL
from llm_bridge.translation.slime import SLIME
from llm_bridge.translation.trl import TRL
from llm_bridge.translation.verl import VERL

ENGINES: dict[str, Engine] = {each.name: each for each in (
    TRL, VERL, SKYRL, OPENRLHF, SLIME, PRIME_RL)}
"""The engines by name."""

__all__ = ["ENGINES", "Engine", "Recipe", "UntranslatableError", "read", "recognized", "write"]


def read(name: str, options: Mapping[str, Any]) -> Recipe:
    """Return the recipe that options of an engine describe (`engine.read`)."""
    return _engine.read(lookup(ENGINES, name, "engine"), options)


def write(name: str, recipe: Recipe) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a recipe's options for an engine, and what is lost, a line each (`engine.write`)."""
    return _engine.write(lookup(ENGINES, name, "engine"), recipe)


def recognized(options: Mapping[str, Any]) -> str:
    """Return the engine whose options these are: the one that knows most of them.

    Raises:
        ValueError: options that none knows.
    """
    known = {}
    for name, each in ENGINES.items():
        beginnings, names = each.known
        alike = tuple(beginning for beginning in beginnings if beginning)
        known[name] = sum(2 * (option in names) + option.startswith(alike) for option in options)
    best = max(known, key=lambda name: known[name])
    if not known[best]:
        raise ValueError(
            f"no option here is one of {', '.join(ENGINES)}: name the engine that they are of (--source)")
    return best
