"""Exact entropy change against first and second order, by step size.

The papers forecast entropy by its first order, -Cov(log pi, step) (AEPO, Theorem 4.3; Cui et al., Lemma
1). Here three kinds of step are scaled up from random 20-answer policies. They are steps of the
policy gradient while the right answer is rare and near collapse, and of an entropy bonus near
collapse.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropy_theory import entropy_change, policy
from paper_figures.data import inputs
from paper_figures.drawing import REFERENCE, SERIES, draw_line, level, note, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

N_ACTIONS, N_STARTS = 20, 20
ACCURACY = {"rare": 0.02, "collapse": 0.999, "bonus": 0.999}
CASES = {
    "rare": "a rare answer learned",
    "collapse": "near collapse, learning",
    "bonus": "near collapse, bonus",
}
SIZES = np.geomspace(0.01, 16, 33)
"""The sizes of steps: largest less smallest entry, nats."""
ORDERS = {"first_order": "first order", "second_order": "second order"}
SMALL = 0.1
"""The size of a small step, nats."""
TOLERANCE = 0.1
"""An order holds up to the step size at which its error exceeds this share of the exact change."""


def data(results: Path) -> pandas.DataFrame:
    """Return columns case, start, size, exact, first_order, second_order; nats."""
    del results
    inputs.theory()
    drawn = np.random.default_rng(0).normal(size=(N_STARTS, N_ACTIONS))
    correct = np.arange(N_ACTIONS) == 0
    parts = []
    for case in CASES:
        logits = drawn.copy()
        # The right answer's odds are e^{z_0} / sum of the others' e^z.
        odds = np.log(ACCURACY[case] / (1 - ACCURACY[case]))
        logits[:, 0] = odds + np.logaddexp.reduce(logits[:, 1:], axis=-1)
        if case == "bonus":
            direction = policy.entropy_gradient(logits)
        else:
            direction = entropy_change.tempered_reinforce_step(logits, correct, 1.0)
        direction = direction / np.ptp(direction, axis=-1, keepdims=True)
        steps = SIZES[:, None] * direction[:, None, :]
        start, size = np.meshgrid(np.arange(N_STARTS), SIZES, indexing="ij")
        parts.append(pandas.DataFrame({
            "case": case, "start": start.ravel(), "size": size.ravel(),
            **{name: getattr(entropy_change, name)(logits[:, None, :], steps).ravel()
               for name in ("exact", *ORDERS)},
        }))
    return pandas.concat(parts, ignore_index=True)


def errors(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the errors of first_order and second_order as shares of the exact change."""
    relative = {name: abs(table[name] - table["exact"]) / abs(table["exact"]) for name in ORDERS}
    return table.assign(**relative)


def finding(table: pandas.DataFrame) -> Finding:
    """State how far the first order carries, and how often its sign is wrong."""
    carried = [_carries(errors(rows), "first_order") for _, rows in table.groupby("case")]
    rare = table[table["case"] == "rare"]
    wrong = (np.sign(rare["first_order"]) != np.sign(rare["exact"])).groupby(rare["size"]).mean()
    return Finding(standing="our own", criteria=(
        Criterion(f"size of a step up to which the first order is within {TOLERANCE:.0%}, nats, "
                  "smallest of a case", min(carried), "≥", SMALL),
        Criterion("largest share of the policies with the wrong sign at a step size, learning a rare "
                  "answer", float(wrong.max()), "≥", 0.5),
    ))


def _carries(off: pandas.DataFrame, name: str) -> float:
    """The largest size up to which the median policy's error is within the tolerance; 0 if none is."""
    middle = off.groupby("size")[name].median()
    beyond = middle.index[middle > TOLERANCE]
    within = middle.index[middle.index < beyond.min()] if len(beyond) else middle.index
    return float(within.max()) if len(within) else 0.0


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the change, and below it the share of it that each order is off; a column for each case."""
    cases = list(dict.fromkeys(table["case"]))
    figure, axes = panels(2, len(cases), height=1.95, sharex=True)
    off = errors(table)
    for column, case in enumerate(cases):
        rows = table[table["case"] == case]
        _draw_change(axes[0, column], rows, labels=column == len(cases) - 1)
        axes[0, column].set_title(CASES[case], fontsize=8)
        _draw_errors(axes[1, column], off[off["case"] == case])
        axes[1, column].set_xlabel("step size (nats)")
    axes[0, 0].set_ylabel("entropy change (nats)")
    axes[1, 0].set_ylabel("error (share of\nthe exact change)")
    figure.align_ylabels()
    return figure


def _draw_change(panel: Axes, rows: pandas.DataFrame, *, labels: bool) -> None:
    exact = rows.groupby("size")["exact"].median()
    low, high = min(exact.min(), 0.0), max(exact.max(), 0.0)
    if high > 0:  # where the change turns, the turn is what is to be seen
        low = max(low, -2 * high)
    reach = 0.18 * (high - low)
    panel.set_ylim(low - reach, high + reach)
    for i, (look, name) in enumerate(zip(SERIES, ("exact", *ORDERS), strict=False)):
        width = 2.2 if name == "exact" else 1.3
        draw_line(panel, rows, {**look, "linewidth": width}, x="size", y=name, band=None)
        if labels:
            note(panel, ORDERS.get(name, name), 0.06, 0.88 - 0.12 * i, color=look["color"])
    panel.axhline(0, **{**REFERENCE, "linewidth": 0.6})
    panel.set(xscale="log", xlim=(SIZES[0], SIZES[-1]))
    panel.locator_params(axis="y", nbins=5)


def _draw_errors(panel: Axes, off: pandas.DataFrame) -> None:
    for look, name in zip(SERIES[1:], ORDERS, strict=False):
        draw_line(panel, off, look, x="size", y=name)
    panel.set(xscale="log", yscale="log", ylim=(1e-5, 30))
    level(panel, TOLERANCE, f"{TOLERANCE:.0%}", x=0.02, above=2)


FIGURE = PaperFigure.of(
    __name__, name="exact-and-first-order",
    source="This project",
    title="exact entropy change against first and second order",
    paper="AEPO's Theorem 4.3 and Cui et al.'s Lemma 1 write the first order with an "
          "approximation sign; they do not show how good it is.",
    ours=f"Steps along the policy gradient and the entropy's gradient from {N_STARTS} random "
         f"policies over {N_ACTIONS} answers, one right. Lines are medians, bands below 10 to 90 "
         "%. Solid lines are exact.",
    claims=("aepo.theorem-4.3a", "entropy-mechanism.lemma-1-state", "extension.second-order"),
    headline=Headline(
        says="The first-order entropy change is good for small logit steps; for large ones that learn a "
             "rare answer its sign is mostly wrong.",
    ),
)
