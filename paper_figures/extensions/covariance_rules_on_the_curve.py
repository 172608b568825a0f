"""Clip-Cov and KL-Cov against GRPO at equal accuracy and at equal entropy.

Cui et al. compare their rules with GRPO at equal steps (Figure 11), where more entropy may only
mean slower learning. A referee's question is whether these runs stay on GRPO's curve, and with it
on the law R = b - a e^H.

We compare with GRPO from the same start: entropy when a rule first reaches an accuracy, and
accuracy when entropy first falls to a level. At full strength Clip-Cov has 0.4 of the tokens, and
KL-Cov has beta 2 on a fifth, in the two worlds of Figure 11. At less they have a tenth of the
tokens and beta 1, over further families of prompts.

The strength decides whether a rule leaves the curve. At the full one both rules do, upwards. At the
lesser one neither does, on the same prompts with five right answers as on others.
"""

from __future__ import annotations

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data.tables import pick
from paper_figures.drawing import REFERENCE, panels
from paper_figures.entropy_mechanism import methods, sweeps
from paper_figures.entropy_mechanism.methods import (
    DOTS,
    LOOKS,
    METHODS,
    add_key,
    draw_rules,
    gaps_to_grpo,
)
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

MARGIN = 0.01
"""A margin of accuracy: on GRPO's curve is within it, the interval no wider than twice it; off is
further, the interval without 0."""


def finding(table: pandas.DataFrame) -> Finding:
    """State in how many comparisons the rules leave GRPO's curve."""
    curve = gaps_to_grpo(table[table["panel"] == "at equal entropy"], absolute=True)
    curve = curve[curve.index.get_level_values("rule").isin(METHODS)].join(strengths(table))
    above = (curve["mean"] > MARGIN) & (curve["low"] > 0)
    on = (curve["mean"].abs() <= MARGIN) & (curve["high"] - curve["low"] <= 2 * MARGIN)
    weak = curve["selected"] == curve["selected"].min()
    return Finding(standing="our own", criteria=(
        Criterion("share of the comparisons above GRPO's curve, not the fewest tokens selected",
                  float(above[~weak].mean()), "≥", 1),
        Criterion("share of the comparisons on GRPO's curve, fewest tokens selected",
                  float(on[weak].mean()), "≥", 1),
    ))


def strengths(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the share of tokens selected and KL-Cov's penalty, by (family, rule)."""
    return table.groupby(["family", "rule"], sort=False)[["selected", "penalty"]].first()


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy at equal accuracy along training, and both comparisons over families of prompts."""
    equal = pick(table, panel="at equal reward")
    families = list(equal["family"].unique())
    figure, axes = panels(2, max(2, len(families)), height=2.2)
    for panel in axes[0, len(families):]:
        panel.remove()
    for panel, family in zip(axes[0], families, strict=False):
        draw_rules(panel, pick(equal, family=family), "nats beyond GRPO", gap=True,
                   xlabel="accuracy (0 to 1)", title=sweeps.name(str(family)))
    _dots(axes[1, 0], pick(table, panel="families"), "nats beyond GRPO")
    axes[1, 0].set_title("entropy at equal accuracy")
    _dots(axes[1, 1], pick(table, panel="at equal entropy"), "accuracy beyond GRPO")
    axes[1, 1].set_title("accuracy at equal entropy")
    add_key(figure)
    return figure


def _dots(panel: Axes, rows: pandas.DataFrame, label: str) -> None:
    """Draw mean and 99 % interval of the gap to GRPO, grouped by family, with a mark for each rule."""
    gaps = gaps_to_grpo(rows, absolute=True)
    names = list(dict.fromkeys(gaps.index.get_level_values("family")))
    for k, (rule, marker) in enumerate(DOTS.items()):
        here = gaps.xs(rule, level="rule").reindex(names)
        x = np.arange(len(names)) + 0.22 * (k - 1)
        reach = np.abs(here[["low", "high"]].to_numpy().T - here["mean"].to_numpy())
        panel.errorbar(x, here["mean"], yerr=reach, linestyle="none", marker=marker, markersize=3,
                       color=LOOKS[rule]["color"], linewidth=0.9)
    panel.axhline(0, **REFERENCE)
    panel.set_xticks(range(len(names)), [_short(name) for name in names], rotation=90)
    panel.set_ylabel(label)
    panel.tick_params(axis="x", labelsize=6.5)
    panel.grid(axis="x", visible=False)
    panel.set_xlim(-0.5, len(names) - 0.5)


def _short(family: str) -> str:
    """Shorten "five right answers, mixed" to "5 right, mixed"."""
    number, _, kind = family.partition(" right")
    kind = kind.rpartition(", ")[2].removesuffix(" parameters")
    digits = {"one": "1", "five": "5", "ten": "10"}.get(number, number)
    return f"{digits} right" + (f", {kind}" if kind else "")


FIGURE = PaperFigure.of(
    __name__, name="covariance-rules-on-the-curve",
    source="This project",
    title="Clip-Cov and KL-Cov at equal accuracy and at equal entropy",
    paper="Cui et al., Figure 11, compare their rules with GRPO at equal steps only.",
    ours="The runs of Cui et al., Figure 11, at full strength. Above: entropy beyond GRPO's when an "
    "accuracy is first reached, means with 95 % intervals. Below: means and 99 % intervals by family of "
    "prompts; \"hard\", \"mixed\", \"peaked\" and \"graded\" have a tenth of the tokens selected, and "
    "KL-Cov beta 1.",
    claims=("entropy-mechanism.points-on-the-curve",),
    data=methods.compared,
    headline=Headline(
        says="Strong Clip-Cov and KL-Cov leave GRPO's curve of reward against entropy upwards; weak "
             "ones stay on it.",
    ),
)
