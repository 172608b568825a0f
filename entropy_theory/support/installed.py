"""Objects that installed packages offer by name: the entry points of a group.

A package's code is imported when its name is asked for, not when names are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from entropy_theory.support.user_errors import check_choice, one_line


def installed(group: str, ours: Collection[str]) -> list[EntryPoint]:
    """Return the entry points of a group in order, without those that have one of our names."""
    points = (point for point in entry_points(group=group) if point.name not in ours)
    return sorted(points, key=lambda point: (point.name, package_of(point)))


def package_of(point: EntryPoint) -> str:
    """Return the name of the package that an entry point comes with."""
    return point.dist.name if point.dist else point.module


def load_installed(
    name: str, group: str, ours: Collection[str], kind: str, noun: str, fits: Callable[[Any], bool]
) -> Any:
    """Load the object that an installed package offers under a name.

    Args:
        name: the name that the user asked for, never one of ours.
        group, ours: as of `installed`.
        kind, noun, fits: as of `user_code.load`.

    Raises:
        ValueError: an unknown name (the nearest names are given), or one that several packages have. An
            error while importing it, or a name of something else.
    """
    points = installed(group, ours)
    check_choice(name, (*ours, *(point.name for point in points)), kind)
    point, *others = (point for point in points if point.name == name)
    said = f"{kind} '{name}' of package {package_of(point)}"
    if others:
        raise ValueError(f"{said} is one of package {package_of(others[0])} too: give its import path, "
                         f"{point.value} or {others[0].value}")
    try:
        value = point.load()
    except (Exception, SystemExit) as error:
        raise ValueError(f"{said} cannot be loaded ({type(error).__name__}: {one_line(str(error))}). "
                         "Mend the package or remove it") from error
    if not fits(value):
        raise ValueError(f"{said}: {point.value} is not a {noun}: mend the package or remove it")
    return value
