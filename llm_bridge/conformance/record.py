"""The record of the comparisons: which rule is which engine's function, and where one departs.

::

    make test-losses

compares anew and fails where the record is not what is found; ``policy-entropy losses --update-record``
writes it, in the environment that the target makes. Reading it needs no engine and no torch.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from entropy_theory.support.results import read_json
from entropy_theory.update_rules import rule_options
from entropy_theory.update_rules.rule import components

PATH = Path(__file__).with_name("record.json")
FORMULAS = ("entropy_theory.update_rules.", "entropy_theory.advantages")
"""How modules that hold formulas begin."""
MACHINERY = frozenset(f"entropy_theory.update_rules.{name}" for name in (
    "combine", "declared", "described", "modifier", "outputs", "rule", "rule_options"))
"""Modules of the rules' package without a formula."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Departure:
    """Where an engine's function is not the rule that it is meant to be."""

    what: str
    """What the engine computes."""
    right: str
    """Whose number is to be had: "rule", "engine" or "either"."""
    why: str
    at_most: float
    """The largest gap that the cause explains."""
    reproduction: str
    """Python for the engine's maintainers, which ends in an assertion that holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """The result of comparing one function with its options."""

    engine: str
    version: str
    function: str
    options: Mapping[str, Any]
    """The engine's options that were not at its defaults."""
    drawn: Mapping[str, Any]
    """Options of the random batches (`batches.random_batch`)."""
    rule: Mapping[str, Any]
    """The rule's table."""
    gap: float
    """The largest difference, relative to the largest number."""
    departure: str
    """A key of `departures`; "" where the two are equal."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules in ``rule``, outermost first."""
        return tuple(part.name for _, part in components(rule_options.from_table(self.rule)))


def departures() -> dict[str, Departure]:
    """Return the known departures by key."""
    table = tomllib.loads(PATH.with_name("departures.toml").read_text(encoding="utf-8"))
    return {key: Departure(**entry) for key, entry in table.items()}


def rows() -> tuple[Row, ...]:
    """Return the accepted record."""
    return tuple(Row(**row) for row in read_json(PATH)["rows"])


def without_rule() -> dict[str, dict[str, str]]:
    """Return, of each engine, the losses and estimators that no rule is, with the reason."""
    return dict(read_json(PATH)["without_rule"])


def digests() -> dict[str, str]:
    """Return the digest of the formulas that each rule in the record had, by its name."""
    return dict(read_json(PATH)["rules"])


def digest(kind: type) -> str:
    """Return a digest of the formulas that a rule's class uses; comments and docstrings do not count."""
    found = hashlib.sha256()
    for module in sorted(_formulas(kind), key=lambda each: each.__name__):
        tree = ast.parse(inspect.getsource(module))
        for node in ast.walk(tree):
            if isinstance(body := getattr(node, "body", None), list):
                node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
        found.update(repr(_plain(tree)).encode())
    return found.hexdigest()[:16]


def _plain(node: Any) -> Any:
    """Return what a syntax tree holds; unlike `ast.dump` it is the same under every version of Python."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    # Versions differ in fields that are empty, and in the kind of a constant.
    return type(node).__name__, [(name, _plain(value)) for name, value in ast.iter_fields(node)
                                 if value not in (None, []) or name == "value"]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _formulas(kind: type) -> Iterator[ModuleType]:
    """Yield the modules with formulas that the class's are made of, through what they import."""
    waiting, seen = [base.__module__ for base in kind.__mro__], set(MACHINERY)
    while waiting:
        name = waiting.pop()
        if name in seen or not name.startswith(FORMULAS):
            continue
        seen.add(name)
        yield sys.modules[name]
        for value in vars(sys.modules[name]).values():
            waiting.append(value.__name__ if isinstance(value, ModuleType)
                           else getattr(value, "__module__", None) or "")
