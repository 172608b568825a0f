"""Entropy after the reward is flat: whether it grows, holds or falls, by optimizer and by sharing.

A response has a token that decides on its reward and idle ones that do not. While there is signal the
entropy of the token that matters falls, as Cui et al. describe. Afterwards the idle tokens move by
noise, from groups that still differ in reward, scaled by the optimizer. Under a coin Adam's steps
are more than noise. Standardized advantages of many successes are small and positive, those of few
failures large and negative. Adam scales rare gradients up, and counts them by sign, not by size. So
unlikely actions rise where most samples succeed, and sink where most fail. The planes show it by
success rate, group size and the prompts of a batch. In pairs advantages have no skew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import by_panel, long, pick, stacked
from paper_figures.drawing import (
    REFERENCE,
    Table,
    estimate,
    label_ends,
    lines,
    marked,
    note,
    panels,
)
from paper_figures.figure import Criterion, Finding, Headline, Number, PaperFigure
from paper_figures.verdict import ERRORS, within

HOLDS = 0.02
"""The change of entropy, over log n, below which it counts as held."""
SHORT = {"adam, beta2 = 0.9": "β₂ = 0.9", "adam, eps = 0.1": "ε = 0.1"}
COLUMNS = ["panel", "optimizer", "ceiling", "capacity", "x", "row", "y", "error", "reward", "matters"]
# Of each plane: what its optimizer is (a coordinate or a name), its axis along x, and that of rows.
PLANES = {
    "coin": ("coin_optimizer", "success_rate", "group_size"),
    "batch": ("", "success_rate", "prompts"),
    "rate": ("rate_optimizer", "rate_factor", "rate_optimizer"),
    "size": ("", "idle_tokens", "size_capacity"),
    "sampler": ("sampler_optimizer", "sampler", "sampler_optimizer"),
}


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, optimizer, ceiling, capacity, x, row, y, error, reward, matters.

    ``y`` is an entropy or a change of entropy over log n, with its standard error. Panels:

    - "course": x step, y mean entropy of idle tokens, matters that of the token that matters;
    - "coin": x success rate, row group size;
    - "batch": row prompts, by capacity;
    - "rate": x factor of the learning rate;
    - "size": x idle tokens, row shared parameters over logits;
    - "sampler": x the sampler, y change of the entropy given a right answer.

    In all but "course" y is the change of entropy, with signal that of idle tokens.
    """
    dataset = inputs.simulation(results, "growth_and_collapse")
    names = {"course_idle": "y", "course_error": "error", "course_reward": "reward",
             "course_matters": "matters"}
    parts = [long(dataset[list(names)], "course", "step", rename=names)]
    for panel, (optimizer, x, row) in PLANES.items():
        columns = {f"{panel}_change": "y", f"{panel}_error": "error"}
        if panel == "sampler":
            columns["sampler_reward"] = "reward"
        rows = long(dataset[list(columns)], panel).rename(columns=columns)
        parts.append(rows.assign(
            optimizer=rows[optimizer] if optimizer else "adam", x=rows[x], row=rows[row],
            capacity=rows.get("batch_capacity", np.nan)))
    return stacked(parts, COLUMNS)


def finding(table: pandas.DataFrame) -> Finding:
    """Ask what idle tokens do once the reward is nearly as high as it gets, and what coins do."""
    late = _late(pick(table, panel="course"))
    own = pick(late, ceiling=late["ceiling"].min(), capacity=0.0).set_index("optimizer")
    coins = pick(table, panel="coin", optimizer="adam", row=table[table["panel"] == "coin"]["row"].max())
    likely, rare = (coins[coins["x"] == coins["x"].agg(end)].iloc[0] for end in ("max", "min"))
    pairs = pick(table, panel="coin", optimizer="adam", row=2).sort_values("x").iloc[-1]
    after = "change of idle tokens' entropy after the reward is flat, over log n"
    coin = "change of entropy under a coin, over log n"
    return Finding(standing="our own", criteria=(
        Criterion(after, _number(own.loc["adam"]), ">", 0, "Adam"),
        Criterion(after, _number(own.loc["adam, beta2 = 0.9"]), ">", 0, "Adam with beta2 = 0.9"),
        Criterion(after, _number(own.loc["sgd"]), "<", HOLDS, "SGD"),
        Criterion(after, _number(own.loc["adam, eps = 0.1"]), "<", HOLDS, "Adam with eps = 0.1"),
        Criterion(coin, _number(likely), ">", 0, "Adam, success likely"),
        Criterion(coin, _number(rare), "<", 0, "Adam, success rare"),
        Criterion(coin, _number(pairs), "<", HOLDS, "Adam, groups of 2"),
    ))


def _number(row: Any) -> Number:
    return within(row["y"], row["error"])


def _late(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The change of idle entropy from the first record with 95 % of the last reward to the last."""
    found = []
    for names, course in rows.groupby(["optimizer", "ceiling", "capacity"]):
        course = course.sort_values("x")
        flat = course[course["reward"] >= 0.95 * course["reward"].iloc[-1]].iloc[0]
        last = course.iloc[-1]
        # (Errors of both ends as if apart: what seeds have in common makes the true one smaller.)
        found.append((*names, last["y"] - flat["y"], float(np.hypot(last["error"], flat["error"]))))
    return pandas.DataFrame(found, columns=["optimizer", "ceiling", "capacity", "y", "error"])


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the courses under three conditions, and three planes."""
    figure, axes = panels(3, 2, height=2.0)
    of = by_panel(table)
    course = of["course"]
    conditions = ((1.0, 0.0), (0.9, 0.0), (0.9, course["capacity"].max()))
    titles = ("the noise ends: reward to 1", "it goes on: reward to 0.9", "the same, shared parameters")
    for panel, (ceiling, capacity), title in zip(axes.flat, conditions, titles, strict=False):
        rows = pick(course, ceiling=ceiling, capacity=capacity)
        if len(rows):
            _draw_course(panel, rows)
        panel.set(title=title, xlabel="step", ylabel="entropy over log n")
    _draw_plane(axes[1, 1], pick(of["coin"], optimizer="adam"), "success rate of a coin", "group size")
    axes[1, 1].set_title("no signal, Adam")
    names = of["batch"]["capacity"].gt(0).map({True: ", shared", False: ""})
    batch = of["batch"].assign(row=of["batch"]["row"].map("{:g}".format) + names)
    _draw_plane(axes[2, 0], batch.sort_values("capacity", kind="stable"), "success rate of coins",
                "prompts in a batch")
    axes[2, 0].set_title("no signal, Adam, groups of 8")
    _draw_plane(axes[2, 1], of["rate"], "learning rate (factor)", "")
    axes[2, 1].set_title("no signal, by optimizer")
    return figure


def _draw_course(panel: Axes, rows: pandas.DataFrame) -> None:
    names = list(rows["optimizer"].unique())
    looks = {name: {**marked(i), "markersize": 2.5, "markevery": 4} for i, name in enumerate(names)}
    lines(panel, rows, "optimizer", looks, band=None, name=None)
    for name, here in rows.groupby("optimizer"):
        half = ERRORS * here["error"]
        panel.fill_between(here["x"].astype(float), here["y"] - half, here["y"] + half, linewidth=0,
                           alpha=0.12, color=looks[name]["color"])
    first = pick(rows, optimizer="adam").sort_values("x")
    panel.plot(first["x"], first["matters"], **{**REFERENCE, "linestyle": "-"})
    note(panel, "grey: the token that matters", 0.95, 0.92, color="#555555", size=6)
    panel.margins(x=0)
    panel.set_ylim(0, 1)
    label_ends(panel, [
        (float(one["x"]), float(one["y"]), SHORT.get(str(one["optimizer"]), str(one["optimizer"])),
         looks[one["optimizer"]]["color"])
        for _, one in rows[rows["x"] == rows["x"].max()].iterrows()], size=6)


def _draw_plane(panel: Axes, rows: pandas.DataFrame, xlabel: str, ylabel: str) -> None:
    """Write the change of each cell, in hundredths, beside a mark of whether it grows, holds or falls."""
    across, down = list(dict.fromkeys(rows["x"])), list(dict.fromkeys(rows["row"]))
    for one in rows.itertuples():
        place = across.index(one.x), down.index(one.row)
        marker, color = "o", "#777777"
        if abs(one.y) > max(HOLDS, ERRORS * one.error):
            marker, color = ("^", "#0072B2") if one.y > 0 else ("v", "#D55E00")
        panel.scatter(*place, s=26, facecolors="none", marker=marker, edgecolors=color)
        hundredths = round(100 * one.y)
        panel.annotate(f"{hundredths:+d}" if hundredths else "0", place, xytext=(5, -2),
                       textcoords="offset points", fontsize=6)
    panel.set_xticks(range(len(across)), [f"{value:g}" for value in across])
    panel.set_yticks(range(len(down)), [
        SHORT.get(value, value) if isinstance(value, str) else f"{value:g}" for value in down])
    panel.set(xlim=(-0.4, len(across) - 0.3), ylim=(-0.5, len(down) - 0.5), xlabel=xlabel, ylabel=ylabel)


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the changes by sampler and optimizer, and by idle tokens and shared parameters."""
    samplers = []
    for name, here in pick(table, panel="sampler").groupby("x", sort=False):
        cells = [row for _, row in here.iterrows()]
        samplers.append((str(name), *map(_estimate, cells), *(f"{row['reward']:.3f}" for row in cells)))
    names = list(pick(table, panel="sampler")["row"].unique())
    sizes = pick(table, panel="size")
    counts = sorted(sizes["x"].unique())
    by_size = [
        (f"{capacity:g}" if capacity else "own logits",
         *(_estimate(pick(here, x=count).iloc[0]) for count in counts))
        for capacity, here in sizes.groupby("row")]
    return [
        Table(title="Samplers that depart from the policy", origin="ours", rows=tuple(samplers),
              header=("sampler", *(f"change, {name}" for name in names),
                      *(f"last reward, {name}" for name in names)),
              note="Change of the entropy given a right answer, over the log of right answers, with "
                   "standard errors over seeds."),
        Table(title="Idle entropy with signal, by shared parameters", origin="ours", rows=tuple(by_size),
              header=("parameters / logits", *(f"idle tokens: {count:g}" for count in counts)),
              note="Change over log n, Adam, with standard errors over seeds or draws of parameters."),
    ]


def _estimate(row: Any) -> str:
    return estimate(row["y"], row["error"], digits=3)


FIGURE = PaperFigure.of(
    __name__, name="growth-and-collapse",
    source="This project",
    title="what entropy does once the reward is flat",
    paper="Cui et al., Section 2.4: entropy falls as the reward rises; no paper covers the time "
          "after.",
    ours="Bandits of a token that matters and idle ones, 4 actions each, groups of 8, means over 48 "
    "seeds with 95 % intervals. Lines: idle tokens. Planes: change of entropy in hundredths of log n, "
    "rewards being coins: △ grows, ▽ falls, ○ holds.",
    claims=("extension.solved-groups", "extension.reweighted-coin"),
    headline=Headline(
        says="With own logits idle entropy grows under Adam after reward is flat, not under SGD; coins "
             "raise it under Adam where success is likely.",
    ),
)
