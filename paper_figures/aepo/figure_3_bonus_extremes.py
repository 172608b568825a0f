"""AEPO, Figure 3: entropy regularization against AEPO.

What we run: GRPO plus coefficient x entropy over a range of coefficients, and AEPO at several
targets, from the same starts on 20-answer bandits, in exact expectation; and language models where
three of these were trained in one setting (``make gpu``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropy_theory.update_rules.aepo import Aepo
from paper_figures.aepo import compared
from paper_figures.aepo.compared import right_answers
from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import even_in_log, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing.bands import draw_lines
from paper_figures.drawing.style import MARKERS, SERIES, label_ends, level, panels, step_axis
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline
from simulations.experiments.aepo_figure_3 import EXPLODED

DRAWN_COEFFICIENTS = 4
DRAWN_TARGET = 0.5
POINTS = 80
MOST = 0.5
"""The share of runs that makes "often", and the share of AEPO's targets that must be held for us to say
that it keeps entropy in range."""
EXTREMES = {"collapsed": "that collapse",
            "exploded": f"that explode: wrong answers keep {EXPLODED:.0%} or more, whatever the entropy"}
CHOICES = (
    Choice(label="GRPO", rule="grpo", strength=0.0),
    Choice(label="bonus {coefficient:g}", rule="entropy-bonus", free=("coefficient",)),
    Choice(label="AEPO", rule="aepo"),
)
COLUMNS = ["panel", "method", "right_answers", "setting", "start", "x", "y", "run_setting"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    ``setting`` is the bonus' coefficient or AEPO's target. Panels: "curve" (x step, y entropy),
    "entropy" and "reward" (x setting, y mean over the tail), "collapsed" and "exploded" (y 0 or 1),
    "trained entropy" and "trained reward" (``method`` a rule, ``run_setting`` where language models were
    trained under it, ``start`` the seed, x step).
    """
    dataset = inputs.simulation(results, "aepo_figure_3")
    runs = training_curves.first(
        training_curves.read(results, CHOICES, metrics=("entropy", "reward"), least=3))
    parts = [_curves(dataset), *_tails(dataset), _trained(runs)]
    return stacked(parts, COLUMNS, runs)


def _trained(runs: pandas.DataFrame) -> pandas.DataFrame:
    runs = training_curves.smoothed(runs[runs["metric"].isin(["entropy", "reward"])])
    return pandas.DataFrame({
        "panel": "trained " + runs["metric"], "method": runs["label"], "setting": runs["strength"],
        "start": runs["seed"], "x": runs["step"], "y": runs["value"], "run_setting": runs["setting"],
    })


def _long(array: xarray.DataArray, method: str, setting: str, panel: str) -> pandas.DataFrame:
    frame = array.astype(float).to_dataframe(name="y").reset_index()
    frame = frame.rename(columns={setting: "setting", "step": "x"})
    if "x" not in frame:
        frame["x"] = frame["setting"]
    return frame.assign(panel=panel, method=method)


def _curves(dataset: xarray.Dataset) -> pandas.DataFrame:
    sizes = [int(dataset.right_answers[0]), int(dataset.right_answers[-1])]
    steps = even_in_log(dataset.step.values, POINTS)
    coefficients = dataset.coefficient.values
    count = min(DRAWN_COEFFICIENTS, len(coefficients))
    picks = np.linspace(0, len(coefficients) - 1, count).round().astype(int)
    target = float(dataset.target.values[np.abs(dataset.target.values - DRAWN_TARGET).argmin()])
    bonus = dataset.bonus_entropy.sel(right_answers=sizes).isel(step=steps, coefficient=picks)
    aepo = dataset.aepo_entropy.sel(right_answers=sizes, target=[target]).isel(step=steps)
    return pandas.concat(
        [_long(bonus, "bonus", "coefficient", "curve"), _long(aepo, "aepo", "target", "curve")]
    )


def _tails(dataset: xarray.Dataset) -> list[pandas.DataFrame]:
    return [
        _long(dataset.bonus_tail_entropy, "bonus", "coefficient", "entropy"),
        _long(dataset.bonus_tail_reward, "bonus", "coefficient", "reward"),
        _long(dataset.collapsed, "bonus", "coefficient", "collapsed"),
        _long(dataset.exploded, "bonus", "coefficient", "exploded"),
        _long(dataset.aepo_tail_entropy, "aepo", "target", "entropy"),
        _long(dataset.aepo_tail_reward, "aepo", "target", "reward"),
    ]


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
    curves = table[table["panel"] == "curve"]
    sizes = sorted(curves["right_answers"].unique())
    for panel, size in zip(axes[0], (sizes[0], sizes[-1]), strict=True):
        _draw_curves(panel, curves[curves["right_answers"] == size], int(size))
    _draw_tails(axes[1, 0], table[(table["panel"] == "entropy") & (table["method"] == "bonus")])
    _draw_cost(axes[1, 1], table)
    for panel, quantity in zip(axes[2:].flat, ("entropy", "reward"), strict=False):
        _draw_trained(panel, trained[trained["panel"] == f"trained {quantity}"], quantity)
    return figure


def _draw_trained(panel: Axes, rows: pandas.DataFrame, quantity: str) -> None:
    order = rows.drop_duplicates("method").sort_values("setting", na_position="last")["method"]
    labels = draw_lines(panel, rows, "method", dict(zip(order, SERIES, strict=False)), band=(0, 1))
    unit = " (nats per token)" if quantity == "entropy" else ""
    panel.set(xlabel="optimizer step", ylabel=quantity + unit, ylim=(0, None),
              xlim=(rows["x"].min(), rows["x"].max()),
              title=str(rows["run_setting"].iloc[0]).partition(",")[0])
    label_ends(panel, labels)


def _draw_curves(panel: Axes, curves: pandas.DataFrame, size: int) -> None:
    bonus, aepo = (curves[curves["method"] == method] for method in ("bonus", "aepo"))
    thin = [{**look, "linewidth": 1.2} for look in SERIES[1:DRAWN_COEFFICIENTS + 1]]
    labels = draw_lines(panel, bonus, "setting", dict(zip(sorted(set(bonus["setting"])), thin,
                                                          strict=False)),
                        name=lambda coefficient: f"bonus {coefficient:g}" if coefficient else "no bonus")
    labels += draw_lines(panel, aepo, "setting", dict.fromkeys(aepo["setting"], compared.LOOKS["AEPO"]),
                         name="AEPO, target {:g}".format)
    step_axis(panel, curves["x"])
    panel.set_ylim(-0.08, None)
    level(panel, np.log(size), f"log {size}", above=2)
    panel.set(ylabel="entropy (nats)",
              title=right_answers(size))
    label_ends(panel, labels)


def _draw_tails(panel: Axes, tails: pandas.DataFrame) -> None:
    labels = []
    for i, (size, group) in enumerate(tails.groupby("right_answers")):
        by_setting = group.groupby("setting")["y"]
        middle = by_setting.median()
        look = SERIES[i]
        panel.errorbar(
            middle.index, middle,
            yerr=[middle - by_setting.min(), by_setting.max() - middle],
            marker=MARKERS[i], markersize=3, elinewidth=0.6, **{**look, "linewidth": 1.1},
        )
        labels.append((middle.index[-1], middle.iloc[-1], f"|A*| = {size:g}", str(look["color"])))
    # Zero belongs on the axis: GRPO alone.
    smallest = tails.loc[tails["setting"] > 0, "setting"].min()
    panel.set_xscale("symlog", linthresh=smallest)
    shown: list[float] = []
    for tick in sorted(tails["setting"].unique(), reverse=True):  # no two closer than their text
        if not shown or tick == 0 or shown[-1] / tick > 4:
            shown.append(float(tick))
    panel.set_xticks(shown, [f"{t:g}" for t in shown])
    panel.minorticks_off()
    panel.set(xlabel=f"bonus (logarithmic from {smallest:g})", ylabel="entropy at the end (nats)",
              title="entropy under a bonus")
    label_ends(panel, labels)


def _draw_cost(panel: Axes, table: pandas.DataFrame) -> None:
    """Draw reward against entropy at the end, a point for each setting: medians over starts."""
    labels = []
    tails = table[table["panel"].isin(["entropy", "reward"])]
    middle = tails.pivot_table(
        index=["right_answers", "method", "setting"], columns="panel", values="y", aggfunc="median"
    )
    for i, size in enumerate(sorted(tails["right_answers"].unique())):
        look = SERIES[i]
        bonus, aepo = middle.loc[(size, "bonus")], middle.loc[(size, "aepo")]
        panel.plot(bonus["entropy"], bonus["reward"], marker=MARKERS[i], markersize=3,
                   **{**look, "linewidth": 1.1})
        panel.plot(aepo["entropy"], aepo["reward"], linestyle="none", marker="*", markersize=8,
                   color=look["color"], markeredgecolor="black", markeredgewidth=0.5, zorder=3)
        labels.append((float(bonus["entropy"].iloc[-1]), float(bonus["reward"].iloc[-1]),
                       f"|A*| = {size:g}", str(look["color"])))
    panel.annotate("stars: AEPO", (0.04, 0.16), xycoords="axes fraction", fontsize=7)
    panel.annotate("lines: bonus", (0.04, 0.06), xycoords="axes fraction", fontsize=7)
    panel.set(xlabel="entropy at the end (nats)", ylabel="P(right answer) at the end", ylim=(0, 1.06),
              title="what entropy costs")
    label_ends(panel, labels)


FIGURE = PaperFigure(
    name="aepo-figure-3",
    source="AEPO, Figure 3",
    title="entropy bonus against AEPO",
    paper="An entropy bonus often ends in one of two extremes, collapse or explosion, while AEPO keeps "
    "entropy in a stable range.",
    place="Figure 3, its caption and Section 4.2",
    ours="Exact expectation on 20-answer bandits from the same starts; median, with the band from "
    "10 to 90 % above and the range of starts below; the dashed line is log |A*|.",
    data=data,
    finding=finding,
    headline=Headline(
        says="With several right answers a bonus often ends in an extreme while AEPO holds at least "
             "half of its targets; with one right this fails.",
        holds=("with 4 right answers", "with 8 right answers"),
        fails=("with one right answer",),
    ),
    draw=draw,
    recipes=("paper/aepo-entropy-reg", "paper/aepo-targets", "gpu-small/grpo", "gpu-small/entropy-bonus",
             "gpu-small/aepo-targets"),
)
