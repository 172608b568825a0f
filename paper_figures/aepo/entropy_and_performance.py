"""AEPO, Section 5.2: performance rises and then falls as the target entropy grows.

What we run: AEPO at several targets from sampled groups, on solved prompts, on prompts whose right
answers are rare, and on the same with shared parameters; pass@1 before judges who pass all answers that
training rewards, or only the likeliest of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.aepo import table_1_benchmarks, table_3_ablations
from paper_figures.data import inputs, paper_numbers
from paper_figures.data.tables import stacked
from paper_figures.drawing.style import MARKERS, REFERENCE, SERIES, label_ends, panels
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline, Number

COLUMNS = ["family", "passing", "x", "y", "error", "grpo", "best", "rise", "rise_error", "fall",
           "fall_error"]
PAPER, AVERAGE = "the paper", "average"
CERTAIN = 2.0
"""How many standard errors a gain or a loss must have to count, about a 95 % interval."""
TITLES = {AVERAGE: "the average of all prompts", "solved": "solved prompts", "rare": "rare right answers",
          "rare, shared": "rare, shared parameters"}


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    A row is a family of prompts, a judge (answers that pass) and a target. x target entropy, nats; y
    AEPO's pass@1 at the end of training, in percent, with its standard error over starts; ``grpo`` that
    of GRPO with as many samples; ``best`` the best target between the lowest and the highest; ``rise``
    and ``fall`` what pass@1 gains up to it and loses after it, with standard errors. Family "the paper"
    is the average of Table 3's benchmarks, "average" that of our families.
    """
    dataset = inputs.simulation(results, "entropy_against_performance")
    last = dataset[["pass_at_k", "grpo_pass_at_k"]].sel(k=1, drop=True).isel(step=-1, drop=True)
    last = 100 * xarray.concat([last.mean("family").expand_dims(family=[AVERAGE]), last], "family")
    passed, root = last.pass_at_k, np.sqrt(last.sizes["start"])
    best = passed.mean("start").isel(target=slice(1, -1)).idxmax("target")
    measured = xarray.Dataset({
        "y": passed.mean("start"), "error": passed.std("start", ddof=1) / root,
        "grpo": last.grpo_pass_at_k.mean("start"), "best": best,
    })
    for name, end in (("rise", 0), ("fall", -1)):
        gain = (passed.sel(target=best) - passed.isel(target=end, drop=True)).drop_vars("target")
        measured[name] = gain.mean("start")
        measured[f"{name}_error"] = gain.std("start", ddof=1) / root
    frame = measured.to_dataframe().reset_index().rename(columns={"target": "x"})
    return stacked([_paper(), frame], COLUMNS)


def _paper() -> pandas.DataFrame:
    """Return the averages of Table 3, recomputed, beside GRPO's of Table 1."""
    averages = paper_numbers.read(table_3_ablations.__file__)["targets"].averages()
    grpo = paper_numbers.read(table_1_benchmarks.__file__)["qwen25-math-7b"].averages()["+GRPO"]
    mean = {float(row.rpartition(" ")[2]): value for row, value in averages.items() if "target" in row}
    targets = list(mean)
    best = max(mean, key=mean.__getitem__)
    return pandas.DataFrame({
        "family": PAPER, "x": targets, "y": mean.values(), "grpo": grpo, "best": best,
        "rise": mean[best] - mean[targets[0]], "fall": mean[best] - mean[targets[-1]],
    })


def finding(table: pandas.DataFrame) -> Finding:
    """State before which judges, on which prompts, performance rises and falls with the target.

    The paper averages over benchmarks, which differ, and its judge is the training's.
    """
    found = table[table["family"] != PAPER].groupby(["family", "passing"], sort=False).first()
    judge = found.index.unique("passing").max()
    printed = table[table["family"] == PAPER].iloc[0]
    return Finding(criteria=tuple(
        Criterion(f"points that pass@1 {word}, with {CERTAIN:g} standard errors over starts",
                  Number(row[name], *(row[name] + side * CERTAIN * row[f"{name}_error"]
                                      for side in (-1, 1))), ">", 0,
                  f"on {TITLES.get(family, family)} where {passing:g} answers pass",
                  beyond=(family, passing) != (AVERAGE, judge), reported=float(printed[name]))
        for (family, passing), row in found.iterrows()
        for name, word in (("rise", "gains up to the best target inside"), ("fall", "loses after it"))))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the printed averages, and pass@1 against the target by prompts and judge."""
    families = [PAPER, *(f for f in table["family"].unique() if f != PAPER)]
    figure, axes = panels((len(families) + 1) // 2, 2, height=2.3)
    for panel, family in zip(axes.flat, families, strict=False):
        rows = table[table["family"] == family]
        if family == PAPER:
            _draw_paper(panel, rows)
        else:
            _draw_family(panel, rows, family)
    for panel in axes.flat[len(families):]:
        panel.set_axis_off()
    return figure


def _draw_paper(panel: Axes, rows: pandas.DataFrame) -> None:
    panel.plot(rows["x"], rows["y"], marker="o", markersize=4, color="black")
    grpo = float(rows["grpo"].iloc[0])
    panel.axhline(grpo, **REFERENCE)
    panel.set(xlabel="target entropy (nats)", ylabel="average pass@1 (%)", title="printed (Table 3)")
    edge = panel.get_xlim()[1]
    label_ends(panel, [(edge, float(rows["y"].iloc[-1]), "AEPO", "black"),
                       (edge, grpo, "GRPO", "#555555")])


def _draw_family(panel: Axes, rows: pandas.DataFrame, family: str) -> None:
    labels = []
    judges = sorted(rows["passing"].unique(), reverse=True)
    for i, passing in enumerate(judges):
        line = rows[rows["passing"] == passing].sort_values("x")
        look = SERIES[i]
        panel.plot(line["x"], line["y"], marker=MARKERS[i], markersize=3, **{**look, "linewidth": 1.2})
        panel.fill_between(line["x"], line["y"] - line["error"], line["y"] + line["error"],
                           color=look["color"], alpha=0.15, linewidth=0)
        labels.append((float(line["y"].iloc[-1]), f"{passing:g} pass", str(look["color"])))
    panel.set(xlabel="target entropy (nats)", ylabel="pass@1 (%)", title=TITLES.get(family, family))
    edge = panel.get_xlim()[1]
    label_ends(panel, [(edge, *label) for label in labels])


FIGURE = PaperFigure(
    name="aepo-entropy-and-performance",
    source="AEPO, Section 5.2",
    title="performance against the target entropy",
    paper="Average performance first rises and then falls as the target entropy grows.",
    place="Section 5.2 and Table 3; it has no figure",
    ours="AEPO from sampled groups at several targets; pass@1 before judges who pass all answers that "
    "training rewards (the highest number) or only the likeliest; bands: standard error over starts.",
    claims=("aepo.all-entropy-levels",),
    data=data,
    finding=finding,
    headline=Headline(
        says="On average pass@1 rises with the target and no fall is shown; on rare right answers, "
             "before a judge of 3, it does both.",
        holds=("on rare right answers where 3 answers pass",),
        fails=("on the average of all prompts where 5 answers pass",),
    ),
    draw=draw,
    recipes=("paper/aepo-targets", "gpu-small/aepo-targets"),
)
