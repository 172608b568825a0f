"""What noise does to entropy, at one displacement, at one divergence, and in long runs.

The reward is a coin, so that nothing is learned. The papers' formulas are of expectations, in which then
nothing moves; sampled steps do move entropy, by their second order. Adam is said to raise the entropy of
peaked policies far faster than SGD, because it makes the noise of all logits alike. Here both move the
logits by one length; the change is counted per squared displacement, and per nat of KL divergence. In
long runs, from several entropies, it shows whether there is a level to which noise drives all of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import by_panel, long, pick, stacked
from paper_figures.drawing import MARKERS, REFERENCE, SERIES, draw_lines, label_ends, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure
from paper_figures.verdict import ERRORS, within

OPTIMIZERS = ("sgd", "momentum", "adam")
COLUMNS = ["panel", "optimizer", "start", "x", "y", "error", "forecast"]
HYPOTHESIS = 60.0
"""How many times as fast as SGD's noise Adam's is said to raise entropy."""
MET = 0.25
"""The share of the range of entropies at the start below which runs count as met."""


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, optimizer, start, x, y, error, forecast.

    Panels:

    - "short", "long": runs of small and of large steps. X is entropy at the start over log n, y its
      change per squared displacement of the logits, ``forecast`` by the second order;
    - "divergence": y change per nat of KL divergence;
    - "rate": y change per squared learning rate and step;
    - "drift": x step, y entropy over log n, by ``start``.
    """
    dataset = inputs.simulation(results, "noise_and_entropy")
    dataset = dataset.isel(n_actions=-1).sel(features=0.0)
    steps = inputs.dataset_provenance(dataset)["config"]["steps"]
    scales = {"short": dataset.displacement, "divergence": dataset.divergence,
              "rate": steps * dataset.rate**2}
    parts = []
    for panel, scale, place in (*((name, scale, 0) for name, scale in scales.items()),
                                ("long", dataset.displacement, -1)):
        columns = {"y": dataset.change / scale, "error": dataset.error / scale,
                   "forecast": dataset.expected / scale}
        for_panel = dataset.assign(columns)[list(columns)].isel(step_length=place)
        parts.append(long(for_panel, panel, "relative_entropy"))
    drift = inputs.simulation(results, "growth_and_collapse")[["drift_entropy", "drift_error"]]
    parts.append(long(drift, "drift", "drift_step", rename={
        "drift_optimizer": "optimizer", "drift_entropy": "y", "drift_error": "error"}))
    return stacked(parts, COLUMNS)


def finding(table: pandas.DataFrame) -> Finding:
    """Compare Adam's noise with SGD's at the most peaked starts, and long runs with one another."""
    of = by_panel(table)
    peaked = {name: _most_peaked(of[name]) for name in ("short", "rate")}
    same = {optimizer: float(one["y"]) for optimizer, one in peaked["short"].items()}
    error = float(np.hypot(*(peaked["short"][one]["error"] for one in ("adam", "sgd"))))
    less = same["adam"] - same["sgd"]
    entropies = of["drift"].groupby(["x", "optimizer"])["y"].agg(["mean", np.ptp]).unstack()
    half = entropies.index[len(entropies) // 2]
    falls = (entropies["mean"].loc[half] - entropies["mean"].iloc[-1]).min()
    left = (entropies["ptp"].iloc[-1] / entropies["ptp"].iloc[0]).max()
    return Finding(standing="our own", criteria=(
        Criterion("rise of peaked policies per squared displacement under Adam's noise less that under "
                  "SGD's, nats per squared nat",
                  within(less, error), "<", 0),
        Criterion("their rise per squared learning rate under Adam's noise over that under SGD's",
                  float(peaked["rate"]["adam"]["y"] / peaked["rate"]["sgd"]["y"]), ">", HYPOTHESIS),
        Criterion("change of peaked policies' entropy in runs of large steps, largest over optimizers, "
                  "nats per squared nat", max(float(one["y"]) + ERRORS * float(one["error"])
                                              for one in _most_peaked(of["long"]).values()), "<", 0),
        Criterion("range of the last entropies of long runs over that of their starts, largest over "
                  "optimizers", float(left), "<", MET),
        Criterion("fall of the starts' mean entropy over the second half of the long runs, smallest over "
                  "optimizers, over log n", float(falls), ">", 0),
    ))


def _most_peaked(rows: pandas.DataFrame) -> dict[str, pandas.Series]:
    """The row of the lowest entropy at the start, by optimizer."""
    lowest = rows[rows["x"] == rows["x"].min()]
    return {str(row["optimizer"]): row for _, row in lowest.iterrows()}


def draw(table: pandas.DataFrame) -> Figure:
    """Draw changes per displacement and per divergence by peakedness, and the long runs."""
    figure, axes = panels(2, 2, height=2.2)
    of = by_panel(table)
    for panel, name, label, title in (
            (axes[0, 0], "short", "nats per squared nat", "at one displacement, small steps"),
            (axes[0, 1], "divergence", "nats per nat of KL", "at one KL divergence, small steps"),
            (axes[1, 0], "long", "nats per squared nat", "at one displacement, large steps")):
        _draw_changes(panel, of[name], forecasts=name != "divergence")
        panel.set(xlabel="entropy at the start over log n", ylabel=label, title=title)
    ends = []
    for look, optimizer in zip(SERIES[::2], ("sgd", "adam"), strict=False):
        here = pick(of["drift"], optimizer=optimizer)
        looks = dict.fromkeys(here["start"].unique(), look)
        drawn = draw_lines(axes[1, 1], here, "start", looks, band=None)
        ends += [(x, y, optimizer, color) for x, y, _, color in drawn[-1:]]
    axes[1, 1].set(xlabel="step", ylabel="entropy over log n", title="a coin, from four entropies",
                   ylim=(0, 1))
    axes[1, 1].margins(x=0)
    label_ends(axes[1, 1], ends)
    return figure


def _draw_changes(panel: Axes, rows: pandas.DataFrame, *, forecasts: bool) -> None:
    panel.axhline(0, **{**REFERENCE, "linewidth": 0.6})
    for marker, look, optimizer in zip(MARKERS, SERIES, OPTIMIZERS, strict=False):
        here = pick(rows, optimizer=optimizer).sort_values("x")
        color = look["color"]
        panel.errorbar(here["x"], here["y"], yerr=ERRORS * here["error"], fmt=marker, markersize=3.5,
                       markerfacecolor="none", elinewidth=0.6, color=color, label=optimizer)
        if forecasts and optimizer != "momentum":  # whose forecast is SGD's
            panel.plot(here["x"], here["forecast"], linewidth=0.9, **look)
    panel.legend(fontsize=6, frameon=False, loc="upper right")


FIGURE = PaperFigure.of(
    __name__, name="noise-and-entropy",
    source="This project",
    title="what noise does to entropy, without any signal",
    paper="AEPO, Eq. 6, and Cui et al., Theorem 1, are first order, and forecast no change under "
          "a coin.",
    ours="32-answer bandits with coins for rewards. Marks are means over 8 starts and 24 pairs of "
         "runs, with 95 % intervals; lines are the second order from the start. Last panel: "
         "entropy by step with 8 actions, one ahead at the start, as means over 48 seeds.",
    claims=("extension.noise-second-order", "extension.noise-shapes",
            "extension.score-noise", "extension.noise-level"),
    headline=Headline(
        says="At one displacement Adam's noise raises peaked policies of 32 answers less than "
             "SGD's; large steps lower them under each optimizer, and long runs meet and go on "
             "falling.",
    ),
)
