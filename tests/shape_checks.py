"""Calls of these modules are checked against their annotations, array shapes included.

What is checked is each call of a public function with an annotated shape from outside its module, and
each record made of a dataclass: calls among a module's own functions are left alone, for a check costs
as much as a small array's softmax.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.machinery
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from beartype import BeartypeConf, beartype
from jaxtyping import config, jaxtyped

__all__ = ["MODULES", "config", "install"]

MODULES = (
    "entropy_theory.policy",
    "entropy_theory.entropy_change",
    "entropy_theory.update_rules.clipped_ratio",
    "simulations.engine.sampling",
    "simulations.engine.trajectory",
    "llm_bridge.head.per_token",
    "llm_bridge.head.row_statistics",
    "llm_bridge.head.token_statistics",
    "llm_bridge.objective.loss",
)

# An int is a float, as everywhere in Python's annotations.
_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def install() -> None:
    """Check the modules; to be called before anything imports one of them."""
    early = [name for name in MODULES if name in sys.modules]
    assert not early, f"imported before their checks: {early}"
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in MODULES:
            return None
        found = super().find_spec(fullname, path, target)
        assert found is not None
        assert found.origin is not None
        return importlib.util.spec_from_file_location(
            fullname, found.origin, loader=_Loader(fullname, found.origin))


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        calls = _Calls()
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__ or not _has_shapes(value):
                continue
            if dataclasses.is_dataclass(value):
                jaxtyped(value, typechecker=_check)
            elif inspect.isfunction(value) and not name.startswith("_"):
                setattr(module, name, calls.checked(value))


def _has_shapes(value: Any) -> bool:
    """Whether an annotation names one of the aliases of an ``array_types``."""
    names = set(re.findall(r"\w+", " ".join(map(str, getattr(value, "__annotations__", {}).values()))))
    places = [module for name, module in sys.modules.items() if name.endswith(".array_types")]
    return any(names & set(vars(place)) - {"Array", "Any"} for place in places)


class _Calls:
    """The functions of one module, checked where a call is not part of another one of them."""

    def __init__(self) -> None:
        self.inside = False

    def checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        with_checks = jaxtyped(function, typechecker=_check)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return function(*args, **kwargs)
            self.inside = True
            try:
                return with_checks(*args, **kwargs)
            finally:
                self.inside = False

        return call
