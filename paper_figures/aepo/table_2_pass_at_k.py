"""AEPO, Table 2: pass@k of the base model, GRPO and AEPO, and pass@1024 during training.

What we run: policies over 20 prompts from rare to common, from sampled groups, pass@k exact; prompts
whose logits are their own, and prompts that share parameters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs, paper_numbers
from paper_figures.data.tables import long, stacked
from paper_figures.drawing import SERIES, Table, draw_line, estimate, label_ends, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, Relation, mean_of

RULES = ("GRPO", "AEPO", "entropy bonus")
TABLE_KS = (1, 128, 512, 1024)
COLUMNS = ["panel", "sharing", "rule", "start", "column", "x", "y"]
LOOKS = dict(zip(("AEPO", "GRPO", "entropy bonus"), SERIES, strict=False))
LOOKS["base"] = {**SERIES[6], "linewidth": 1.1}


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    Panels:

    - "step": x step, y pass@k at the largest k;
    - "k": x k, y pass@k at the end of training, for "base" before it;
    - "paper": a printed row and ``column``, y in percent.

    In the first two y is averaged over prompts and numbers of right answers, and each start has a row.
    """
    dataset = inputs.simulation(results, "pass_at_k")
    passed = dataset.pass_at_k.mean("right_answers").sel(sharing=[*_ends(dataset.sharing.values)])
    chosen = passed.sel(rule=list(RULES))
    curves = chosen.isel(k=-1, drop=True).rename(step="x")
    base = passed.isel(rule=0, step=0).expand_dims(rule=["base"])
    by_k = [part.drop_vars("step").rename(k="x") for part in (chosen.isel(step=-1), base)]
    parts = [long(curves, "step"), *(long(part, "k") for part in by_k)]
    paper = paper_numbers.read(__file__)["qwen25-7b"].tidy()
    parts.append(pandas.DataFrame({"panel": "paper", "rule": paper["row"], "column": paper["column"],
                                   "y": paper["value"]}))
    return stacked(parts, COLUMNS)


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values[0]), float(values[-1])


def finding(table: pandas.DataFrame) -> Finding:
    """State how pass@k at the largest k ends against the base, for each rule and sharing."""
    ks = table[table["panel"] == "k"]
    largest = int(ks["x"].max())
    asked: tuple[tuple[str, Relation], ...] = (("GRPO", "<"), ("AEPO", ">"))
    criteria = []
    for sharing in _ends(np.sort(ks["sharing"].unique())):
        ends = ks[(ks["sharing"] == sharing) & (ks["x"] == largest)].pivot_table(
            index="start", columns="rule", values="y")
        criteria += [
            Criterion(f"pass@{largest} less the base's from the same start, under {rule}",
                      mean_of(ends[rule] - ends["base"]), relation, 0, f"with {_name(sharing)}")
            for rule, relation in asked]
    return Finding(criteria=tuple(criteria))


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the paper's table, and ours: pass@k by rule, with and without shared parameters."""
    rows = table[table["panel"] == "k"]
    found = [paper_numbers.read(__file__)["qwen25-7b"].printed()]
    for sharing, group in rows.groupby("sharing"):
        cells = group.groupby(["rule", "x"])["y"].agg(["mean", "sem"]) * 100
        ks = [k for k in TABLE_KS if k in set(group["x"])]
        found.append(Table(
            title="Pass@k on bandits before and after training, " + _name(float(sharing)),
            header=("Rule", *(f"@{k}" for k in ks)),
            rows=tuple(
                (rule, *(estimate(*cells.loc[(rule, k)], digits=1) for k in ks))
                for rule in ("base", *RULES)),
            origin="ours",
            note="Percent, over prompts from rare to common; mean over starts ± its standard error.",
        ))
    return found


def _name(sharing: float) -> str:
    return "every logit its own" if sharing == 0 else f"shared parameters ({sharing:g})"


def draw(table: pandas.DataFrame) -> Figure:
    """Draw pass@k at the largest k during training, and pass@k at its end, by sharing."""
    figure, axes = panels(2, 2, height=2.3, sharey="row")
    ks = table[table["panel"] == "k"]
    largest = int(ks["x"].max())
    for column, (sharing, rows) in enumerate(table.groupby("sharing")):
        axes[0, column].set_title(_name(float(sharing)))
        by_k = rows[rows["panel"] == "k"]
        base = by_k[(by_k["rule"] == "base") & (by_k["x"] == largest)]
        steps = rows[rows["panel"] == "step"]
        level = pandas.concat([base.assign(x=x) for x in (0, steps["x"].max())])
        _draw(axes[0, column], pandas.concat([steps, level]), "step", f"pass@{largest}")
        axes[1, column].set_xscale("log", base=2)
        _draw(axes[1, column], by_k, "k", "pass@k at the end")
        axes[1, column].set_xticks([1, 8, 64, 512], ["1", "8", "64", "512"])
        axes[1, column].minorticks_off()
    for panel in axes.flat:  # only now: the limits are shared
        label_ends(panel, [
            (float(line.get_xdata()[-1]), float(line.get_ydata()[-1]), str(line.get_label()),
             str(line.get_color())) for line in panel.lines])
        panel.label_outer(remove_inner_ticks=False)
        panel.tick_params(labelbottom=True)
    for panel in axes[0]:
        panel.set_xlabel("step")
    return figure


def _draw(panel: Axes, rows: pandas.DataFrame, x: str, y: str) -> None:
    for rule in ("base", *RULES):
        draw_line(panel, rows[rows["rule"] == rule], {**LOOKS[rule], "label": rule}, band=(0, 1))
    panel.set(xlabel=x, ylabel=y, xlim=(rows["x"].min(), rows["x"].max()))


FIGURE = PaperFigure.of(
    __name__, name="aepo-table-2",
    source="AEPO, Table 2",
    title="pass@k of base, GRPO and AEPO",
    paper="During training GRPO's pass@1024 falls, while AEPO's rises and on AIME24 passes the "
    "base model's.",
    place="Table 2, the curves beside it and Section 5.2",
    ours="20 prompts from rare to common, trained from sampled groups; pass@k exact; median, with the "
    "range over starts.",
    claims=("aepo.consistent-improvements",),
    headline=Headline(
        says="Neither with logits of their own nor with shared parameters is pass@1024 shown to fall "
             "under GRPO and to rise under AEPO.",
        fails=("with every logit its own", "with shared parameters (0.5)"),
    ),
    recipes=("paper/aepo-grpo", "paper/aepo-targets", "gpu-small/grpo", "gpu-small/aepo-targets"),
)
