"""One module an engine: how its functions are called, and which rule each is."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """What an engine is on a package index."""

    name: str
    version: str
    """The version that the record is of."""


PACKAGES: Mapping[str, Package] = {
    "areal": Package(name="areal", version="1.0.4"),
    "openrlhf": Package(name="openrlhf", version="0.11.2"),
    "skyrl": Package(name="skyrl", version="0.3.0"),
    "swift": Package(name="ms-swift", version="4.6.0"),
    "tinker": Package(name="tinker-cookbook", version="0.6.1"),
    "trinity": Package(name="trinity-rft", version="0.6.0"),
    "trl": Package(name="trl", version="1.16.0"),
    "verl": Package(name="verl", version="0.9.1"),
}


def installed(engine: str) -> str | None:
    """Return the version of an engine that is installed, or None."""
    try:
        return importlib.metadata.version(PACKAGES[engine].name)
    except importlib.metadata.PackageNotFoundError:
        return None


def module(engine: str) -> ModuleType:
    """Import the module here that has an engine's ``CASES``; the engine itself is so when called."""
    return importlib.import_module(f"{__name__}.{engine}")
