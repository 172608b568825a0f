"""What holds a target entropy of a small transformer, at which reward, and what follows fastest.

The bundled model is trained by each controller towards the same targets, several seeds each: AEPO's
second batch, the integral rule of Skywork-OR1 and TRL, the forecast of each step; the latter two on the
bonus on all entropy and on the bonus on the entropy among right answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropy_theory.tracking import second_half, stretches
from paper_figures.data import inputs
from paper_figures.drawing.bands import draw_mean
from paper_figures.drawing.style import MARKERS, SERIES, panels
from paper_figures.drawing.table import Table
from paper_figures.figure import Finding, PaperFigure

CONTROLLERS = (
    "AEPO", "AEPO, alpha 3", "integral, entropy bonus", "forecast, entropy bonus",
    "integral, diverse bonus", "two-sided integral, diverse bonus", "forecast, diverse bonus",
)
"""The controllers that are compared; others are told of, and stand in the table."""
LOOKS = {name: {**SERIES[i], "marker": MARKERS[i]} for i, name in enumerate(CONTROLLERS)}
K = "pass@4"
"""The pass@k that is drawn: at larger k it is 1 for all, where many answers are right."""
ENOUGH_SEEDS = 5
"""From how many seeds on controllers are ranked."""
COLUMNS = ["panel", "setting", "controller", "seed", "target", "entropy", "reward", "step", "deviation",
           "steps_to_follow", "saturated", "pass_at_k"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns COLUMNS.

    Panel "held": a row for each target that a run was to hold, with means over its settled steps. "run":
    a row a run. "curve": ``entropy`` and ``target`` at each step.

    Raises:
        MissingInputError: no run.
    """
    rows: list[dict[str, Any]] = []
    provenance = {}
    for record in inputs.held_targets(results):
        run, series, about = record["run"], record["series"], record["summary"]
        common = {"setting": setting(record), "controller": run["controller"], "seed": run["seed"]}
        target = np.asarray(series["target"], dtype=float)
        entropy, reward = (np.asarray(series[key], dtype=float) for key in ("entropy", "reward"))
        if run["shape"] in ("constant", "step"):
            rows += [{"panel": "held", **common, "target": target[part].mean(),
                      "entropy": entropy[part].mean(), "reward": reward[part].mean()}
                     for part in map(second_half, stretches(target))]
        rows.append({"panel": "run", **common, "target": target[-1], "entropy": about["mean"],
                     "pass_at_k": record["held_out"].get(K),
                     **{key: about[key] for key in
                        ("reward", "deviation", "steps_to_follow", "saturated")}})
        rows += [{"panel": "curve", **common, "step": step, "target": aim, "entropy": value}
                 for step, (aim, value) in enumerate(zip(target, entropy, strict=True))]
        provenance[record["name"]] = record["provenance"]
    table = pandas.DataFrame(rows).reindex(columns=COLUMNS)
    table.attrs["inputs"] = provenance
    return table


def setting(record: dict[str, Any]) -> str:
    """Name a run without controller and seed."""
    run = record["run"]
    return record["name"].replace(f"{run['controller']}, ", "").replace(f", seed {run['seed']}", "")


def first(table: pandas.DataFrame) -> str:
    """Return the setting with most runs."""
    runs = table[table["panel"] == "run"]
    return str(runs["setting"].value_counts(sort=True).index[0])


def summary(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row a setting and controller: the number of seeds, means over them, and their spread.

    Columns ``seeds``, ``deviation``, ``deviation_sd``, ``entropy``, ``reward``, ``reward_sd``,
    ``pass_at_k``, ``follow`` (mean over seeds that arrived), ``arrived`` (their number), ``saturated``.
    """
    runs = table[table["panel"] == "run"]
    order = {name: i for i, name in enumerate(CONTROLLERS)}
    found = runs.groupby(["setting", "controller"], sort=False).agg(
        seeds=("seed", "size"), deviation=("deviation", "mean"), deviation_sd=("deviation", "std"),
        entropy=("entropy", "mean"), reward=("reward", "mean"), reward_sd=("reward", "std"),
        pass_at_k=("pass_at_k", "mean"), follow=("steps_to_follow", "mean"),
        arrived=("steps_to_follow", "count"), saturated=("saturated", "mean"),
    ).reset_index()
    return found.sort_values(["setting", "controller"], key=lambda column: (
        column.map(order) if column.name == "controller" else column), kind="stable")


def finding(table: pandas.DataFrame) -> Finding:
    """State how each controller held and followed the targets of the setting with most runs."""
    chosen = first(table)
    found = summary(table)
    everyone = found[found["setting"] == chosen].set_index("controller")
    numbers = {f"{name}: {column}": float(value) for name, row in everyone.iterrows()
               for column, value in row.items() if column != "setting"}
    here = everyone[everyone.index.isin(CONTROLLERS)]
    least, most = here["seeds"].min(), here["seeds"].max()
    seeds = f"{least}{f' to {most}' if most > least else ''} seed{'s' if most > 1 else ''}"
    listed = "; ".join(
        f"{name}: {row['deviation']:.3f} nats off, reward {row['reward']:.2f}, "
        + (f"{row['follow']:.0f} steps to follow" if row["arrived"] == row["seeds"] else
           f"arrived in {row['arrived']:.0f} of {row['seeds']:.0f} runs")
        for name, row in here.iterrows())
    text = (
        f"{chosen[0].upper()}{chosen[1:]} ({seeds}). {listed}. A step's entropy is the mean over 16 "
        "prompts: its own noise is part of every distance."
        + "".join(
            f" {name[0].upper()}{name[1:]}: {row['deviation']:.3f} nats off, reward {row['reward']:.2f}."
            for name, row in everyone.drop(here.index).iterrows())
    )
    if least < ENOUGH_SEEDS:
        headline = (f"Of {len(here)} controls of a small transformer's entropy there are {seeds} each: "
                    f"they are ranked from {ENOUGH_SEEDS} on.")
        return Finding(standing="awaits runs", headline=headline, text=text, numbers=numbers)
    best = here["deviation"].idxmin()
    headline = (
        f"A small transformer is held nearest to its target by: {best} "
        f"({here.loc[best, 'deviation']:.3f} nats off, {seeds})."
    )
    return Finding(standing="our own", headline=headline, text=text, numbers=numbers)


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return all settings and controllers, means over seeds."""
    rows = tuple(
        (f"{row.setting}: {row.controller}", f"{row.seeds}", f"{row.deviation:.3f}", f"{row.entropy:.2f}",
         f"{row.reward:.2f}", f"{row.pass_at_k:.2f}",
         f"{row.follow:.0f} ({row.arrived} of {row.seeds})" if row.arrived else "never",
         f"{row.saturated:.0%}")
        for row in summary(table).itertuples())
    return [Table(
        title="Holding a target, a small transformer",
        header=("run", "seeds", "off (nats)", "entropy at last", "reward at last", f"held-out {K}",
                "steps to follow", "saturated"),
        rows=rows, origin="ours", note="Means over seeds.",
    )]


def draw(table: pandas.DataFrame) -> Figure:
    """Draw what is held and its price, who is how far off, and the curves of the first setting."""
    chosen = table[table["setting"] == first(table)]
    figure, axes = panels(2, 2, height=2.45)
    _draw_front(axes[0, 0], chosen[chosen["panel"] == "held"], "reward")
    axes[0, 0].set(xlabel="mean entropy held (nats)", ylabel="reward")
    axes[0, 0].set_title("what it costs (dotted: targets)")
    _draw_front(axes[0, 1], chosen[chosen["panel"] == "run"], "pass_at_k")
    axes[0, 1].set(xlabel="mean entropy at last (nats)", ylabel=f"held-out {K}", ylim=(0, 1.03))
    axes[0, 1].set_title("the same, of new prompts")
    _draw_distances(axes[1, 0], chosen[chosen["panel"] == "run"])
    _draw_curves(axes[1, 1], chosen[chosen["panel"] == "curve"])
    handles = [axes[0, 0].plot([], [], markersize=4, **LOOKS[name])[0] for name in _present(chosen)]
    figure.legend(handles, _present(chosen), loc="outside lower center", ncols=3, fontsize=6.5)
    return figure


def _present(table: pandas.DataFrame) -> list[str]:
    return [name for name in CONTROLLERS if name in set(table["controller"])]


def _draw_front(panel: Axes, rows: pandas.DataFrame, price: str) -> None:
    """Draw the mean over seeds of entropy and price at each target, with the standard deviations."""
    for target in rows["target"].unique():
        panel.axvline(target, color="#777777", linewidth=0.9, linestyle=":")
    for name in _present(rows):
        groups = rows[rows["controller"] == name].groupby("target")[["entropy", price]]
        mean, spread = groups.mean(), groups.std().fillna(0.0)
        look = {**LOOKS[name], "linestyle": "none"}
        panel.errorbar(mean["entropy"], mean[price], xerr=spread["entropy"], yerr=spread[price],
                       markersize=4, linewidth=0, elinewidth=0.7, markerfacecolor="none", **{
                           key: look[key] for key in ("color", "marker", "linestyle")})


def _draw_distances(panel: Axes, rows: pandas.DataFrame) -> None:
    names = _present(rows)
    for place, name in enumerate(names):
        values = rows.loc[rows["controller"] == name, "deviation"]
        panel.plot(values, np.full(len(values), place), linestyle="none", marker=LOOKS[name]["marker"],
                   markersize=3.5, markerfacecolor="none", color=LOOKS[name]["color"])
        panel.plot([values.mean()] * 2, [place - 0.3, place + 0.3], color=LOOKS[name]["color"],
                   linewidth=1.4)
    panel.set(xlabel="distance from the target (nats)", xlim=(0, None), ylim=(len(names) - 0.5, -0.5))
    panel.set_yticks(range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=6)
    panel.set_title("seeds and their mean")


def _draw_curves(panel: Axes, rows: pandas.DataFrame) -> None:
    for name in _present(rows):
        wide = rows[rows["controller"] == name].pivot_table(
            index="step", columns="seed", values="entropy").rolling(5, min_periods=1).mean()
        look = {key: value for key, value in LOOKS[name].items() if key != "marker"}
        draw_mean(panel, wide, look, level=None)
    target = rows.groupby("step")["target"].first()
    panel.plot(target.index, target, color="#000000", linewidth=1.6, alpha=0.45)
    panel.set(xlabel="optimizer step", ylabel="entropy (nats)", ylim=(0, None))
    panel.margins(x=0)
    panel.set_title("means of 5 steps (grey: target)")


FIGURE = PaperFigure(
    name="holding-a-target",
    source="This project",
    title="what holds a target entropy, a small transformer",
    paper="AEPO holds by a second batch, Skywork-OR1 and TRL by an integral rule; none was compared.",
    ours="The bundled 0.8 M-parameter model, 16 prompts of 8 samples a step. Top: reward and pass@k at "
    "the entropy that was held, means over seeds with standard deviations. Bottom: mean distance from "
    "the target over settled steps, and the entropy by step, with the range over seeds.",
    data=data,
    finding=finding,
    draw=draw,
    tables=tables,
)
