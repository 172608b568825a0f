"""Clip-Cov and KL-Cov against GRPO at equal accuracy and at equal entropy.

Cui et al. compare their rules with GRPO at equal steps (Figure 11): more entropy there may only mean
slower learning. A referee asks what this says about the law R = b - a e^H: do the points of these runs
stay on the curve of GRPO?

Entropy when a rule first reaches an accuracy, and accuracy when entropy first falls to a level, against
GRPO's from the same start: in the two worlds of Figure 11 and (a tenth of the tokens selected) over
further families of prompts.
"""

from __future__ import annotations

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.drawing.style import REFERENCE, panels
from paper_figures.entropy_mechanism import methods, sweeps
from paper_figures.entropy_mechanism.methods import (
    DOTS,
    LOOKS,
    METHODS,
    add_key,
    draw_rules,
    gaps_to_grpo,
)
from paper_figures.figure import Finding, PaperFigure

MARGIN = 0.01  # of accuracy: closer than this counts as on GRPO's curve


def finding(table: pandas.DataFrame) -> Finding:
    """State in how many comparisons the rules leave GRPO's curve, and what entropy they have on it."""
    numbers: dict[str, float] = {}
    curve = gaps_to_grpo(table[table["panel"] == "at equal entropy"], absolute=True)
    curve = curve[curve.index.get_level_values("rule").isin(METHODS)]
    above = curve[(curve["mean"] > MARGIN) & (curve["low"] > 0)]
    below = curve[(curve["mean"] < -MARGIN) & (curve["high"] < 0)]
    rewards = table[table["panel"].isin(["at equal reward", "families"])]
    equal = gaps_to_grpo(_mean_over_x(rewards), absolute=True)
    equal = equal[equal.index.get_level_values("rule").isin(METHODS)]
    numbers |= {
        "above GRPO's curve": float(len(above)), "below GRPO's curve": float(len(below)),
        "comparisons with GRPO's curve": float(len(curve)),
        "accuracy at equal entropy: lowest": float(curve["mean"].min()),
        "accuracy at equal entropy: highest": float(curve["mean"].max()),
        "entropy at equal accuracy: lowest": float(equal["mean"].min()),
        "entropy at equal accuracy: highest": float(equal["mean"].max()),
    }
    named = "; ".join(f"{rule} with {sweeps.name(str(family))} by {row['mean']:.3f}"
                      for (family, rule), row in above.iterrows())
    text = (
        f"When the same accuracy is first reached, Clip-Cov and KL-Cov have "
        f"{numbers['entropy at equal accuracy: lowest']:+.2f} to "
        f"{numbers['entropy at equal accuracy: highest']:+.2f} nats beyond GRPO's. In {len(above)} of "
        f"{len(curve)} comparisons their accuracy at equal entropy is above GRPO's, by more than "
        f"{MARGIN:g} in the mean and with the 99 % interval above 0{f' ({named})' if named else ''}, in "
        f"{len(below)} below; else they slide along GRPO's curve, or cannot be told from it."
    )
    left = (len(above) + len(below)) / len(curve)
    headline = "At equal entropy Clip-Cov and KL-Cov " + (
        "are nearly always on GRPO's curve of reward: more entropy at equal steps is slower learning."
        if left < 0.25 else
        "mostly leave GRPO's curve of reward." if left > 0.75 else
        "leave GRPO's curve of reward on some families of prompts and stay on it on others."
    )
    return Finding(standing="our own", headline=headline, text=text, numbers=numbers)


def _mean_over_x(rows: pandas.DataFrame) -> pandas.DataFrame:
    return rows.groupby(["panel", "family", "rule", "start"], sort=False)["y"].mean().reset_index()


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy at equal accuracy along training, and both comparisons over families of prompts."""
    equal = table[table["panel"] == "at equal reward"]
    families = list(equal["family"].unique())
    figure, axes = panels(2, max(2, len(families)), height=2.2)
    for panel in axes[0, len(families):]:
        panel.remove()
    for panel, family in zip(axes[0], families, strict=False):
        draw_rules(panel, equal[equal["family"] == family], "nats beyond GRPO", gap=True)
        panel.set_xlabel("accuracy (0 to 1)")
        panel.set_title(sweeps.name(str(family)))
    _dots(axes[1, 0], table[table["panel"] == "families"], "nats beyond GRPO")
    axes[1, 0].set_title("entropy at equal accuracy")
    _dots(axes[1, 1], table[table["panel"] == "at equal entropy"], "accuracy beyond GRPO")
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


FIGURE = PaperFigure(
    name="covariance-rules-on-the-curve",
    source="This project",
    title="Clip-Cov and KL-Cov at equal accuracy and at equal entropy",
    paper="Cui et al., Figure 11, compare their rules with GRPO at equal steps only.",
    ours="The runs of Cui et al., Figure 11. Above: entropy beyond GRPO's when an accuracy is first "
         "reached, means with 95 % intervals. Below: means and 99 % intervals by family of prompts; "
         "\"hard\", "
    "\"mixed\", "
    "\"peaked\" and \"graded\" have a tenth of the tokens selected.",
    claims=("entropy-mechanism.points-on-the-curve",),
    data=methods.compared,
    finding=finding,
    draw=draw,
)
