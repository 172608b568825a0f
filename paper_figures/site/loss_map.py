"""The map of losses: every update rule in one table that can be filtered."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas

from entropy_theory.claims import all_claims
from entropy_theory.update_rules import RULES, described
from entropy_theory.verification import on_policy
from llm_bridge.conformance import record
from paper_figures.extensions import effect_of_every_rule as effects
from paper_figures.figure import MissingInputError
from paper_figures.site import loss_pictures
from paper_figures.site.markup import displayed, fenced, folded, link, table, text

HEADERS = (
    "rule", "formula", "first order", "measured effect", "entropy", "off policy", "costs", "claims",
    "engines")
FIRST_ORDER: dict[on_policy.Relation, str] = {
    "same": "policy gradient", "line": "policy gradient with weighted prompts",
    "entropy": "policy gradient and entropy gradient", "other": "another direction"}
COSTS = {
    "reference_log_prob": "reference model", "sampling_log_prob": "sampler's log-probabilities",
    "entropy": "entropy of each token", "clamped_entropy": "entropy of each token",
    "entropy_effect": "second backward pass",
}
"""Costs of a rule's columns and state terms beside a plain loss."""


FORMULA = re.compile(r"^\.\. math::\n\n((?: {4}.*\n|\n)+)", re.MULTILINE)
"""The formulas of a rule, in the docstring of its module."""


def page(names: Sequence[str], results: Path) -> str:
    """Return the page of these rules, with what was measured as far as the results have it."""
    try:
        measured, missing = effects.data(results), ""
    except MissingInputError as error:
        missing = str(error)
        measured = pandas.DataFrame(effects.trained(results), columns=effects.COLUMNS)
    cells, engines = effects.cells(measured), engines_by_rule()
    rows = [(f"{link(name, f'rules/{name}')}\n\n{picture(name) or '–'}", _formula(name),
             first_order(name), _measured(cells[name]), _sides(measured, name),
             _asked_of_ratios(name), _costs(name), named(claims_on(name)),
             ", ".join(engines.get(name, ())) or "–") for name in names]
    return "\n".join([
        "# Map of losses", "",
        "Every loss here is one update rule, which turns a batch of tokens into one coefficient per "
        "token. The same code runs in the simulator and in the loss of a language model. "
        "`update_rules.get(NAME, option=value)` makes a rule, and `combine` adds rules. "
        f"{link('The bandit', 'bandit')} runs them side by side. Columns:", "",
        f"- rule: {loss_pictures.LEGEND} Both are drawn from the rule's own code. Rules "
        "that judge rewards or whole listings have no picture.",
        "- first order: the expected step on policy, for rewards 0 and 1. Losses called \"policy "
        "gradient\" have each token's advantage as its coefficient, so that on policy they are one loss. "
        "\"With weighted prompts\" the coefficient depends on the reward alone.",
        "- measured effect: the share of random policies whose entropy falls, and the mean change over "
        "GRPO's (×). The other numbers are entropy less GRPO's, in nats, with 95 % intervals. On prompts "
        "that share parameters they are taken at equal reward, on policy and with five steps per batch. "
        "On a small transformer they are taken after 100 steps, with reward less GRPO's. On SmolLM2 "
        "they are of 16 steps and one seed, without an interval. "
        f"{_figure(results)} has more. `python -m simulations run effect-of-every-rule` and "
        "`python -m llm_bridge.commands.rule_comparison --output FILE` measure again.",
        "- entropy: above or below GRPO's on those prompts, where the interval decides.",
        "- off policy: the quantity by which the loss notices stale samples. A loss without one takes "
        "every step as the first on its samples.",
        "- costs: inputs beside the log-probabilities of sampled tokens.",
        "- claims: statements on the loss, proved or refuted. "
        f"{text('The entropy rate of any coefficient: `extension.loss-coefficient`.')}",
        "- engines: those whose own function was compared with the rule "
        f"({link('how, and what departs', 'losses')}).", "",
        *([text(f"Not measured here yet: {missing}"), ""] if missing else []),
        table(HEADERS, rows, (4, 5, 3, 7, 3, 3, 3, 4, 3), css="filterable losses"),
    ])


def _figure(results: Path) -> str:
    return link("the figure", "figures/effect-of-every-rule") if (
        results / "figures" / "effect-of-every-rule.json").exists() else "a figure of the gallery"


def picture(name: str) -> str:
    """Return a rule's picture; nothing where it has none."""
    drawn = loss_pictures.picture(RULES[name]())
    return fenced(drawn, "{raw} html") if drawn else ""


def _formula(name: str) -> str:
    shown = FORMULA.search(inspect.getdoc(inspect.getmodule(RULES[name])) or "")
    return f"{text(described.headline(RULES[name]))}\n\n" + (
        folded("formula", displayed(shown[1].strip().split("\n\n"))) if shown else "")


@functools.cache
def _relation(name: str) -> on_policy.Relation:
    return on_policy.relation(RULES[name]())


def first_order(name: str) -> str:
    """Return in words how a rule's expected step on policy relates to policy gradient."""
    return FIRST_ORDER[_relation(name)]


def _measured(found: dict[tuple[str, str], str]) -> str:
    def said() -> Iterator[str]:
        if ("bandits", "ratio") in found:
            yield f"bandits: {found['bandits', 'falls']} fall, {found['bandits', 'ratio']} ×"
        for where, quantity in list(effects.SHOWN)[2:]:
            wanted = effects.KEEPS if where.startswith("prompts") else "entropy"
            if quantity == wanted and (where, quantity) in found:
                reward = found.get((where, "reward"))
                yield f"{where}: {found[where, quantity]}" + (f" (reward {reward})" if reward else "")

    return "\n\n".join(map(text, said())) or "–"


def _sides(measured: pandas.DataFrame, name: str) -> str:
    words = {1: "more", 0: "as GRPO", -1: "less"}
    rows = measured[(measured["rule"] == name) & (measured["quantity"] == effects.KEEPS)]
    return ", ".join(f"{words[effects.side(row)]} {row.where.partition(', ')[2]}"
                     for row in rows.itertuples()) or "–"


def _asked_of_ratios(name: str) -> str:
    reads = RULES[name]().needs.reads
    found = [shown for names, shown in (
        ({"ratio", "old_log_prob"}, "ratio to the old policy"), ({"sampling_log_prob"}, "sampler"))
        if names & reads]
    return ", ".join(found) or "–"


def _costs(name: str) -> str:
    def needed() -> Iterator[str]:
        rule = RULES[name]()
        for column in (*rule.needs.columns, *rule.needs.moves):
            if column in COSTS:
                yield COSTS[column]
        if rule.controller() is not None:
            yield "second batch"
        if rule.needs.listing:
            yield "listing of all actions"

    return ", ".join(dict.fromkeys(needed())) or "none"


def claims_on(name: str) -> list[str]:
    """Return the claims that a rule's module or class names, and those on all rules of its relation to
    policy gradient."""
    kind = RULES[name]
    words = f"{inspect.getdoc(inspect.getmodule(kind)) or ''} {inspect.getdoc(kind) or ''}"
    known = all_claims()
    found = [word for word in re.findall(r"`([\w.-]+)`", words) if word in known]
    return list(dict.fromkeys([*found, *on_policy.CLAIMS[_relation(name)]]))


def named(claims: Iterable[str]) -> str:
    """Return claims as a line of links; a dash if there is none."""
    return text(", ".join(f"`{claim}`" for claim in claims)) or "–"


def engines_by_rule() -> dict[str, list[str]]:
    """Return the engines of each rule's functions in the record of comparisons, in its order."""
    found: dict[str, list[str]] = {}
    for row in record.rows():
        for name in row.names:
            if row.engine not in found.setdefault(name, []):
                found[name].append(row.engine)
    return found
