"""The claims: one folder per source, one file per statement."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

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
    """The claims of a user's Python file: every module-level `Claim` in it.

    Raises:
        ValueError: no such file, an error while importing it, no claim in it, a duplicate id.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"no such file: {path}")
    name = f"_claims_of_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file: name it *.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a script's own sys.exit(0) is no verdict
        raise ValueError(f"{path} cannot be imported ({type(error).__name__}: {error})") from error
    found = _by_id(claims_of(module))
    if not found:
        raise ValueError(
            f"{path} has no claim: assign one to a module-level name, my_claim = Claim(...)"
        )
    return found


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
