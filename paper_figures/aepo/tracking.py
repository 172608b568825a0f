"""AEPO, Section 1: a target that moves.

We run AEPO in exact expectation with a target that steps, ramps and swings, from policies that the
same control has held at rest. Control is the switch between two temperatures, or the proportional
control of the paper's later version.
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
from paper_figures.data.tables import by_panel, long, pick, stacked
from paper_figures.drawing import level, lines, marked, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

FOLLOWED = 0.95
"""The share of a sine's swing that entropy must make for the sine to count as followed."""
POINTS = 150
STEPS = ("step up", "step down", "step out of reach")
SHOWN_CYCLES = 2
TARGET: dict[str, Any] = {"color": "#000000", "linewidth": 0.9, "linestyle": (0, (4, 3))}
LOOKS = ("switch", "proportional")
MARKED = [{**marked(i), "markersize": 3} for i in range(2)]
COLUMNS = ["panel", "shape", "control", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    Panels:

    - "step": x steps since the target moved, y entropy, nats, or with control "target" the target;
    - "sine": x periods, ``shape`` the period, y as there;
    - "gain": x period, y swing of entropy over that of its target;
    - "shortest": y the shortest period that speeds at rest allow;
    - "ramp": x speed of the target, y of entropy, nats per step, shape up or down;
    - "time": y steps from 10 to 90 % of a step, infinite where it never got there;
    - "end": y entropy at last for a target out of reach;
    - "ceiling": y ``log |A*|``.
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
    return pandas.concat([
        long(dataset.entropy.sel(control="switch"), panel, "time"),
        long(dataset.target, panel, "time", control="target")])


def _shown_periods(dataset: xarray.Dataset) -> list[float]:
    """Choose the slowest period, the fastest, and one between them."""
    periods = np.sort(dataset.period.values)
    return [float(p) for p in dict.fromkeys(periods[[-1, (len(periods) - 1) // 2, 0]])]


def finding(table: pandas.DataFrame) -> Finding:
    """State which sines are followed, and how near a target out of reach entropy ends."""
    switch = pick(table, control="switch")
    median = pick(switch, panel="gain").groupby("x")["y"].median()
    step = pick(table, panel="step", shape=STEPS[-1], control="target")
    criteria = [
        Criterion("gain: swing of entropy over that of its target, median over starts",
                  float(gain_of_period), "≥", FOLLOWED, f"for a sine of {period:g} steps", beyond=True)
        for period, gain_of_period in median.items()
    ] + [Criterion("entropy at the end over its target, highest start",
                   float(pick(switch, panel="end")["y"].max() / step["y"].iloc[-1]), "≥",
                   FOLLOWED, "for a step to a target above log |A*|", beyond=True)]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw steps, sines, gain against period, and the speed of ramps against that of their targets."""
    figure, axes = panels(2, 2, height=2.3)
    of = by_panel(table)
    switch = {name: pick(rows, control="switch") for name, rows in of.items()}
    targets = {name: pick(rows, control="target") for name, rows in of.items()}
    panel, ceiling = axes[0, 0], float(of["ceiling"]["y"].iloc[0])
    level(panel, ceiling, "log |A*|", above=2)
    for _, target in targets["step"].groupby("shape"):
        panel.plot(target["x"], target["y"], **TARGET)
    lines(panel, switch["step"], "shape", STEPS, band=(0, 1),
          name=lambda shape: shape.removeprefix("step "), xlabel="steps since the target moved",
          ylabel="entropy (nats)", ylim=(0, None), title="steps")
    panel, shapes = axes[0, 1], list(of["sine"]["shape"].unique())
    target = pick(targets["sine"], shape=shapes[0])
    panel.plot(target["x"], target["y"], **TARGET)
    lines(panel, switch["sine"], "shape", shapes, band=(0, 1), name="{} steps".format, xlabel="periods",
          ylabel="entropy (nats)", ylim=(0, None), xlim=(0, SHOWN_CYCLES), title="sines, by period")
    _draw_gains(axes[1, 0], of["gain"], switch["shortest"]["y"])
    panel, rows = axes[1, 1], switch["ramp"]
    ends = [rows["x"].min(), rows["x"].max()]
    panel.plot(ends, ends, **TARGET)
    lines(panel, rows, "shape", dict(zip(("up", "down"), MARKED, strict=False)), band=(0, 1),
          xscale="log", yscale="log", xlabel="speed of the target (nats per step)",
          ylabel="speed of entropy", title="ramps")
    return figure


def _draw_gains(panel: Axes, gains: pandas.DataFrame, shortest: pandas.Series) -> None:
    shortest = shortest[np.isfinite(shortest)]
    if len(shortest):
        panel.axvspan(shortest.min(), shortest.max(), color="#dddddd", linewidth=0)
        panel.annotate("shortest\nperiod\npredicted", (np.sqrt(shortest.min() * shortest.max()), 0.03),
                       xycoords=("data", "axes fraction"), ha="center", fontsize=6.5, color="#444444")
    lines(panel, gains, "control", dict(zip(LOOKS, MARKED, strict=False)), band=(0, 1), ticks="{:g}",
          xscale="log", xlabel="period (steps)", ylabel="gain", ylim=(0, 1.1),
          title="gain: swing of entropy / of target")


FIGURE = PaperFigure.of(
    __name__, name="aepo-tracking",
    source="AEPO, Section 1",
    title="targets that move",
    paper="AEPO is even theoretically capable of approximating arbitrary functions with its entropy.",
    place="Section 1; it has no figure",
    ours="AEPO in exact expectation with 8 right answers of 20. Lines are medians over starts, "
         "bands their range. Dashed: the target, or equality. Grey: periods at which a sine "
         "should be followed, by the speeds of the policies at rest. Proportional control is that "
         "of the paper's later version.",
    claims=("aepo.tracking",),
    headline=Headline(
        says="AEPO follows sines of 120 steps and longer and flattens those of 30 and 60; it does not "
             "reach a target above log |A*|.",
        holds=("for a sine of 120 steps", "for a sine of 240 steps", "for a sine of 480 steps",
               "for a sine of 960 steps"),
        fails=("for a sine of 30 steps", "for a sine of 60 steps",
               "for a step to a target above log |A*|"),
    ),
)
