"""The claims: one folder per source, one file per statement."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from entropy_theory.support.user_code import module_of_file
from entropy_theory.verification.claim import Claim


def all_claims() -> dict[str, Claim]:
    """Every claim of the package, by id, in order of id."""
    modules = (importlib.import_module(name) for name in module_names())
    return _by_id(claim for module in modules for claim in claims_of(module))


def module_names() -> list[str]:
    """The modules that hold the package's claims."""
    found = pkgutil.walk_packages(__path__, prefix=f"{__name__}.")
    return [info.name for info in found if not info.ispkg]


def claims_in_file(path: str | Path) -> dict[str, Claim]:
    """The claims of a user's Python file: every module-level `Claim` in it, if there is any.

    Raises:
        ValueError: no such file, an error while importing it, a duplicate id.
    """
    return _by_id(claims_of(module_of_file(path)))


def claims_of(module: ModuleType) -> list[Claim]:
    """The claims assigned to names in a module, in order."""
    return [value for value in vars(module).values() if isinstance(value, Claim)]


def _by_id(claims: Iterable[Claim]) -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for claim in claims:
        if claim.id in found and found[claim.id] is not claim:
            raise ValueError(f"duplicate claim id '{claim.id}': give each claim its own")
        found[claim.id] = claim
    return dict(sorted(found.items()))
