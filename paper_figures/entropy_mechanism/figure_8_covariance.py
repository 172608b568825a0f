"""Cui et al., Figure 8: entropy difference against covariance, and covariance by difficulty.

We run prompts of graded difficulty under the policy gradient, the natural gradient and GRPO, in
exact expectation, and GRPO on samples. Every step's measured change is beside the theorem's.
Covariances by batch accuracy along GRPO are the theorem's own, and an estimate from eight samples
without the factor pi. The paper's pi is that of a mean log-probability per token, about constant.
Responses of several tokens test Lemma 1, which takes their entropy for the sum of their states'.
Audited steps of transformers are added where runs exist.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import by_panel, long, pick, stacked
from paper_figures.data.training_curves import told_apart
from paper_figures.drawing import MARKERS, REFERENCE, SERIES, lines, marked, panels
from paper_figures.entropy_mechanism import model_runs
from paper_figures.entropy_mechanism.drawing import fill_rows
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, exact

THEOREM = {"PG": "theorem_1", "NPG": "theorem_2", "GRPO": "theorem_1", "GRPO, sampled": "theorem_1"}
"""The theorem about each rule; GRPO's advantages are scaled, which the theorems leave out."""
EXACT, ESTIMATE = "PG", "NPG, from samples"
ESTIMATES = {EXACT: "Theorem 1", ESTIMATE: "8 samples"}
ANNOUNCEMENTS = {"state_wise": "Lemma 1", "gradient": "and visits"}
LEAST_AUDITED = 5
FOLLOWS = 0.9
"""The correlation above which one change follows the other."""
EXACTLY = 0.01
"""The relative error below which we call a match exact, as the paper's abstract does: one percent."""
COLUMNS = ["panel", "series", "learning_rate", "right_answers", "start", "group", "x", "announced", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, series, learning_rate, right_answers, start, group, x, announced, y; nats.

    Panels, with x the step where not named:

    - "change": series a rule, ``announced`` the prediction of its theorem, y measured;
    - "difficulty": series an estimate, group a batch accuracy, y covariance along GRPO;
    - "tokens": series a prediction, group a kind of length, x tokens of a response, y relative
      error under the policy gradient at the smallest learning rate;
    - "model": series a training run, ``announced`` -Cov(log pi, logit change), y measured.
    """
    identity = inputs.simulation(results, "covariance_identity")
    trees = inputs.simulation(results, "covariance_identity_on_trees")
    models, provenance = _models(results)
    rate = identity.learning_rate.values[identity.sizes["learning_rate"] // 2]
    table = stacked([
        *(long(identity[["measured", theorem]].sel(rule=rule), "change", rename={
            "step": "x", "measured": "y", theorem: "announced", "rule": "series"})
          for rule, theorem in THEOREM.items()),
        long(identity.covariance_by_accuracy.sel(estimate=list(ESTIMATES), learning_rate=rate),
             "difficulty", "record", {"estimate": "series", "batch_accuracy": "group"}),
        long(trees.relative_error.sel(rule="PG", learning_rate=float(trees.learning_rate.min()),
                                      announcement=list(ANNOUNCEMENTS)),
             "tokens", "horizon", {"announcement": "series", "length": "group"}),
        models], COLUMNS)
    table.attrs["inputs"] = provenance
    return table


def _models(results: Path) -> tuple[pandas.DataFrame, dict[str, object]]:
    """Read audited GRPO runs, the user's own or, where there are none, the committed ones."""
    runs = [run for run in inputs.training_runs(results)
            if run.options.get("rule") == "grpo" and len(run.audit) >= LEAST_AUDITED
            and not run.rule_options]
    runs = [run for run in runs if not run.measured] or runs
    models = told_apart(run.options["model"] for run in runs)
    names = [f"{models[run.options['model']]}, {run.options['task']}" for run in runs]
    shown = list(dict.fromkeys(names))[:model_runs.MOST]
    drawn = [(name, run) for name, run in zip(names, runs, strict=True) if name in shown]
    parts = [
        run.audit[["first_order", "measured"]].set_axis(["announced", "y"], axis=1).assign(
            panel="model", series=name, start=run.options.get("seed", 0), x=run.audit["step"])
        for name, run in drawn
    ]
    table = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=COLUMNS)
    return table, {run.name: run.provenance for _, run in drawn}


def comparison(changes: pandas.DataFrame) -> pandas.DataFrame:
    """Compare measured with announced changes, by rule and learning rate.

    Columns are slope, correlation, error and rest. The error is the rms of measured minus
    announced, over the rms of measured. The rest is that error after the slope.
    """
    rows = {}
    for key, group in changes.groupby(["series", "learning_rate"], sort=False):
        announced, measured = group["announced"].to_numpy(), group["y"].to_numpy()
        slope = float(announced @ measured / (announced @ announced))
        size = float(np.sqrt(np.mean(measured**2)))
        rows[key] = {
            "slope": slope, "correlation": float(np.corrcoef(announced, measured)[0, 1]),
            "error": float(np.sqrt(np.mean((measured - announced) ** 2))) / size,
            "rest": float(np.sqrt(np.mean((measured - slope * announced) ** 2))) / size,
        }
    found = pandas.DataFrame.from_dict(rows, orient="index")
    found.index = pandas.MultiIndex.from_tuples(found.index, names=["series", "learning_rate"])
    return found


def ordered(difficulty: pandas.DataFrame, estimate: str) -> pandas.Series:
    """Whether covariance rises with batch accuracy, by (right answers, step), at records without NaN."""
    wide = pick(difficulty, series=estimate).pivot_table(
        index=["right_answers", "x"], columns="group", values="y").dropna()
    return (wide.diff(axis=1).iloc[:, 1:] > 0).all(axis=1)


def finding(table: pandas.DataFrame) -> Finding:
    """State how well the theorems announce the change, and how covariances are ordered and signed."""
    of = {name: table[table["panel"] == name] for name in table["panel"].unique()}
    compared = comparison(of["change"])
    grpo = compared.loc["GRPO"]
    mean = -of["change"][of["change"]["series"] == "GRPO"]["announced"]
    lemma = of["tokens"][(of["tokens"]["x"] > 1) & (of["tokens"]["series"] == next(iter(ANNOUNCEMENTS)))]
    in_order = "share of the records in which covariance rises with batch accuracy"
    # How exact a first order is depends on learning rates, which are ours: beyond the paper.
    criteria = [
        Criterion("correlation of GRPO's entropy change with Theorem 1's, smallest over learning "
                  "rates",
                  float(grpo["correlation"].min()), ">", FOLLOWS, "for the trend along GRPO"),
        Criterion("relative error of each theorem for its own algorithm, largest",
                  float(compared.loc[["PG", "NPG"]]["error"].max()), "<", EXACTLY, "as an exact match",
                  beyond=True),
        Criterion("GRPO's change over Theorem 1's, largest distance from 1",
                  float((grpo["slope"] - 1).abs().max()), "<", EXACTLY, "as an exact match",
                  beyond=True),
        Criterion("relative error of Lemma 1, largest", float(lemma["y"].max()), "<", EXACTLY,
                  "for responses of several tokens", beyond=True),
        Criterion(in_order, float(ordered(of["difficulty"], ESTIMATE).mean()), ">", 0.5,
                  "for the order by difficulty, estimated from samples"),
        Criterion(in_order, float(ordered(of["difficulty"], EXACT).mean()), ">", 0.5,
                  "for the order by difficulty, by Theorem 1 itself", beyond=True),
        Criterion("share of the steps whose mean covariance is positive", float((mean > 0).mean()), ">",
                  0.95, "for the sign"),
    ]
    for name, rows in of.get("model", table.iloc[:0]).groupby("series", sort=False):
        correlation = float(np.corrcoef(rows["announced"], rows["y"])[0, 1])
        criteria.append(Criterion(
            "correlation of the measured entropy change with -Cov(log pi, logit change)",
            exact(correlation, rows["start"].nunique()), ">", FOLLOWS,
            f"for the trend on {name}", training_curves.model_of(str(name))))
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw change against covariance, covariance by difficulty, and audited steps if there are any."""
    of = by_panel(table)
    figure, axes = panels(3, 2, height=2.15)
    fill_rows(axes, 5 + ("model" in of))
    _draw_steps(axes[0, 0], of["change"])
    _draw_errors(axes[0, 1], of["change"])
    for panel, name in zip(axes[1], ESTIMATES, strict=True):
        panel.axhline(0, **REFERENCE)
        # Means over numbers of right answers.
        lines(panel, pick(of["difficulty"], series=name), "group", center="mean", band=None,
              name="{:g}".format, xlabel="step", ylabel="covariance (nats)",
              title=f"by batch accuracy: {ESTIMATES[name]}")
    tokens = of["tokens"]
    names = [f"{ANNOUNCEMENTS[series]}, {length}" for series, length in
             tokens[["series", "group"]].to_numpy()]
    lines(axes[2, 0], tokens.assign(name=names), "name",
          {name: {**marked(i), "markersize": 3.5} for i, name in enumerate(dict.fromkeys(names))},
          band=None, ticks="{:g}", xlabel="tokens of a response, at most", ylabel="relative error",
          ylim=(-0.03, None), title="policy gradient, longer responses")
    if "model" in of:
        _draw_models(axes[2, 1], of["model"])
    return figure


def _draw_steps(panel: Axes, changes: pandas.DataFrame) -> None:
    """Draw GRPO at the middle learning rate, with the most right answers: means over starts."""
    rates = sorted(changes["learning_rate"].unique())
    rows = pick(changes, series="GRPO", learning_rate=rates[len(rates) // 2],
                right_answers=changes["right_answers"].max())
    lost = pandas.concat([
        pandas.DataFrame({"name": name, "x": rows["x"], "y": -1000 * rows[column]})
        for column, name in (("y", "measured"), ("announced", "Theorem 1"))])
    lines(panel, lost, "name", ("measured", "Theorem 1"), center="mean", band=(0, 1), xlabel="step",
          ylabel="entropy lost (millinats)", ylim=(min(0.0, float(lost["y"].min())), None),
          title="a step of GRPO")


def _draw_errors(panel: Axes, changes: pandas.DataFrame) -> None:
    found = comparison(changes).reset_index()
    looks, names = {}, {}
    for i, rule in enumerate(THEOREM):
        factor = pick(found, series=rule)["slope"].iloc[0]
        looks[rule] = {**marked(i), "markersize": 3.5}
        names[rule] = f"{rule.removeprefix('GRPO, ')} (×{factor:.1f})"
    lines(panel, found, "series", looks, x="learning_rate", y="rest", band=None, name=names.__getitem__,
          ticks="{:g}", xscale="log", yscale="log", xlabel="learning rate", ylabel="relative error",
          title="what factor × theorem leaves")


def _draw_models(panel: Axes, rows: pandas.DataFrame) -> None:
    rows = rows.assign(announced=1000 * rows["announced"], y=1000 * rows["y"])
    limits = [float(rows[["announced", "y"]].min().min()), float(rows[["announced", "y"]].max().max())]
    panel.plot(limits, limits, **REFERENCE)
    for i, (name, group) in enumerate(rows.groupby("series", sort=False)):
        panel.plot(group["announced"], group["y"], linestyle="none", marker=MARKERS[i], markersize=3,
                   color=SERIES[i]["color"], markerfacecolor="none", label=textwrap.fill(name, 22))
    panel.set(xlabel="-Cov(log π, logit change) (millinats)", ylabel="entropy change (millinats)")
    panel.legend(fontsize=6.5, handletextpad=0.2, borderpad=0, loc="lower right")
    panel.set_title("steps of transformers")


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-8",
    source="Cui et al., Figure 8",
    title="entropy change against covariance, and covariance by difficulty",
    paper="Along GRPO entropy change and covariance show similar trends, the covariance stays mostly "
    "positive, and easier prompts have larger ones.",
    place="Figure 8, its caption and the abstract",
    ours="Prompts with 20 answers. Above: GRPO at the middle rate, and what is left of each rule's "
         "change beyond a factor times its theorem. Middle: covariance along GRPO by batch accuracy, "
         "by the theorem and from samples. Last: error of Lemma 1 for responses of several tokens.",
    claims=("entropy-mechanism.action-sequence-covariance", "entropy-mechanism.matched-exactly",
            "entropy-mechanism.theorem-2"),
    headline=Headline(
        says="GRPO's entropy change follows the covariance, at our rates not exactly; easier prompts "
             "have larger covariances as estimated from samples, not by Theorem 1.",
        holds=("for the trend along GRPO", "for the order by difficulty, estimated from samples"),
        fails=("as an exact match", "for the order by difficulty, by Theorem 1 itself"),
    ),
    recipes=("paper/entropy-mechanism-grpo", "gpu-small/grpo"),
)
