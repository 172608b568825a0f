"""Cui et al., Figure 5: the end of a run announced from its first 15 %.

What we run: the same 36 + 200 points on exact GRPO curves of five families of prompts with 10, 30 and
100 answers, and on GRPO runs of transformers where there are some.
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
from paper_figures.data.tables import pick, stacked
from paper_figures.drawing import REFERENCE, SERIES, dots, note, panels
from paper_figures.entropy_mechanism import model_runs
from paper_figures.entropy_mechanism.drawing import draw_by_size, fill_rows
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, mean_of

MODELS_DRAWN = 2
EARLY, LATER = 36, 200
"""How many points are fitted, and how many announced."""
PRINTED = {"mathematics": (0.009, 0.005), "code": (0.012, 0.019)}
"""The paper's error over the later points, and at the end."""
COLUMNS = ["panel", "series", "size", "start", "point", "entropy", "reward", "announced", "low", "high",
           "error", "final_error", "covered"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, series, size, start, point, entropy, reward, announced, low, high, error, ...

    Panels:

    - "curve": points of the best and of the worst predicted set, first start; ``announced`` is the
      prediction, ``low`` and ``high`` its 95 % interval;
    - "error": one row per curve. ``error`` is the rms over the later points, ``final_error``
      predicted minus true, ``covered`` whether the interval held the end;
    - "model" and "model error": as these, of training runs.
    """
    inputs.printed("Cui et al., Figure 5")
    dataset = inputs.simulation(results, "performance_law_curves")
    runs = model_runs.curves(results, least_steps=EARLY)
    errors = _errors(dataset)
    by_set = errors.groupby(["series", "size"], sort=False)["error"].mean()
    parts = [errors]
    for family, size in (by_set.idxmin(), by_set.idxmax()):
        rows = errors[(errors["series"] == family) & (errors["size"] == size)]
        start = int(rows["start"].iloc[0])
        one = dataset.sel(family=family, size=size, start=start)
        parts.append(announce(one.entropy.values, one.reward.values).assign(
            panel="curve", series=family, size=size, start=start))
    parts += _models(runs)
    return stacked(parts, COLUMNS, runs)


def _errors(dataset: xarray.Dataset) -> pandas.DataFrame:
    names = {"early_rmse": "error", "final_covered": "covered", "family": "series"}
    frame = dataset[["early_rmse", "final_error", "final_covered"]].to_dataframe().reset_index()
    frame = frame.rename(columns=names).dropna(subset=["error"]).assign(panel="error")
    # Where all answers are alike, so are all starts.
    return frame.drop_duplicates(["series", "size", "error", "final_error"])


def announce(
    entropy: np.ndarray, reward: np.ndarray, early: int = EARLY
) -> pandas.DataFrame:
    """Fit the law to the first ``early`` points; columns point, entropy, reward, announced, low, high."""
    fitted = law.fit(entropy[:early], reward[:early])
    low, high = fitted.interval(entropy)
    return pandas.DataFrame({
        "point": np.arange(len(entropy)), "entropy": entropy, "reward": reward,
        "announced": fitted.predict(entropy), "low": low, "high": high})


def _models(runs: pandas.DataFrame) -> list[pandas.DataFrame]:
    """Fit training runs of language models, to the same share of the steps."""
    parts = []
    for (name, seed), run in runs.groupby(["run", "seed"], sort=False):
        early = max(3, round(len(run) * EARLY / (EARLY + LATER)))
        points = announce(run["entropy"].to_numpy(), run["reward"].to_numpy(), early)
        miss = points["announced"] - points["reward"]
        last = points.iloc[-1]
        about = {"series": name, "start": seed}
        parts.append(points.assign(panel="model", **about))
        parts.append(pandas.DataFrame([{
            "panel": "model error", "error": float(np.sqrt(np.mean(miss[early:] ** 2))),
            "final_error": float(miss.iloc[-1]),
            "covered": float(last["low"] <= last["reward"] <= last["high"]), **about}]))
    return parts


def finding(table: pandas.DataFrame) -> Finding:
    """State the errors of the announcement by set of prompts, against the paper's."""
    errors = table[table["panel"] == "error"]
    printed = max(error for error, _ in PRINTED.values())
    by_set = errors.groupby(["series", "size"], sort=False)["error"]
    models = table[table["panel"] == "model error"].groupby("series", sort=False)["error"]
    criteria = [
        Criterion("rms error of the prediction over the later points, reward, mean over starts",
                  mean_of(of_starts, alike=True), "≤", printed, f"with {family}, {size:.0f} answers")
        for (family, size), of_starts in by_set
    ] + [
        Criterion("rms error of the prediction over the later steps, reward, mean over seeds",
                  mean_of(of_seeds, seeds=True), "≤", printed, f"on {name}",
                  training_curves.model_of(str(name)))
        for name, of_seeds in models]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the best and the worst announcement, all errors by number of answers, and training runs."""
    models = pick(table, panel="model")
    names = list(models["series"].unique())[:MODELS_DRAWN]
    figure, axes = panels(2 + (len(names) + 1) // 2, 2, height=2.2)
    fill_rows(axes, 4 + len(names))
    curves = pick(table, panel="curve").groupby(["series", "size"], sort=False)
    for panel, ((family, size), rows) in zip(axes[0], curves, strict=False):
        _draw_curve(panel, rows, EARLY)
        panel.set_title(f"{family}, {size:.0f} answers")
    errors = pick(table, panel="error")
    draw_by_size(axes[1, 0], errors, "error", names=False, scale="log", ylabel="rms error (reward)",
                 title="error over the later points")
    for error, _ in PRINTED.values():
        axes[1, 0].axhline(error, **REFERENCE)
    axes[1, 0].annotate("paper", (1.01, 0.0103), xycoords=("axes fraction", "data"), va="center",
                        fontsize=7, color="#555555")
    axes[1, 1].axhline(0, **REFERENCE)
    draw_by_size(axes[1, 1], errors, "final_error", ylabel="predicted minus true",
                 title="error at the end")
    for panel, name in zip(axes[2:].flat, names, strict=False):
        rows = pick(models, series=name)
        one = pick(rows, start=rows["start"].min())
        _draw_curve(panel, one, max(3, round(len(one) * EARLY / (EARLY + LATER))))
        panel.set(xlabel="entropy (nats per token)", ylabel="mean reward", title=str(name))
    return figure


def _draw_curve(panel: Axes, rows: pandas.DataFrame, early: int) -> None:
    ordered = rows.sort_values("entropy")
    panel.fill_between(ordered["entropy"], ordered["low"], ordered["high"], color=SERIES[1]["color"],
                       alpha=0.2, linewidth=0)
    panel.plot(ordered["entropy"], ordered["announced"], **SERIES[1])
    first, rest = rows.iloc[:early], rows.iloc[early:]
    blue = SERIES[0]["color"]
    dots(panel, rest["entropy"], rest["reward"], markersize=2.2, markerfacecolor=blue)
    dots(panel, first["entropy"], first["reward"], 1, markersize=2.8, color="black", markeredgewidth=0.6)
    panel.set(xlabel="entropy (nats)", ylabel="P(right answer)")
    for k, (text, color) in enumerate((("□ fitted", "black"), ("● later", blue),
                                       ("law, 95 % interval", SERIES[1]["color"]))):
        note(panel, text, 0.04, 0.24 - 0.1 * k, color=color)


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-5",
    source="Cui et al., Figure 5",
    title="the end of a run predicted from its first 15 %",
    paper="From the first 15 % of the steps the law predicts the rest within 0.9 % on mathematics and "
          "1.2 % on code.",
    place="Figure 5 and its caption",
    ours="The paper's 36 + 200 points on exact GRPO curves of five families of prompts with 10, "
         "30 and 100 answers. Above: the best and the worst predicted set. Below: errors of all "
         "sets, as means over starts with their range as bands.",
    claims=("entropy-mechanism.performance-law",),
    headline=Headline(
        says="The first 15 % of a run predict the rest as in the paper with a quarter right of 10 "
             "answers, not with one right.",
        holds=("with a quarter right, 10 answers",),
        fails=("with one right, 10 answers", "with one right, 30 answers", "with one right, 100 answers"),
    ),
    recipes=("paper/entropy-mechanism-grpo", "gpu-small/grpo"),
)
