"""The pages of the metrics that a run logs, and the names that stand in the code which writes them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Container, Iterator
from pathlib import Path

from paper_figures.site.markup import link, text

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs" / "logged.toml"
WRITERS = {
    "entropy_theory/update_rules/*.py": ("", ("metrics", "_metrics_of_prompts")),
    "entropy_theory/controllers.py": ("", ("report",)),
    "llm_bridge/trainer/*.py": ("", ("on_step_end", "step_metrics", "_of_prompts", "report")),
    "llm_bridge/diagnostics.py": ("diagnostics/", ("_record", "_account")),
    "llm_bridge/accounting/step_accounts.py": ("", ("metrics",)),
    "llm_bridge/verl_batches.py": ("", ("objective_and_metrics",)),
    "llm_bridge/verl_forecast.py": ("actor/", ("metrics",)),
    "llm_bridge/verl_second_batch.py": ("", ()),
}
"""Where metrics are named: files, the prefix that they add, and the functions that write a log."""
LOGS = ("metrics", "training_log(self)", "training_log(trainer)")
"""Variables that hold metrics by name."""
NO_METRIC = {"step", "diagnostics/step", "diagnostics/law", "actor/actor/*", "actor/gradient",
             "actor/clipping"}
"""Keys beside metrics: the step's number, a verdict in words, and parts before they are named."""


def names() -> set[str]:
    """Return the names under which the code logs a number; ``*`` stands for what a run adds."""
    found = set()
    for pattern, (prefix, functions) in WRITERS.items():
        for path in ROOT.glob(pattern):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    found |= {prefix + name for name in _keys(node, is_log=node.name in functions)}
    return found - NO_METRIC


def _keys(function: ast.FunctionDef, *, is_log: bool) -> Iterator[str]:
    """Yield the keys of a function's dictionaries, where they are a log, and those of a trainer's log."""
    for node in ast.walk(function):
        keys: list[ast.expr | None] = []
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in LOGS:
            keys = [node.slice]
        elif is_log and isinstance(node, ast.Dict):
            keys = [*node.keys]
        elif is_log and isinstance(node, ast.DictComp):
            keys = [node.key]
        elif is_log and isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys = [node.slice]
        for key in keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value
            elif isinstance(key, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*"
                              for part in key.values)


def written() -> dict[str, dict[str, list[str]]]:
    """Return the words on each metric, by who logs it: what it is, unit and range, when, and a page."""
    return tomllib.loads(WRITTEN.read_text(encoding="utf-8"))


def pages(known: Container[str]) -> dict[str, str]:
    """Return a page for each metric and their list, by name, with links to those pages that are known."""
    found: dict[str, str] = {}
    contents = ["# Logged metrics", "",
                "Each number that a run logs has a page, with its unit. Entropies are in nats.", ""]
    for who, metrics in written().items():
        contents += [f"## {text(who)}", ""]
        for name, (meaning, unit, when, explained) in metrics.items():
            place = metric_page(name)
            contents.append(f"- {link(f'`{name}`', place)}: {text(meaning)}")
            see = []
            if explained in known:
                see = ["", f"See {link(explained.rpartition('/')[2].replace('_', ' '), explained)}."]
            found[place] = "\n".join([
                f"# `` {name} ``", "", text(meaning), "", f"- Unit and range: {text(unit)}",
                f"- Logged: {text(when)}", f"- By: {text(who)}", *see, "",
                f"{link('All metrics', 'logged')}", ""])
        contents.append("")
    found["logged"] = "\n".join([*contents, "```{toctree}", ":hidden:", "", *found, "```", ""])
    return found


def metric_page(name: str) -> str:
    """Return the name of a metric's page."""
    return "metrics/" + re.sub(r"[^a-z0-9]+", "-", name.lower().replace("*", " each ")).strip("-")
