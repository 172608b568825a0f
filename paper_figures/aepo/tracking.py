"""AEPO, Section 1: a target that moves.

What we run: AEPO in exact expectation with a target that steps, ramps and swings, from policies that
the same control has held at rest; beside the switch between two temperatures the proportional control
of the paper's later version.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import long, stacked
from paper_figures.drawing.bands import draw_lines
from paper_figures.drawing.style import SERIES, label_ends, marked, panels, value_ticks
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

FOLLOWED = 0.95
"""The share of a sine's swing that entropy must make for the sine to count as followed."""
POINTS = 150
STEPS = ("step up", "step down", "step out of reach")
SHOWN_CYCLES = 2
TARGET: dict[str, Any] = {"color": "#000000", "linewidth": 0.9, "linestyle": (0, (4, 3))}
LOOKS = dict(zip(("switch", "proportional"), SERIES, strict=False))
MARKED = [{**marked(i), "markersize": 3} for i in range(2)]
COLUMNS = ["panel", "shape", "control", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    Panels: "step" (x steps since the target moved) and "sine" (x periods; ``shape`` the period), y
    entropy, nats, or with control "target" the target; "gain" (x period, y swing of entropy over that of
    its target), "shortest" (y the shortest period that speeds at rest allow), "ramp" (x speed of the
    target, y of entropy, nats a step, shape up or down), "time" (y steps from 10 to 90 % of a step;
    infinite where it never got there), "end" (y entropy at last for a target out of reach), "ceiling"
    (y log |A*|).
    """
    dataset = inputs.simulation(results, "aepo_tracking")
    tables = {
        "gain": dataset.gain.rename(period="x"),
        "shortest": dataset.shortest_period,
        "ramp": dataset.ramp_speed.rename(ramp="x", way="shape"),
        "time": dataset.step_time.rename(way="shape").fillna(np.inf),
        "end": dataset.entropy.sel(shape=STEPS[-1]).isel(time=-1, drop=True),
    }
    parts = [
        _steps(dataset), *(_sine(dataset, period) for period in _shown_periods(dataset)),
        *(long(array, panel) for panel, array in tables.items()),
        pandas.DataFrame({"panel": ["ceiling"], "y": [float(dataset.attrs["ceiling"])]}),
    ]
    return stacked(parts, COLUMNS)


def _steps(dataset: xarray.Dataset) -> pandas.DataFrame:
    """Return the first half of the moving part, thinned."""
    time = dataset.time.values
    first, last = np.searchsorted(time, [0, time[-1] / 2])
    picks = np.unique(np.linspace(first, last, POINTS).round().astype(int))
    return _curves(dataset.sel(shape=list(STEPS)).isel(time=picks), "step")


def _sine(dataset: xarray.Dataset, period: float) -> pandas.DataFrame:
    """Return the last whole cycles, with time in periods."""
    cycle = dataset.time / period - (float(dataset.time[-1]) // period - SHOWN_CYCLES)
    chosen = dataset.sel(shape=[f"sine {period:g}"]).isel(
        time=(cycle.values >= 0) & (cycle.values <= SHOWN_CYCLES))
    frame = _curves(chosen, "sine")
    shift = float(dataset.time[-1]) // period - SHOWN_CYCLES
    return frame.assign(x=frame["x"] / period - shift, shape=f"{period:g}")


def _curves(dataset: xarray.Dataset, panel: str) -> pandas.DataFrame:
    entropy = dataset.entropy.sel(control="switch").to_dataframe(name="y").reset_index()
    target = dataset.target.to_dataframe(name="y").reset_index().assign(control="target")
    return pandas.concat([entropy, target]).rename(columns={"time": "x"}).assign(panel=panel)


def _shown_periods(dataset: xarray.Dataset) -> list[float]:
    """Choose the slowest period, the fastest, and one between them."""
    periods = np.sort(dataset.period.values)
    return [float(p) for p in dict.fromkeys(periods[[-1, (len(periods) - 1) // 2, 0]])]


def finding(table: pandas.DataFrame) -> Finding:
    """State which sines are followed, and how near a target out of reach entropy ends."""
    switch = table[table["control"] == "switch"]
    median = switch[switch["panel"] == "gain"].groupby("x")["y"].median()
    step = table[(table["panel"] == "step") & (table["shape"] == STEPS[-1])
                 & (table["control"] == "target")]
    criteria = [
        Criterion("gain: swing of entropy over that of its target, median over starts",
                  float(gain_of_period), "≥", FOLLOWED, f"for a sine of {period:g} steps", beyond=True)
        for period, gain_of_period in median.items()
    ] + [Criterion("entropy at the end over its target, highest start",
                   float(switch[switch["panel"] == "end"]["y"].max() / step["y"].iloc[-1]), "≥",
                   FOLLOWED, "for a step to a target above log |A*|", beyond=True)]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw steps, sines, gain against period, and the speed of ramps against that of their targets."""
    figure, axes = panels(2, 2, height=2.3)
    ceiling = float(table.loc[table["panel"] == "ceiling", "y"].iloc[0])
    _draw_steps(axes[0, 0], table[table["panel"] == "step"], ceiling)
    _draw_sines(axes[0, 1], table[table["panel"] == "sine"])
    _draw_gains(axes[1, 0], table)
    _draw_ramps(axes[1, 1], table[(table["panel"] == "ramp") & (table["control"] == "switch")])
    return figure


def _draw_steps(panel: Axes, rows: pandas.DataFrame, ceiling: float) -> None:
    panel.axhline(ceiling, color="#999999", linewidth=0.7)
    labels = [(rows["x"].max(), ceiling, "log |A*|", "#555555")]
    for _, target in rows[rows["control"] == "target"].groupby("shape"):
        panel.plot(target["x"], target["y"], **TARGET)
    labels += draw_lines(panel, rows[rows["control"] == "switch"], "shape",
                         dict(zip(STEPS, SERIES, strict=False)), band=(0, 1),
                         name=lambda shape: shape.removeprefix("step "))
    panel.set(xlabel="steps since the target moved", ylabel="entropy (nats)", ylim=(0, None),
              xlim=(0, rows["x"].max()), title="steps")
    label_ends(panel, labels)


def _draw_sines(panel: Axes, rows: pandas.DataFrame) -> None:
    shapes = list(rows["shape"].unique())
    target = rows[(rows["control"] == "target") & (rows["shape"] == shapes[0])]
    panel.plot(target["x"], target["y"], **TARGET)
    labels = draw_lines(panel, rows[rows["control"] == "switch"], "shape",
                        dict(zip(shapes, SERIES, strict=False)), band=(0, 1), name="{} steps".format)
    panel.set(xlabel="periods", ylabel="entropy (nats)", ylim=(0, None), xlim=(0, SHOWN_CYCLES),
              title="sines, by period")
    label_ends(panel, labels)


def _draw_gains(panel: Axes, table: pandas.DataFrame) -> None:
    shortest = table[(table["panel"] == "shortest") & (table["control"] == "switch")]["y"]
    shortest = shortest[np.isfinite(shortest)]
    if len(shortest):
        panel.axvspan(shortest.min(), shortest.max(), color="#dddddd", linewidth=0)
    gains = table[table["panel"] == "gain"]
    labels = draw_lines(panel, gains, "control", dict(zip(LOOKS, MARKED, strict=False)), band=(0, 1))
    panel.set_xscale("log")
    value_ticks(panel, gains["x"])
    panel.set(xlabel="period (steps)", ylabel="gain", ylim=(0, 1.1))
    if len(shortest):
        panel.annotate("shortest\nperiod\npredicted", (np.sqrt(shortest.min() * shortest.max()), 0.03),
                       xycoords=("data", "axes fraction"), ha="center", fontsize=6.5, color="#444444")
    panel.set_title("gain: swing of entropy / of target")
    label_ends(panel, labels)


def _draw_ramps(panel: Axes, rows: pandas.DataFrame) -> None:
    labels = draw_lines(panel, rows, "shape", dict(zip(("up", "down"), MARKED, strict=False)),
                        band=(0, 1))
    panel.set(xscale="log", yscale="log")
    low, high = rows["x"].min(), rows["x"].max()
    panel.plot([low, high], [low, high], **TARGET)
    panel.set(xlabel="speed of the target (nats a step)", ylabel="speed of entropy", title="ramps")
    label_ends(panel, labels)


FIGURE = PaperFigure(
    name="aepo-tracking",
    source="AEPO, Section 1",
    title="targets that move",
    paper="AEPO is even theoretically capable of approximating arbitrary functions with its entropy.",
    place="Section 1; it has no figure",
    ours="AEPO in exact expectation with 8 right answers of 20; dashed: the target, or equality; lines: "
    "median over starts with their range. Grey: from which period on a sine should be followed, by the "
    "speeds of the policies at rest. Proportional control is that of the paper's later version.",
    claims=("aepo.tracking",),
    data=data,
    finding=finding,
    headline=Headline(
        says="AEPO follows sines of 120 steps and longer and flattens those of 30 and 60; it does not "
             "reach a target above log |A*|.",
        holds=("for a sine of 120 steps", "for a sine of 240 steps", "for a sine of 480 steps",
               "for a sine of 960 steps"),
        fails=("for a sine of 30 steps", "for a sine of 60 steps",
               "for a step to a target above log |A*|"),
    ),
    draw=draw,
)
