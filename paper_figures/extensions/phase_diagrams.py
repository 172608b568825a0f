"""Phase diagrams: where entropy collapses, is held and goes astray, and where theory draws the lines.

AEPO's Figures 1 and 3 show single settings of AEPO and of an entropy bonus. This figure has the
planes of these settings. AEPO varies T_high and alpha at half of the ceiling log m, for several
numbers m of right answers. GRPO with a bonus varies the coefficient and m.

The lines are theory without a fitted constant, from the start and from a run of GRPO alone. Below
the lower line AEPO has too few steps to revive. Above the upper line its own step makes entropy
chatter by more than the tolerance. Where a bonus brings wrong answers back follows from its fixed
point. Right of a bonus' line of collapse no run collapses; left of it, many do not either.
"""

from __future__ import annotations

from pathlib import Path

import pandas
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import long, pick, stacked
from paper_figures.drawing import SERIES, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

AEPO_OUTCOMES = ("collapsed", "held", "chatters")
BONUS_OUTCOMES = ("collapsed", "neither", "explodes")
GLYPHS = ("x", "o", "^")
PALEST = 0.25
"""The opacity of a mark for which no more than half of the starts speak."""
COLORS = (SERIES[1]["color"], SERIES[0]["color"], SERIES[3]["color"])
COLUMNS = ["panel", "right_answers", "temperature", "alpha", "coefficient", "start", "outcome", "line"]
CALLED = 0.9
"""The share of the runs with an outcome that the lines must call for it to count as predicted."""
LINES = {"collapse_line": "-", "chatter_line": (0, (1.5, 1.5))}


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, right_answers, temperature, alpha, coefficient, start, outcome, line.

    Panels:

    - "aepo" and "bonus": one row per run, with its outcome by name. ``line`` is 1 where theory
      predicts the same: all three outcomes of AEPO, whether a bonus explodes;
    - "collapse_line" and "chatter_line": ``line`` is alpha, one row per temperature and start;
    - "explosion_line" and "bonus_collapse_line": ``line`` is a coefficient.
    """
    dataset = inputs.simulation(results, "phase_diagrams")
    names = {"bonus_right_answers": "right_answers", "bonus_start": "start", "y": "line"}
    aepo = long(dataset[["aepo_outcome", "aepo_predicted"]], "aepo")
    aepo["line"] = (aepo["aepo_outcome"] == aepo["aepo_predicted"]).astype(float)
    bonus = long(dataset[["bonus_outcome"]], "bonus", rename=names)
    explosion, collapse = (long(dataset[name], name, rename=names)
                           for name in ("explosion_line", "bonus_collapse_line"))
    limit = bonus["right_answers"].map(explosion.set_index("right_answers")["line"])
    bonus["line"] = ((bonus["coefficient"] > limit) == (bonus["bonus_outcome"] == 2)).astype(float)
    return stacked([
        aepo.assign(outcome=aepo["aepo_outcome"].map(dict(enumerate(AEPO_OUTCOMES)))),
        bonus.assign(outcome=bonus["bonus_outcome"].map(dict(enumerate(BONUS_OUTCOMES)))),
        explosion, collapse, *(long(dataset[name], name, rename=names) for name in LINES)], COLUMNS)


def finding(table: pandas.DataFrame) -> Finding:
    """State how many of AEPO's outcomes the lines predict, and what share of each."""
    aepo = table[table["panel"] == "aepo"]
    guess = float(aepo["outcome"].value_counts(normalize=True).max())
    called = aepo.groupby("outcome")["line"].mean().reindex(AEPO_OUTCOMES).dropna()
    return Finding(standing="our own", criteria=(
        Criterion("share of AEPO's outcomes that the lines predict, less that of the most common",
                  float(aepo["line"].mean()) - guess, ">", 0),
        *(Criterion("share of AEPO's runs with this outcome that the lines call", float(value), "≥",
                    CALLED, f"of those {name}")
          for name, value in called.items()),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw a plane for each number of right answers under AEPO, and the plane of the bonus below."""
    sizes = sorted(table[table["panel"] == "aepo"]["right_answers"].unique())
    figure = panels(1, 1, height=4.6)[0]
    figure.clear()
    grid = figure.add_gridspec(2, len(sizes))
    first: Axes | None = None
    for i, size in enumerate(sizes):
        panel = figure.add_subplot(grid[0, i], sharey=first)
        _draw_aepo(panel, table[table["right_answers"] == size])
        panel.set_title(f"m = {int(size)}")
        if first is None:
            panel.set_ylabel("alpha")
        else:
            panel.tick_params(labelleft=False)
        first = first or panel
    _draw_bonus(figure.add_subplot(grid[1, :]), table)
    figure.suptitle("AEPO:  × collapsed   ○ held   △ chatters", fontsize=8, x=0.01, ha="left")
    return figure


def _draw_aepo(panel: Axes, table: pandas.DataFrame) -> None:
    runs = table[table["panel"] == "aepo"]
    temperatures = sorted(runs["temperature"].unique())
    panel.set(xscale="log", yscale="log", xlabel="$T_{high}$")
    _draw_cells(panel, runs, "temperature", "alpha", AEPO_OUTCOMES)
    for name, dashes in LINES.items():
        line = table[table["panel"] == name].groupby("temperature")["line"].median()
        panel.plot(line.index, line, color="#333333", linestyle=dashes, linewidth=1.1, zorder=1)
    alphas = runs["alpha"]
    panel.set(ylim=(alphas.min() / 1.6, alphas.max() * 1.6),
              xlim=(temperatures[0] / 1.05, temperatures[-1] * 1.06))
    shown = [t for t in temperatures if t != 1.2 or len(temperatures) < 4]
    panel.set_xticks(shown, [f"{t:g}" for t in shown])
    panel.minorticks_off()
    ticks = sorted(alphas.unique())[::2]
    panel.set_yticks(ticks, [f"{a:g}" for a in ticks])


def _draw_cells(
    panel: Axes, runs: pandas.DataFrame, x: str, y: str, outcomes: tuple[str, ...]
) -> None:
    """Draw in each cell the outcome of most starts, the paler the more of them end otherwise."""
    shares = runs.groupby([x, y])["outcome"].value_counts(normalize=True).reset_index(name="share")
    most = shares.loc[shares.groupby([x, y])["share"].idxmax()]
    for glyph, color, outcome in zip(GLYPHS, COLORS, outcomes, strict=True):
        rows = pick(most, outcome=outcome)
        colors = [to_rgba(color, max(PALEST, 2 * share - 1)) for share in rows["share"]]
        panel.scatter(rows[x], rows[y], s=34, marker=glyph, linewidths=1.3, zorder=3,
                      **{"c": colors} if glyph == "x" else {"c": "none", "edgecolors": colors})


def _draw_bonus(panel: Axes, table: pandas.DataFrame) -> None:
    runs = table[table["panel"] == "bonus"]
    sizes = sorted(runs["right_answers"].unique())
    place = {size: i for i, size in enumerate(sizes)}
    panel.set_xscale("log")
    _draw_cells(panel, runs.assign(place=runs["right_answers"].map(place)), "coefficient", "place",
                BONUS_OUTCOMES)
    for name, dashes in (("bonus_collapse_line", "-"), ("explosion_line", (0, (1.5, 1.5)))):
        line = table[table["panel"] == name].groupby("right_answers")["line"].median()
        for size, value in line.items():  # a line through them all would say something of sizes between
            panel.plot([value, value], [place[size] - 0.42, place[size] + 0.42], color="#333333",
                       linestyle=dashes, linewidth=1.3, zorder=1)
    panel.set_yticks(range(len(sizes)), [f"{int(size)}" for size in sizes])
    coefficients = sorted(runs["coefficient"].unique())
    panel.set_xticks(coefficients[::2], [f"{c:g}" for c in coefficients[::2]])
    panel.minorticks_off()
    panel.set(xlabel="coefficient of the entropy bonus", ylabel="right answers m",
              ylim=(-0.6, len(sizes) - 0.4), xlim=(coefficients[0] / 1.2, coefficients[-1] * 1.2))
    panel.set_title("GRPO with an entropy bonus:  × collapsed   ○ neither   △ wrong answers back",
                    fontsize=8)


FIGURE = PaperFigure.of(
    __name__, name="phase-diagrams",
    source="This project",
    title="where entropy collapses, is held and goes astray",
    paper="AEPO, Figures 1 and 3, show one temperature and weight, and single coefficients of a bonus.",
    ours="Exact expectation on 20-answer bandits with m right answers. A mark is the most common "
         "outcome over starts; paler marks have less agreement. Solid: theory expects collapse "
         "below it or left of it. Dotted: above it or right of it, theory expects AEPO's steps to "
         "be too long, or a bonus to bring wrong answers back.",
    claims=("aepo.arbitrary-entropy", "extension.sustainable-entropies"),
    headline=Headline(
        says="Two lines without a fitted constant predict 90 % of AEPO's runs that collapse or hold "
             "their target, but not of those that chatter.",
        holds=("", "of those collapsed", "of those held"),
        fails=("of those chatters",),
    ),
)
