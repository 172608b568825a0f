"""AEnt, Figure 6: how much of the vocabulary to clamp.

We run sampled GRPO with a clamped bonus on prompts with right answers that are rare at the start.
The share p and the constant coefficient vary; p = 0 is the full bonus. We also compute the critical
coefficient over p, for vocabularies up to 151,936. There the exact optimum of reward plus bonus
gives away half of the reward.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import by_panel, long, pick, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import lines, marked, panels
from paper_figures.entropy_mechanism.drawing import fill_rows
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, exact, mean_of

COEFFICIENT = 0.02
"""The coefficient of the language models' runs."""
RUNS = (
    Choice(label="p = 0", rule="entropy-bonus", strength=0.0,
           options={"coefficient": COEFFICIENT, "normalization": "token-mean"}),
    Choice(label="p = {removed_fraction:g}", rule="aent", free=("removed_fraction",),
           options={"adaptive": False, "coefficient": COEFFICIENT}),
)
COLUMNS = ["panel", "line", "x", "start", "y", "seeds"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns ``COLUMNS``.

    Panels, with x the share p:

    - "reward" and "entropy": one line per coefficient, one row per start;
    - "critical": y coefficient, one line per vocabulary;
    - "runs": y reward, one line per setting.
    """
    swept = inputs.simulation(results, "aent_coefficient")
    critical = inputs.simulation(results, "aent_bias").critical_coefficient.sel(
        horizon=1, right_responses=1, drop=True)
    critical = long(critical.sel(vocabulary=critical.vocabulary.values[[1, -1]]), "critical",
                    "removed_fraction").dropna().sort_values(["vocabulary", "x"])
    runs = training_curves.read(results, RUNS, metrics=("reward",), least=3)
    parts = [long(swept[f"swept_{name}"], name, "removed_fraction") for name in ("reward", "entropy")]
    return stacked([
        *(part.assign(line=[f"{c:g}" for c in part["coefficient"]]) for part in parts),
        critical.assign(line=[f"{n:,.0f}" for n in critical["vocabulary"]]),
        pick(training_curves.ends(runs), metric="reward").rename(columns={
            "setting": "line", "strength": "x", "last": "y"}).assign(panel="runs"),
    ], COLUMNS, runs)


def finding(table: pandas.DataFrame) -> Finding:
    """State where clamping gains, and where it costs."""
    rewards = table[table["panel"] == "reward"].pivot_table(
        index=["line", "start"], columns="x", values="y")
    criteria = []
    for line in sorted(rewards.index.unique("line"), key=float):
        here = rewards.loc[line]
        inner = here.iloc[:, 1:-1]
        best = here[inner.mean().idxmax()] if inner.size else math.nan
        criteria += [
            Criterion(f"reward at the best p between the extremes less that {other}",
                      mean_of(best - end), ">", 0, f"at a coefficient of {line}", beyond=True)
            for other, end in (("with the full bonus", here.iloc[:, 0]),
                               ("at the largest p", here.iloc[:, -1]))]
    return Finding(criteria=(*criteria, *_trained_criteria(table[table["panel"] == "runs"])))


def _trained_criteria(runs: pandas.DataFrame) -> list[Criterion]:
    """Ask of each setting of language models that a share p between the extremes is best."""
    return [
        Criterion(f"reward at the best share p between the extremes, less that at p = {end['x']:g}",
                  exact(rows["y"].iloc[1:-1].max() - end["y"], int(rows["seeds"].min())),
                  ">", 0, f"on {setting}", training_curves.model_of(str(setting)))
        for setting, rows in ((s, r.sort_values("x")) for s, r in runs.groupby("line", sort=False))
        for _, end in rows.iloc[[0, -1]].iterrows()
    ]


def draw(table: pandas.DataFrame) -> Figure:
    """Draw reward, entropy and critical coefficient against p, and language models."""
    names = {"reward": "reward, on tabular prompts", "entropy": "entropy, on the same",
             "critical": "exact, one right answer", "runs": "reward, of language models"}
    units = {"entropy": "entropy at the end (nats)", "critical": "critical coefficient"}
    of = by_panel(table)
    figure, axes = panels(2, 2, height=2.2)
    for panel, (name, title) in zip(
            axes.flat, ((name, names[name]) for name in names if name in of), strict=False):
        rows = of[name]
        looks = {line: {**marked(i), "markersize": 3.5, "linewidth": 1.1}
                 for i, line in enumerate(rows["line"].unique())}
        shares = sorted(rows["x"].unique())
        panel.set_xticks(range(len(shares)), [f"{p:g}" for p in shares])
        exact = name == "critical"
        limits: dict[str, Any] = {} if exact else {"ylim": (0, 1.04 if name != "entropy" else None)}
        lines(panel, rows.assign(place=rows["x"].map(shares.index)), "line", looks, x="place",
              center="mean", band=(0, 1), bars=True, name="{} tokens".format if exact else str,
              yscale="log" if exact else "linear", xlabel="share p of the tokens removed",
              ylabel=units.get(name, "reward at the end (0 to 1)"), title=title,
              **limits)
        if exact:
            panel.set_yticks([0.1, 0.2, 0.4], ["0.1", "0.2", "0.4"])
            panel.minorticks_off()
    fill_rows(axes, len(of))
    return figure


FIGURE = PaperFigure.of(
    __name__, name="aent-figure-6",
    source="AEnt, Figure 6",
    title="how much of the vocabulary to clamp",
    paper="A clamping percentage p that is too large or too small can give less than the best gain.",
    place="Section 5.3 on Figure 6, whose caption is not in the text we had",
    ours="Sampled GRPO with a clamped bonus; the number at a line's end is its constant "
         "coefficient, and p = 0 is the full bonus. Lines are means over starts, bands their "
         "range. Below: the coefficient at which the exact optimum gives away half of the reward.",
    headline=Headline(
        says="At four constant coefficients, the best reward is not shown to be at a share of "
             "clamping between the extremes.",
        fails=("at a coefficient of 0.2", "at a coefficient of 0.35", "at a coefficient of 0.5",
               "at a coefficient of 0.7"),
    ),
    recipes=("paper/aent-math", "gpu-small/aent-constant", "gpu-small/entropy-bonus"),
)
