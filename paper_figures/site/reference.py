"""The API reference: a page per package, from its docstrings."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path

from entropy_theory.support.user_errors import EXTRA_OF
from entropy_theory.update_rules import RULES
from paper_figures.site.markup import (
    fenced,
    module_docstring,
    orphan,
    slug,
    table,
    text,
)

ROOMS = ("entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures", "policy_entropy")
ELSEWHERE = (*(rule.__module__ for rule in RULES.values()), "entropy_theory.claims.",
             "paper_figures.aepo", "paper_figures.aent", "paper_figures.entropy_mechanism",
             "paper_figures.extensions", "paper_figures.site.", "paper_figures.reproduce.",
             "paper_figures.data", "paper_figures.drawing", "simulations.experiments.",
             "simulations.computing.", "llm_bridge.commands.", "llm_bridge.conformance.",
             "llm_bridge.running.", "entropy_theory.support.", "entropy_theory.verification.formula.")
"""Modules with pages of their own (rules, claims, figures), and those that nobody calls."""


def modules() -> list[str]:
    """Return the modules that the reference describes."""
    names = []
    for room in ROOMS:
        found = pkgutil.walk_packages(importlib.import_module(room).__path__, prefix=f"{room}.")
        names += [room, *(info.name for info in found)]
    return [name for name in names
            if not name.startswith(ELSEWHERE) and not name.rpartition(".")[2].startswith("__")]


def pages(names: Iterable[str]) -> dict[str, str]:
    """Return a page for each package with its modules, and their index, by name."""
    chosen, packages = list(names), dict[str, list[str]]()
    for name in chosen:
        packages.setdefault(".".join(name.split(".")[:2]), []).append(name)
    parts = ["# API reference", "", "Every public module, with the first sentence of its docstring.", ""]
    for room in ROOMS:
        rows = [(f"[{text(name)}](#{_label(name)})", text(_headline(name)))
                for name in chosen if name.split(".")[0] == room]
        parts += [f"## {text(room)}", "", table(("module", "what it is"), rows, (2, 4),
                        css="filterable stacked")] if rows else []
    written = {f"reference/{package}": orphan(_page(package, modules))
               for package, modules in packages.items()}
    return {**written, "reference/index": "\n".join(parts)}


def _page(package: str, modules: list[str]) -> str:
    """Return the page of a package: its own docstring and members, then each module below it."""
    own = _module(package, "#") if package in modules else f"# {text(package)}\n"
    return "\n".join([own, *(_module(name, "##") for name in modules if name != package)])


def _label(name: str) -> str:
    return f"module-of-{slug(name)}"


def _headline(name: str) -> str:
    return " ".join(module_docstring(_file(name)).split("\n\n")[0].split())


def _file(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ValueError(f"no module {name}")
    return Path(spec.origin)


def _module(name: str, heading: str) -> str:
    head = f"({_label(name)})=\n{heading} {text(name)}\n\n"
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRA_OF:
            raise
        described = fenced(module_docstring(_file(name)), "{eval-rst}")
        return (f"{head}{described}\nThis module needs `{missing}`, "
                "which was not installed where these pages were made: its members are not listed.\n")
    parent, _, own = name.rpartition(".")
    # A function of the package may have the name of the module that it is in: one of them is indexed.
    hidden = parent and not inspect.ismodule(getattr(sys.modules[parent], own, sys))
    return head + fenced(
        f".. automodule:: {name}\n   :members:\n   :ignore-module-all:\n   :show-inheritance:"
        + "\n   :no-index:" * bool(hidden),
        "{eval-rst}")
