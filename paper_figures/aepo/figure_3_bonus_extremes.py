"""AEPO, Figure 3: entropy regularization against AEPO.

We run GRPO plus coefficient x entropy over a range of coefficients, and AEPO at several targets.
Both start from the same policies on 20-answer bandits, in exact expectation. Language models are
added where three of these were trained in one setting (``make gpu``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropy_theory.update_rules.aepo import Aepo
from paper_figures.aepo import compared
from paper_figures.aepo.compared import right_answers
from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import even_in_log, long, pick, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import SERIES, label_ends, level, lines, marked, note, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure
from simulations.experiments.aepo_figure_3 import EXPLODED

DRAWN_COEFFICIENTS = 4
DRAWN_TARGET = 0.5
POINTS = 80
MOST = 0.5
"""The share of runs that makes "often", and the share of AEPO's targets that must be held for us to say
that it keeps entropy in range."""
EXTREMES = {"collapsed": "that collapse",
            "exploded": f"that explode: wrong answers keep {EXPLODED:.0%} or more, whatever the entropy"}
TAILS = {
    "bonus": {"entropy": "bonus_tail_entropy", "reward": "bonus_tail_reward",
              **{name: name for name in EXTREMES}},
    "aepo": {"entropy": "aepo_tail_entropy", "reward": "aepo_tail_reward"},
}
"""Columns of the tails of both kinds of runs, by panel."""
CHOICES = (
    Choice(label="GRPO", rule="grpo", strength=0.0),
    Choice(label="bonus {coefficient:g}", rule="entropy-bonus", free=("coefficient",)),
    Choice(label="AEPO", rule="aepo"),
)
COLUMNS = ["panel", "method", "right_answers", "setting", "start", "x", "y", "run_setting"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    ``setting`` is the bonus' coefficient or AEPO's target. Panels:

    - "curve": x step, y entropy;
    - "entropy" and "reward": x setting, y mean over the tail;
    - "collapsed" and "exploded": y 0 or 1;
    - "trained entropy" and "trained reward": x step, ``method`` a rule, ``run_setting`` the setting
      of the language models' runs, ``start`` the seed.
    """
    dataset = inputs.simulation(results, "aepo_figure_3")
    runs = training_curves.first(
        training_curves.read(results, CHOICES, metrics=("entropy", "reward"), least=3))
    trained = training_curves.smoothed(pick(runs, metric=["entropy", "reward"]))
    trained["panel"] = "trained " + trained["metric"]
    trained = trained.rename(columns={"setting": "run_setting", "label": "method", "strength": "setting",
                                      "seed": "start", "step": "x", "value": "y"})
    names = {"coefficient": "setting", "target": "setting", "step": "x"}
    coefficients = training_curves.evenly(dataset.coefficient.values, DRAWN_COEFFICIENTS)
    target = float(dataset.target.values[np.abs(dataset.target.values - DRAWN_TARGET).argmin()])
    curves = dataset.sel(
        right_answers=dataset.right_answers.values[[0, -1]], coefficient=coefficients, target=[target],
    ).isel(step=even_in_log(dataset.step.values, POINTS))
    tails = [long(dataset[name].astype(float), panel, rename=names, method=method)
             for method, shown in TAILS.items() for panel, name in shown.items()]
    return stacked([
        *(long(curves[f"{method}_entropy"], "curve", rename=names, method=method)
          for method in ("bonus", "aepo")),
        *(tail.assign(x=tail["setting"]) for tail in tails), trained], COLUMNS, runs)


def finding(table: pandas.DataFrame) -> Finding:
    """State which coefficients collapse or explode in every start, and what AEPO holds instead."""
    criteria: list[Criterion] = []
    for size in map(int, sorted(table["right_answers"].dropna().unique())):
        here = table[table["right_answers"] == size]
        with_bonus = here[here["panel"].isin(EXTREMES) & (here["setting"] > 0)]  # 0 is no bonus
        runs = with_bonus.pivot_table(index=["setting", "start"], columns="panel", values="y") > 0
        ends = here[(here["method"] == "aepo") & (here["panel"] == "entropy")]
        tails = ends.groupby("setting")["y"].median()
        held = np.abs(tails - tails.index.to_numpy()) <= 0.05
        where = f"with {right_answers(size)}"
        one = size == 1
        criteria += [
            *(Criterion(f"share of the runs with a bonus {said}", float(runs[kind].mean()), ">", 0,
                        where, beyond=one)
              for kind, said in EXTREMES.items()),
            Criterion("share of the runs with a bonus in either extreme",
                      float(runs.any(axis="columns").mean()), "≥", MOST, where, beyond=one),
            Criterion("share of AEPO's targets that are held in the median over starts",
                      float(held.mean()), "≥", MOST, where, beyond=one),
        ]
    trained = table[(table["panel"] == "trained entropy") & (table["method"] == "AEPO")]
    criteria += training_curves.targets_held(pandas.DataFrame({
        "setting": trained["run_setting"], "target": Aepo().target, "step": trained["x"],
        "value": trained["y"], "start": trained["start"]}))
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy against step, and entropy and reward at the end against the bonus' coefficient."""
    trained = table[table["run_setting"].notna()]
    figure, axes = panels(2 if trained.empty else 3, 2, height=2.3)
    curves = pick(table, panel="curve")
    sizes = sorted(curves["right_answers"].unique())
    for panel, size in zip(axes[0], (sizes[0], sizes[-1]), strict=True):
        _draw_curves(panel, pick(curves, right_answers=size), int(size))
    _draw_tails(axes[1, 0], pick(table, panel="entropy", method="bonus"))
    _draw_cost(axes[1, 1], table)
    order = trained.drop_duplicates("method").sort_values("setting", na_position="last")["method"]
    for panel, quantity in zip(axes[2:].flat, ("entropy", "reward"), strict=False):
        unit = " (nats per token)" if quantity == "entropy" else ""
        lines(panel, pick(trained, panel=f"trained {quantity}"), "method", list(order), band=(0, 1),
              xlabel="optimizer step", ylabel=quantity + unit, ylim=(0, None),
              title=str(trained["run_setting"].iloc[0]).partition(",")[0])
    return figure


def _draw_curves(panel: Axes, curves: pandas.DataFrame, size: int) -> None:
    coefficients = sorted(pick(curves, method="bonus")["setting"].unique())
    looks = {f"bonus {coefficient:g}" if coefficient else "no bonus": {**look, "linewidth": 1.2}
             for coefficient, look in zip(coefficients, SERIES[1:], strict=False)}
    (target,) = pick(curves, method="aepo")["setting"].unique()
    looks[f"AEPO, target {target:g}"] = compared.LOOKS["AEPO"]
    names = dict(zip([("bonus", c) for c in coefficients] + [("aepo", target)], looks, strict=True))
    level(panel, np.log(size), f"log {size}", above=2)
    lines(panel, curves.assign(name=[names[key] for key in
                                     zip(curves["method"], curves["setting"], strict=True)]),
          "name", looks, steps=True, ylabel="entropy (nats)", ylim=(-0.08, None),
          title=right_answers(size))


def _draw_tails(panel: Axes, tails: pandas.DataFrame) -> None:
    smallest = tails.loc[tails["setting"] > 0, "setting"].min()
    panel.set_xscale("symlog", linthresh=smallest)  # zero belongs on the axis: GRPO alone
    shown: list[float] = []
    for tick in sorted(tails["setting"].unique(), reverse=True):  # no two closer than their text
        if not shown or tick == 0 or shown[-1] / tick > 4:
            shown.append(float(tick))
    lines(panel, tails, "right_answers",
          {size: {**marked(i), "markersize": 3, "linewidth": 1.1}
           for i, size in enumerate(sorted(tails["right_answers"].unique()))},
          name="|A*| = {:g}".format, band=(0, 1), bars=True, title="entropy under a bonus",
          xlabel=f"bonus (logarithmic from {smallest:g})", ylabel="entropy at the end (nats)")
    panel.set_xticks(shown, [f"{tick:g}" for tick in shown])
    panel.minorticks_off()


def _draw_cost(panel: Axes, table: pandas.DataFrame) -> None:
    """Draw reward against entropy at the end, a point for each setting: medians over starts."""
    labels = []
    middle = pick(table, panel=["entropy", "reward"]).pivot_table(
        index=["right_answers", "method", "setting"], columns="panel", values="y", aggfunc="median")
    for i, size in enumerate(middle.index.unique("right_answers")):
        bonus, aepo = middle.loc[(size, "bonus")], middle.loc[(size, "aepo")]
        panel.plot(bonus["entropy"], bonus["reward"],
                   **{**marked(i), "markersize": 3, "linewidth": 1.1})
        panel.plot(aepo["entropy"], aepo["reward"], linestyle="none", marker="*", markersize=8,
                   color=SERIES[i]["color"], markeredgecolor="black", markeredgewidth=0.5, zorder=3)
        labels.append((float(bonus["entropy"].iloc[-1]), float(bonus["reward"].iloc[-1]),
                       f"|A*| = {size:g}", str(SERIES[i]["color"])))
    note(panel, "stars: AEPO", 0.04, 0.16)
    note(panel, "lines: bonus", 0.04, 0.06)
    panel.set(xlabel="entropy at the end (nats)", ylabel="P(right answer) at the end", ylim=(0, 1.06),
              title="what entropy costs")
    label_ends(panel, labels)


FIGURE = PaperFigure.of(
    __name__, name="aepo-figure-3",
    source="AEPO, Figure 3",
    title="entropy bonus against AEPO",
    paper="An entropy bonus often ends in one of two extremes, collapse or explosion, while AEPO keeps "
    "entropy in a stable range.",
    place="Figure 3, its caption and Section 4.2",
    ours="Exact expectation on 20-answer bandits from the same starts; median, with the band from "
    "10 to 90 % above and the range of starts below; the dashed line is log |A*|.",
    headline=Headline(
        says="With several right answers a bonus often ends in an extreme while AEPO holds at least "
             "half of its targets; with one right this fails.",
        holds=("with 4 right answers", "with 8 right answers"),
        fails=("with one right answer",),
    ),
    recipes=("paper/aepo-entropy-reg", "paper/aepo-targets", "gpu-small/grpo", "gpu-small/entropy-bonus",
             "gpu-small/aepo-targets"),
)
