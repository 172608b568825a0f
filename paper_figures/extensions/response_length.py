"""Two causes of the length of responses: the loss's length factor, and a target for shorter ones.

AEPO, Eq. 1, divides each response by its length, and proposes (Section 7) to aim its second batch at
shorter responses; Dr.GRPO and DAPO change the length factor of GRPO. Here length has no bearing on
the reward. The first token decides whether a response is right, and the rest is wording. So only
the objective moves length.
"""

from __future__ import annotations

from pathlib import Path

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import by_panel, long, pick, stacked
from paper_figures.drawing import REFERENCE, SERIES, dots, level, lines, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

KINDS = {"right": "right responses", "wrong": "wrong responses"}
PRINTED = "sequence-mean"
LABELS = {"sequence-mean": "GRPO", "token-mean": "DAPO", "dr-grpo": "Dr.GRPO"}
STILL = 1e-9
"""The change in tokens below which a length counts as unmoved."""
COLUMNS = ["panel", "mode", "kind", "objective", "accuracy", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, mode, kind, objective, accuracy, start, x, y.

    Panels:

    - "length": x step, y expected tokens of right or wrong responses, exact and sampled;
    - "tilt": x nats per token by which the target disfavors tokens, y expected tokens of right
      responses at the end; objective AEPO or untempered;
    - "entropy": the same tilts, y entropy;
    - "neutral": x tilt at which length would rest, with y 0 as measured, 1 as predicted.
    """
    dataset = inputs.simulation(results, "response_length")
    parts = []
    for kind in KINDS:
        for mode, prefix in (("exact", ""), ("sampled", "sampled_")):
            array = dataset[f"{prefix}{kind}_length"].rename(normalization="objective")
            parts.append(long(array, "length", "step", mode=mode, kind=kind))
    for panel, name in (("tilt", "tilt_right_length"), ("entropy", "tilt_entropy")):
        array = dataset[name].rename(control="objective")
        parts.append(long(array, panel, "tilt", mode="exact", kind="right"))
    neutral = dataset.neutral_tilt.to_dataframe(name="x").reset_index()
    neutral = neutral.rename(columns={"control": "objective"}).assign(y=0.0)
    predicted = pandas.DataFrame({
        "objective": ["predicted"], "x": [float(dataset.predicted_neutral_tilt)], "y": [1.0]})
    parts += [neutral.assign(panel="neutral"), predicted.assign(panel="neutral")]
    return stacked(parts, COLUMNS)


def changes(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the last less the first length as ``change``, by mode, kind, objective, accuracy, start."""
    lengths = table[table["panel"] == "length"].sort_values("x")
    runs = lengths.groupby(["mode", "kind", "objective", "accuracy", "start"])["y"]
    return (runs.last() - runs.first()).reset_index(name="change")


def finding(table: pandas.DataFrame) -> Finding:
    """State how each objective moves lengths in exact expectation."""
    exact = changes(table).query("mode == 'exact'")
    printed = exact[exact["objective"] == PRINTED].groupby("kind")["change"].mean()
    return Finding(standing="our own", criteria=(
        Criterion("change of the length of right responses under GRPO's mean over each response, tokens",
                  float(printed["right"]), "<", 0),
        Criterion("change of the length of wrong responses under it, tokens", float(printed["wrong"]),
                  ">", 0),
        Criterion("change of any length under token-mean and Dr.GRPO in exact expectation, tokens, "
                  "largest", float(exact[exact["objective"] != PRINTED]["change"].abs().max()), "<",
                  STILL),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw lengths of right and wrong responses under each objective, and length and entropy by tilt."""
    figure, axes = panels(2, 2, height=2.15)
    of = by_panel(table)
    for panel, (kind, title) in zip(axes[0], KINDS.items(), strict=True):
        _draw_lengths(panel, pick(of["length"], kind=kind), title)
    objectives = sorted(of["tilt"]["objective"].unique())
    looks = dict(zip(objectives, ({**look, "marker": "o", "markersize": 3} for look in SERIES),
                     strict=False))
    lengths = pick(of["length"], kind="right")
    level(axes[1, 0], float(pick(lengths, x=lengths["x"].min())["y"].mean()), "start", above=2)
    neutral = pick(of["neutral"], objective="predicted")["x"].iloc[0]
    axes[1, 0].axvline(neutral, **REFERENCE)
    axes[1, 0].annotate("predicted\nneutral", (neutral, 0.82), xycoords=("data", "axes fraction"),
                        xytext=(3, 0), textcoords="offset points", fontsize=6.5, color="#555555")
    lines(axes[1, 0], of["tilt"], "objective", looks, center="mean", band=None,
          xlabel="tilt (nats per token)", ylabel="right responses (tokens)",
          title="a target for shorter ones")
    lines(axes[1, 1], of["entropy"], "objective", looks, center="mean", band=(0, 1), ylim=(0, None),
          xlabel="tilt (nats per token)", ylabel="token entropy (nats)", title="entropy beside it")
    return figure


def _draw_lengths(panel: Axes, rows: pandas.DataFrame, title: str) -> None:
    # As change from the start: prompts and starts differ in length by more than training moves it.
    by = ["mode", "objective", "accuracy", "start"]
    change = rows.sort_values("x").assign(
        y=lambda frame: frame["y"] - frame.groupby(by)["y"].transform("first"))
    panel.axhline(0, **{**REFERENCE, "linewidth": 0.6})
    for look, objective in zip(SERIES, LABELS, strict=False):
        sampled = pick(change, objective=objective, mode="sampled").groupby("x")["y"].median()
        dots(panel, sampled.index, sampled, marker=".", markersize=3.5, color=look["color"],
             markerfacecolor=look["color"])
    lines(panel, pick(change, mode="exact"), "objective", [*LABELS], name=LABELS.__getitem__,
          xlabel="step", ylabel="change in length (tokens)", title=title)


FIGURE = PaperFigure.of(
    __name__, name="response-length",
    source="This project",
    title="what moves the length of responses",
    paper="AEPO, Section 7, proposes shorter responses as a target of its second batch; Dr.GRPO and DAPO "
    "change GRPO's length factor.",
    ours="Token trees in which length does not bear on the reward. By step, lines are medians "
         "over prompts and starts, bands 10 to 90 %, and dots are from samples. By tilt, lines "
         "are means, with the range over starts for entropy. Untempered: the second batch has T = "
         "1.",
    claims=("aepo.target-distributions",),
    headline=Headline(
        says="Where length does not matter GRPO's mean over a response shortens right ones and "
             "lengthens wrong ones; token-mean and Dr.GRPO do neither in expectation.",
    ),
)
