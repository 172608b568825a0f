"""AEPO, Theorem 4.3 and Corollary 4.4: where tempered REINFORCE raises entropy, and where it lowers it.

The paper has no figure of it. By the theorem, where REINFORCE on right answers lowers entropy at T
= 1, a little more temperature lowers it less: F'(1) > 0 if F(1) < 0. By the corollary, high
temperature raises entropy and low temperature lowers it, relatively.

F(T) is the rate of the entropy change per unit learning rate. We compute it over accuracy and
temperature, for policies with right and wrong logits at the quantiles of a normal distribution. The
map shows its sign and the temperature T0 where that changes. Hatched: the corollary is false,
because a temperature above 1 gives less than F(1), or one below 1 gives more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.ndimage import distance_transform_edt
from scipy.special import logit, ndtri

from entropy_theory.entropy_change import (
    sign_change_temperature,
    tempered_reinforce_rate,
    tempered_reinforce_rate_slope,
)
from entropy_theory.update_rules.aepo import Aepo
from paper_figures.aepo.compared import right_answers
from paper_figures.data import inputs
from paper_figures.drawing import REFERENCE, panels
from paper_figures.drawing.style import style
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

N_ACTIONS = 20
FAMILIES = ((1, 2.0), (2, 2.0), (4, 1.0), (12, 1.0))
"""The families of policies: (right answers, standard deviation of the logits)."""
ACCURACIES = 1 / (1 + np.exp(-np.linspace(logit(0.004), logit(0.999), 61)))
TEMPERATURES = np.geomspace(0.2, 6.0, 35)
COLUMNS = ["right_answers", "peakedness", "accuracy", "temperature", "rate", "rate_at_1", "slope_at_1",
           "sign_change"]
OUTSIDE = "F(1) > 0"
"""Where the theorem says nothing. Its corollary is printed without the theorem's condition F(1) < 0."""
RISES, FALLS = "#9ccbe8", "#f6e3c5"


def policy(n_correct: int, peakedness: float, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (logits, right answers), [actions] each: right ones first, both at normal quantiles."""
    right, wrong = (peakedness * ndtri((np.arange(n) + 0.5) / n)
                    for n in (n_correct, N_ACTIONS - n_correct))
    lift = logit(accuracy) - np.log(np.exp(right).sum()) + np.log(np.exp(wrong).sum())
    return np.concatenate([right + lift, wrong]), np.arange(N_ACTIONS) < n_correct


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS: a row per policy and temperature.

    ``rate`` is F(T), ``rate_at_1`` F(1), ``slope_at_1`` F'(1), nats per unit learning rate (and
    temperature); ``sign_change`` is T0.
    """
    inputs.theory()
    parts = []
    for n_correct, peakedness in FAMILIES:
        policies = [policy(n_correct, peakedness, accuracy) for accuracy in ACCURACIES]
        logits = np.stack([z for z, _ in policies])
        correct = policies[0][1]
        at_1 = {
            "rate_at_1": tempered_reinforce_rate(logits, correct, 1.0),
            "slope_at_1": tempered_reinforce_rate_slope(logits, correct, 1.0),
            "sign_change": sign_change_temperature(logits, correct),
        }
        shape = (len(ACCURACIES), len(TEMPERATURES))
        rates = tempered_reinforce_rate(
            np.broadcast_to(logits[:, None], (*shape, N_ACTIONS)), correct, TEMPERATURES)
        parts.append(pandas.DataFrame({
            "right_answers": n_correct, "peakedness": peakedness,
            "accuracy": np.repeat(ACCURACIES, shape[1]),
            "temperature": np.tile(TEMPERATURES, shape[0]), "rate": rates.ravel(),
            **{name: np.repeat(values, shape[1]) for name, values in at_1.items()},
        }))
    return pandas.concat(parts, ignore_index=True)[COLUMNS]


def against_corollary(table: pandas.DataFrame) -> pandas.Series:
    """Mark the rows where a temperature above 1 gives less than F(1), or one below 1 more."""
    return (table["rate"] - table["rate_at_1"]) * (table["temperature"] - 1) < 0


def finding(table: pandas.DataFrame) -> Finding:
    """State whether theorem and corollary hold on the map."""
    by_policy = table.groupby(["right_answers", "peakedness", "accuracy"], as_index=False).first()
    slopes = by_policy[by_policy["rate_at_1"] < 0]["slope_at_1"]
    against = against_corollary(table)
    sides = {"T > 1": table["temperature"] > 1, "T < 1": table["temperature"] < 1}
    signs = {"F(1) < 0": table["rate_at_1"] < 0, OUTSIDE: table["rate_at_1"] > 0}
    criteria = [Criterion("Theorem 4.3: policies with F(1) < 0 and F'(1) ≤ 0",
                          float((slopes <= 0).sum()), "≤", 0)] + [
        Criterion("Corollary 4.4: points of the map at which it is false",
                  float((against & sign & side).sum()), "≤", 0, f"where {name} and {temperature}",
                  beyond=name == OUTSIDE)
        for name, sign in signs.items() for temperature, side in sides.items()]
    return Finding(criteria=tuple(criteria))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the sign of F over accuracy and temperature, T0, and where the corollary is false."""
    figure, axes = panels(2, 2, height=2.35, sharex=True, sharey=True)
    families = table[["right_answers", "peakedness"]].drop_duplicates().itertuples(index=False)
    for panel, (size, peakedness) in zip(axes.flat, families, strict=True):
        chosen = (table["right_answers"] == size) & (table["peakedness"] == peakedness)
        _draw_map(panel, table[chosen])
        panel.set_title(f"{right_answers(size)}, logit spread {peakedness:g}")
        panel.label_outer()
    return figure


def front(size: int = 4) -> Figure:
    """Draw one family of the map for the site's first page, readable at 390 pixels; no result is needed.

    Args:
        size: how many of the 20 answers are right, one of FAMILIES.
    """
    table = data(Path())
    with style():
        figure = Figure(figsize=(3.9, 2.9))
        _draw_map(figure.subplots(), table[table["right_answers"] == size])
        figure.axes[0].set_title(f"One prompt, 20 answers, {size} of them right")
    return figure


def _draw_map(panel: Axes, cells: pandas.DataFrame) -> None:
    rates = cells.pivot_table(index="temperature", columns="accuracy", values="rate")
    accuracy, temperature = rates.columns.to_numpy(), rates.index.to_numpy()
    by_policy = cells.drop_duplicates("accuracy").set_index("accuracy").loc[accuracy]
    bottom, top = temperature[0], temperature[-1]
    crossing = by_policy["sign_change"].clip(bottom * 0.9, top * 1.1)  # beyond: not along the frame
    panel.fill_between(accuracy, bottom, crossing, color=FALLS, linewidth=0)
    panel.fill_between(accuracy, crossing, top, color=RISES, linewidth=0)
    panel.plot(accuracy, crossing, color="black", linewidth=1.6)
    if by_policy["sign_change"].iloc[-1] < top:
        # Above its line and above T_high's, so that no line runs through it.
        highest = max(float(crossing.iloc[-1]), Aepo().temperature_high)
        panel.annotate("$T_0$", (accuracy[-1], crossing.iloc[-1]), xytext=(accuracy[-4], 1.35 * highest),
                       fontsize=8, arrowprops={"arrowstyle": "-", "linewidth": 0.6}, ha="right",
                       va="bottom")
    # Of one sign on either side of T = 1, and with a limit there: its zero line is smooth.
    apart = temperature[:, None] - 1
    gain = (rates.to_numpy() - by_policy["rate_at_1"].to_numpy()) / np.where(apart == 0, 1.0, apart)
    if (gain < 0).any():
        panel.contourf(accuracy, temperature, gain, levels=[-np.inf, 0.0], colors="none",
                       hatches=["/////"])
    for level in (Aepo().temperature_high, Aepo().temperature_low):
        panel.axhline(level, **{**REFERENCE, "linewidth": 0.7})
    for name, sign in (("entropy\nrises", 1), ("entropy\nfalls", -1)):
        inside = sign * rates.to_numpy() > 0
        if inside.mean() > 0.04:
            _write_inside(panel, name, inside, accuracy, temperature)
    panel.set(xscale="logit", yscale="log", xlim=(accuracy[0], accuracy[-1]), ylim=(bottom, top))
    panel.set_xticks([0.01, 0.1, 0.5, 0.9, 0.99], ["0.01", "0.1", "0.5", "0.9", "0.99"])
    panel.set_yticks([0.3, 0.5, 0.8, 1.2, 2, 4], ["0.3", "0.5", "0.8", "1.2", "2", "4"])
    panel.minorticks_off()
    panel.grid(visible=False)
    panel.set(xlabel="probability of a right answer", ylabel="temperature T")


def _write_inside(
    panel: Axes, name: str, inside: np.ndarray, accuracy: np.ndarray, temperature: np.ndarray
) -> None:
    """Write a region's name at its widest place."""
    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(depth.argmax(), depth.shape)
    panel.text(float(accuracy[column]), float(temperature[row]), name, ha="center", va="center",
               fontsize=8, bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.0})


FIGURE = PaperFigure.of(
    __name__, name="aepo-theorem-4-3",
    source="AEPO, Theorem 4.3 and Corollary 4.4",
    title="where tempered REINFORCE raises entropy",
    paper="Where REINFORCE lowers entropy at T = 1, slightly more temperature lowers it less: high "
          "temperature raises entropy, low lowers it, relatively.",
    place="Section 4.1, Theorem 4.3 and Corollary 4.4; they have no figure",
    ours="The sign of F(T), the entropy change per unit learning rate, for 20-answer policies "
         "with logits at normal quantiles. Black: the temperature T0 where it changes. Hatched: "
         "the corollary is false. Dashed: AEPO's two temperatures.",
    claims=("extension.global-slope", "extension.low-temperature-decrease"),
    inside="precise",
    headline=Headline(
        says="Theorem 4.3 holds on the whole map; Corollary 4.4 is false on part of it, even where "
             "F(1) < 0.",
        holds=("",),
        fails=("where F(1) < 0 and T < 1", f"where {OUTSIDE} and T > 1"),
    ),
)
