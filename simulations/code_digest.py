"""Digest of the source code that a result depends on: a module and what it imports from this project.

A result of other code is not reused, and a change elsewhere in the project does not throw it away.
Imports are read from the source, so those inside functions count, and those by a computed name do not.
A package's ``__init__`` counts where something is imported from it, not where it is merely passed.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import entropy_theory

ROOTS = {
    "entropy_theory": Path(entropy_theory.__file__).parent,
    "simulations": Path(__file__).parent,
}
"""The packages that are looked into, and where they lie."""
BOOKKEEPING = frozenset(
    {f"simulations.{name}" for name in ("store", "cells", "workers", "cluster", "code_digest")}
    | {"entropy_theory.results", "entropy_theory.user_errors", "entropy_theory.user_code"}
)
"""Modules that hand results on and have no part in what they are."""


@functools.cache
def code_digest(module: str) -> str:
    """Digest of the source of an imported module and of all that it imports from this project.

    Read once a process, early: a file that changes under a running process is not what runs.

    Raises:
        ValueError: the module has no source file, so nobody can tell whether it changed.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        raise ValueError(
            f"'{module}' has no source file, so its results cannot be kept: put the function into a "
            "file and import it"
        )
    digest = hashlib.sha256()
    for name, path in sorted(sources(module, Path(file), ROOTS).items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def sources(module: str, file: Path, roots: Mapping[str, Path]) -> dict[str, Path]:
    """Module names and files that ``module`` depends on within ``roots``, itself included."""
    found: dict[str, Path] = {}
    waiting = [(module, file)]
    while waiting:
        name, path = waiting.pop()
        if name in found or name in BOOKKEEPING:
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
    """Of each imported name the modules that it may stand for, the first that exists being it."""
    found: list[tuple[str, ...]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(alias.name,) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
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
