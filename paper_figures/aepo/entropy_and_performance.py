"""AEPO, Section 5.2: performance rises and then falls as the target entropy grows.

We run AEPO at several targets from sampled groups, on solved prompts and on prompts with rare right
answers, with and without shared parameters. A judge of pass@1 passes all answers that training
rewards, or only the likeliest of them.
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
from paper_figures.data.tables import pick, stacked
from paper_figures.drawing import REFERENCE, lines, marked, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure
from paper_figures.verdict import within

COLUMNS = ["family", "passing", "x", "y", "error", "grpo", "best", "rise", "rise_error", "fall",
           "fall_error"]
PAPER, AVERAGE = "the paper", "average"
CERTAIN = 2.0
"""How many standard errors a gain or a loss must have to count, about a 95 % interval."""
TITLES = {AVERAGE: "the average of all prompts", "solved": "solved prompts", "rare": "rare right answers",
          "rare, shared": "rare, shared parameters"}


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    A row is a family of prompts, a judge (answers that pass) and a target:

    - x: target entropy, nats;
    - y: AEPO's pass@1 at the end of training, percent, with its standard error over starts;
    - ``grpo``: pass@1 of GRPO with as many samples;
    - ``best``: the best target between the lowest and the highest;
    - ``rise``, ``fall``: pass@1 gained up to ``best`` and lost after it, with standard errors.

    Family "the paper" is the average of Table 3's benchmarks, "average" that of our families.
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
                  within(row[name], row[f"{name}_error"], CERTAIN), ">", 0,
                  f"on {TITLES.get(family, family)} where {passing:g} answers pass",
                  beyond=(family, passing) != (AVERAGE, judge), reported=float(printed[name]))
        for (family, passing), row in found.iterrows()
        for name, word in (("rise", "gains up to the best target inside"), ("fall", "loses after it"))))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the printed averages, and pass@1 against the target by prompts and judge."""
    families = [PAPER, *(f for f in table["family"].unique() if f != PAPER)]
    figure, axes = panels((len(families) + 1) // 2, 2, height=2.3)
    for panel, family in zip(axes.flat, families, strict=False):
        rows = pick(table, family=family)
        if family == PAPER:
            printed = rows.assign(name="AEPO")
            grpo = printed.assign(name="GRPO", y=printed["grpo"])
            looks = {"AEPO": {"color": "black", "marker": "o", "markersize": 4}, "GRPO": REFERENCE}
            lines(panel, pandas.concat([printed, grpo]), "name", looks, band=None,
                  xlabel="target entropy (nats)", ylabel="average pass@1 (%)", title="printed (Table 3)")
        else:
            _draw_family(panel, rows, TITLES.get(family, family))
    for panel in axes.flat[len(families):]:
        panel.set_axis_off()
    return figure


def _draw_family(panel: Axes, rows: pandas.DataFrame, title: str) -> None:
    judges = sorted(rows["passing"].unique(), reverse=True)
    looks = {judge: {**marked(i), "markersize": 3, "linewidth": 1.2} for i, judge in enumerate(judges)}
    for judge, look in looks.items():
        line = pick(rows, passing=judge).sort_values("x")
        panel.fill_between(line["x"], line["y"] - line["error"], line["y"] + line["error"],
                           color=look["color"], alpha=0.15, linewidth=0)
    lines(panel, rows, "passing", looks, name="{:g} pass".format, band=None,
          xlabel="target entropy (nats)", ylabel="pass@1 (%)", title=title)


FIGURE = PaperFigure.of(
    __name__, name="aepo-entropy-and-performance",
    source="AEPO, Section 5.2",
    title="performance against the target entropy",
    paper="Average performance first rises and then falls as the target entropy grows.",
    place="Section 5.2 and Table 3; it has no figure",
    ours="AEPO from sampled groups at several targets. A line is one judge: the highest number "
         "passes all answers that training rewards, lower ones only the likeliest. Bands: "
         "standard error over starts.",
    claims=("aepo.all-entropy-levels",),
    headline=Headline(
        says="On rare right answers, where 3 answers pass, pass@1 rises and then falls as the "
             "target grows; on the average of all prompts both are not shown.",
        holds=("on rare right answers where 3 answers pass",),
        fails=("on the average of all prompts where 5 answers pass",),
    ),
    recipes=("paper/aepo-targets", "gpu-small/aepo-targets"),
)
