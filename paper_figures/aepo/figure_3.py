"""AEPO, Figure 3: entropy regularization against AEPO.

What the paper shows: with an entropy bonus, training goes to one of two extremes, collapse or
explosion of entropy; AEPO keeps it in a stable range.

What we run: GRPO plus coefficient x entropy over a range of coefficients, and AEPO at several
targets, from the same starts on 20-answer bandits, in exact expectation.

Whether it reproduces: the two extremes do, and AEPO holds its targets without giving up reward where
several answers are right; with one right answer AEPO collapses, and only a bonus keeps any entropy,
paid for with wrong answers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures import inputs
from paper_figures.figure import Finding, PaperFigure, Verdict
from paper_figures.style import MARKERS, REFERENCE, SERIES, label_ends, panels

DRAWN_COEFFICIENTS = 4
DRAWN_TARGET = 0.5
POINTS = 80
COLUMNS = ["panel", "method", "right_answers", "setting", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Columns panel, method, right_answers, setting, start, x, y.

    ``setting`` is the bonus' coefficient or AEPO's target. Panels: "curve" (x step, y entropy),
    "entropy" and "reward" (x setting, y mean over the tail), "collapsed" and "exploded" (y 0 or 1).
    """
    dataset = inputs.simulation(results, "aepo_figure_3")
    parts = [_curves(dataset), *_tails(dataset)]
    table = pandas.concat(parts, ignore_index=True)[COLUMNS]
    table.attrs["inputs"] = {"aepo_figure_3.nc": inputs.dataset_provenance(dataset)}
    return table


def _long(array: xarray.DataArray, method: str, setting: str, panel: str) -> pandas.DataFrame:
    frame = array.astype(float).to_dataframe(name="y").reset_index()
    frame = frame.rename(columns={setting: "setting", "step": "x"})
    if "x" not in frame:
        frame["x"] = frame["setting"]
    return frame.assign(panel=panel, method=method)


def _curves(dataset: xarray.Dataset) -> pandas.DataFrame:
    sizes = [int(dataset.right_answers[0]), int(dataset.right_answers[-1])]
    steps = inputs.even_in_log(dataset.step.values, POINTS)
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
    """Which coefficients collapse or explode in every start, and what AEPO holds at which reward."""
    numbers: dict[str, float] = {}
    pieces = []
    for size in sorted(table["right_answers"].unique()):
        here = table[table["right_answers"] == size]
        shares = {
            kind: here[here["panel"] == kind].groupby("setting")["y"].mean()
            for kind in ("collapsed", "exploded")
        }
        aepo = here[here["method"] == "aepo"]
        reward = float(aepo[aepo["panel"] == "reward"]["y"].min())
        tails = aepo[aepo["panel"] == "entropy"].groupby("setting")["y"].median()
        held = tails[np.abs(tails - tails.index.to_numpy()) <= 0.05]
        name = f"|A*| = {size}"
        numbers[f"{name}: coefficients that collapse"] = float((shares["collapsed"] == 1).sum())
        numbers[f"{name}: coefficients that explode"] = float((shares["exploded"] == 1).sum())
        numbers[f"{name}: AEPO targets held"] = float(len(held))
        numbers[f"{name}: AEPO targets"] = float(len(tails))
        numbers[f"{name}: AEPO lowest reward"] = reward
        answers = "one right answer" if size == 1 else f"{size} right answers"
        pieces.append(
            f"With {answers}, entropy collapses {_range(shares['collapsed'], 'up to')} and wrong "
            f"answers win {_range(shares['exploded'], 'from')}, while AEPO holds {len(held)} of "
            f"{len(tails)} targets and a reward of at least {reward:.3f}"
        )
    several = [s for s in sorted(table["right_answers"].unique()) if s > 1]
    extremes = all(
        numbers[f"|A*| = {s}: coefficients that collapse"] > 0 for s in several
    ) and any(
        numbers[f"|A*| = {s}: coefficients that explode"] > 0 for s in several
    )
    held_several = all(numbers[f"|A*| = {s}: AEPO targets held"] > 0 for s in several)
    held_one = numbers.get("|A*| = 1: AEPO targets held", 1.0) > 0
    verdict: Verdict
    if extremes and held_several:
        verdict = "reproduces" if held_one else "reproduces in part"
    else:
        verdict = "does not reproduce"
    held_sum = sum(numbers[f"|A*| = {s}: AEPO targets held"] for s in several)
    tried = sum(numbers[f"|A*| = {s}: AEPO targets"] for s in several)
    headline = (
        f"Over the range tried, an entropy bonus {'goes' if extremes else 'does not go'} from "
        f"collapse to explosion; AEPO holds {held_sum:.0f} of {tried:.0f} targets without losing "
        f"reward where several answers are right, and {'some' if held_one else 'none'} where one is."
    )
    return Finding(verdict=verdict, headline=headline, text=". ".join(pieces) + ".", numbers=numbers)


def _range(shares: pandas.Series, word: str) -> str:
    """The coefficients at which every start does so, in words."""
    every = shares.index[shares == 1]
    if not len(every):
        return "at no bonus tried"
    return f"{word} a bonus of {(every.max() if word == 'up to' else every.min()):g}"


def draw(table: pandas.DataFrame) -> Figure:
    """Entropy against step; entropy and reward at the end against the bonus' coefficient."""
    figure, axes = panels(2, 2, height=2.3)
    curves = table[table["panel"] == "curve"]
    sizes = sorted(curves["right_answers"].unique())
    for panel, size in zip(axes[0], (sizes[0], sizes[-1]), strict=True):
        _draw_curves(panel, curves[curves["right_answers"] == size], int(size))
    _draw_tails(axes[1, 0], table[(table["panel"] == "entropy") & (table["method"] == "bonus")])
    _draw_cost(axes[1, 1], table)
    return figure


def _draw_curves(panel: Axes, curves: pandas.DataFrame, size: int) -> None:
    labels = []
    for look, (method, setting) in zip(
        (*SERIES[1:DRAWN_COEFFICIENTS + 1], SERIES[0]),
        [("bonus", s) for s in sorted(curves[curves["method"] == "bonus"]["setting"].unique())]
        + [("aepo", s) for s in curves[curves["method"] == "aepo"]["setting"].unique()],
        strict=False,
    ):
        group = curves[(curves["method"] == method) & (curves["setting"] == setting)]
        by_step = group.groupby("x")["y"]
        middle = by_step.median()
        style = {**look, "linewidth": 2.2 if method == "aepo" else 1.2}
        if method == "aepo":
            style.update(SERIES[0])
        panel.plot(middle.index, middle, **style)
        panel.fill_between(middle.index, by_step.quantile(0.1), by_step.quantile(0.9),
                           color=style["color"], alpha=0.13, linewidth=0)
        text = f"AEPO {setting:g}" if method == "aepo" else f"bonus {setting:g}"
        labels.append((middle.index[-1], middle.iloc[-1], text, str(style["color"])))
    panel.set_xscale("log")
    panel.axhline(np.log(size), **REFERENCE)
    panel.set(xlabel="step", xlim=(curves["x"].min(), curves["x"].max()), ylim=(-0.08, None))
    panel.set_ylabel("entropy (nats)")
    panel.set_title("one right answer" if size == 1 else f"{size} right answers")
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
        labels.append((middle.index[-1], middle.iloc[-1], f"|A*| = {size}", str(look["color"])))
    # Zero belongs on the axis: GRPO alone.
    smallest = tails.loc[tails["setting"] > 0, "setting"].min()
    panel.set_xscale("symlog", linthresh=smallest)
    shown: list[float] = []
    for tick in sorted(tails["setting"].unique(), reverse=True):  # no two closer than their text
        if not shown or tick == 0 or shown[-1] / tick > 4:
            shown.append(float(tick))
    panel.set_xticks(shown, [f"{t:g}" for t in shown])
    panel.minorticks_off()
    panel.set(xlabel="coefficient of the entropy bonus", ylabel="entropy at the end (nats)")
    panel.set_title("entropy under a bonus")
    label_ends(panel, labels)


def _draw_cost(panel: Axes, table: pandas.DataFrame) -> None:
    """Reward against entropy at the end: each method's settings are points, medians over starts."""
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
                       f"|A*| = {size}", str(look["color"])))
    panel.annotate("stars: AEPO", (0.04, 0.16), xycoords="axes fraction", fontsize=7)
    panel.annotate("lines: bonus", (0.04, 0.06), xycoords="axes fraction", fontsize=7)
    panel.set(xlabel="entropy at the end (nats)", ylabel="P(right answer) at the end",
              ylim=(0, 1.06))
    panel.set_title("what entropy costs")
    label_ends(panel, labels)


FIGURE = PaperFigure(
    name="aepo-figure-3",
    source="AEPO, Figure 3",
    title="entropy bonus against AEPO",
    paper="An entropy bonus ends in collapse or explosion; AEPO keeps entropy in a stable range.",
    ours="Exact expectation on 20-answer bandits from the same starts; median, with the band from "
    "10 to 90 % above and the range of starts below; the dashed line is log |A*|.",
    data=data,
    finding=finding,
    draw=draw,
)
