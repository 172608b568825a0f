"""Stand-ins for modules that an engine imports beside its loss, and that no loss calls.

Engines are compared as they are installed without their requirements, which need a GPU. A stand-in
does not return numbers, so a loss that used one would fail.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any
from unittest import mock


class _Module(types.ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = type(name, (), {}) if name[0].isupper() else mock.MagicMock(name=name)
        setattr(self, name, found)
        return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        parts = fullname.split(".")
        above = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        if not self.names.intersection(above):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def imported(module: str, stand_ins: Iterable[str]) -> Any:
    """Import ``module``, with stand-ins for those of ``stand_ins`` that are not installed.

    The finder comes last, so that what is installed is itself. It and the stand-ins leave when the import
    is done, so that nobody takes one for an installed package afterwards.
    """
    finder = _Finder(stand_ins)
    sys.meta_path.append(finder)
    try:
        return importlib.import_module(module)
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, each in sys.modules.items() if isinstance(each, _Module)]:
            del sys.modules[name]
