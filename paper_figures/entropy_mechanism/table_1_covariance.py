"""Cui et al., Table 1: the mean covariance of the tokens with the largest.

We make the table for sampled responses in the tabular world. Each token has a state of its own, and
a response is right if its first token is. The sharpness of the states and the length of responses
vary.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure

from paper_figures.data import inputs, paper_numbers
from paper_figures.data.tables import pick
from paper_figures.drawing import REFERENCE, SERIES, Table, dots, lines, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

PRINTED = paper_numbers.read(__file__)["covariance"]
GROUPS = {0.0002: "Top 0.02 %", 0.002: "Top 0.2 %", 0.02: "Top 2 %", 0.2: "Top 20 %", 0.5: "Top 50 %",
          1.0: "All"}
UPPER = 0.5  # the share whose mean is the unit of the shape
ALIKE = 0.2
"""The largest factor between ratios, minus 1, that still counts as the printed shape."""
HUNDREDS = 100
"""How many times the mean of all the largest must be: the paper's "500x mean value" in its order."""
ADVANTAGES = {"group-normalized": "GRPO's advantages", "group-centered": "not divided by their deviation"}
COLUMNS = ["advantage", "length", "sharpness", "share", "value", "surprise", "top_of_wrong"]


def data(results: Path) -> pandas.DataFrame:
    """Return means over batches, and the printed values.

    Columns advantage, length, sharpness, share, value, surprise, top_of_wrong. Rows of advantage
    "printed" are the paper's; surprise is the mean negative log-probability in nats, top_of_wrong the
    share of wrong responses' tokens among the top 0.2 %.
    """
    inputs.printed(PRINTED.source)
    dataset = inputs.simulation(results, "covariance_table").mean("repeat")
    ours = dataset[["covariance", "surprise", "top_of_wrong"]].to_dataframe().reset_index()
    values = PRINTED.column("Mean value")
    printed = pandas.DataFrame({
        "advantage": "printed", "share": list(GROUPS), "value": [values[g] for g in GROUPS.values()]})
    ours = ours.rename(columns={"covariance": "value"})
    return pandas.concat([printed, ours], ignore_index=True)[COLUMNS]


def shapes(table: pandas.DataFrame) -> pandas.DataFrame:
    """Compare shapes with the printed one, a row for each advantage, length and sharpness.

    Columns are error, level, surprise, mean and top_of_wrong:

    - error: the largest factor, minus 1, between the rows' ratios to the upper half's mean and the
      printed ratios;
    - level: ours over printed, geometric mean of the top five rows;
    - mean: of all tokens.
    """
    printed = table[table["advantage"] == "printed"].set_index("share")["value"]
    rows = []
    keys = ["advantage", "length", "sharpness"]
    for key, group in table[table["advantage"] != "printed"].groupby(keys, sort=False):
        value = group.set_index("share")["value"]
        ratio = (value / value[UPPER]) / (printed / printed[UPPER])
        top = [share for share in GROUPS if share < UPPER]
        rows.append({
            **dict(zip(keys, key, strict=True)),
            "error": float(np.exp(np.abs(np.log(ratio[top])).max()) - 1),
            "level": float(np.exp(np.log((value / printed)[[*top, UPPER]]).mean())),
            "surprise": group["surprise"].iloc[0], "mean": value[1.0],
            "top_of_wrong": group["top_of_wrong"].iloc[0],
        })
    return pandas.DataFrame(rows)


def best(table: pandas.DataFrame, advantage: str = "group-normalized") -> pandas.Series:
    """The sharpness of the longest responses whose shape is nearest to the printed one."""
    found = shapes(table)
    found = found[(found["advantage"] == advantage) & (found["length"] == found["length"].max())]
    return found.loc[found["error"].idxmin()]


def finding(table: pandas.DataFrame) -> Finding:
    """State how near the printed shape comes, and the sign of the mean there."""
    near = best(table)
    highest = table[(table["advantage"] == near["advantage"]) & (table["length"] == near["length"])
                    & (table["sharpness"] == near["sharpness"])].set_index("share")["value"][0.0002]
    return Finding(criteria=(
        Criterion("largest factor between our ratios of the top groups and the printed ones, less 1",
                  float(near["error"]), "≤", ALIKE, "for the heavy tail"),
        Criterion("mean covariance of the top 0.02 % over that of all tokens where the shape is nearest",
                  float(highest / near["mean"]), "≥", HUNDREDS, "for the heavy tail"),
        Criterion("mean covariance of all tokens where the tail is nearest", float(near["mean"]), ">",
                  0, "for the sign of the mean"),
    ))


def tables(table: pandas.DataFrame) -> tuple[Table, ...]:
    """Return the printed table, and ours where its shape is nearest."""
    near = best(table)
    here = table[(table["length"] == near["length"]) & (table["sharpness"] == near["sharpness"])]
    columns = {text: here[here["advantage"] == name].set_index("share")["value"]
               for name, text in ADVANTAGES.items()}
    printed = table[table["advantage"] == "printed"].set_index("share")["value"]
    whole = columns[ADVANTAGES["group-normalized"]]
    ours = Table(
        title=f"Covariance of tokens, tabular responses of {near['length']:.0f} tokens",
        header=("Group", *columns, "GRPO's over its top 50 %"),
        rows=tuple(
            (name, *(f"{values[share]:.3f}" for values in columns.values()),
             f"{whole[share] / whole[UPPER]:.2f}")
            for share, name in GROUPS.items()),
        origin="ours",
        note=f"Mean negative log-probability {near['surprise']:.2f} nats. The printed rows over their "
        "top 50 %: " + ", ".join(f"{printed[share] / printed[UPPER]:.2f}" for share in GROUPS) + ".",
    )
    return (PRINTED.printed(), ours)


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the rows over the top 50 %, printed and ours, and how far ours are off, by sharpness."""
    figure, axes = panels(1, 2, height=2.6)
    left, right = axes[0]
    printed = pick(table, advantage="printed").set_index("share")["value"]
    normalized = pick(shapes(table), advantage="group-normalized")
    tops = [share for share in GROUPS if share <= UPPER]
    lengths = sorted(normalized["length"].unique())
    for look, length in zip(SERIES, lengths, strict=False):
        of_length = pick(normalized, length=length)
        near = of_length.loc[of_length["error"].idxmin()]
        rows = pick(table, advantage="group-normalized", length=length,
                    sharpness=near["sharpness"]).set_index("share")["value"]
        left.plot(tops, rows[tops] / rows[UPPER], **look)
    dots(left, tops, printed[tops] / printed[UPPER], 3, markersize=5, color="#000000")
    left.annotate("printed", (tops[1], printed[tops[1]] / printed[UPPER]), xytext=(7, 3),
                  textcoords="offset points", fontsize=7)
    left.set(xscale="log", yscale="log", xlabel="share of the tokens, largest first",
             ylabel="mean covariance\nover that of the top half", title="nearest shape of each length")
    right.axhline(ALIKE, **REFERENCE)
    looks = {length: {**look, "marker": "o", "markersize": 2.5}
             for look, length in zip(SERIES, lengths, strict=False)}
    lines(right, normalized, "length", looks, x="surprise", y="error", band=None,
          name=lambda length: f"{length:.0f} token{'s' if length > 1 else ''}",
          xlabel="mean negative log-probability (nats)", ylim=(0, None),
          ylabel="largest factor from\nprinted ratios, less 1", title="distance to the printed shape")
    return figure


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-table-1",
    source="Cui et al., Table 1",
    title="how heavy-tailed the covariance of tokens is",
    paper="The mean covariance of tokens is small but positive, and a few outliers have one hundreds of "
    "times as large.",
    place="Table 1 and the slide 'Lessons learned from entropy dynamics analysis'",
    ours="Sampled responses whose tokens are drawn from states of their own, by sharpness of the states "
    "and length; the dashed line is a fifth.",
    claims=("entropy-mechanism.selected-tokens",),
    headline=Headline(
        says="At the best of the sharpnesses tried, responses of independent tokens have a heavy tail "
             "of covariances like the printed one.",
        holds=("for the heavy tail", "for the sign of the mean"),
    ),
    recipes=("paper/entropy-mechanism-grpo",),
)
