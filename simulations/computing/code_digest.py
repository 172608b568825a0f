"""Digest of the source code that a result depends on: a module and what it imports from this project.

A result of other code is not reused, and a change elsewhere in the project does not throw it away.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path

import entropy_theory
from entropy_theory.support.imported_sources import imported_sources

ROOTS = {
    "entropy_theory": Path(entropy_theory.__file__).parent,
    "simulations": Path(__file__).parents[1],
}
"""The packages that are looked into, and where they lie."""
BOOKKEEPING = frozenset(
    {f"simulations.computing.{name}"
     for name in ("store", "cells", "workers", "cluster", "code_digest")}
    | {f"entropy_theory.support.{name}"
       for name in ("results", "user_errors", "user_code", "imported_sources")}
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
    found = imported_sources(module, Path(file), ROOTS, without=BOOKKEEPING)
    for name, path in sorted(found.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
