"""The runs that Figures 9, 10 and 12 share, which differ in the strength of an intervention.

Tabular runs are those of the experiment intervention_sweeps (sampled groups, four optimizer steps a
batch, as many runs as starts); a transformer's are training runs, where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas
from matplotlib.figure import Figure

from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import last_tenth, pick
from paper_figures.drawing import panels
from paper_figures.figure import Number
from simulations.experiments.curves import mean_interval

QUANTITIES = {"entropy": "entropy (nats)", "reward": "accuracy (0 to 1)"}
COLUMNS = ("world", "family", "rule", "strength", "start", "step", "quantity", "value")
TABULAR, TRANSFORMER = "tabular", "transformer"
WORDS = {
    "one right": "one right answer", "five right": "five right answers",
    "one right, shared parameters": "one right,\nshared parameters",
}
GAIN_LEVEL = 0.99
"""Confidence level of the intervals of gains; high, since the best of several strengths is chosen."""
RUN = ["world", "family", "rule", "strength", "quantity", "start"]


def data(
    results: Path, rules: Mapping[str, Sequence[training_curves.Choice]],
    quantities: Sequence[str] = tuple(QUANTITIES),
) -> pandas.DataFrame:
    """Return the curves of each rule, start (or seed) and strength: columns ``COLUMNS``.

    Args:
        rules: for each rule of the experiment, the training runs that belong beside it, which differ
            in strength; they are shown where there are at least two strengths.
    """
    dataset = inputs.simulation(results, "intervention_sweeps")
    chosen = dataset[[*quantities, "strength", "step"]].sel(rule=list(rules))
    frame = chosen.to_dataframe().reset_index().melt(
        id_vars=["family", "rule", "strength", "start", "step"], value_vars=list(quantities),
        var_name="quantity",
    )
    parts = [frame.assign(world=TABULAR)]
    provenance: dict[str, object] = {}
    for rule, choices in rules.items():
        runs = training_curves.first(training_curves.read(results, choices, metrics=quantities, least=2))
        provenance |= runs.attrs["inputs"]
        runs = training_curves.smoothed(runs[runs["metric"].isin(quantities)])
        parts.append(runs.assign(world=TRANSFORMER, rule=rule).rename(
            columns={"metric": "quantity", "seed": "start", "setting": "family"}))
    table = pandas.concat([part[[*COLUMNS]] for part in parts], ignore_index=True)
    table.attrs["inputs"] = provenance
    return table


def ends(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return one row per run: columns ``RUN``, its first value, and last, the mean of its last tenth."""
    ordered = table.sort_values("step", kind="stable")
    return pandas.DataFrame({
        "first": ordered.groupby(RUN)["value"].first(),
        "last": last_tenth(ordered, RUN).groupby(RUN)["value"].mean(),
    }).reset_index()


def effects(table: pandas.DataFrame) -> pandas.DataFrame:
    """Measure the effects of each strength: a row for each world, family, rule and strength.

    Only starts count from which both the weakest strength and another one were run.

    Columns:

    - starts: their number;
    - entropy_first, entropy_last, reward_last: means over starts;
    - reward_gain, reward_low, reward_high: reward at the end beyond that of the weakest strength
      from the same start, the mean and its interval; NaN from a single start.
    """
    found = ends(table)
    weakest = found.groupby(["world", "family", "rule"])["strength"].transform("min")
    keys = ["world", "family", "rule", "quantity", "start"]
    base = found[found["strength"] == weakest].set_index(keys)["last"].rename("base")
    found = found.join(base, on=keys).dropna(subset=["base"])
    by = ["world", "family", "rule", "strength"]
    found = found[found.groupby(by[:3])["strength"].transform("nunique") > 1]
    rows = []
    for key, group in found.groupby(by, sort=False):
        row = dict(zip(by, key, strict=True)) | {"starts": group["start"].nunique()}
        for quantity, one in group.groupby("quantity"):
            gains = (one["last"] - one["base"]).to_numpy()
            _, low, high = mean_interval(gains, level=GAIN_LEVEL)
            row |= {
                f"{quantity}_first": one["first"].mean(), f"{quantity}_last": one["last"].mean(),
                f"{quantity}_gain": gains.mean(), f"{quantity}_low": float(low),
                f"{quantity}_high": float(high),
            }
        rows.append(row)
    return pandas.DataFrame(rows).sort_values(by, kind="stable").reset_index(drop=True)


def place(world: str, family: str) -> tuple[str, str]:
    """Return the setting of a criterion and its model."""
    if world == TABULAR:
        return f"with {name(family)}", ""
    return f"on {family}", training_curves.model_of(family)


def number(row: pandas.Series, value: float, *ends: float) -> Number:
    """Return a number of a row of `effects` with its interval, or as exact; seeds count for a network."""
    low, high = ends or (value, value)
    seeds = None if row["world"] == TABULAR else int(row["starts"])
    return Number(float(value), float(low), float(high), seeds)


def gain(row: pandas.Series, quantity: str) -> Number:
    """Return the gain of a quantity in a row of `effects`, with its interval."""
    return number(row, *row[[f"{quantity}_{size}" for size in ("gain", "low", "high")]])


def families(table: pandas.DataFrame) -> list[tuple[str, str]]:
    """List each (world, family) in the table's order, tabular ones first."""
    return [tuple(pair) for pair in table[["world", "family"]].drop_duplicates().to_numpy()]


def name(family: str) -> str:
    """Name a family as sentences call it."""
    return WORDS.get(family, family).replace("\n", " ")


def draw(table: pandas.DataFrame) -> Figure:
    """Draw a column for each family, a row for each rule and quantity, a line for each strength.

    Lines are means over starts, bands their 95 % intervals; a transformer's seeds: lowest to highest.
    """
    columns = families(table)
    rows = list(table[["rule", "quantity"]].drop_duplicates().itertuples(index=False))
    several = table["rule"].nunique() > 1
    figure, axes = panels(len(rows), len(columns), height=1.9, sharex="col")
    for j, (world, family) in enumerate(columns):
        for i, (rule, quantity) in enumerate(rows):
            panel = axes[i, j]
            here = pick(table, world=world, family=family, rule=rule, quantity=quantity)
            if here.empty:
                panel.set_axis_off()
                continue
            training_curves.draw_curves(
                panel, here.assign(label=[f"{strength:g}" for strength in here["strength"]]),
                level=0.95 if world == TABULAR else None, seed="start",
                ylim=(0, 1.02 if quantity == "reward" else None), xlabel="")
            if i == 0:
                panel.set_title(WORDS.get(family, training_curves.in_two_lines(family)))
            if j == 0:
                panel.set_ylabel(f"{rule}:\n{QUANTITIES[quantity]}" if several else QUANTITIES[quantity])
            if i == len(rows) - 1:
                panel.set_xlabel("optimizer step")
    figure.align_ylabels()
    return figure
