"""AEPO, Figure 1: five target entropies.

We run AEPO's printed update in exact expectation on 20-answer bandits, from several starts, with
one right answer and with several. Language models are added where runs with several targets exist
(``--profile full``, ``make gpu``).
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
from paper_figures.data.tables import by_panel, even_in_log, long, pick, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import (
    REFERENCE,
    SERIES,
    dots,
    label_ends,
    level,
    lines,
    marked,
    panels,
    step_axis,
)
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

SHOWN_TARGETS = 5
COLLAPSED = 0.05  # nats
MOST = 0.5
"""The share of the targets that must be held for us to say that targets are held."""
POINTS = 120  # of each curve, evenly spread in log(step)
CHOICES = (Choice(label="target {target:g}", rule="aepo", free=("target",)),)
COLUMNS = ["panel", "setting", "right_answers", "target", "alpha", "start", "x", "y", "held"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    Panels:

    - "curve": x step, y entropy;
    - "tail": x target, y entropy at the end;
    - "alpha": x alpha, y share of the targets below the ceiling that are held;
    - "transformer": x step, y entropy, by ``setting`` of training runs, with ``start`` the seed.
    """
    dataset = inputs.simulation(results, "aepo_figure_1", "exact")
    runs = training_curves.read(results, CHOICES, metrics=("entropy",), least=2)
    curves = dataset.entropy.sel(
        right_answers=dataset.right_answers.values[[0, -1]], target=shown_targets(dataset),
    ).isel(step=even_in_log(dataset.step.values, POINTS))
    share = dataset.held.where(dataset.sustainable).mean(["start", "target"])
    parts = [
        long(curves, "curve", "step", alpha=float(dataset.attrs["alpha"])),
        long(dataset[["tail_entropy", "held"]], "tail", "target", {"tail_entropy": "y"}),
        long(share, "alpha", "alpha").dropna(subset=["y"]),
        training_curves.smoothed(runs[runs["metric"] == "entropy"]).rename(columns={
            "strength": "target", "seed": "start", "step": "x", "value": "y",
        }).assign(panel="transformer"),
    ]
    return stacked(parts, COLUMNS, runs)


def shown_targets(dataset: xarray.Dataset) -> list[float]:
    """Choose five of the simulated targets, spread evenly, or all where there are fewer."""
    return [float(target) for target in training_curves.evenly(dataset.target.values, SHOWN_TARGETS)]


def finding(table: pandas.DataFrame) -> Finding:
    """State how many targets are held, below and above the ceiling ``log |A*|``."""
    of = by_panel(table)
    tail = pick(of["tail"], alpha=of["curve"]["alpha"].iloc[0])
    held = tail["held"].astype(bool)
    below = tail["target"] < np.log(tail["right_answers"].astype(float))
    criteria = [
        Criterion("share of the runs that hold their target",
                  float(held[side].mean()) if side.any() else np.nan, "≥", MOST, setting, beyond=beyond)
        for setting, side, beyond in (("for targets below log |A*|", below, False),
                                      ("for targets at or above log |A*|", ~below, True))
    ] + training_curves.targets_held(
        pick(table, panel="transformer").rename(columns={"y": "value", "x": "step"}))
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy against step for one and for several right answers, and entropy against target."""
    of, transformer = by_panel(table), pick(table, panel="transformer")
    figure, axes = panels(2 if transformer.empty else 3, 2, height=2.3)
    curves = of["curve"]
    top = float(curves["y"].max()) * 1.04
    for panel, size in zip(axes[0], (curves["right_answers"].min(), curves["right_answers"].max()),
                           strict=True):
        _draw_curves(panel, pick(curves, right_answers=size), int(size), top)
    _draw_tails(axes[1, 0], pick(of["tail"], alpha=curves["alpha"].iloc[0]))
    # Colors as in the panel beside, which starts with one right answer.
    lines(axes[1, 1], of["alpha"], "right_answers",
          {size: {**marked(i), "markersize": 3}
           for i, size in enumerate(sorted(of["alpha"]["right_answers"].unique()), start=1)},
          name="|A*| = {:g}".format, ticks="{:g}", xscale="log", ylim=(-0.03, 1.05),
          xlabel="alpha (weight of the tempered term)", ylabel="share of targets held",
          title="targets below the ceiling, by alpha")
    settings = list(transformer["setting"].unique())[:2]
    for panel, setting in zip(axes[2:].flat, settings, strict=False):
        rows = pick(transformer, setting=setting)
        for look, target in zip(SERIES, sorted(rows["target"].unique()), strict=False):
            panel.axhline(target, color=look["color"], linewidth=0.4, alpha=0.6)
        _draw_runs(panel, rows, "mean", "{:g}", linewidth=1.1)
        panel.set(xlabel="optimizer step", ylabel="entropy (nats per token)",
                  title=setting.partition(",")[0])
    if len(settings) == 1:
        axes[2, 1].set_axis_off()
    return figure


def _draw_curves(panel: Axes, curves: pandas.DataFrame, size: int, top: float) -> None:
    level(panel, np.log(size), f"ceiling log {size} = {np.log(size):.{2 if size > 1 else 0}f}", x=0.97,
          size=7)
    step_axis(panel, curves["x"])
    panel.set(ylim=(-0.03 * top, top), ylabel="entropy (nats)", title=right_answers(size))
    apart = size > 1 or pick(curves, x=curves["x"].max())["y"].max() >= COLLAPSED
    _draw_runs(panel, curves, "median", "target {:g}" if apart else "", linewidth=0.7, alpha=0.75)
    if not apart:  # the ends coincide: no label could tell them apart
        count = curves["target"].nunique()
        panel.annotate(f"all {count} targets\ncollapse", (0.62, 0.35), fontsize=7.5,
                       xycoords="axes fraction", ha="center")


def _draw_runs(panel: Axes, runs: pandas.DataFrame, center: str, name: str, **look: float) -> None:
    """Draw a line for each start; those of a target are named where their center ends."""
    ends = []
    for series, (target, group) in zip(SERIES, runs.groupby("target"), strict=False):
        for _, run in group.groupby("start"):
            panel.plot(run["x"], run["y"], **{**series, **look})
        last = group["x"].max()
        ends.append((last, pick(group, x=last)["y"].agg(center), name.format(target), series["color"]))
    if panel.get_xscale() == "linear":
        panel.set_ylim(0, None)
        panel.margins(x=0)
    if name:
        label_ends(panel, ends)


def _draw_tails(panel: Axes, tail: pandas.DataFrame) -> None:
    labels = []
    limit = float(tail["x"].max())
    panel.plot([0, limit], [0, limit], **REFERENCE)
    sizes = sorted(tail["right_answers"].unique())
    for i, size in enumerate(sizes):
        group = pick(tail, right_answers=size)
        # Side by side, or equal ends would hide one another.
        aside = (i - (len(sizes) - 1) / 2) * 0.016 * limit
        dots(panel, group["x"] + aside, group["y"], i, markeredgewidth=0.8)
        highest = pick(group, x=limit)["y"].max()
        labels.append((limit * 1.03, highest, f"|A*| = {size:g}", SERIES[i]["color"]))
    panel.set(xlabel="target entropy (nats)", ylabel="entropy at the end (nats)",
              title="held where on the diagonal")
    label_ends(panel, labels)


FIGURE = PaperFigure.of(
    __name__, name="aepo-figure-1",
    source="AEPO, Figure 1",
    title="which target entropies are held",
    paper="Adjusting the target alone controls entropy at different levels: each of five runs oscillates "
    "around its own target.",
    place="Figure 1 and its caption; Sections 1 and 5.2",
    ours="AEPO in exact expectation on 20-answer bandits; a thin line is one start, all of which are the "
    "same for every target (nats). Below left: entropy at the end of each run; on the diagonal the "
    "target is held.",
    headline=Headline(
        says="AEPO holds at least half of the targets below the ceiling log |A*|, and fewer than half "
             "of those at or above it.",
        holds=("for targets below log |A*|",),
        fails=("for targets at or above log |A*|",),
    ),
    recipes=("paper/aepo-targets", "gpu-small/aepo-targets"),
)
