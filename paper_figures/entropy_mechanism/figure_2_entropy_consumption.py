"""Cui et al., Figure 2: entropy consumption and performance gain over training.

We run GRPO in exact expectation on five families of prompts with 10, 30 or 100 answers. Each run is
cut where its first twelfth has consumed the paper's 73 %. That number is ours by choice of the
length, the others are not. Long runs, cut at every length, show the effect of this choice. Runs of
the small transformer are added at their own length, where they exist.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import by_panel, pick, stacked
from paper_figures.drawing import MARKERS, REFERENCE, SERIES, draw_line, level, lines, note, panels
from paper_figures.entropy_mechanism import model_runs
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, mean_of

FIRST, THIRD = 1 / 12, 1 / 3
HALF, NEARLY_ALL = 0.5, 0.9
"""The shares that we ask of the first twelfth and of the first third, to call both spent early."""
PRINTED = {("entropy", FIRST): 0.73, ("gain", FIRST): 0.76, ("entropy", THIRD): 0.94,
           ("gain", THIRD): 0.93}
"""The shares printed in Section 2 of the paper, by quantity and share of the steps."""
GRID = np.unique(np.concatenate([np.linspace(0, FIRST, 13), np.linspace(FIRST, THIRD, 13),
                                 np.linspace(THIRD, 1, 9)]))
"""Shares of the steps at which curves are read."""
ALGORITHMS = {"PG": "policy gradient", "GRPO": "GRPO", "NPG": "natural gradient"}
QUANTITIES = {"entropy": SERIES[0], "gain": SERIES[1]}
GLYPHS = "●■▲◆"  # as MARKERS, in text
COLUMNS = ["panel", "series", "size", "start", "quantity", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, series, size, start, quantity, x, y.

    Panels:

    - "share" and "model": x share of the steps, y share of the entropy consumed or of the gain;
    - "length": x steps of a run, y share of its entropy that its first twelfth consumes.

    ``series`` is a family of prompts, an algorithm or a training run.
    """
    inputs.printed("Cui et al., Section 2")
    curves = inputs.simulation(results, "performance_law_curves")
    long_runs = inputs.simulation(results, "collapse", "exact")
    runs = model_runs.curves(results)
    parts = [_shares(curves), _lengths(long_runs), _models(runs)]
    return stacked(parts, COLUMNS, runs)


def consumed(values: np.ndarray) -> np.ndarray:
    """The share of a curve's whole change that is made by each record; NaN if it ends where it began."""
    whole = values[-1] - values[0]
    return (values - values[0]) / (whole if whole else np.nan)


def _shares(dataset: xarray.Dataset) -> pandas.DataFrame:
    at = np.linspace(0, 1, dataset.sizes["point"])
    return pandas.concat([
        pandas.DataFrame({"panel": "share", "series": family, "size": size, "start": start,
                          "quantity": quantity, "x": GRID, "y": np.interp(GRID, at, consumed(values))})
        for quantity, variable in (("entropy", "entropy"), ("gain", "reward"))
        for (family, size, start), run in dataset[variable].groupby(["family", "size", "start"])
        if np.isfinite(values := run.values.ravel()).all()  # else the run was too short
    ], ignore_index=True)


def _lengths(dataset: xarray.Dataset) -> pandas.DataFrame:
    """Return the shares of runs of several lengths, in exact expectation with one right answer."""
    one = dataset.entropy.sel(right_answers=1, algorithm=list(ALGORITHMS))
    step = dataset.step.values
    parts = []
    for algorithm, name in ALGORITHMS.items():
        for start in dataset.start.values:
            entropy = one.sel(algorithm=algorithm, start=start).values
            length = step[(step >= 1 / FIRST) & np.isfinite(entropy)]
            early = entropy[0] - np.interp(FIRST * length, step, entropy)
            whole = entropy[0] - np.interp(length, step, entropy)
            parts.append(pandas.DataFrame({
                "series": name, "start": start, "x": length, "y": early / whole}))
    return pandas.concat(parts, ignore_index=True).assign(panel="length", quantity="entropy")


def _models(runs: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.concat([pandas.DataFrame(), *(
        pandas.DataFrame({"panel": "model", "series": name, "start": seed, "quantity": quantity,
                          "x": GRID, "y": np.interp(GRID, run["step"] / run["step"].max(),
                                                    consumed(run[column].to_numpy()))})
        for (name, seed), run in runs.groupby(["run", "seed"], sort=False)
        for quantity, column in (("entropy", "entropy"), ("gain", "reward")))])


def gain_of_law(share: float | np.ndarray, start: float) -> np.ndarray:
    """The share of the gain when a share of the entropy is consumed, if R = b - a e^H and H ends at 0.

    Args:
        share: share of the entropy that is consumed.
        start: entropy at the start, nats.
    """
    return -np.expm1(-start * np.asarray(share)) / -np.expm1(-start)


def at(table: pandas.DataFrame, quantity: str, share: float) -> pandas.Series:
    """The share of a quantity at a share of the steps, by (family, size): means over starts."""
    rows = pick(table, panel="share", quantity=quantity)
    return rows[np.isclose(rows["x"], share)].groupby(["series", "size"], sort=False)["y"].mean()


def finding(table: pandas.DataFrame) -> Finding:
    """State the early shares of entropy and gain, and which is ahead."""
    ahead = at(table, "gain", FIRST) - at(table, "entropy", FIRST)
    printed_gap = max(abs(PRINTED["gain", share] - PRINTED["entropy", share])
                      for share in (FIRST, THIRD))
    criteria = [  # what runs are cut by fixes the first twelfth
        Criterion(f"{quantity} in the first third of the steps, share of the whole, mean over sets",
                  float(at(table, quantity, THIRD).mean()), ">", NEARLY_ALL,
                  beyond=quantity == "entropy",  # runs are cut by it
                  reported=PRINTED[quantity, THIRD])
        for quantity in QUANTITIES
    ] + [
        Criterion("distance between gain and entropy consumed in the first twelfth, shares, "
                  "largest over sets", float(gaps.max()), "≤", printed_gap,
                  f"for gain at the pace of entropy, with {size:.0f} answers", beyond=True)
        for size, gaps in ahead.abs().groupby(level="size")
    ]
    models = table[(table["panel"] == "model") & np.isclose(table["x"], FIRST)]
    for name, rows in models.groupby("series", sort=False):
        criteria += [
            Criterion(f"{quantity} in the first twelfth of the steps, share of the whole, mean over "
                      "seeds", mean_of(rows[rows["quantity"] == quantity]["y"], seeds=True), ">", HALF,
                      f"on {name}", training_curves.model_of(str(name)),
                      reported=PRINTED[quantity, FIRST])
            for quantity in QUANTITIES]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw shares over training, gain against entropy, and the first twelfth's share against length."""
    of = by_panel(table)
    figure, axes = panels(2, 2, height=2.3)
    if "model" in of:
        _draw_models(axes[0, 1], of["model"])
    else:
        axes[0, 1].remove()
        axes[0, 0].set_subplotspec(axes[0, 0].get_gridspec()[0, :])
    _draw_shares(axes[0, 0], of["share"])
    _draw_gain(axes[1, 0], of["share"])
    level(axes[1, 1], PRINTED["entropy", FIRST], "paper", x=0.02, above=2, size=7)
    lines(axes[1, 1], of["length"], "series", of["length"]["series"].unique(), center="mean",
          band=(0, 1), xscale="log", xlabel="steps of the run", ylabel="share of entropy consumed",
          ylim=(0, 1.04), title="in the first twelfth of a run")
    return figure


def _draw_shares(panel: Axes, shares: pandas.DataFrame) -> None:
    runs = shares.groupby(["quantity", "series", "size", "x"], sort=False)["y"].mean().reset_index()
    for (quantity, look), marker in zip(QUANTITIES.items(), "o^", strict=True):
        draw_line(panel, pick(runs, quantity=quantity), look, band=(0, 1))
        points = {share: y for (name, share), y in PRINTED.items() if name == quantity}
        panel.plot(list(points), list(points.values()), linestyle="none", color=look["color"],
                   marker=marker, markersize=6, zorder=4, markeredgecolor="black", markeredgewidth=0.5)
    for share, name in ((FIRST, "1/12"), (THIRD, "1/3")):
        panel.axvline(share, **REFERENCE)
        panel.annotate(name, (share, 0.02), xytext=(3, 0), textcoords="offset points", fontsize=7,
                       color="#555555")
    note(panel, "gain (▲ paper)", 0.98, 0.6, size=7.5, color=QUANTITIES["gain"]["color"])
    note(panel, "entropy (● paper)", 0.98, 0.45, size=7.5, color=QUANTITIES["entropy"]["color"])
    panel.set(xlabel="share of the steps", xlim=(0, 1), ylim=(0, 1.04),
              ylabel="share of the whole change", title="simulated")


def _draw_gain(panel: Axes, shares: pandas.DataFrame) -> None:
    wide = shares.pivot_table(index=["series", "size", "x"], columns="quantity", values="y")
    for _, run in wide.groupby(["series", "size"], sort=False):
        panel.plot(run["entropy"], run["gain"], color="#888888", linewidth=0.6)
    share = np.linspace(0, 1, 60)
    for start, look, at_share, place in ((0.3, SERIES[2], 0.62, (0.68, 0.42)),
                                         (1.0, SERIES[0], 0.38, (0.46, 0.22)),
                                         (4.0, SERIES[1], 0.2, (0.03, 0.8))):
        panel.plot(share, gain_of_law(share, start), **look)
        panel.annotate(
            f"{start:g} nat{'' if start == 1 else 's'}", (at_share, float(gain_of_law(at_share, start))),
            xytext=place, fontsize=7, color=str(look["color"]),
            arrowprops={"arrowstyle": "-", "color": look["color"], "linewidth": 0.6})
    panel.plot([PRINTED["entropy", s] for s in (FIRST, THIRD)],
               [PRINTED["gain", s] for s in (FIRST, THIRD)], linestyle="none", marker="*",
               markersize=8, color="black", zorder=4)
    note(panel, "★ paper", 0.97, 0.1)
    note(panel, "grey: simulated", 0.97, 0.02, color="#555555")
    panel.set(xlabel="share of entropy consumed", ylabel="share of the gain", xlim=(0, 1.01),
              ylim=(0, 1.04), title="gain, as the law has it")


def _draw_models(panel: Axes, models: pandas.DataFrame) -> None:
    names = models["series"].unique()
    for i, name in enumerate(names):
        for quantity, look in QUANTITIES.items():
            draw_line(panel, pick(models, series=name, quantity=quantity),
                      {**look, "linewidth": 1.0, "marker": MARKERS[i], "markevery": (4, 12),
                       "markersize": 3.5}, center="mean", band=None)
        note(panel, f"{GLYPHS[i]} {name}", 0.98, 0.04 + 0.09 * (len(names) - 1 - i))
    for share in (FIRST, THIRD):
        panel.axvline(share, **REFERENCE)
    panel.set(xlabel="share of the steps", xlim=(0, 1), ylim=(min(0.0, models["y"].min()), None),
              title="trained transformers")


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-2",
    source="Cui et al., Figure 2",
    title="entropy consumed and reward gained over training",
    paper="Over 11 runs the first twelfth of the steps takes 73 % of entropy and 76 % of gain, the "
          "first third over 90 %.",
    place="Figure 2",
    ours="GRPO in exact expectation on five families of prompts with 10, 30 and 100 answers, cut "
         "where the first twelfth has consumed 73 % of entropy. Lines are medians, bands the "
         "range. By length: long runs with one right answer of 20, cut at every length.",
    claims=("entropy-mechanism.performance-law",),
    headline=Headline(
        says="In the simulated sets entropy and gain are both spent early, but gain does not keep the "
             "pace of entropy.",
        holds=("",),
        fails=("for gain at the pace of entropy, with 10 answers",
               "for gain at the pace of entropy, with 30 answers",
               "for gain at the pace of entropy, with 100 answers"),
    ),
    recipes=("paper/entropy-mechanism-grpo", "gpu-small/grpo"),
)
