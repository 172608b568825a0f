"""How fast entropy collapses under each algorithm, and with which exponents.

Cui et al. treat the policy gradient and the natural gradient (Theorems 1 and 2) and train with GRPO,
RLOO and REINFORCE++ without comparing how fast each collapses. Near the end, with one right answer,
the probability w of a wrong answer follows a law of its own:

- w ~ 1/t under the policy gradient and RLOO;
- sqrt(G - 1) times as fast under GRPO with groups of G;
- w ~ 1/t^2 under either with infinite groups;
- exponentially under the natural gradient.

With several right answers every algorithm but the natural gradient goes on sharpening among them.

The figure has exponents over the last factor of four in steps beside the predicted ones, in the
mean over starts. A single start that is run from samples may be far off.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import by_panel, even_in_log, long, pick, stacked
from paper_figures.drawing import (
    MARKERS,
    REFERENCE,
    SERIES,
    Table,
    dots,
    draw_line,
    label_ends,
    panels,
    step_axis,
)
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

POINTS = 60
DRAWN = {  # as the experiment names it -> as the figure does
    "PG": "PG", "GRPO": "GRPO", "GRPO, infinite group": "GRPO ∞", "NPG": "NPG",
    "REINFORCE++, sampled": "R++",
}
KEPT = 0.95
"""The share of the entropy among right answers above which it counts as kept."""
AGREES = 0.15
"""How far a measured exponent may be off its prediction: w has slower terms even at the last step."""
COLUMNS = ["panel", "algorithm", "right_answers", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, algorithm, right_answers, start, x, y.

    Panels:

    - "wrong": x step, y probability of a wrong answer, one right;
    - "entropy": y entropy, the same runs;
    - "within": y entropy among the right answers, several right;
    - "exponent": x predicted, y measured exponent of w;
    - "speed": x predicted, y measured growth of 1/w in units of PG's;
    - "rate": y decay of w under NPG per step and learning rate.
    """
    dataset = inputs.simulation(results, "collapse")
    one, most = (dataset.sel(right_answers=[dataset.right_answers.values[i]]) for i in (0, -1))
    picks = even_in_log(dataset.step.values, POINTS)
    parts = [
        long(array.isel(step=picks), panel, "step")
        for panel, array in (("wrong", np.exp(one.log_wrong)), ("entropy", one.entropy),
                             ("within", most.within_right))]
    for panel in ("exponent", "speed"):
        rows = long(one[panel], panel)
        predicted = dataset[f"predicted_{panel}"].to_series()
        parts.append(rows.assign(x=rows["algorithm"].map(predicted)))
    parts.append(long(one.natural_rate, "rate", algorithm="NPG").assign(x=1.0))
    return stacked((part.dropna(subset=["x", "y"]) for part in parts), COLUMNS)


def rates(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row for each algorithm, predicted and measured (mean, least and most over starts)."""
    chosen = table[table["panel"].isin(["exponent", "speed", "rate"])]
    return chosen.groupby(["panel", "algorithm"], sort=False).agg(
        predicted=("x", "first"), measured=("y", "mean"), low=("y", "min"), high=("y", "max")
    ).reset_index()


def finding(table: pandas.DataFrame) -> Finding:
    """State how far exponents are from predictions, and the entropy left among right answers."""
    exponents = pick(rates(table), panel="exponent")
    within = pick(table, panel="within").sort_values("x").groupby(["algorithm", "start"])["y"]
    left, start = (ends.groupby("algorithm").median() for ends in (within.last(), within.first()))
    kept = left / start
    return Finding(standing="our own", criteria=(
        Criterion("distance of an exponent from the predicted one, mean over starts, largest",
                  float((exponents["measured"] - exponents["predicted"]).abs().max()), "≤", AGREES),
        Criterion("share of the entropy among right answers that the natural gradient keeps, median",
                  float(kept["NPG"]), ">", KEPT),
        Criterion("share that another algorithm keeps, median, largest", float(kept.drop("NPG").max()),
                  "<", KEPT),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw wrong answers and entropy with one right answer, entropy among right answers, exponents."""
    figure, axes = panels(2, 2, height=2.3)
    of = by_panel(table)
    several = int(of["within"]["right_answers"].iloc[0])
    for panel, (name, unit, title) in zip(axes.flat, (
            ("wrong", "P(wrong answer)", "wrong answers, one right"),
            ("entropy", "entropy (nats)", "entropy, one right"),
            ("within", "entropy among\nright answers (nats)", f"{several} right answers")),
            strict=False):
        _draw_curves(panel, of[name], scale="linear" if name == "within" else "log")
        panel.set(ylabel=unit, title=title)
    _draw_slopes(axes[0, 0], of["wrong"])
    _draw_exponents(axes[1, 1], rates(table))
    return figure


def _draw_curves(panel: Axes, rows: pandas.DataFrame, scale: str) -> None:
    floor = 1e-6 if scale == "log" else None
    longest = float(rows["x"].max())
    step_axis(panel, rows["x"])
    panel.set_yscale(scale)
    labels = []
    for look, (name, text) in zip(SERIES, DRAWN.items(), strict=False):
        group = pick(rows, algorithm=name)
        group = group if floor is None else group[group["y"] > floor]
        labels.append((*draw_line(panel, group, {**look, "linewidth": 1.2}), text, str(look["color"])))
    panel.set_ylim(floor or 0, None)
    label_ends(panel, [label for label in labels if label[0] == longest])
    for x, y, text, color in labels:
        if x < longest:  # gone before the others: named where it leaves the panel
            panel.annotate(text, (x, y), xytext=(-3, 2), textcoords="offset points", fontsize=7,
                           color=color, ha="right")


def _draw_slopes(panel: Axes, rows: pandas.DataFrame) -> None:
    """Draw slopes -1 and -2 for the eye, left of the curves' ends."""
    last = float(rows["x"].max())
    x = np.array([last / 12, last / 2])
    for power, start in ((-1, 0.12), (-2, 5e-5)):
        y = start * (x / x[0]) ** power
        panel.plot(x, y, **REFERENCE)
        panel.annotate(f"t$^{{{power}}}$", (x[0], y[0]), xytext=(-2, 0), textcoords="offset points",
                       ha="right", va="center", fontsize=7, color="#555555")


def _draw_exponents(panel: Axes, found: pandas.DataFrame) -> None:
    exponents = pick(found, panel="exponent").iloc[::-1].reset_index(drop=True)
    place = np.arange(len(exponents))
    dots(panel, exponents["predicted"], place, marker="|", markersize=9, color="#333333",
         markeredgewidth=1.4)
    spread = [exponents["measured"] - exponents["low"], exponents["high"] - exponents["measured"]]
    panel.errorbar(exponents["measured"], place, xerr=spread, linestyle="none", marker=MARKERS[0],
                   markersize=3.4, color=SERIES[0]["color"], markerfacecolor="none", elinewidth=0.7)
    panel.set_yticks(place, [_brief(str(name)) for name in exponents["algorithm"]], fontsize=6.5)
    panel.set(xlabel="exponent of P(wrong)", ylim=(-0.7, len(exponents) - 0.3),
              title="| predicted  ○ measured")


def _brief(algorithm: str) -> str:
    """Shorten an algorithm's name, so that it leaves room for the panel."""
    name, _, how = algorithm.partition(", ")
    short = name.replace("REINFORCE++", "R++").replace("REINFORCE", "REINF.")
    return f"{short} ∞" if how.startswith("infinite") else f"{short}, s." if how else short


def tables(table: pandas.DataFrame) -> tuple[Table, ...]:
    """Return exponents and speeds, predicted and measured."""
    found = rates(table)
    speed = found[found["panel"] == "speed"].set_index("algorithm")
    rows = []
    for row in found[found["panel"] == "exponent"].itertuples():
        fast = speed.loc[row.algorithm] if row.algorithm in speed.index else None
        rows.append((
            str(row.algorithm), f"{row.predicted:g}", f"{row.measured:.2f}",
            "–" if fast is None else f"{fast['predicted']:.2f}",
            "–" if fast is None else f"{fast['measured']:.2f}",
        ))
    rate = found[found["panel"] == "rate"].iloc[0]
    rows.append(("NPG", r"$e^{-\eta t}$", rf"$e^{{-{rate['measured']:.2f}\eta t}}$", "–", "–"))
    return (Table(
        title="How the probability of a wrong answer falls, one right answer",
        header=("algorithm", "exponent, predicted", "measured", "times PG, predicted", "measured"),
        rows=tuple(rows), origin="ours",
        note="Means over starts, last factor of four in steps; samples come in groups of 8.",
    ),)


FIGURE = PaperFigure.of(
    __name__, name="collapse-rates",
    source="This project",
    title="how fast entropy collapses under each algorithm",
    paper="Cui et al. show that entropy collapses under GRPO, RLOO, REINFORCE++ and PRIME; rates are not "
    "derived.",
    ours="20-answer bandits of graded difficulty from the same starts, exact or from samples "
         "(s.). Lines are medians over starts, bands 10 to 90 %. Exponents have the range over "
         "starts. ∞ stands for infinite groups or batches, R++ for REINFORCE++ with curves from "
         "samples.",
    claims=("entropy-mechanism.theorem-2", "extension.group-normalization-gain",
            "extension.natural-flow-tilts"),
    headline=Headline(
        says="Near collapse wrong answers vanish as the predicted power of the step, in the mean; only "
             "the natural gradient keeps entropy among right answers.",
    ),
)
