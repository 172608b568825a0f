"""AEPO, Figure 2: entropy under temperature-controlled REINFORCE.

What we run: the same rule alone (binary reward, no baseline) on 20-answer bandits, one temperature a
run, from several starts at three accuracies, in exact expectation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.aepo.compared import right_answers
from paper_figures.data import inputs
from paper_figures.data.tables import even_in_log
from paper_figures.drawing.bands import draw_lines
from paper_figures.drawing.style import MARKERS, REFERENCE, SERIES, label_ends, panels, step_axis
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

TEMPERATURES = (0.8, 1.0, 1.2, 2.0)
POINTS = 80
LINEAR = 0.02
"""The rate, nats per unit learning rate, up to which the axis of rates is linear."""
NEARLY_ALL = 0.95
"""The share of the starts that counts as all of them: one policy in twenty may be an exception."""
COLUMNS = ["panel", "right_answers", "accuracy", "temperature", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, right_answers, accuracy, temperature, start, x, y.

    Panels: "curve" (x step, y entropy), "rate" (x temperature, y F(T) at the start, nats per unit
    learning rate).
    """
    dataset = inputs.simulation(results, "aepo_figure_2", "exact")
    return pandas.concat([_curves(dataset), _rates(dataset)], ignore_index=True)[COLUMNS]


def _curves(dataset: xarray.Dataset) -> pandas.DataFrame:
    """The three settings drawn: (one, middling), (most, middling), (most, solved)."""
    temperatures = [t for t in dataset.temperature.values if t in TEMPERATURES]
    picks = even_in_log(dataset.step.values, POINTS)
    entropy = dataset.entropy.sel(temperature=temperatures).isel(step=picks)
    frame = entropy.to_dataframe(name="y").reset_index().rename(columns={"step": "x"})
    one, most = frame["right_answers"].min(), frame["right_answers"].max()
    middle, solved = _middle(dataset), frame["accuracy"].max()
    drawn = (
        ((frame["right_answers"] == one) & (frame["accuracy"] == middle))
        | ((frame["right_answers"] == most) & frame["accuracy"].isin([middle, solved]))
    )
    return frame[drawn].assign(panel="curve")


def _middle(dataset: xarray.Dataset) -> float:
    accuracies = np.sort(dataset.accuracy.values)
    return float(accuracies[(len(accuracies) - 1) // 2])


def _rates(dataset: xarray.Dataset) -> pandas.DataFrame:
    frame = dataset.initial_rate.to_dataframe(name="y").reset_index()
    return frame.assign(panel="rate", x=frame["temperature"])


def finding(table: pandas.DataFrame) -> Finding:
    """State how often the first step moves entropy as the paper's figure says."""
    rates = table[table["panel"] == "rate"]
    several, one = rates[rates["right_answers"] > 1], rates[rates["right_answers"] == 1]
    best = float(rates["accuracy"].max())
    criteria = []
    for name, rows in (("solved", several[several["accuracy"] == best]),
                       ("unsolved", several[several["accuracy"] < best])):
        where = f"on {name} prompts with several right answers"
        rise, fall = (sign * rows[rows["temperature"] == temperature].set_index(
            ["accuracy", "right_answers", "start"])["y"] for temperature, sign in ((1.2, 1), (0.8, -1)))
        criteria += [
            Criterion(f"share of starts whose entropy T = {said}",
                      float((moved > 0).mean()) if len(moved) else 0.0, "≥", NEARLY_ALL, where)
            for said, moved in (("1.2 raises", rise), ("0.8 lowers", fall))]
        if name == "solved":
            slower = float((rise / fall)[(rise > 0) & (fall > 0)].median())
    depends = one.groupby(["accuracy", "start"])["y"].agg(lambda y: len(np.unique(np.sign(y))) > 1)
    criteria += [
        Criterion("rise at T = 1.2 over fall at T = 0.8, median: the rise is slower", slower, "<", 1,
                  "on solved prompts with several right answers"),
        Criterion("share of starts at which the sign depends on the temperature",
                  float(depends.mean()) if len(depends) else 0.0, "≥", NEARLY_ALL,
                  "with one right answer", beyond=True),
    ]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy against step in three settings, and its rate at the start against temperature."""
    figure, axes = panels(2, 2, height=2.3)
    curves = table[table["panel"] == "curve"]
    settings = sorted(
        curves[["right_answers", "accuracy"]].drop_duplicates().itertuples(index=False, name=None)
    )
    for panel, (size, accuracy) in zip(axes.flat, settings, strict=False):
        chosen = curves[(curves["right_answers"] == size) & (curves["accuracy"] == accuracy)]
        _draw_curves(panel, chosen, int(size), accuracy)
    _draw_rates(axes[1, 1], table[table["panel"] == "rate"])
    return figure


def _draw_curves(panel: Axes, curves: pandas.DataFrame, size: int, accuracy: float) -> None:
    labels = draw_lines(panel, curves, "temperature", name="T = {:g}".format)
    step_axis(panel, curves["x"])
    panel.set(ylim=(-0.05, None), ylabel="entropy (nats)")
    panel.set_title(f"{right_answers(size)}, accuracy {accuracy:g}")
    label_ends(panel, labels)


def _draw_rates(panel: Axes, rates: pandas.DataFrame) -> None:
    labels = []
    most = rates["right_answers"].max()
    drawn = rates[rates["right_answers"].isin([1, most])]
    settings = [(most, a) for a in sorted(rates["accuracy"].unique())]
    for i, (size, accuracy) in enumerate([(1, settings[len(settings) // 2][1]), *settings]):
        group = drawn[(drawn["right_answers"] == size) & (drawn["accuracy"] == accuracy)]
        middle = group.groupby("x")["y"].median()
        if middle.empty:
            continue
        panel.plot(middle.index, middle, marker=MARKERS[i], markersize=3,
                   **{**SERIES[i], "linewidth": 1.1})
        labels.append((float(middle.index[-1]), float(middle.iloc[-1]),
                       f"{size:g} right, {accuracy:g}", str(SERIES[i]["color"])))
    panel.axhline(0, **REFERENCE)
    panel.axvline(1, **REFERENCE)
    panel.set(xlabel="temperature T",
              ylabel="F(T) (nats per unit rate),\nlinear in the grey, else logarithmic")
    panel.set_yscale("symlog", linthresh=LINEAR)
    panel.axhspan(-LINEAR, LINEAR, color="#f2f2f2", linewidth=0, zorder=0)
    panel.set_yticks([-0.3, -0.1, -LINEAR, 0, LINEAR], ["-0.3", "-0.1", "-0.02", "0", "0.02"])
    panel.minorticks_off()
    panel.set_title("at the start: up where F > 0")
    label_ends(panel, labels, size=6.5)


FIGURE = PaperFigure(
    name="aepo-figure-2",
    source="AEPO, Figure 2",
    title="entropy under temperature-controlled REINFORCE",
    paper="High-temperature REINFORCE raises entropy, low-temperature REINFORCE lowers it, and the "
    "rise is typically slower.",
    place="Figure 2, its caption and Section 4.1",
    ours="Exact expectation on 20-answer bandits; median of the starts, with the band from 10 to "
    "90 %. Accuracy is the probability of a right answer at the start.",
    claims=("extension.face-controllability",),
    data=data,
    finding=finding,
    headline=Headline(
        says="On solved prompts with several right answers high temperature raises entropy and low "
             "lowers it faster; on unsolved ones, or with one right, not.",
        holds=("on solved prompts with several right answers",),
        fails=("on unsolved prompts with several right answers", "with one right answer"),
    ),
    draw=draw,
)
