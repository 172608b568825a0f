"""AEPO, Figure 2: entropy under temperature-controlled REINFORCE.

What we run: the same rule alone (binary reward, no baseline) on 20-answer bandits, one temperature a
run, from several starts at three accuracies, in exact expectation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.aepo.compared import right_answers
from paper_figures.data import inputs
from paper_figures.data.tables import even_in_log, long, pick, stacked
from paper_figures.drawing import REFERENCE, lines, marked, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

TEMPERATURES = (0.8, 1.0, 1.2, 2.0)
POINTS = 80
LINEAR = 0.02
"""The rate, nats per unit learning rate, up to which the axis of rates is linear."""
NEARLY_ALL = 0.95
"""The share of the starts that counts as all of them: one policy in twenty may be an exception."""
COLUMNS = ["panel", "right_answers", "accuracy", "temperature", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, right_answers, accuracy, temperature, start, x, y.

    Panels:

    - "curve": x step, y entropy. One right answer is at the middle accuracy, the largest number of
      right answers there and at the highest;
    - "rate": x temperature, y F(T) at the start, nats per unit learning rate.
    """
    dataset = inputs.simulation(results, "aepo_figure_2", "exact")
    curves = long(dataset.entropy.sel(
        temperature=[t for t in dataset.temperature.values if t in TEMPERATURES],
    ).isel(step=even_in_log(dataset.step.values, POINTS)), "curve", "step")
    accuracies = np.sort(dataset.accuracy.values)
    middle = accuracies[(len(accuracies) - 1) // 2]
    drawn = (
        ((curves["right_answers"] == curves["right_answers"].min()) & (curves["accuracy"] == middle))
        | ((curves["right_answers"] == curves["right_answers"].max())
           & curves["accuracy"].isin([middle, accuracies[-1]]))
    )
    return stacked([curves[drawn], long(dataset.initial_rate, "rate", "temperature")], COLUMNS)


def finding(table: pandas.DataFrame) -> Finding:
    """Judge how often the first step moves entropy as in the paper's figure."""
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
    curves = pick(table, panel="curve").groupby(["right_answers", "accuracy"])
    for panel, ((size, accuracy), rows) in zip(axes.flat, curves, strict=False):
        lines(panel, rows, "temperature", name="T = {:g}".format, steps=True, ylim=(-0.05, None),
              ylabel="entropy (nats)", title=f"{right_answers(size)}, accuracy {accuracy:g}")
    _draw_rates(axes[1, 1], pick(table, panel="rate"))
    return figure


def _draw_rates(panel: Axes, rates: pandas.DataFrame) -> None:
    most = rates["right_answers"].max()
    accuracies = sorted(rates["accuracy"].unique())
    drawn = [(1, accuracies[len(accuracies) // 2]), *((most, a) for a in accuracies)]
    looks = {f"{size:g} right, {accuracy:g}": {**marked(i), "markersize": 3, "linewidth": 1.1}
             for i, (size, accuracy) in enumerate(drawn)}
    names = [f"{size:g} right, {accuracy:g}" for size, accuracy in
             rates[["right_answers", "accuracy"]].to_numpy()]
    panel.axhline(0, **REFERENCE)
    panel.axvline(1, **REFERENCE)
    panel.axhspan(-LINEAR, LINEAR, color="#f2f2f2", linewidth=0, zorder=0)
    panel.set_yscale("symlog", linthresh=LINEAR)
    panel.set_yticks([-0.3, -0.1, -LINEAR, 0, LINEAR], ["-0.3", "-0.1", "-0.02", "0", "0.02"])
    panel.minorticks_off()
    lines(panel, rates.assign(name=names), "name", looks, band=None, xlabel="temperature T",
          ylabel="F(T) (nats per unit rate),\nlinear in the grey, else logarithmic",
          title="at the start: up where F > 0")


FIGURE = PaperFigure.of(
    __name__, name="aepo-figure-2",
    source="AEPO, Figure 2",
    title="entropy under temperature-controlled REINFORCE",
    paper="High-temperature REINFORCE raises entropy, low-temperature REINFORCE lowers it, and the "
    "rise is typically slower.",
    place="Figure 2, its caption and Section 4.1",
    ours="Exact expectation on 20-answer bandits; median of the starts, with the band from 10 to "
    "90 %. Accuracy is the probability of a right answer at the start.",
    claims=("extension.face-controllability",),
    headline=Headline(
        says="On solved prompts with several right answers high temperature raises entropy and low "
             "lowers it faster; on unsolved ones, or with one right, not.",
        holds=("on solved prompts with several right answers",),
        fails=("on unsolved prompts with several right answers", "with one right answer"),
    ),
)
