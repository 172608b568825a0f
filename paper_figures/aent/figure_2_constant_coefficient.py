"""AEnt, Figure 2: a constant entropy coefficient that stops fitting in the middle of training.

What we run: GRPO with a clamped-entropy bonus of several constant coefficients on prompts of graded
difficulty; midway the prompts are replaced by others with fewer right answers. That change is ours, and
what follows it is our doing: it is shown and told, but does not count as reproduction. The band is the
one that the adaptive coefficient of Figure 5 is to hold. Language models with an entropy bonus, where
runs exist.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas
from matplotlib.figure import Figure

from paper_figures.aent import methods
from paper_figures.aent.halves import HALVES, shade, tidy
from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import pick
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import lines, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, exact

RUNS = (Choice(label="bonus {coefficient:g}", rule="entropy-bonus", free=("coefficient",)),)
SHOWN = 4  # constants that are drawn
EARLY, LATE = (0.25, 0.5), (0.5, 1.0)
"""Shares of the steps before the change between which entropy is to be stable and to break away."""
FLUCTUATES = 0.25  # of its mean in that time: root mean square about its trend that counts as drastic
CHANGED = 2  # factor by which it is to fall or rise in that time to count as collapsed or blown up
TINY = 1e-9  # share of its value that stands for none left
SATURATED = 0.02  # change of reward over that time below which performance counts as saturated
BREAKS = (f"fluctuation over {FLUCTUATES:.0%} of the mean, or fall or rise over a factor of "
          f"{CHANGED} on a log scale, whichever is more")


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table; ``quantity`` is "entropy" or "reward".

    Columns world, line, coefficient, start, step, quantity, value, in_band.
    """
    dataset = inputs.simulation(results, "aent_coefficient")
    table = tidy(dataset, "constant", ["constant"]).rename(columns={"constant": "coefficient"})
    table["line"] = [f"{c:g}" for c in table["coefficient"]]
    runs = training_curves.first(
        training_curves.read(results, RUNS, metrics=("reward", "entropy"), least=2))
    parts = [table.assign(world="tabular")]
    if len(runs):
        first = training_curves.smoothed(runs)
        first = first[first["metric"].isin(["reward", "entropy"])]
        first = first.rename(columns={"setting": "world", "label": "line", "strength": "coefficient",
                                      "seed": "start", "metric": "quantity"})
        parts.append(first[["world", "line", "coefficient", "start", "step", "quantity", "value"]])
    found = pandas.concat(parts, ignore_index=True)
    found.attrs["inputs"] = runs.attrs["inputs"]
    return found


def in_band(table: pandas.DataFrame) -> pandas.DataFrame:
    """The share of each half's tail in the band: a row a coefficient, a column a half."""
    tail = table[table["in_band"].notna()]
    return tail.groupby(["coefficient", "half"])["in_band"].mean().unstack("half")[list(HALVES)]


def finding(table: pandas.DataFrame) -> Finding:
    """State what entropy does, before the change of prompts, under the constant that fits them best."""
    best = float(in_band(table)[HALVES[0]].idxmax())
    tabular = table[table["world"] == "tabular"]
    here = tabular[tabular["coefficient"] == best]
    # The paper's run breaks away by itself; what ours does after the change is imposed on it.
    change = float(here["change"].iloc[0])
    before = here[here["step"] < change]
    entropy = before[before["quantity"] == "entropy"]
    reward = before[before["quantity"] == "reward"].groupby("step")["value"].mean()
    late = reward[reward.index >= LATE[0] * change]
    all_late = [_breaks(*_movement(rows[rows["quantity"] == "entropy"], LATE)) for _, rows in
                tabular[tabular["step"] < change].groupby("coefficient")]
    where = "on tabular prompts, before they are replaced"
    return Finding(criteria=(
        Criterion(f"early {BREAKS}", _breaks(*_movement(entropy, EARLY)), "≤", 1, where),
        Criterion(f"late {BREAKS}, largest of a constant", max(all_late), ">", 1, where),
        Criterion("change of reward in the same late steps, absolute",
                  abs(float(late.iloc[-1] - late.iloc[0])), "<", SATURATED, where),
        *_trained_criteria(table),
    ))


def _trained_criteria(table: pandas.DataFrame) -> list[Criterion]:
    """Ask of language models that entropy breaks away late under one of their constants at least."""
    found = []
    runs = table[(table["world"] != "tabular") & (table["quantity"] == "entropy")]
    for world, rows in runs.groupby("world", sort=False):
        late = [_breaks(*_movement(line, LATE)) for _, line in rows.groupby("line")]
        found.append(Criterion(
            f"late {BREAKS}, largest of a constant", exact(max(late), rows["start"].nunique()),
            ">", 1, f"on {world}", training_curves.model_of(str(world))))
    return found


def _breaks(fluctuation: float, remains: float) -> float:
    """How far entropy breaks away: over 1 if it fluctuates drastically, collapses or blows up."""
    return max(fluctuation / FLUCTUATES, abs(math.log(max(remains, TINY))) / math.log(CHANGED))


def _movement(entropy: pandas.DataFrame, between: tuple[float, float]) -> tuple[float, float]:
    """Measure entropy between two shares of its steps: fluctuation over mean, end over beginning."""
    wide = entropy.pivot_table(index="step", columns="start", values="value")
    start, stop = (share * wide.index[-1] for share in between)
    part = wide[(wide.index >= start) & (wide.index <= stop)]
    return (methods.fluctuation(part) / float(part.mean().mean()),
            float(part.iloc[-1].mean() / part.iloc[0].mean()))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy and reward against step, a line for each constant, the best one first."""
    worlds = [str(world) for world in table["world"].unique()]
    figure, axes = panels(len(worlds), 2, height=2.3)
    shares = in_band(table)
    wanted = [float(shares[half].idxmax()) for half in HALVES]
    others = [float(c) for c in shares.index[[-1, 0, len(shares) // 2]]]
    picks = list(dict.fromkeys([*wanted, *others]))[:SHOWN]
    for row, world in zip(axes, worlds, strict=True):
        here = pick(table, world=world)
        tabular = world == "tabular"
        shown = [f"{c:g}" for c in picks] if tabular else list(here["line"].unique())
        titles = ("entropy, on tabular prompts" if tabular else training_curves.in_two_lines(world),
                  "reward, on the same")
        units = ("clamped entropy (nats)" if tabular else "entropy (nats)", "reward (0 to 1)")
        for panel, quantity, unit, title in zip(row, ("entropy", "reward"), units, titles, strict=True):
            if tabular:
                shade(panel, here, quantity)
            lines(panel, pick(here, quantity=quantity), "line", training_curves.evenly(shown), x="step",
                  y="value", band=(0, 1), ylim=(0, 1.04 if quantity == "reward" else None),
                  xlabel="optimizer step", ylabel=unit, title=title)
    return figure


FIGURE = PaperFigure.of(
    __name__, name="aent-figure-2",
    source="AEnt, Figure 2",
    title="a constant entropy coefficient in the middle of training",
    paper="Under a constant coefficient entropy is stable early and then fluctuates drastically, while "
    "performance saturates.",
    place="Section 4.2 on Figure 2, whose caption is not in the text we had",
    ours="Sampled GRPO with a clamped bonus; the number at a line's end is its constant "
         "coefficient. At the dashed line prompts with fewer right answers replace the first "
         "ones. Lines are medians over starts, bands their range. Grey: the entropy band of "
         "Figure 5.",
    claims=("aent.adaptive-coefficient",),
    headline=Headline(
        says="Early calm, late fluctuation of entropy and saturated reward are not all seen under "
             "constant coefficients before prompts are replaced.",
        fails=("on tabular prompts, before they are replaced",),
    ),
    recipes=("paper/aent-math-entropy-reg", "gpu-small/entropy-bonus", "gpu-small/aent-constant"),
)
