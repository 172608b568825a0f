"""When the covariance is positive, so that entropy falls: a map over problems.

Cui et al. observe that the average covariance is positive at every step of training, and conclude that
entropy must fall. To first order entropy falls by eta Cov(log pi, pi A) under the policy gradient
(PG), and by eta Cov(log pi, A) under the natural gradient (NPG). Both signs are properties of the
problem, namely whether right answers are likelier than wrong ones. We count shares of positive
covariances over random problems, with five families of logits and several numbers of right answers.
"""

from __future__ import annotations

from pathlib import Path

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import by_panel, long, pick, stacked
from paper_figures.drawing import REFERENCE, SERIES, draw_line, lines, note, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

COLUMNS = ["panel", "family", "right_answers", "form", "rule", "competence", "x", "share", "counted"]
CALIBRATED = 1.0


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, family, right_answers, form, rule, competence, x, share, counted.

    Panels:

    - "difficulty": x accuracy to which blindly chosen right answers were brought;
    - "competence": x power of the policy by which right answers are drawn;
    - "batch": x prompts of a batch, by competence;
    - "training": x accuracy reached, lower edge.

    ``share`` is that of positive covariances, 0 to 1. Of batches there are ``counted``.
    """
    dataset = inputs.simulation(results, "covariance_sign_map")
    table = stacked((
        long(dataset[name], panel, x, {"y": "share"}).rename(columns={"y": "share"}).dropna(
            subset=["x", "share"])
        for panel, name, x in (("difficulty", "share_by_difficulty", "accuracy"),
                               ("competence", "share_by_competence", "competence"),
                               ("batch", "share_of_batches", "batch_size"),
                               ("training", "share_by_accuracy_reached", "reached"))), COLUMNS)
    problems = int(inputs.dataset_provenance(dataset)["config"]["n_problems"])
    return table.assign(counted=(problems // table["x"]).where(table["panel"] == "batch"))


def finding(table: pandas.DataFrame) -> Finding:
    """State the lowest and the highest share over families and right answers, where it matters."""
    difficulty, training = (pick(table, panel=name) for name in ("difficulty", "training"))
    hard, easy = (pick(difficulty, x=accuracy)["share"]
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
    of = by_panel(table)
    for panel in axes.flat:
        panel.axhline(0.5, **{**REFERENCE, "linewidth": 0.6})
        panel.set(ylim=(-0.03, 1.05))
    for row in axes:
        row[0].set_ylabel("share positive")
    for panel, name, label, title in (
            (axes[0, 0], "difficulty", "accuracy of the prompt", "right answers chosen blindly"),
            (axes[0, 1], "competence", "competence β (right answers ∼ π$^β$)",
             "right answers that the policy knows")):
        lines(panel, of[name], "form", of[name]["form"].unique(), y="share", band=(0, 1), xlabel=label,
              title=title)
    batches = pick(of["batch"], form="PG")
    shown = [value for value in (2.0, 1.0, 0.5, 0.0, -1.0) if value in set(batches["competence"])]
    # One band only: five would hide one another.
    draw_line(axes[1, 0], pick(batches, competence=CALIBRATED), SERIES[shown.index(CALIBRATED)],
              y="share", band=(0, 1))
    lines(axes[1, 0], batches, "competence", shown, y="share", band=None, name="β = {:g}".format,
          ticks="{:g}", xscale="log", xlabel="prompts in a batch", title="means over batches, PG")
    _draw_training(axes[1, 1], of["training"])
    return figure


def _draw_training(panel: Axes, rows: pandas.DataFrame) -> None:
    # Each rule's own theorem: NPG's for the natural gradient.
    rows = rows[rows["form"] == rows["rule"].eq("NPG").map({True: "NPG", False: "PG"})]
    rules = list(rows["rule"].unique())
    lines(panel, rows, "rule", rules, name=None, y="share", band=(0, 1), xlabel="accuracy reached, from",
          title="along exact training")
    for i, rule in enumerate(rules):
        note(panel, rule, 0.95, 0.08 + 0.1 * i, color=SERIES[i]["color"])


FIGURE = PaperFigure.of(
    __name__, name="covariance-sign-map",
    source="This project",
    title="when the covariance is positive, and entropy falls",
    paper="Cui et al.: the average covariance is positive at all update steps, so entropy falls.",
    ours="Shares over random 20-answer problems: the median over families of logits and numbers of right "
    "answers, with the band from the lowest to the highest of them.",
    claims=("entropy-mechanism.covariance-agreement",),
    headline=Headline(
        says="The covariance is positive, and entropy falls to first order, on most easy prompts and "
             "fewer hard ones; training makes it mostly positive.",
    ),
)
