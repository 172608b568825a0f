"""How a room's modules hang together: files, floors, circles.

    python -m tests.map

A room's *floors* are the modules on its longest chain of imports: what somebody has to know of, at most,
below one file. Modules that import each other in a circle stand on one floor each, since none can be
read before the others. A room's *folders* are its sub-packages, each taken as one, nested ones included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import grimp

ROOMS = ("entropy_theory", "simulations", "llm_bridge", "paper_figures", "policy_entropy")
Graph = Mapping[str, frozenset[str]]
"""From a name to those that it imports."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """What is said of a room."""

    name: str
    files: int
    floors: int
    circles: tuple[tuple[str, ...], ...]
    """Modules that import each other, directly or not; those of a circle sorted."""
    folders: int
    folder_floors: int
    folder_circles: tuple[tuple[str, ...], ...]


def room(name: str) -> Room:
    """The map of a package."""
    found = grimp.build_graph(name, cache_dir=None)
    modules: dict[str, frozenset[str]] = {
        module: frozenset(found.find_modules_directly_imported_by(module)) & found.modules
        for module in found.modules}
    # A package's own file imports what it offers: taken with the modules that it lies among.
    folders: dict[str, set[str]] = {}
    for module, imported in modules.items():
        home = _folder(name, module, found.modules)
        folders.setdefault(home, set()).update(
            _folder(name, other, found.modules) for other in imported)
    by_folder = {home: frozenset(others - {home}) for home, others in folders.items()}
    return Room(
        name=name, files=len(modules), floors=floors(modules), circles=tuple(circles(modules)),
        folders=len(by_folder), folder_floors=floors(by_folder),
        folder_circles=tuple(circles(by_folder)))


def floors(graph: Graph) -> int:
    """Names on the longest chain, those of a circle one after the other."""
    knots = _knots(graph)
    knot_of = {name: knot for knot in knots for name in knot}

    @cache
    def height(knot: frozenset[str]) -> int:
        below = {knot_of[other] for name in knot for other in graph[name]} - {knot}
        return len(knot) + max((height(other) for other in below), default=0)

    return max(height(knot) for knot in knots)


def circles(graph: Graph) -> Iterator[tuple[str, ...]]:
    """Names that reach each other, several at a time."""
    return (tuple(sorted(knot)) for knot in _knots(graph) if len(knot) > 1)


def _knots(graph: Graph) -> set[frozenset[str]]:
    reached = {name: _reached(graph, name) for name in graph}
    return {frozenset({name, *(other for other in reached[name] if name in reached[other])})
            for name in graph}


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo += new
    return found


def _folder(room: str, module: str, modules: set[str]) -> str:
    """The sub-package of the room that a module belongs to; a file beside them stands for itself."""
    parts = module.split(".")
    return ".".join(parts[:2]) if len(parts) > 1 else f"{room}.__init__"


if __name__ == "__main__":
    print(f"{'room':16} {'files':>6} {'floors':>6} {'folders':>8} {'floors of folders':>18}  circles")
    for each in map(room, ROOMS):
        knots = [*each.circles, *each.folder_circles]
        print(f"{each.name:16} {each.files:6} {each.floors:6} {each.folders:8} {each.folder_floors:18}  "
              f"{'; '.join(', '.join(knot) for knot in knots) or 'none'}")
