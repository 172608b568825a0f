"""When the covariance is positive, so that entropy falls: a map over problems.

Cui et al. observe that the average covariance is positive at every step of training, and conclude that
entropy must fall. To first order entropy falls by eta Cov(log pi, pi A) under the policy gradient (PG)
and by eta Cov(log pi, A) under the natural gradient (NPG); both signs are properties of the problem
(where right answers are likelier than wrong ones). Shares of positive covariances are counted over
random problems: five families of logits and several numbers of right answers.
"""

from __future__ import annotations

from pathlib import Path

import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.drawing.bands import draw_line, draw_lines
from paper_figures.drawing.style import REFERENCE, SERIES, label_ends, panels, value_ticks
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

COLUMNS = ["panel", "family", "right_answers", "form", "rule", "competence", "x", "share", "counted"]
CALIBRATED = 1.0


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, family, right_answers, form, rule, competence, x, share, counted.

    Panels: "difficulty" (x accuracy to which blindly chosen right answers were brought), "competence" (x
    power of the policy by which right answers are drawn), "batch" (x prompts of a batch, by competence),
    "training" (x accuracy reached, lower edge). ``share`` of positive covariances, 0 to 1; of batches,
    ``counted`` many.
    """
    dataset = inputs.simulation(results, "covariance_sign_map")
    parts = [
        _long(dataset.share_by_difficulty, "difficulty", "accuracy"),
        _long(dataset.share_by_competence, "competence", "competence"),
        _long(dataset.share_of_batches, "batch", "batch_size"),
        _long(dataset.share_by_accuracy_reached, "training", "reached"),
    ]
    table = pandas.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    problems = int(inputs.dataset_provenance(dataset)["config"]["n_problems"])
    return table.assign(counted=(problems // table["x"]).where(table["panel"] == "batch"))


def _long(array: xarray.DataArray, panel: str, x: str) -> pandas.DataFrame:
    frame = array.to_dataframe(name="share").reset_index()
    frame["x"] = frame[x]
    return frame.dropna(subset=["x", "share"]).assign(panel=panel)


def finding(table: pandas.DataFrame) -> Finding:
    """State the lowest and the highest share over families and right answers, where it matters."""
    difficulty, training = (table[table["panel"] == name] for name in ("difficulty", "training"))
    hard, easy = (difficulty[difficulty["x"] == accuracy]["share"]
                  for accuracy in (difficulty["x"].min(), difficulty["x"].max()))
    return Finding(standing="our own", criteria=(
        Criterion("share of positive covariances at the highest accuracy, smallest", float(easy.min()),
                  ">", 0.5),
        Criterion("largest share at the lowest accuracy less the smallest at the highest",
                  float(hard.max() - easy.min()), "<", 0),
        Criterion("share along training from an accuracy of 0.75 on, smallest",
                  float(training[training["x"] >= 0.75]["share"].min()), ">", 0.5),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw shares by accuracy, by competence, by size of batch, and along training."""
    figure, axes = panels(2, 2, height=2.1, sharey=True)
    panel = axes[0, 0]
    _draw_forms(panel, table[table["panel"] == "difficulty"])
    panel.set(xlabel="accuracy of the prompt", title="right answers chosen blindly")
    panel = axes[0, 1]
    _draw_forms(panel, table[table["panel"] == "competence"])
    panel.set(xlabel="competence β (right answers ∼ π$^β$)", title="right answers that the policy knows")
    _draw_batches(axes[1, 0], table[table["panel"] == "batch"])
    _draw_training(axes[1, 1], table[(table["panel"] == "training")])
    for row in axes:
        row[0].set(ylabel="share positive", ylim=(-0.03, 1.05))
        for panel in row:
            panel.axhline(0.5, **{**REFERENCE, "linewidth": 0.6})
    return figure


def _draw_forms(panel: Axes, rows: pandas.DataFrame) -> None:
    looks = dict(zip(rows["form"].unique(), SERIES, strict=False))
    labels = draw_lines(panel, rows, "form", looks, y="share", band=(0, 1))
    panel.margins(x=0)
    label_ends(panel, labels)


def _draw_batches(panel: Axes, rows: pandas.DataFrame) -> None:
    panel.set(xscale="log", xlabel="prompts in a batch", title="means over batches, PG")
    labels = []
    shown = [value for value in (2.0, 1.0, 0.5, 0.0, -1.0) if value in set(rows["competence"])]
    for look, value in zip(SERIES, shown, strict=False):
        group = rows[(rows["competence"] == value) & (rows["form"] == "PG")]
        # One band only: five would hide one another.
        band = (0.0, 1.0) if value == CALIBRATED else None
        labels.append((*draw_line(panel, group, look, y="share", band=band), f"β = {value:g}",
                       str(look["color"])))
    value_ticks(panel, rows["x"])
    panel.margins(x=0)
    label_ends(panel, labels)


def _draw_training(panel: Axes, rows: pandas.DataFrame) -> None:
    panel.set(xlabel="accuracy reached, from", title="along exact training")
    rules = rows.groupby("rule", sort=False)
    for i, (look, (rule, group)) in enumerate(zip(SERIES, rules, strict=False)):
        # Each rule's own theorem: NPG's for the natural gradient.
        group = group[group["form"] == ("NPG" if rule == "NPG" else "PG")]
        draw_line(panel, group, look, y="share", band=(0, 1))
        panel.annotate(str(rule), (0.95, 0.08 + 0.1 * i), xycoords="axes fraction", ha="right",
                       fontsize=7, color=look["color"])


FIGURE = PaperFigure(
    name="covariance-sign-map",
    source="This project",
    title="when the covariance is positive, and entropy falls",
    paper="Cui et al.: the average covariance is positive at all update steps, so entropy falls.",
    ours="Shares over random 20-answer problems: the median over families of logits and numbers of right "
    "answers, with the band from the lowest to the highest of them.",
    claims=("entropy-mechanism.covariance-agreement",),
    data=data,
    finding=finding,
    headline=Headline(
        says="The covariance is positive, and entropy falls to first order, on most easy prompts and "
             "fewer hard ones; training makes it mostly positive.",
    ),
    draw=draw,
)
