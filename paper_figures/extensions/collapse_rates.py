"""How fast entropy collapses under each algorithm, and with which exponents.

Cui et al. treat the policy gradient and the natural gradient (Theorems 1 and 2) and train with GRPO,
RLOO and REINFORCE++ without comparing how fast each collapses. Near the end the probability w of a
wrong answer follows its own law, with one right answer: w ~ 1/t under the policy gradient and RLOO,
sqrt(G - 1) times as fast under GRPO with groups of G, w ~ 1/t^2 under either with infinite groups, and
exponentially under the natural gradient. With several right answers every algorithm but the natural
gradient goes on sharpening among them.

Whether the runs do so: exponents over the last factor of four in steps, beside the predicted ones, in
the mean over starts; a single start that is run from samples may be far off.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import even_in_log, long, stacked
from paper_figures.drawing.bands import draw_line
from paper_figures.drawing.style import MARKERS, REFERENCE, SERIES, label_ends, panels, step_axis
from paper_figures.drawing.table import Table
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

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

    Panels: "wrong" (x step, y probability of a wrong answer, one right), "entropy" (y entropy, the same
    runs), "within" (y entropy among the right answers, several right), "exponent" (x predicted, y
    measured exponent of w), "speed" (x predicted, y measured growth of 1/w in units of PG's), "rate" (y
    decay of w under NPG per step and learning rate).
    """
    dataset = inputs.simulation(results, "collapse")
    picks = even_in_log(dataset.step.values, POINTS)
    one, most = (int(dataset.right_answers[i]) for i in (0, -1))
    curves = dataset.isel(step=picks)
    parts = [
        long(np.exp(curves.log_wrong.sel(right_answers=[one])), "wrong", "step"),
        long(curves.entropy.sel(right_answers=[one]), "entropy", "step"),
        long(curves.within_right.sel(right_answers=[most]), "within", "step"),
    ]
    for panel, predicted in (("exponent", "predicted_exponent"), ("speed", "predicted_speed")):
        rows = long(dataset[panel].sel(right_answers=[one]), panel)
        parts.append(rows.assign(x=rows["algorithm"].map(dataset[predicted].to_series())))
    rate = long(dataset.natural_rate.sel(right_answers=[one]), "rate", algorithm="NPG")
    parts.append(rate.assign(x=1.0))
    return stacked((part.dropna(subset=["x", "y"]) for part in parts), COLUMNS)


def rates(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row for each algorithm, predicted and measured (mean, least and most over starts)."""
    chosen = table[table["panel"].isin(["exponent", "speed", "rate"])]
    return chosen.groupby(["panel", "algorithm"], sort=False).agg(
        predicted=("x", "first"), measured=("y", "mean"), low=("y", "min"), high=("y", "max")
    ).reset_index()


def finding(table: pandas.DataFrame) -> Finding:
    """State how far exponents are from predictions, and the entropy left among right answers."""
    exponents = rates(table).query("panel == 'exponent'")
    within = table[table["panel"] == "within"]
    steps = within.groupby("algorithm")["x"]
    left, start = (within[within["x"] == steps.transform(end)].groupby("algorithm")["y"].median()
                   for end in ("max", "min"))
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
    several = int(table[table["panel"] == "within"]["right_answers"].iloc[0])
    wrong = table[table["panel"] == "wrong"]
    _draw_curves(axes[0, 0], wrong, "P(wrong answer)", "wrong answers, one right")
    _draw_slopes(axes[0, 0], wrong)
    _draw_curves(axes[0, 1], table[table["panel"] == "entropy"], "entropy (nats)", "entropy, one right")
    _draw_curves(axes[1, 0], table[table["panel"] == "within"], "entropy among\nright answers (nats)",
                 f"{several} right answers")
    _draw_exponents(axes[1, 1], rates(table))
    return figure


def _draw_curves(panel: Axes, rows: pandas.DataFrame, unit: str, title: str) -> None:
    within = rows["panel"].iloc[0] == "within"
    panel.set(yscale="linear" if within else "log", ylabel=unit)
    step_axis(panel, rows["x"])
    floor = 1e-6
    labels = []
    for look, (name, text) in zip(SERIES, DRAWN.items(), strict=False):
        group = rows[rows["algorithm"] == name]
        if not within:
            group = group[group["y"] > floor]
        x, y = draw_line(panel, group, {**look, "linewidth": 1.2})
        labels.append((x, y, text, str(look["color"])))
    panel.margins(x=0)
    panel.set_ylim(*((0, None) if within else (floor, None)))
    panel.set_title(title)
    longest = float(rows["x"].max())
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
    exponents = found[found["panel"] == "exponent"].iloc[::-1].reset_index(drop=True)
    place = np.arange(len(exponents))
    panel.plot(exponents["predicted"], place, linestyle="none", marker="|", markersize=9,
               color="#333333", markeredgewidth=1.4)
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
        note="Means over starts, last factor of four in steps; sampled ones from groups of 8.",
    ),)


FIGURE = PaperFigure(
    name="collapse-rates",
    source="This project",
    title="how fast entropy collapses under each algorithm",
    paper="Cui et al. show that entropy collapses under GRPO, RLOO, REINFORCE++ and PRIME; rates are not "
    "derived.",
    ours="20-answer bandits of graded difficulty, from the same starts, exact and from sampled groups: "
    "medians with the band from 10 to 90 %; exponents with the range over starts. s.: from samples; ∞: "
    "groups or batches without end; R++: REINFORCE++, its curves from samples.",
    claims=("entropy-mechanism.theorem-2", "extension.group-normalization-gain",
            "extension.natural-flow-tilts"),
    data=data,
    finding=finding,
    headline=Headline(
        says="Near collapse wrong answers vanish as the predicted power of the step, in the mean; only "
             "the natural gradient keeps entropy among right answers.",
    ),
    draw=draw,
    tables=tables,
)
