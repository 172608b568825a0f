"""AEPO, Figure 1: five target entropies.

What we run: AEPO's printed update in exact expectation on 20-answer bandits, from several starts,
with one right answer and with several; and language models where runs with several targets
exist (``--profile full``, ``make gpu``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.aepo.compared import right_answers
from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import even_in_log, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing.style import (
    MARKERS,
    REFERENCE,
    SERIES,
    label_ends,
    level,
    panels,
    step_axis,
    value_ticks,
)
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

SHOWN_TARGETS = 5
COLLAPSED = 0.05  # nats
MOST = 0.5
"""The share of the targets that must be held for us to say that targets are held."""
POINTS = 120  # of each curve, evenly spread in log(step)
CHOICES = (Choice(label="target {target:g}", rule="aepo", free=("target",)),)
COLUMNS = ["panel", "setting", "right_answers", "target", "alpha", "start", "x", "y", "held"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    Panels: "curve" (x step, y entropy), "tail" (x target, y entropy at the end), "alpha" (x alpha,
    y share of the targets below the ceiling that are held), "transformer" (x step, y entropy; of each
    ``setting`` of training runs, ``start`` the seed).
    """
    dataset = inputs.simulation(results, "aepo_figure_1", "exact")
    runs = training_curves.read(results, CHOICES, metrics=("entropy",), least=2)
    parts = [_curves(dataset), _tails(dataset), _alphas(dataset), _transformer(runs)]
    return stacked(parts, COLUMNS, runs)


def _curves(dataset: xarray.Dataset) -> pandas.DataFrame:
    """Read the curves with one right answer and with the most that were simulated."""
    ends = [int(dataset.right_answers[0]), int(dataset.right_answers[-1])]
    picks = even_in_log(dataset.step.values, POINTS)
    chosen = dataset.entropy.sel(right_answers=ends, target=shown_targets(dataset))
    frame = chosen.isel(step=picks).to_dataframe(name="y").reset_index().rename(columns={"step": "x"})
    return frame[["right_answers", "target", "start", "x", "y"]].assign(
        panel="curve", alpha=float(dataset.attrs["alpha"])
    )


def shown_targets(dataset: xarray.Dataset) -> list[float]:
    """Choose five of the simulated targets, spread evenly, or all where there are fewer."""
    targets = dataset.target.values
    picks = np.linspace(0, len(targets) - 1, min(SHOWN_TARGETS, len(targets))).round().astype(int)
    return [float(targets[i]) for i in picks]


def _tails(dataset: xarray.Dataset) -> pandas.DataFrame:
    frame = dataset[["tail_entropy", "held"]].to_dataframe().reset_index()
    frame = frame.rename(columns={"tail_entropy": "y"})
    return frame[["right_answers", "target", "alpha", "start", "y", "held"]].assign(
        panel="tail", x=frame["target"]
    )


def _alphas(dataset: xarray.Dataset) -> pandas.DataFrame:
    share = dataset.held.where(dataset.sustainable).mean(["start", "target"])
    frame = share.to_dataframe(name="y").reset_index().dropna(subset=["y"])
    return frame[["right_answers", "alpha", "y"]].assign(panel="alpha", x=frame["alpha"])


def _transformer(runs: pandas.DataFrame) -> pandas.DataFrame:
    """Read AEPO runs of language models that differ in the target alone, smoothed."""
    runs = training_curves.smoothed(runs)
    return pandas.DataFrame({
        "panel": "transformer", "setting": runs["setting"], "target": runs["strength"],
        "start": runs["seed"], "x": runs["step"], "y": runs["value"],
    })[runs["metric"] == "entropy"]


def finding(table: pandas.DataFrame) -> Finding:
    """State how many targets are held, below and above the ceiling log |A*|."""
    alpha = float(table.loc[table["panel"] == "curve", "alpha"].iloc[0])
    tail = table[(table["panel"] == "tail") & (table["alpha"] == alpha)]
    held = tail["held"].astype(bool)
    below = tail["target"] < np.log(tail["right_answers"].astype(float))
    criteria = [
        Criterion("share of the runs that hold their target",
                  float(held[side].mean()) if side.any() else np.nan, "≥", MOST, where, beyond=beyond)
        for where, side, beyond in (("for targets below log |A*|", below, False),
                                    ("for targets at or above log |A*|", ~below, True))
    ] + training_curves.targets_held(
        table[table["panel"] == "transformer"].rename(columns={"y": "value", "x": "step"}))
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy against step for one and for several right answers, and entropy against target."""
    transformer = table[table["panel"] == "transformer"]
    rows = 2 if transformer.empty else 3
    figure, axes = panels(rows, 2, height=2.3)
    curves = table[table["panel"] == "curve"]
    sizes = sorted(curves["right_answers"].unique())
    top = float(curves["y"].max()) * 1.04
    for panel, size in zip(axes[0], (sizes[0], sizes[-1]), strict=True):
        _draw_curves(panel, curves[curves["right_answers"] == size], int(size), top)
    alpha = float(curves["alpha"].iloc[0])
    _draw_tails(axes[1, 0], table[(table["panel"] == "tail") & (table["alpha"] == alpha)])
    _draw_alphas(axes[1, 1], table[table["panel"] == "alpha"])
    settings = list(transformer["setting"].unique())[:2]
    for panel, setting in zip(axes[2:].flat, settings, strict=False):
        _draw_transformer(panel, transformer[transformer["setting"] == setting])
        panel.set_title(setting.partition(",")[0])
    if len(settings) == 1:
        axes[2, 1].set_axis_off()
    return figure


def _draw_curves(panel: Axes, curves: pandas.DataFrame, size: int, top: float) -> None:
    labels = []
    for look, (target, group) in zip(SERIES, curves.groupby("target"), strict=False):
        for _, run in group.groupby("start"):
            panel.plot(run["x"], run["y"], **{**look, "linewidth": 0.7}, alpha=0.75)
        end = group[group["x"] == group["x"].max()]["y"].median()
        labels.append((group["x"].max(), end, f"target {target:g}", look["color"]))
    value = "0" if size == 1 else f"{np.log(size):.2f}"
    level(panel, np.log(size), f"ceiling log {size} = {value}", x=0.97, size=7)
    step_axis(panel, curves["x"])
    panel.set(ylim=(-0.03 * top, top), ylabel="entropy (nats)",
              title=right_answers(size))
    if size > 1 or curves.loc[curves["x"] == curves["x"].max(), "y"].max() >= COLLAPSED:
        label_ends(panel, labels)
    else:  # the ends coincide: no label could tell them apart
        panel.annotate(f"all {len(labels)} targets\ncollapse", (0.62, 0.35), fontsize=7.5,
                       xycoords="axes fraction", ha="center")


def _draw_tails(panel: Axes, tail: pandas.DataFrame) -> None:
    labels = []
    limit = float(tail["x"].max())
    panel.plot([0, limit], [0, limit], **REFERENCE)
    sizes = sorted(tail["right_answers"].unique())
    for i, size in enumerate(sizes):
        group = tail[tail["right_answers"] == size]
        # Side by side, or equal ends would hide one another.
        aside = (i - (len(sizes) - 1) / 2) * 0.016 * limit
        panel.plot(group["x"] + aside, group["y"], linestyle="none", marker=MARKERS[i],
                   markersize=3, color=SERIES[i]["color"], markerfacecolor="none",
                   markeredgewidth=0.8)
        highest = group.loc[group["x"] == limit, "y"].max()
        labels.append((limit * 1.03, highest, f"|A*| = {size:g}", SERIES[i]["color"]))
    panel.set(xlabel="target entropy (nats)", ylabel="entropy at the end (nats)",
              title="held where on the diagonal")
    label_ends(panel, labels)


def _draw_alphas(panel: Axes, shares: pandas.DataFrame) -> None:
    labels = []
    # Colors as in the panel beside, which starts with one right answer.
    for i, (size, group) in enumerate(shares.groupby("right_answers"), start=1):
        look = SERIES[i]
        panel.plot(group["x"], group["y"], marker=MARKERS[i], markersize=3, **look)
        labels.append((group["x"].max(), group["y"].iloc[-1], f"|A*| = {size:g}", look["color"]))
    panel.set_xscale("log")
    value_ticks(panel, shares["x"])
    panel.set(xlabel="alpha (weight of the tempered term)", ylim=(-0.03, 1.05),
              ylabel="share of targets held", title="targets below the ceiling, by alpha")
    label_ends(panel, labels)


def _draw_transformer(panel: Axes, runs: pandas.DataFrame) -> None:
    labels = []
    for look, (target, group) in zip(SERIES, runs.groupby("target"), strict=False):
        for _, run in group.groupby("start"):
            panel.plot(run["x"], run["y"], **{**look, "linewidth": 1.1})
        end = group[group["x"] == group["x"].max()]["y"].mean()
        labels.append((group["x"].max(), end, f"{target:g}", look["color"]))
        panel.axhline(target, color=look["color"], linewidth=0.4, alpha=0.6)
    panel.set(xlabel="optimizer step", ylabel="entropy (nats per token)", ylim=(0, None))
    panel.margins(x=0)
    label_ends(panel, labels)


FIGURE = PaperFigure(
    name="aepo-figure-1",
    source="AEPO, Figure 1",
    title="which target entropies are held",
    paper="Adjusting the target alone controls entropy at different levels: each of five runs oscillates "
    "around its own target.",
    place="Figure 1 and its caption; Sections 1 and 5.2",
    ours="AEPO in exact expectation on 20-answer bandits; a thin line is one start, all of which are the "
    "same for every target (nats). Below left: entropy at the end of each run; on the diagonal the "
    "target is held.",
    data=data,
    finding=finding,
    headline=Headline(
        says="AEPO holds at least half of the targets below the ceiling log |A*|, and fewer than half "
             "of those at or above it.",
        holds=("for targets below log |A*|",),
        fails=("for targets at or above log |A*|",),
    ),
    draw=draw,
    recipes=("paper/aepo-targets", "gpu-small/aepo-targets"),
)
