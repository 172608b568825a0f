"""The effect of every update rule on entropy beside GRPO: random bandits, prompt sets, language models.

We run two comparisons. Differences are of pairs with the same start, samples and seed.

- `simulations run effect_of_every_rule`: one expected step of random policies, and training on
  prompts that share parameters, on policy and stale;
- `llm_bridge.commands.rule_comparison`: the same short training of the bundled transformer by each
  rule from five seeds. SmolLM2-135M was trained by ten rules, for 16 steps from one seed, so that
  its differences have no interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.figure import Figure

from entropy_theory.update_rules import RULES
from paper_figures.data import inputs
from paper_figures.data.tables import pick
from paper_figures.drawing import REFERENCE, SERIES, Table, estimate, panels
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure
from simulations.experiments.curves import mean_interval

BASE = "grpo"
COMPARED = {"small transformer": "comparisons/rules.json", "SmolLM2": "comparisons/rules_chain_sum.json"}
"""The records of the trained models."""
STALE = {1: "on policy", 5: "stale"}
"""Names of the numbers of steps on each batch of the simulation; with 5 the last is 4 steps stale."""
COLUMNS = ["rule", "where", "quantity", "value", "low", "high", "runs"]
KEEPS = "entropy at equal reward"
EQUAL = 1e-9
"""Differences below this are rounding, in pairs of equal runs."""
SHOWN = {
    ("bandits", "falls"): "falls", ("bandits", "ratio"): "× GRPO",
    **{(f"prompts, {name}", KEEPS): f"prompts, {name}, equal reward" for name in STALE.values()},
    **{(f"prompts, {name}", "entropy"): f"prompts, {name}, equal steps" for name in STALE.values()},
    ("small transformer", "entropy"): "small transformer, equal steps",
    ("small transformer", "reward"): "its reward",
    ("SmolLM2", "entropy"): "SmolLM2, equal steps", ("SmolLM2", "reward"): "SmolLM2's reward",
}
"""The columns of the table by (where, quantity); all but the first two are differences to GRPO."""


def data(results: Path) -> pandas.DataFrame:
    """Return columns rule, where, quantity, value, low, high (an interval of 95 %) and runs.

    Bandits have "falls", a share, and "ratio" to GRPO's mean change. Training has "entropy", nats,
    and "reward" after the last step, and KEEPS, all less GRPO's. A rule has no row where it is not
    defined, and no interval where there is one run.

    Raises:
        MissingInputError: no simulation.
    """
    return pandas.DataFrame([*_simulated(results), *trained(results)], columns=COLUMNS)


def _simulated(results: Path) -> Iterator[dict[str, Any]]:
    dataset = inputs.simulation(results, "effect_of_every_rule")
    for rule in dataset["rule"].values:
        found = dataset.sel(rule=rule)
        common = {"rule": str(rule), "runs": dataset.sizes["start"]}
        if np.isfinite(found.ratio):
            ratio, reach = float(found.ratio), 1.96 * float(found.ratio_error)
            yield common | {"where": "bandits", "quantity": "falls", "value": float(found.falls)}
            yield common | {"where": "bandits", "quantity": "ratio", "value": ratio,
                            "low": ratio - reach, "high": ratio + reach}
        for steps in dataset["steps_per_batch"].values:
            for name, quantity in (("entropy", "entropy"), ("entropy_at_reward", KEEPS)):
                yield from _row(common | {"where": f"prompts, {STALE[int(steps)]}", "quantity": quantity},
                                found[name].sel(steps_per_batch=steps).values)


def trained(results: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of the trained models, of those that have records."""
    for where, file in COMPARED.items():
        found = inputs.comparison(results, file)
        records = [] if found is None else [one for one in found["records"] if "held_out" in one]
        held_out = {(one["label"], one["seed"]): one["held_out"] for one in records}
        for rule in dict.fromkeys(rule for rule, _ in held_out):
            seeds = [seed for other, seed in held_out if other == rule and (BASE, seed) in held_out]
            for key, quantity in (("entropy", "entropy"), ("pass@1", "reward")):
                yield from _row({"rule": rule, "where": where, "quantity": quantity}, np.array([
                    held_out[rule, seed][key] - held_out[BASE, seed][key] for seed in seeds]))


def _row(common: dict[str, Any], differences: np.ndarray) -> Iterator[dict[str, Any]]:
    present = differences[np.isfinite(differences)]
    if len(present):
        _, low, high = map(float, mean_interval(present))
        yield common | {"value": float(present.mean()), "low": low, "high": high, "runs": len(present)}


def side(row: Any) -> int:
    """Return on which side of GRPO's value per row with an interval lies: 1, 0 (in it) or -1."""
    zero = 1.0 if row.quantity == "ratio" else 0.0
    if abs(row.value - zero) < EQUAL:
        return 0
    return int(row.low > zero) - int(row.high < zero)


def finding(table: pandas.DataFrame) -> Finding:
    """State how many rules differ from GRPO, and whether prompts foretell the transformer."""
    criteria = []
    for name in STALE.values():
        rows = pick(table, where=f"prompts, {name}", quantity=KEEPS)
        sides = [side(row) for row in rows.itertuples()]
        criteria += [
            Criterion(f"rules that keep {words} entropy than GRPO at equal reward",
                      float(sides.count(sign)), ">", 0, f"on prompts, {name}")
            for sign, words in ((1, "more"), (-1, "less"))]
    wide = table[table["quantity"] == "entropy"].pivot(index="rule", columns="where", values="value")
    if "small transformer" in wide:
        both = wide[["prompts, stale", "small transformer"]].drop(index=BASE).dropna()
        criteria.append(Criterion(
            "rank correlation over rules of the entropy beyond GRPO's on stale prompts with the "
            "transformer's", float(both.corr(method="spearman").iloc[0, 1]), ">", 0.5,
            "from the simulation to the transformer", model=MODELS["small-sums"]))
    return Finding(criteria=tuple(criteria), standing="our own")


def draw(table: pandas.DataFrame) -> Figure:
    """Draw every rule's differences, with intervals: bandits, prompts, the transformer."""
    drawn = [("bandits",), tuple(f"prompts, {name}" for name in STALE.values()), ("small transformer",)]
    labels = ("change of entropy\n(× GRPO's)", "entropy beyond GRPO's\nat equal reward (nats)",
              "entropy beyond GRPO's\nat equal steps (nats)")
    order = _order(table)
    figure, axes = panels(1, 3, height=6.4, sharey="row")
    for panel, places, label in zip(axes[0], drawn, labels, strict=True):
        quantity = {"bandits": "ratio", "small transformer": "entropy"}.get(places[0], KEEPS)
        panel.axvline(1 if quantity == "ratio" else 0, **REFERENCE)
        for look, marker, where in zip(SERIES, "os", places, strict=False):
            rows = pick(table, where=where, quantity=quantity, rule=order)
            panel.errorbar(
                rows["value"], [order.index(rule) for rule in rows["rule"]],
                xerr=[(rows["value"] - rows["low"]).fillna(0), (rows["high"] - rows["value"]).fillna(0)],
                linestyle="none", marker=marker, markersize=3, elinewidth=0.8, color=look["color"],
                label=where.rpartition(", ")[2])
        panel.set(xlabel=label, title=places[0].partition(",")[0])
        if len(places) > 1:
            panel.legend(fontsize=6.5)
    axes[0, 0].set_yticks(range(len(order)), order, fontsize=6.5)
    axes[0, 0].set(ylim=(-0.6, len(order) - 0.4))
    return figure


def _order(table: pandas.DataFrame) -> list[str]:
    """Order rules by what they keep on stale prompts, the least first; those without it come last."""
    rows = pick(table, where="prompts, stale", quantity=KEEPS).sort_values("value", kind="stable")
    return [*rows["rule"], *(rule for rule in table["rule"].unique() if rule not in set(rows["rule"]))]


def shown(row: Any) -> str:
    """Return a value with half its interval, as a table has it."""
    if row.quantity == "falls":
        return f"{row.value:.0%}"
    sign, digits = ("", 2) if row.quantity == "ratio" else ("+", 3)
    value, reach = (0.0 if abs(each) < EQUAL else each for each in (row.value, (row.high - row.low) / 2))
    if value == 0 and not reach > 0:
        return "0"
    return estimate(value, reach, digits=digits, sign=sign)


def cells(table: pandas.DataFrame) -> dict[str, dict[tuple[str, str], str]]:
    """Return what is shown of each rule, by (where, quantity)."""
    found: dict[str, dict[tuple[str, str], str]] = {rule: {} for rule in RULES}
    for row in table.itertuples():
        found[row.rule][row.where, row.quantity] = shown(row)
    return found


def tables(table: pandas.DataFrame) -> tuple[Table, ...]:
    """Return every rule's effect, a column for each measurement."""
    seeds = pick(table, where="small transformer")["runs"]
    counted = f" The transformer has {seeds.min()} seeds per rule or more." if len(seeds) else ""
    if len(pretrained := pick(table, where="SmolLM2", quantity="entropy")):
        counted += (f" SmolLM2 was trained by {len(pretrained)} rules, 16 steps and "
                    f"{pretrained['runs'].max()} seed each. `kl-cov` selects no token of so few.")
    return (Table(
        title="Entropy of every rule beside GRPO",
        header=("rule", *SHOWN.values()),
        rows=tuple((rule, *(found.get(key, "–") for key in SHOWN)) for rule, found in cells(table).items()
                   if found),
        origin="ours",
        note="Intervals of 95 %. Differences to GRPO's are in nats, differences of reward in "
             f"shares. A dash: not defined there, or not run.{counted}",
    ),)


FIGURE = PaperFigure.of(
    __name__, name="effect-of-every-rule",
    source="This project",
    title="what every loss does to entropy, beside GRPO",
    paper="Each loss is published with curves of its own; no paper has one table of their effect on "
    "entropy.",
    ours="Left: first-order change of random policies' entropy over GRPO's. Middle: entropy at "
         "reward 0.75 on nine prompts that share parameters, less GRPO's, with one or five steps "
         "per batch. Right: entropy of a 0.8 M-parameter transformer after 100 steps, less GRPO's. "
         "The table has rewards, and SmolLM2 (16 steps, one seed). Marks: means, 95 % intervals.",
    claims=("extension.loss-coefficient", "extension.loss-on-policy", "extension.loss-off-policy"),
    headline=Headline(
        says="At equal reward, some losses keep more entropy than GRPO and others less, stale or not.",
        holds=("on prompts, on policy", "on prompts, stale"),
    ),
)
