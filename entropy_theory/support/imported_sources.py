"""Finds the source files that a module depends on: its own, and those of what it imports.

Imports are read from the source, so those inside functions count, and those by a computed name do not.
A package's ``__init__`` counts where something is imported from it, not where it is merely passed.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path


def imported_sources(
    module: str, file: Path, roots: Mapping[str, Path], *, without: Collection[str] = ()
) -> dict[str, Path]:
    """Return the names and files of the modules that ``module`` depends on, itself included.

    Args:
        module: its name, from which relative imports start.
        file: its source.
        roots: the packages and modules that are looked into, and where they lie (``folder/name``, for
            ``folder/name.py`` too).
        without: names of modules that are passed over, with what only they import.
    """
    found: dict[str, Path] = {}
    waiting = [(module, file)]
    while waiting:
        name, path = waiting.pop()
        if name in found or name in without:
            continue
        found[name] = path
        waiting += _imported(name, path, roots)
    return found


def _imported(module: str, file: Path, roots: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for names in _import_names(file.read_bytes(), package):
        for name in names:
            if (path := _file_of(name, roots)) is not None:
                yield name, path
                break


@functools.cache
def _import_names(source: bytes, package: str) -> tuple[tuple[str, ...], ...]:
    """For each imported name, the modules that it may stand for; it stands for the first that exists."""
    found: list[tuple[str, ...]] = []
    try:
        tree = ast.parse(source)
    except SyntaxError:  # of a file that nothing could import yet
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name,) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            with contextlib.suppress(ImportError):  # of one that leads out of every package
                base = importlib.util.resolve_name(base, package) if node.level else base
                found += [(f"{base}.{alias.name}", base) for alias in node.names]
    return tuple(found)


def _file_of(name: str, roots: Mapping[str, Path]) -> Path | None:
    package, *rest = name.split(".")
    if package not in roots:
        return None
    place = roots[package].joinpath(*rest)
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file():
            return path
    return None
