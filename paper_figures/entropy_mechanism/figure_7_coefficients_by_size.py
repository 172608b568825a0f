"""Cui et al., Figure 7: the law's coefficients against the size of the model.

We run GRPO in exact expectation on 20-answer prompts, with two right answers. Two stand-ins for
size are used:

- knowledge at the start: right answers are s nats higher. Losses fall as powers of size, so s grows
  with its logarithm;
- the number of parameters that all prompts share: logits are linear in d random features,
  pretrained by least squares to a teacher, or not.

A line through all but the largest size predicts the largest. Transformers of five widths are added
where runs exist.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropy_theory import performance_law as law
from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import long, pick, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import SERIES, dots, draw_line, marked, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

KNOWLEDGE = "prior"
STAND_INS = {"prior": "knowledge", "features": "parameters, pretrained",
             "features, one start": "parameters, one start"}
MODELS = "transformers"
WIDTH = "hidden-"
"""How names of models of `gpu-small/sizes` begin; the width follows, and size grows as its square."""
COEFFICIENTS = ("a", "b", "ceiling")
LINEAR = 0.8
"""The R^2 from which on we call a coefficient a line in log size."""
COLUMNS = ["stand_in", "size", "start", *COEFFICIENTS, "reward"]


def data(results: Path) -> pandas.DataFrame:
    """Return one row per run: stand_in, size, start, a, b, ceiling = b - a, and reward at the end."""
    dataset = inputs.simulation(results, "performance_law_coefficients", "exact")
    models = _models(results)
    return stacked([_simulated(dataset), models], COLUMNS, models)


def _simulated(dataset: xarray.Dataset) -> pandas.DataFrame:
    names = {f"capacity_{name}": name for name in COEFFICIENTS}
    names |= {"capacity_final_reward": "reward", "capacity_size": "size"}
    frame = long(dataset[[*names]], "", rename=names)
    return frame.assign(stand_in=frame["stand_in"].map(STAND_INS)).dropna(subset=["a"])


def _models(results: Path) -> pandas.DataFrame:
    """Fit the law to whole GRPO runs of models that are known by their width."""
    table = training_curves.read(
        results, [Choice(label="GRPO", rule="grpo")], metrics=("entropy", "reward"))
    table["model"] = table["model"].str.split("/").str[-1]
    wide = table[table["model"].str.startswith(WIDTH)]
    first = wide.drop_duplicates("model")["setting"]  # one setting a size: the most complete
    curves = training_curves.smoothed(wide[wide["setting"].isin(first)])
    rows = []
    for (model, seed), run in curves.groupby(["model", "seed"], sort=False):
        values = run.pivot_table(index="step", columns="metric", values="value")
        fitted = law.fit(values["entropy"], values["reward"])
        rows.append({
            "stand_in": MODELS, "size": float(model.removeprefix(WIDTH)), "start": seed, "a": fitted.a,
            "b": fitted.b, "ceiling": fitted.ceiling, "reward": float(values["reward"].iloc[-1])})
    frame = pandas.DataFrame(rows, columns=COLUMNS)
    if frame["size"].nunique() < 3:  # no line to be tested
        return pandas.DataFrame(columns=COLUMNS)
    frame.attrs["inputs"] = training_curves.provenance(curves)
    return frame


def line(sizes: np.ndarray, values: np.ndarray) -> tuple[float, float, float, float]:
    """Fit lines in log size by least squares, through all sizes and through all but the largest.

    Returns R^2 through all sizes, the prediction of the others for the largest size, and its error.
    Last comes the error of predicting the value at the size before.
    """
    x = np.log(sizes)
    slope, offset = np.polyfit(x, values, 1)
    rest = values - slope * x - offset
    r_squared = 1 - float(np.sum(rest**2) / np.sum((values - values.mean()) ** 2))
    announced = float(np.polyval(np.polyfit(x[:-1], values[:-1], 1), x[-1]))
    return r_squared, announced, announced - float(values[-1]), float(values[-2] - values[-1])


def means(table: pandas.DataFrame, stand_in: str) -> pandas.DataFrame:
    """The means over starts by size, for one stand-in."""
    return pick(table, stand_in=stand_in).groupby("size")[[*COEFFICIENTS, "reward"]].mean()


def finding(table: pandas.DataFrame) -> Finding:
    """State for each stand-in that grows whether a and b lie on a line, and what the line announces."""
    criteria: list[Criterion] = []
    for name in table["stand_in"].unique():
        if name == STAND_INS[KNOWLEDGE]:
            continue
        mean = means(table, name)
        lines = {c: line(mean.index.to_numpy(float), mean[c].to_numpy()) for c in ("a", "b")}
        here = (f"for {name}", "transformers" if name == MODELS else "", name != MODELS)
        criteria += [Criterion(f"R² of {c} as a line in log size", r_squared, "≥", LINEAR, *here)
                     for c, (r_squared, *_) in lines.items()]
        criteria += [
            Criterion(f"error of the line's {c} for the largest size, over the change of {c} since the "
                      "size before", abs(error) / max(abs(before), float(np.finfo(float).tiny)), "<", 1,
                      *here)
            for c, (_, _, error, before) in lines.items()]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw a and b in two rows, with columns for knowledge, parameters and transformers, if any ran."""
    columns = [("size as knowledge", "$e^s$ (prior of s nats)", ["knowledge"]),
               ("size as parameters", "shared parameters", [*STAND_INS.values()][1:])]
    if MODELS in set(table["stand_in"]):
        columns.append((MODELS, "width", [MODELS]))
    figure, axes = panels(2, len(columns), height=2.0, sharex="col")
    for j, (title, label, stand_ins) in enumerate(columns):
        for i, name in enumerate(("a", "b")):
            for k, stand_in in enumerate(stand_ins):
                _draw_line(axes[i, j], table[table["stand_in"] == stand_in], name, k)
            _ticks(axes[i, j], table[table["stand_in"].isin(stand_ins)], name)
            if j == 0:
                axes[i, j].set_ylabel("a (reward)" if name == "a" else "b (reward)")
        axes[0, j].set_title(title)
        axes[1, j].set_xlabel(label)
    for k, stand_in in enumerate([*STAND_INS.values()][1:]):
        axes[1, 1].annotate(f"{'○□'[k]} {stand_in.split(', ')[1]}", (0.97, 0.15 - 0.11 * k), fontsize=7,
                            xycoords="axes fraction", ha="right", color=str(SERIES[k]["color"]))
    axes[0, 0].annotate("× predicted from smaller", (0.03, 0.04), xycoords="axes fraction", fontsize=7)
    return figure


def _draw_line(panel: Axes, rows: pandas.DataFrame, name: str, k: int) -> None:
    draw_line(panel, rows, {**marked(k), "linestyle": "none", "markersize": 4, "markerfacecolor": "none"},
              x="size", y=name, center="mean", band=(0, 1), bars=True)
    mean = rows.groupby("size")[name].mean()
    sizes = mean.index.to_numpy(float)
    line = np.polynomial.Polynomial.fit(np.log(sizes[:-1]), mean.to_numpy()[:-1], 1)(np.log(sizes))
    panel.plot(sizes, line, **{**SERIES[k], "linewidth": 1.0})
    dots(panel, sizes[-1], line[-1], k, marker="x", markersize=6, markeredgewidth=1.4)


def _ticks(panel: Axes, rows: pandas.DataFrame, name: str) -> None:
    sizes = sorted(rows["size"].unique())
    panel.set_xscale("log")
    panel.set_xticks(sizes, [f"{size:.2g}" if size < 10 else f"{size:.0f}" for size in sizes])
    panel.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    panel.margins(x=0.08)
    panel.set_ylim(0, float(rows[name].max()) * 1.25)


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-7",
    source="Cui et al., Figure 7",
    title="the law's coefficients against size",
    paper="The law's coefficients lie on lines in the logarithm of a model's size, so that those of "
          "large models can be predicted from small ones.",
    place="Figure 7 and its caption",
    ours="GRPO in exact expectation; size is knowledge at the start, or the number of shared parameters. "
    "Lines through all but the largest size, crosses what they predict for it; bars from the lowest to "
    "the highest start.",
    claims=("entropy-mechanism.ceiling", "entropy-mechanism.performance-law"),
    headline=Headline(
        says="As parameters are added, a and b are not both lines in log size that predict the largest "
             "size, pretrained or not.",
        fails=("for parameters, pretrained", "for parameters, one start"),
    ),
    recipes=("paper/entropy-mechanism-grpo", "gpu-small/sizes"),
)
