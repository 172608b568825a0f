"""The house: a picture of it, how a room's modules hang together, and what has grown too large.

    python -m tests.map

The picture stands in CONTRIBUTING.md; it is drawn from the layers in pyproject.toml and from the first
sentence of each package's docstring.

A room's *floors* are the modules on its longest chain of imports: what somebody has to know of, at most,
below one file. Modules that import each other in a circle stand on one floor each, since none can be
read before the others. A room's *folders* are its sub-packages, each taken as one, nested ones included.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]

ROOMS = ("entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures", "policy_entropy")
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
    knots = nx.condensation(_drawn(graph))
    heights: dict[int, int] = {}
    for knot in reversed([*nx.topological_sort(knots)]):
        below = max((heights[other] for other in knots.successors(knot)), default=0)
        heights[knot] = len(knots.nodes[knot]["members"]) + below
    return max(heights.values())


def circles(graph: Graph) -> Iterator[tuple[str, ...]]:
    """Names that reach each other, several at a time."""
    knots = nx.strongly_connected_components(_drawn(graph))
    return (tuple(sorted(knot)) for knot in knots if len(knot) > 1)


def _drawn(graph: Graph) -> nx.DiGraph:
    return nx.DiGraph({name: sorted(imported) for name, imported in graph.items()})


def _folder(room: str, module: str, modules: set[str]) -> str:
    """The sub-package of the room that a module belongs to; a file beside them stands for itself."""
    parts = module.split(".")
    return ".".join(parts[:2]) if len(parts) > 1 else f"{room}.__init__"


def picture() -> str:
    """Draw the rooms, each above those that it imports, and say what every folder holds."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(found["layers"] for found in contracts if found["type"] == "layers")
    lines = []
    for layer in layers:
        beside = layer.split(" | ")
        lines += ["  ".join("|".center(16) for _ in beside).center(40).rstrip()] if lines else []
        lines += ["  ".join(name.center(16) for name in beside).center(40).rstrip()]
    lines += ["A room imports those below it, and no other."]
    for layer in layers:
        for name in layer.split(" | "):
            lines += ["", *_described(ROOT / name, 0)]
    return "\n".join(lines)


def _described(folder: Path, depth: int) -> Iterator[str]:
    """Yield a line for a package, and for each below it; wrapped texts stay in their column."""
    doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    sentence = " ".join(doc.split("\n\n")[0].split())
    name = "  " * depth + folder.name
    yield textwrap.fill(f"{name:26}{sentence}", 106, subsequent_indent=" " * 26)
    for below in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from _described(below, depth + 1)


LIMITS = {"lines of a file": 400, "lines of a function": 60, "parameters of a function": 8}


def too_large(name: str) -> Iterator[tuple[str, str, int]]:
    """Yield (limit, where, size) of a room's files and functions that are above `LIMITS`."""
    for path in sorted((ROOT / name).rglob("*.py")):
        text = path.read_text()
        where = str(path.relative_to(ROOT))
        sizes = [("lines of a file", where, len(text.splitlines()))]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                own = f"{where}:{node.lineno} {node.name}"
                found = node.args
                asked = [*found.posonlyargs, *found.args, *found.kwonlyargs]
                sizes += [
                    ("lines of a function", own, node.end_lineno - node.lineno + 1),
                    ("parameters of a function", own, sum(each.arg != "self" for each in asked))]
        yield from (found for found in sizes if found[2] > LIMITS[found[0]])


if __name__ == "__main__":
    print(picture(), end="\n\n")
    print(f"{'room':16} {'files':>6} {'floors':>6} {'folders':>8} {'floors of folders':>18}  circles")
    for each in map(room, ROOMS):
        knots = [*each.circles, *each.folder_circles]
        print(f"{each.name:16} {each.files:6} {each.floors:6} {each.folders:8} {each.folder_floors:18}  "
              f"{'; '.join(', '.join(knot) for knot in knots) or 'none'}")
    for limit, where, size in sorted(found for name in ROOMS for found in too_large(name)):
        print(f"{limit}: {size}  {where}")
