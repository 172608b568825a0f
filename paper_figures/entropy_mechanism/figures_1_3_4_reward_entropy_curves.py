"""Cui et al., Figures 1, 3 and 4: reward against entropy, and the law R = b - a e^H.

We run GRPO in exact expectation. In place of models and tasks are five families of prompts with 10,
30 or 100 answers. They have one or several right answers, and a start of equal or graded
difficulty. Runs keep the paper's schedule, where the first twelfth consumes 73 % of the entropy.
Responses have one to four tokens, of fixed or variable length. Their entropy is that of a token, as
in the paper, or of a response. GRPO runs of transformers are added where they exist.
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
from paper_figures.data.tables import by_panel, even_in_log, long, pick, stacked
from paper_figures.drawing import MARKERS, SERIES, lines, marked, panels
from paper_figures.entropy_mechanism import model_runs
from paper_figures.entropy_mechanism.drawing import draw_by_size, fill_rows
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, mean_of

POINTS = 40
"""Points drawn of each curve, even in the logarithm of the step: most of it is in the first steps."""
EXPLAINED = 0.95
"""The share of the variance that the law must explain for us to say that a curve follows it."""
SHOWN_FAMILIES = 3
COLUMNS = ["panel", "series", "size", "start", "of", "entropy", "reward", "a", "b", "r_squared", "rmse",
           "largest_miss", "best_form"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, series, size, start, of, entropy, reward, a, b, r_squared, rmse, ...

    Panels:

    - "curve": points of simulated curves;
    - "fit": the law and how it fits, one row per curve;
    - "token fit": responses of ``size`` tokens, of ``series`` length; the law with the entropy
      ``of`` a token or a response;
    - "model" and "model fit": training runs, with ``start`` the seed.

    ``best_form`` has the smallest corrected Akaike criterion.
    """
    dataset = inputs.simulation(results, "performance_law_curves")
    trees = inputs.simulation(results, "performance_law_on_trees")
    runs = model_runs.curves(results, least_steps=20)
    token_fits = long(trees[["a", "b", "r_squared", "rmse"]], "token fit",
                      rename={"length": "series", "horizon": "size"}).dropna(subset=["rmse"])
    return stacked([*_curves(dataset), token_fits, *_models(runs)], COLUMNS, runs)


def _curves(dataset: xarray.Dataset) -> list[pandas.DataFrame]:
    best = dataset.rival.values[dataset.aicc.fillna(np.inf).argmin("rival").values]
    miss = abs(dataset.b - dataset.a * np.exp(dataset.entropy) - dataset.reward)
    names = {"family": "series"}
    fitted = long(dataset[["a", "b", "r_squared", "rmse"]].assign(
        best_form=(dataset.horizon.dims, best), largest_miss=miss.max("point")), "fit", rename=names)
    # Where all answers are alike, so are all starts.
    fitted = fitted.dropna(subset=["rmse"]).drop_duplicates(["series", "size", "a", "b", "rmse"])
    points = long(dataset[["entropy", "reward"]].isel(point=even_in_log(dataset.point.values, POINTS)),
                  "curve", rename=names)
    return [points.merge(fitted[["series", "size", "start"]]), fitted]


def _models(runs: pandas.DataFrame) -> list[pandas.DataFrame]:
    parts = []
    for (name, seed), run in runs.groupby(["run", "seed"], sort=False):
        fitted = law.fit(run["entropy"], run["reward"])
        about = {"series": name, "start": seed}
        parts.append(run[["entropy", "reward"]].assign(panel="model", **about))
        parts.append(pandas.DataFrame([{
            "panel": "model fit", "a": fitted.a, "b": fitted.b, "r_squared": fitted.r_squared,
            "rmse": fitted.rmse, "best_form": law.rivals(run["entropy"], run["reward"])[0].name,
            **about}]))
    return parts


def finding(table: pandas.DataFrame) -> Finding:
    """State how much of each curve the law explains."""
    fits = table[table["panel"] == "fit"]
    by_set = fits.groupby(["series", "size"], sort=False)["r_squared"]
    models = table[table["panel"] == "model fit"].groupby("series", sort=False)["r_squared"]
    says = "share of the variance of reward that the law explains, mean over "
    criteria = [
        Criterion(f"{says}starts", mean_of(of_starts, alike=True), "≥", EXPLAINED,
                  f"with {family}, {size:.0f} answers")
        for (family, size), of_starts in by_set
    ] + [
        Criterion(f"{says}seeds", mean_of(of_seeds, seeds=True), "≥", EXPLAINED, f"on {name}",
                  training_curves.model_of(str(name)))
        for name, of_seeds in models]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw a panel a family, the misfit, responses of several tokens, and training runs if any exist."""
    of = by_panel(table)
    families = shown_families(of["fit"])
    count = len(families) + 2 + ("model" in of)
    figure, axes = panels((count + 1) // 2, 2, height=2.1)
    fill_rows(axes, count)
    flat = list(axes.flat)
    for panel, family in zip(flat, families, strict=False):
        _draw_family(panel, *(pick(of[name], series=family) for name in ("curve", "fit")))
        panel.set_title(family)
    draw_by_size(flat[len(families)], of["fit"], "rmse", scale="log", ylabel="rms miss (reward)",
                 title="how far the law misses")
    if "model" in of:
        _draw_models(flat[len(families) + 1], of["model"], of["model fit"])
    fits = of["token fit"].assign(name=of["token fit"]["of"] + ", " + of["token fit"]["series"])
    looks = {name: {**marked(i), "markersize": 3.5} for i, name in enumerate(sorted(set(fits["name"])))}
    flat[count - 1].locator_params(axis="y", nbins=4)
    lines(flat[count - 1], fits, "name", looks, x="size", y="rmse", center="mean", band=None,
          ticks="{:g}", xlabel="tokens of a response, at most", ylabel="rms miss (reward)",
          ylim=(0, None), title="entropy of token or response")
    return figure


def shown_families(fits: pandas.DataFrame) -> list[str]:
    """Choose the families with the least, the middle and the largest misfit; all are in the data."""
    misfit = fits.groupby("series", sort=False)["rmse"].max().sort_values()
    return training_curves.evenly(list(map(str, misfit.index)), SHOWN_FAMILIES)


def _draw_law(panel: Axes, fitted: pandas.Series, top: float) -> None:
    entropy = np.linspace(0, top, 60)
    panel.plot(entropy, fitted["b"] - fitted["a"] * np.exp(entropy), color="#999999", linewidth=2.6,
               alpha=0.55)


def _draw_family(panel: Axes, curves: pandas.DataFrame, fits: pandas.DataFrame) -> None:
    """Draw the curves of all starts, by number of answers, and the law of the first start.

    The numbers stand below the starts, right of the law: more entropy is less reward, so that no curve
    goes there.
    """
    most = curves["size"].max()
    for look, (size, rows) in zip(SERIES, curves.groupby("size"), strict=False):
        first = fits[fits["size"] == size].iloc[0]
        _draw_law(panel, first, rows[rows["start"] == first["start"]]["entropy"].max())
        for _, run in rows.groupby("start"):
            panel.plot(run["entropy"], run["reward"], **{**look, "linewidth": 1.1})
        panel.annotate(f"{size:.0f}{' answers' if size == most else ''}",
                       (rows["entropy"].max(), rows["reward"].min()), xytext=(3, -2),
                       textcoords="offset points", va="top", fontsize=7, color=str(look["color"]),
                       annotation_clip=False)
    panel.set(xlabel="entropy (nats)", ylabel="P(right answer)", ylim=(-0.13, 1.08),
              xlim=(0, float(curves["entropy"].max()) * 1.14))


def _draw_models(panel: Axes, models: pandas.DataFrame, fits: pandas.DataFrame) -> None:
    for i, (name, rows) in enumerate(models.groupby("series", sort=False)):
        fitted = pick(fits, series=name).iloc[0]
        _draw_law(panel, fitted, pick(rows, start=fitted["start"])["entropy"].max())
        panel.plot(rows["entropy"], rows["reward"], linestyle="none", marker=MARKERS[i], markersize=2,
                   color=SERIES[i]["color"], label=name)
    panel.set(xlabel="entropy (nats per token)", ylabel="mean reward", xlim=(0, None))
    low, high = panel.get_ylim()
    room = 0.14 * models["series"].nunique() * (high - low)  # for the names, which would cover points
    panel.set_ylim(low - room, high)
    panel.legend(markerscale=2, fontsize=6.5, loc="lower left")
    panel.set_title("trained transformers")


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figures-1-3-4",
    source="Cui et al., Figures 1, 3 and 4",
    title="reward against entropy, and the exponential law",
    paper="Without intervention validation reward follows $R = b - a e^H$, so that performance is "
    "traded from entropy.",
    place="Figures 1, 3 and 4",
    ours="GRPO in exact expectation on five families of prompts with 10, 30 and 100 answers. "
         "Curves are all starts of the sets that the law fits best, middling and worst; thick "
         "grey is the law. Last panels: miss of the law on all sets, and on responses of several "
         "tokens, of fixed or variable length.",
    claims=("entropy-mechanism.ceiling", "entropy-mechanism.performance-law"),
    headline=Headline(
        says="The law misses too much of the variance of reward with one right among 100 answers, "
             "and fits with one among 10.",
        holds=("with one right, 10 answers",),
        fails=("with one right, 100 answers",),
    ),
    recipes=("paper/entropy-mechanism-grpo", "gpu-small/grpo"),
)
