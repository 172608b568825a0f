"""Which entropies can be held at all, and at which reward: by AEPO, by an entropy bonus, by theory.

For every policy over n answers, m of them right, with R the probability of a right one, entropy lies
between h(R) and h(R) + R log m + (1 - R) log(n - m) (claim ``extension.entropy-range-at-reward``). AEPO's
runs end at R = 1, so that of this range log m is left (``extension.entropy-ceiling``: whatever the
temperatures, every later entropy is at most log m + h(e) + e log((n - m)/m), with e = ((n - m)/m) e^-gap
and gap the mean right logit less the largest wrong one, which never falls). An entropy bonus has one
fixed point a coefficient, on the upper edge of the range: more entropy than log m is to be had there,
for wrong answers.

Theory beside where simulated runs end: AEPO at many targets and weights alpha, GRPO with a bonus at many
coefficients.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import entr

from paper_figures.data import inputs
from paper_figures.drawing.bands import draw_lines
from paper_figures.drawing.style import MARKERS, REFERENCE, SERIES, label_ends, panels
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

CLEAR = 0.01
"""How far above log m, in nats, a run must end to count as above it."""
GAPS = np.linspace(-1.0, 10.0, 56)
REWARDS = np.linspace(0.001, 0.999, 200)
BONUS_REWARD = 0.9
"""The reward down to which a bonus may go in the middle panel: one wrong answer in ten."""


def lowest_entropy(reward: np.ndarray) -> np.ndarray:
    """The lowest entropy at reward R, h(R), nats."""
    return np.asarray(entr(reward) + entr(1 - reward))


def highest_entropy(reward: np.ndarray, n_actions: int, n_right: np.ndarray) -> np.ndarray:
    """The highest entropy at reward R: h(R) + R log m + (1 - R) log(n - m), nats, for 1 <= m < n."""
    return lowest_entropy(reward) + reward * np.log(n_right) + (1 - reward) * np.log(n_actions - n_right)


def ceiling(gap: np.ndarray, n_actions: int, n_right: int) -> np.ndarray:
    """The highest entropy that any run of AEPO can have from a policy of this gap on, nats."""
    most = (n_actions - n_right) / n_actions
    wrong = np.minimum((n_actions - n_right) / n_right * np.exp(-gap), most)
    return highest_entropy(1 - wrong, n_actions, np.asarray(n_right))


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, method, n_actions, right_answers, setting, start, x, y, held.

    Panels: "ends" (x entropy, y reward at the end of a run; ``setting`` is AEPO's target or the bonus'
    coefficient), "fixed" (the same at the fixed point of a bonus), "allowed" (x lowest or highest
    entropy, as ``method`` says, y reward), "held" (x number of right answers, y target, whether held at
    some alpha in most starts), "ceiling" (x gap, y highest later entropy).
    """
    inputs.theory()
    aepo = inputs.simulation(results, "aepo_figure_1", "exact")
    bonus = inputs.simulation(results, "phase_diagrams")
    n = int(inputs.dataset_provenance(aepo)["config"]["n_actions"])
    several = sorted(set(aepo.right_answers.values) & set(bonus.bonus_right_answers.values))
    drawn = int(several[-1])
    ends = aepo[["tail_entropy", "tail_reward"]].to_dataframe().reset_index()
    ends = ends.rename(columns={"tail_entropy": "x", "tail_reward": "y", "target": "setting"})
    under = bonus[["bonus_tail_entropy", "bonus_tail_reward"]].to_dataframe().reset_index().rename(
        columns={"bonus_tail_entropy": "x", "bonus_tail_reward": "y", "coefficient": "setting",
                 "bonus_right_answers": "right_answers", "bonus_start": "start"})
    fixed = bonus[["bonus_fixed_entropy", "bonus_fixed_reward"]].to_dataframe().reset_index().rename(
        columns={"bonus_fixed_entropy": "x", "bonus_fixed_reward": "y", "coefficient": "setting",
                 "bonus_right_answers": "right_answers"})
    held = aepo.held.mean("start").max("alpha").to_dataframe(name="held").reset_index()
    edges = pandas.concat([
        pandas.DataFrame({"method": name, "x": values, "y": REWARDS, "right_answers": drawn})
        for name, values in (("lowest", lowest_entropy(REWARDS)),
                             ("highest", highest_entropy(REWARDS, n, np.asarray(drawn))))
    ])
    ceilings = pandas.concat([
        pandas.DataFrame({"right_answers": int(m), "x": GAPS, "y": ceiling(GAPS, n, int(m))})
        for m in aepo.right_answers.values
    ])
    table = pandas.concat([
        ends.assign(panel="ends", method="AEPO"),
        under.assign(panel="ends", method="bonus"),
        fixed.assign(panel="fixed", method="bonus"),
        edges.assign(panel="allowed"),
        held.assign(panel="held", method="AEPO", x=held["right_answers"], y=held["target"],
                    held=(held["held"] > 0.5).astype(float)),
        ceilings.assign(panel="ceiling"),
    ], ignore_index=True)
    columns = ["panel", "method", "n_actions", "right_answers", "setting", "start", "x", "y", "held"]
    return table.assign(n_actions=n)[columns]


def finding(table: pandas.DataFrame) -> Finding:
    """State which targets AEPO holds, and what a bonus pays for more entropy."""
    ends = table[table["panel"] == "ends"]
    excess = ends["x"] - np.log(ends["right_answers"].astype(float))
    above = (ends["method"] == "bonus") & (excess > CLEAR)
    held = table[(table["panel"] == "held") & (table["held"] == 1)]
    return Finding(standing="our own", criteria=(
        Criterion("targets at or above log m that AEPO holds",
                  float((held["y"] >= np.log(held["x"].astype(float))).sum()), "≤", 0),
        Criterion(f"runs of an entropy bonus that end over {CLEAR:g} nats above log m",
                  float(above.sum()), ">", 0),
        Criterion("wrong answers of these runs, share, median",
                  float((1 - ends.loc[above, "y"]).median()), ">", 0),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the plane of reward and entropy, the targets held by m, and the ceiling by the gap."""
    figure, axes = panels(1, 3, height=2.5)
    _draw_plane(axes[0, 0], table)
    _draw_held(axes[0, 1], table[table["panel"] == "held"], int(table["n_actions"].iloc[0]))
    _draw_ceiling(axes[0, 2], table[table["panel"] == "ceiling"])
    return figure


def _draw_plane(panel: Axes, table: pandas.DataFrame) -> None:
    allowed = table[table["panel"] == "allowed"]
    drawn = int(allowed["right_answers"].iloc[0])
    low, high = (allowed[allowed["method"] == name] for name in ("lowest", "highest"))
    panel.fill_betweenx(low["y"], low["x"], high["x"], color="#999999", alpha=0.2, linewidth=0)
    here = table[table["right_answers"] == drawn]
    fixed = here[here["panel"] == "fixed"].sort_values("x")
    panel.plot(fixed["x"], fixed["y"], color=SERIES[1]["color"], linewidth=1.0)
    ends = here[here["panel"] == "ends"]
    for i, (method, rows) in enumerate(ends.groupby("method")):
        panel.plot(rows["x"], rows["y"], linestyle="none", marker=MARKERS[i], markersize=2.6,
                   color=SERIES[i]["color"], markerfacecolor="none", markeredgewidth=0.6)
        text = {"AEPO": "○ AEPO", "bonus": "□ bonus"}[str(method)]
        panel.annotate(text, (0.06, 0.17 - 0.1 * i), xycoords="axes fraction", fontsize=7,
                       color=SERIES[i]["color"])
    panel.axvline(np.log(drawn), **REFERENCE)
    panel.annotate(f"log {drawn}", (np.log(drawn), 0.5), xytext=(-2, 0), textcoords="offset points",
                   fontsize=6.5, ha="right", color="#555555")
    panel.set(xlabel="entropy (nats)", ylabel="P(right answer)", ylim=(0, 1.03), xlim=(0, None),
              title=f"ends of runs, m = {drawn}")


def _draw_held(panel: Axes, held: pandas.DataFrame, n: int) -> None:
    sizes = np.arange(1, n)
    panel.plot(sizes, np.log(sizes), **SERIES[0])
    panel.plot(sizes, highest_entropy(np.asarray(BONUS_REWARD), n, sizes), **SERIES[1])
    for i, text in enumerate(("log m (AEPO)", f"bonus, {BONUS_REWARD:.0%} right")):
        panel.annotate(text, (0.98, 0.14 - 0.1 * i), xycoords="axes fraction", ha="right", fontsize=6.5,
                       color=SERIES[i]["color"])
    for value, face in ((1.0, SERIES[0]["color"]), (0.0, "none")):
        rows = held[held["held"] == value]
        panel.plot(rows["x"], rows["y"], linestyle="none", marker="o", markersize=3.2,
                   color=SERIES[0]["color"], markerfacecolor=face, markeredgewidth=0.7)
    panel.set(xlabel="right answers m", ylabel="entropy (nats)", ylim=(-0.1, np.log(n) + 0.15),
              title="● held  ○ not held")


def _draw_ceiling(panel: Axes, ceilings: pandas.DataFrame) -> None:
    labels = draw_lines(panel, ceilings, "right_answers", band=None, name="m = {:.0f}".format)
    panel.set(xlabel="gap, right − wrong (nats)", ylabel="ceiling (nats)", ylim=(-0.1, None),
              title="highest later entropy")
    panel.margins(x=0)
    label_ends(panel, labels)


FIGURE = PaperFigure(
    name="reachable-entropies",
    source="This project",
    title="which entropies can be held, at which reward",
    paper="AEPO's title promises arbitrary entropy; Cui et al. that performance is bought with entropy.",
    ours="Left: all policies lie in the grey range; points are ends of runs, the line the fixed "
    "points of an entropy bonus. Middle: AEPO's targets, held in most starts at some alpha or not; "
    "lines: "
    f"log m, and the most a bonus leaves with {BONUS_REWARD:.0%} right. Right: the ceiling that falls as "
    "right answers move ahead of wrong ones.",
    claims=("aepo.collapse-or-explosion",),
    data=data,
    finding=finding,
    headline=Headline(
        says="AEPO holds no target above the logarithm of the number of right answers; an entropy bonus "
             "reaches more, but pays with wrong answers.",
    ),
    draw=draw,
)
