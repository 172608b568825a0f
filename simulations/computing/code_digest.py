"""Digests the source code that a result depends on: a module and what it imports from this project.

So a result of other code is not reused, and a change elsewhere in the project does not discard it.
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
"""The packages whose modules count as source code of a result, and where they lie."""
BOOKKEEPING = frozenset(
    {f"simulations.computing.{name}"
     for name in ("store", "cells", "workers", "cluster", "code_digest")}
    | {f"entropy_theory.support.{name}"
       for name in ("results", "user_errors", "user_code", "imported_sources", "locks",
                    "parent_process")}
)
"""Modules that only pass results on, so that changing them changes no result."""


@functools.cache
def code_digest(module: str) -> str:
    """Return a digest of the source of a module and of all that it imports from this project.

    It is computed once a process, early: a file that is edited under a running process is not the code
    that runs.

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
