"""A page for each update rule: its formula, its options, what it does to entropy, what runs it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from entropy_theory.update_rules import RULES, UpdateRule, described
from entropy_theory.verification.rule_contract import entropy_effect
from llm_bridge import skyrl_plugin, verl_plugin
from llm_bridge.conformance import record
from paper_figures.site import bandit, loss_map, traced_rules
from paper_figures.site.markup import documented, fenced, link, orphan, source, table, text

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ROOT / "docs" / "engines.md"


def pages(names: Iterable[str] = tuple(RULES), results: Path = Path("build")) -> dict[str, str]:
    """Return the pages of update rules and the map of all, by name."""
    chosen = list(names)
    return {**{f"rules/{name}": orphan(_page(name)) for name in chosen},
            "rules/index": loss_map.page(chosen, results)}


def effect(kind: type[UpdateRule]) -> str:
    """Return what a rule's expected step does to the entropy of random policies, in words."""
    try:
        found = entropy_effect(kind())
    except ValueError as error:  # a listing of all actions that the rule refuses
        return f"not defined on a listing of all actions: {error}"
    return (f"falls at {found.falls:.0%} of {found.policies:,} random policies (GRPO: "
            f"{found.grpo_falls:.0%}). Its mean change is {found.ratio:.2f} times GRPO's")


def _page(name: str) -> str:
    kind = RULES[name]
    file = Path(str(inspect.getsourcefile(kind)))
    headers, row = _engines(name)
    rows = [(f"`{option.name}`\n\n{text(option.kind)}", f"`{option.default}`", text(option.meaning))
            for option in described.options(kind)]
    required = sorted(kind().needs.columns)
    parts = [
        f"# {name}", "", text(inspect.getdoc(kind) or ""), "", loss_map.picture(name), "",
        fenced(f'update_rules.get("{name}")\npolicy-entropy train --rule {name}', "text"),
        "## The formula, and where it comes from", "", documented(kind.__module__),
        "## Options", "",
        table(("option", "default", "meaning"), rows, (2, 2, 6), css="stacked options")
        or "It has none.", "",
        "## What it does to entropy", "",
        f"First order, on policy: {loss_map.first_order(name)}.", "", _in_the_panel(name), "",
        f"To first order, an expected step {text(effect(kind))}. The policies are those of "
        "`entropy_theory.verification.rule_contract.entropy_effect`. Claims: "
        f"{loss_map.named(['extension.loss-coefficient', *loss_map.claims_on(name)])}.", "",
        "## What runs it", "",
        table(("where", "how"), [
            *((text(header), text(cell)) for header, cell in zip(headers, row, strict=True)),
            ("TRL", text(kind().needs.listing or "yes")),
            ("verl", text(_hosted_by(verl_plugin, name))),
            ("SkyRL", text(_hosted_by(skyrl_plugin, name))),
        ], css="runs"),
        _compared(name),
        f"The words are explained in {link('the back ends', 'engines')}. It reads "
        + (f"the columns {', '.join(f'`{c}`' for c in required)} beside rewards and log-probabilities."
           if required else "rewards and log-probabilities alone."), "",
        f"Source: {source(file)}.",
    ]
    return "\n".join(parts)


def _in_the_panel(name: str) -> str:
    found = traced_rules.function(name)
    if name not in bandit.WITH_SETTINGS and not isinstance(found, str):
        return f"{link('The bandit', 'bandit')} does not run it: {text(str(found))}."
    return fenced(f'<p><a href="../bandit.html#rules={name}">Run it beside others on a bandit.</a></p>',
                  "{raw} html")


def _compared(name: str) -> str:
    """Return the table of engines' functions that were compared with a rule, with their options."""
    return table(("engine", "its function", "its options", "departure"), [
        (row.engine, f"`{row.function}`",
         ", ".join(f"`{key}={value}`" for key, value in row.options.items()) or "–",
         link(row.departure, "losses") if row.departure else "none")
        for row in record.rows() if name in row.names], (1, 2, 4, 2),
        css="filterable stacked options compared")


def _hosted_by(plugin: ModuleType, name: str) -> str:
    try:
        plugin.make_rule(name, {})
    except ValueError as error:
        return re.sub(r"\b[a-z_]+(?:\.\w+){2,}", r"`\g<0>`", str(error))  # code, which breaks at its dots
    return "yes"


def _engines(name: str) -> tuple[list[str], list[str]]:
    """Return the headers and the row of a rule in the table of back ends, which a test keeps true."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in ENGINES.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    headers = next(row for row in rows if row[0] == "rules" and "bandit, exact" in row)
    found = next((row for row in rows if name in row[0].split("; ") and len(row) == len(headers)), None)
    if found is None:
        raise ValueError(
            f"{ENGINES} has no row for '{name}': run python -m tests.rules {name}")
    return headers[1:], found[1:]
