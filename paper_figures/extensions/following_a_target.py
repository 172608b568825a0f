"""How a small transformer's entropy follows a target that moves, and who is nearest in which setting.

The runs are those of `holding_a_target`.
"""

from __future__ import annotations

import math
from typing import Any

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.drawing import draw_mean
from paper_figures.extensions import holding_a_target
from paper_figures.extensions.holding_a_target import CONTROLLERS, LOOKS, complete, summary
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure

TRACED = ("AEPO", "fast integral, diverse bonus", "forecast, diverse bonus")
"""The controllers whose entropy is drawn step by step: one of each way to hold a target."""
TRACES: dict[str, dict[str, Any]] = {
    "a step down": {"shape": "step"}, "a ramp": {"shape": "ramp"}, "a sine": {"shape": "sine"},
    "other prompts half way": {"other_prompts": True},
}
SMOOTHED = 5
"""Over how many steps entropy is averaged where it is drawn: a step is a sample of 16 prompts."""
DARKEST = 0.5
"""The distance from the target, in nats, from which on a cell is black."""


def finding(table: pandas.DataFrame) -> Finding:
    """State whether another controller is nearest to each moving target."""
    if holding_a_target.finding(table).standing == "awaits runs":
        return Finding(standing="awaits runs")
    found = summary(table)
    best = found.loc[found.groupby("setting", sort=False)["deviation"].idxmin()]
    moving = best[best["setting"].isin(table.loc[table["shape"] != "constant", "setting"])]
    return Finding(standing="our own", model=MODELS["small-sums"], criteria=(Criterion(
        "controllers that are nearest to a moving target, over the number of such targets",
        moving["controller"].nunique() / len(moving) if len(moving) > 1 else math.nan, "≥", 1),))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy by step where the target or the prompts move, and the distance in every setting."""
    rows = complete(table)
    curves = rows[(rows["panel"] == "curve") & (rows["task"] == "split")]
    traces = {title: curves[(curves[list(which)] == pandas.Series(which)).all(axis=1)]
              for title, which in TRACES.items()}
    traces = {title: chosen for title, chosen in traces.items() if not chosen.empty}
    found = summary(table)
    lines = -(-len(traces) // 2)
    below = 0.9 + 0.17 * found["setting"].nunique()
    figure = Figure(figsize=(5.5, 1.9 * lines + below))
    grid = figure.add_gridspec(lines + 1, 2, height_ratios=[1.9] * lines + [below])
    for place, (title, chosen) in enumerate(traces.items()):
        alone = place == len(traces) - 1 and place % 2 == 0
        panel = figure.add_subplot(grid[place // 2, slice(None) if alone else place % 2])
        _draw_curves(panel, chosen)
        panel.set_title(title)
        if place >= len(traces) - 2:
            panel.set_xlabel("optimizer step")
        if place == 0:
            panel.legend(fontsize=6, handlelength=2.6, loc="lower left")
    _draw_distances(figure.add_subplot(grid[lines, :]), found)
    return figure


def _draw_curves(panel: Axes, rows: pandas.DataFrame) -> None:
    for name in TRACED:
        wide = rows[rows["controller"] == name].pivot_table(
            index="step", columns="seed", values="entropy").rolling(SMOOTHED, min_periods=1).mean()
        if not wide.empty:
            look = {key: value for key, value in LOOKS[name].items() if key != "marker"}
            draw_mean(panel, wide, {**look, "label": name}, level=None)
    target = rows.groupby("step")["target"].first()
    panel.plot(target.index, target, color="#000000", linewidth=1.8, alpha=0.4)
    panel.set(ylabel="entropy (nats)", ylim=(0, None))
    panel.margins(x=0)


def _draw_distances(panel: Axes, found: pandas.DataFrame) -> None:
    """Draw the distances as a table in greys, the nearest of each setting in bold."""
    wide = found.pivot(index="setting", columns="controller", values="deviation")
    wide = wide.loc[found["setting"].unique(), [name for name in CONTROLLERS if name in wide.columns]]
    seeds = found.groupby("setting")["seeds"].first()
    panel.imshow(wide, cmap="Greys", vmin=0, vmax=DARKEST, aspect="auto")
    for row, (setting, values) in enumerate(wide.iterrows()):
        for column, (name, value) in enumerate(values.items()):
            weight = "bold" if name == wide.loc[setting].idxmin() else "normal"
            panel.text(column, row, f"{value:.3f}".lstrip("0"), ha="center", va="center", fontsize=6.5,
                       weight=weight, color="#FFFFFF" if value > DARKEST / 2 else "#000000")
    panel.set_yticks(range(len(wide)), [f"{name} ({seeds[name]})" for name in wide.index], fontsize=6)
    panel.grid(visible=False)
    panel.set_xticks(range(wide.shape[1]),
                     [name.replace(",", "").replace(" ", "\n") for name in wide.columns], fontsize=6)
    panel.tick_params(length=0)
    panel.set_title("distance from the target in nats (brackets: seeds)")


FIGURE = PaperFigure.of(
    __name__, name="following-a-target",
    source="This project",
    title="how a small transformer's entropy follows its target, setting by setting",
    paper="AEPO, Skywork-OR1 and TRL hold targets that rest; none was asked to follow one.",
    ours="Above: entropy of small-sums on split. Lines are means over seeds and 5 steps, bands "
         "the range of seeds, grey is the target. Below: mean distance of each controller from "
         "the target in each setting. Darker is farther, and bold the nearest.",
    claims=("aepo.tracking",),
    data=holding_a_target.data,
    headline=Headline(
        says="Each moving target is followed nearest, on the mean of the seeds, by a different "
             "controller.",
    ),
)
