"""What holds a target entropy where everything is known: three controls, two directions, six targets.

AEPO's second batch, the integral rule of Skywork-OR1 and TRL, and the forecast of each step, the latter
two on the bonus on all entropy and on the bonus on the entropy among right answers. Tabular policies,
groups of eight samples, so that the controllers see what they would see of a language model but for
parameters that states share.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paper_figures.data import inputs
from paper_figures.drawing.bands import draw_line
from paper_figures.drawing.style import MARKERS, REFERENCE, SERIES, panels
from paper_figures.drawing.table import Table
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

SHOWN = (
    "AEPO", "AEPO, alpha 3", "integral, entropy bonus", "forecast, entropy bonus",
    "integral, diverse bonus", "two-sided integral, diverse bonus", "forecast, diverse bonus",
)
"""The controllers that are drawn; the two-sided integral rule on all entropy is in the table."""
LOOKS = {name: {**SERIES[i], "marker": MARKERS[i], "markersize": 3} for i, name in enumerate(SHOWN)}
MOVING = ("step", "ramp", "sine")
MEASURES = ("mean_entropy", "deviation", "steps_to_follow", "reward", "out_of_power")
COLUMNS = ["panel", "controller", "learning_rate", "shape", "start", "step", "value", *MEASURES]
POINTS = 100
ENOUGH = 0.1
"""Nats: the mean distance up to which a target counts as held, a twentieth of log |A*| = 2.08."""


def data(results: Path) -> pandas.DataFrame:
    """Return columns COLUMNS.

    Panel "run": the measures of each run (see the dataset's long names). "curve": ``value`` the entropy
    of a run at a step, at the middle learning rate, where targets move; with controller "target" the
    target. "ceiling": ``value`` log |A*|.
    """
    dataset = inputs.simulation(results, "holding_a_target")
    runs = dataset[list(MEASURES)].to_dataframe().reset_index().assign(panel="run")
    rates = dataset.learning_rate.values
    picks = np.unique(np.linspace(0, dataset.sizes["step"] - 1, POINTS).round().astype(int))
    moving = dataset.sel(shape=list(MOVING)).isel(step=picks)
    curves = moving.entropy.sel(learning_rate=rates[len(rates) // 2], controller=list(SHOWN))
    targets = moving.target.to_dataframe(name="value").reset_index().assign(controller="target")
    return pandas.concat([
        runs,
        curves.to_dataframe(name="value").reset_index().assign(panel="curve"),
        targets.assign(panel="curve"),
        _ceiling(dataset),
    ], ignore_index=True).reindex(columns=COLUMNS)


def _ceiling(dataset: xarray.Dataset) -> pandas.DataFrame:
    return pandas.DataFrame({"panel": ["ceiling"], "value": [float(dataset.attrs["ceiling"])]})


def at_rest(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the runs whose target rests, with its value as column ``target``."""
    runs = table[(table["panel"] == "run") & ~table["shape"].isin(MOVING)]
    return runs.assign(target=runs["shape"].astype(float))


def ceiling(table: pandas.DataFrame) -> float:
    """Return log |A*|."""
    return float(table.loc[table["panel"] == "ceiling", "value"].iloc[0])


def summary(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row a controller, in order: means over all runs, by kind of target.

    Columns ``held`` (share of the resting targets below log |A*| that are held to ``ENOUGH``),
    ``deviation`` (mean over them, nats), ``reward`` (mean over them), ``moving`` (mean deviation from
    targets that move, nats), ``follow`` (median steps to follow a step; infinite where most runs never
    do), ``beyond`` (share of the batches out of power at targets above log |A*|).
    """
    rest = at_rest(table)
    below, above = rest[rest["target"] < ceiling(table)], rest[rest["target"] >= ceiling(table)]
    moving = table[(table["panel"] == "run") & table["shape"].isin(MOVING)]
    stepped = moving[moving["shape"] == "step"]
    by = "controller"
    found = pandas.DataFrame({
        "held": below.assign(held=below["deviation"] <= ENOUGH).groupby(by, sort=False)["held"].mean(),
        "deviation": below.groupby(by, sort=False)["deviation"].mean(),
        "reward": below.groupby(by, sort=False)["reward"].mean(),
        "moving": moving.groupby(by, sort=False)["deviation"].mean(),
        "follow": stepped.fillna({"steps_to_follow": np.inf}).groupby(by, sort=False)[
            "steps_to_follow"].median(),
        "beyond": above.groupby(by, sort=False)["out_of_power"].mean(),
    })
    return found


def finding(table: pandas.DataFrame) -> Finding:
    """State what holds best."""
    off = summary(table)["deviation"]
    return Finding(standing="our own", criteria=(
        Criterion("distance of the forecast on the diverse bonus from targets below log |A*|, less "
                  "that of the nearest other, nats",
                  float(off["forecast, diverse bonus"] - off.drop("forecast, diverse bonus").min()),
                  "<", 0),
        Criterion("that distance of the forecast on the entropy bonus, less the integral's, nats",
                  float(off["forecast, entropy bonus"] - off["integral, entropy bonus"]), "<", 0),
    ))


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return all controllers by all measures."""
    rows = tuple(
        (str(name), f"{row['held']:.0%}", f"{row['deviation']:.3f}", f"{row['reward']:.3f}",
         f"{row['moving']:.3f}", f"{row['follow']:.0f}" if np.isfinite(row["follow"]) else "never")
        for name, row in summary(table).iterrows())
    return [Table(
        title="Holding a target, tabular policies",
        header=("controller", "targets held", "off (nats)", "reward", "moving targets, off (nats)",
                "steps to follow"),
        rows=rows, origin="ours",
        note="Means over targets below log |A*|, three learning rates and all starts; steps to follow: "
        "median.",
    )]


def draw(table: pandas.DataFrame) -> Figure:
    """Draw what is held, what it costs and what is followed, and below targets that move."""
    figure, axes = panels(2, 3, height=2.35)
    rest = at_rest(table)
    rates = np.sort(rest["learning_rate"].unique())
    most = ceiling(table)
    for name, look in LOOKS.items():
        rows = rest[rest["controller"] == name]
        middle = rows[rows["learning_rate"] == rates[len(rates) // 2]]
        draw_line(axes[0, 0], middle, look, x="target", y="deviation", band=(0, 1))
        mean = middle.groupby("target")[["mean_entropy", "reward"]].mean()
        axes[0, 1].plot(mean["mean_entropy"], 1 - mean["reward"], **look)
        below = rows[rows["target"] < most]
        draw_line(axes[0, 2], below.groupby(["learning_rate", "start"])["deviation"].mean()
                    .reset_index(), look, x="learning_rate", y="deviation", band=(0, 1))
    axes[0, 0].axvline(most, **REFERENCE)
    axes[0, 0].set(xlabel="target (nats)", ylabel="distance (nats)", yscale="log",
                   title="distance from the target")
    axes[0, 1].axvline(most, **REFERENCE)
    axes[0, 1].set(xlabel="mean entropy (nats)", ylabel="P(wrong answer)", yscale="log",
                   title="what it costs")
    axes[0, 2].set(xlabel="learning rate", xscale="log", ylabel="distance (nats)", yscale="log")
    axes[0, 2].set_xticks(rates, [f"{rate:g}" for rate in rates])
    axes[0, 2].xaxis.set_minor_locator(NullLocator())
    axes[0, 2].set_title("by learning rate")
    for panel, shape in zip(axes[1], MOVING, strict=True):
        _draw_moving(panel, table[(table["panel"] == "curve") & (table["shape"] == shape)], shape)
    handles = axes[0, 1].get_lines()[: len(LOOKS)]
    figure.legend(handles, list(LOOKS), loc="outside lower center", ncols=3, fontsize=6.5, frameon=False)
    return figure


def _draw_moving(panel: Axes, rows: pandas.DataFrame, shape: str) -> None:
    for name, look in LOOKS.items():
        plain = {key: value for key, value in look.items() if not key.startswith("marker")}
        draw_line(panel, rows[rows["controller"] == name], plain, x="step", y="value", band=None)
    target = rows[rows["controller"] == "target"].sort_values("step")
    panel.plot(target["step"], target["value"], color="#000000", linewidth=1.6, alpha=0.45)
    panel.set(xlabel="step", ylabel="entropy (nats)", ylim=(0, 2.6), title=f"a {shape}")
    panel.margins(x=0)


FIGURE = PaperFigure(
    name="holding-a-target-exactly",
    source="This project",
    title="what holds a target entropy, tabular policies",
    paper="AEPO holds by a second batch, Skywork-OR1 and TRL by an integral rule; none was compared.",
    ours="Four prompts with 8 right answers of 20, groups of eight samples. Top: the mean distance from "
    "resting targets (vertical line: log |A*|), the probability of a wrong answer at the entropy "
    "that was held, and the distance over a factor of ten in the learning rate; bands: all starts. "
    "Bottom: the median entropy under targets that move (grey).",
    claims=("aepo.tracking", "extension.diverse-bonus", "extension.level-set-diverse-bonus"),
    data=data,
    finding=finding,
    headline=Headline(
        says="Targets below log |A*| are held nearest, in the mean, by the forecast on the diverse "
             "bonus; the entropy bonus' forecast beats the integral.",
    ),
    draw=draw,
    tables=tables,
)
