"""A page for each update rule: its formula, its options, what it does to entropy, what runs it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from entropy_theory.claims import all_claims
from entropy_theory.update_rules import RULES, UpdateRule, described
from entropy_theory.verification import on_policy
from entropy_theory.verification.rule_contract import entropy_effect
from llm_bridge import skyrl_plugin, verl_plugin
from llm_bridge.conformance import record
from paper_figures.site import loss_pictures
from paper_figures.site.markup import docstring, fenced, link, source, table, text

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ROOT / "docs" / "engines.md"
RELATED: dict[on_policy.Relation, str] = {
    "same": "is its advantage", "line": "depends on the reward alone", "other": "is its own"}
"""What the coefficient of a token is where every ratio is 1."""


def page_name(name: str) -> str:
    """Return the name of a rule's page."""
    return f"rules/{name}"


def pages(names: Iterable[str] = tuple(RULES)) -> dict[str, str]:
    """Return the pages of update rules and their index, by name."""
    chosen = list(names)
    written = {page_name(name): _page(name) for name in chosen}
    engines = _engines_by_rule()
    rows = [(link(name, page_name(name)), _picture(name), text(described.headline(RULES[name])),
             RELATED[on_policy.relation(RULES[name]())], *_effect_cells(RULES[name]),
             _asked_of_ratios(name), _named(claims_on(RULES[name])),
             ", ".join(engines.get(name, ())) or "–")
            for name in chosen]
    hidden = "\n".join(chosen)
    index = "\n".join([
        "# Map of losses", "",
        "Every loss here is one update rule, which turns a batch of tokens into one coefficient per "
        "token. "
        "The same code runs in the simulator and in the loss of a language model. "
        "`update_rules.get(NAME, option=value)` makes a rule, and `combine` adds rules. Columns:", "",
        f"- picture: {' '.join(loss_pictures.legend())} Both are drawn from the rule's own code. Rules "
        "that judge rewards or whole listings have none.",
        "- on policy: a token's coefficient where every ratio is 1. Losses whose coefficient is the "
        "advantage are one loss there, plain policy gradient. One that depends on the reward alone has "
        f"its direction. {text('The entropy rate of any coefficient: `extension.loss-coefficient`.')}",
        "- falls: the share of random policies at which the rule's expected step lowers entropy, to "
        "first order.",
        "- × GRPO: the mean change of entropy over that of plain GRPO.",
        "- off policy: whether the loss reads by how much a token's probability has moved since it was "
        "sampled. Without such a ratio every step is taken as the first one on its samples.",
        "- claims: what is proved or refuted of the loss.",
        "- engines: those whose own function was compared with the rule "
        f"({link('how, and what departs', 'losses')}).", "",
        table(("rule", "picture", "what it is", "on policy", "falls", "× GRPO", "off policy", "claims",
               "engines"), rows, (3, 4, 6, 2, 1, 1, 2, 4, 3), css="filterable"),
        fenced(f":hidden:\n\n{hidden}", "{toctree}"),
    ])
    return {**written, "rules/index": index}


def claims_on(kind: type[UpdateRule]) -> list[str]:
    """Return the claims that a rule's module or class names, and those on all rules of its relation to
    policy gradient."""
    said = f"{inspect.getdoc(inspect.getmodule(kind)) or ''} {inspect.getdoc(kind) or ''}"
    known = all_claims()
    named = [word for word in re.findall(r"`([\w.-]+)`", said) if word in known]
    return list(dict.fromkeys([*named, *on_policy.CLAIMS[on_policy.relation(kind())]]))


def _named(claims: Iterable[str]) -> str:
    return text(", ".join(f"`{claim}`" for claim in claims)) or "–"


def _picture(name: str) -> str:
    drawn = loss_pictures.picture(RULES[name]())
    return fenced(drawn, "{raw} html") if drawn else "–"


def _asked_of_ratios(name: str) -> str:
    reads = RULES[name]().needs.reads
    found = [shown for names, shown in (
        ({"ratio", "old_log_prob"}, "ratio to the old policy"), ({"sampling_log_prob"}, "sampler"))
        if names & reads]
    return ", ".join(found) or "–"


def _engines_by_rule() -> dict[str, list[str]]:
    """Return the engines of each rule's functions in the record of comparisons, in its order."""
    found: dict[str, list[str]] = {}
    for row in record.rows():
        for name in row.names:
            if row.engine not in found.setdefault(name, []):
                found[name].append(row.engine)
    return found


def _effect_cells(kind: type[UpdateRule]) -> tuple[str, str]:
    try:
        found = entropy_effect(kind())
    except ValueError:
        return "–", "–"
    return f"{found.falls:.0%}", f"{found.ratio:.2f}"


def effect(kind: type[UpdateRule]) -> str:
    """Return what a rule's expected step does to the entropy of random policies, in words."""
    try:
        found = entropy_effect(kind())
    except ValueError as error:  # a listing of all actions that the rule refuses
        return f"not defined on a listing of all actions: {error}"
    return (f"falls at {found.falls:.0%} of {found.policies:,} random policies (plain GRPO: "
            f"{found.grpo_falls:.0%}); its mean change is {found.ratio:.2f} times GRPO's")


def _page(name: str) -> str:
    kind = RULES[name]
    module = inspect.getmodule(kind)
    file = Path(str(inspect.getsourcefile(kind)))
    headers, row = _engines(name)
    rows = [(f"`{option.name}`", f"`{option.kind}`", f"`{option.default}`", text(option.meaning))
            for option in described.options(kind)]
    required = sorted(kind().needs.columns)
    parts = [
        f"# {name}", "", docstring(inspect.getdoc(kind) or ""), "", _picture(name), "",
        fenced(f'update_rules.get("{name}")\npolicy-entropy train --rule {name}', "text"),
        "## The formula, and where it comes from", "", docstring(inspect.getdoc(module) or ""),
        "## Options", "",
        table(("option", "type", "default", "meaning"), rows, (2, 2, 2, 6)) or "It has none.", "",
        "## What it does to entropy", "",
        f"To first order, an expected step {text(effect(kind))}. The policies are those of "
        "`entropy_theory.verification.rule_contract.entropy_effect`. On policy a token's coefficient "
        f"{RELATED[on_policy.relation(kind())]}. Claims: "
        f"{_named(['extension.loss-coefficient', *claims_on(kind)])}.", "",
        "## What runs it", "",
        table(("where", "how"), [
            *((text(header), text(cell)) for header, cell in zip(headers, row, strict=True)),
            ("TRL", text(kind().needs.listing or "yes")),
            ("verl", text(_hosted_by(verl_plugin, name))),
            ("SkyRL", text(_hosted_by(skyrl_plugin, name))),
        ]),
        f"What the words mean: {link('which engine runs what', 'engines')}. It reads "
        + (f"the columns {', '.join(f'`{c}`' for c in required)} beside rewards and log-probabilities."
           if required else "rewards and log-probabilities alone."), "",
        source(file, page_name(name))[1],
    ]
    return "\n".join(parts)


def _hosted_by(plugin: ModuleType, name: str) -> str:
    try:
        plugin.make_rule(name, {})
    except ValueError as error:
        return str(error)
    return "yes"


def _engines(name: str) -> tuple[list[str], list[str]]:
    """Return the headers and the row of a rule in the table of engines, which a test keeps true."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in ENGINES.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    headers = next(row for row in rows if row[0] == "rule" and "bandit, exact" in row)
    found = next((row for row in rows if row[0] == name and len(row) == len(headers)), None)
    if found is None:
        raise ValueError(
            f"{ENGINES} has no row for '{name}': run python -m tests.simulations.engine_matrix")
    return headers[1:], found[1:]
