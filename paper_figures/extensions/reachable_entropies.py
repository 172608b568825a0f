"""Which entropies can be held at all, and at which reward: by AEPO, by an entropy bonus, by theory.

Take a policy over n answers, m of them right, with the probability R of a right one. Its entropy is
at least h(R) and at most h(R) + R log m + (1 - R) log(n - m), by claim
``extension.entropy-range-at-reward``.

AEPO's runs end at R = 1, where log m is left of this range (claim ``extension.entropy-ceiling``).
Whatever the temperatures, every later entropy is at most log m + h(e) + e log((n - m)/m), with e =
((n - m)/m) e^-gap. The gap is the mean right logit less the largest wrong one, and never falls. An
entropy bonus has one fixed point for each coefficient, on the upper edge of the range. There
entropy is above log m, at the price of wrong answers.

Beside theory are the ends of simulated runs: AEPO at many targets and weights alpha, GRPO with a
bonus at many coefficients.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import entr

from paper_figures.data import inputs
from paper_figures.data.tables import long, pick, stacked
from paper_figures.drawing import REFERENCE, SERIES, dots, lines, note, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

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

    Panels:

    - "ends": x entropy, y reward at the end of a run; ``setting`` is AEPO's target or the bonus'
      coefficient;
    - "fixed": the same at the fixed point of a bonus;
    - "allowed": x lowest or highest entropy, by ``method``, y reward;
    - "held": x number of right answers, y target, and whether most starts hold it at some alpha;
    - "ceiling": x gap, y highest later entropy.
    """
    inputs.theory()
    aepo = inputs.simulation(results, "aepo_figure_1", "exact")
    bonus = inputs.simulation(results, "phase_diagrams")
    n = int(inputs.dataset_provenance(aepo)["config"]["n_actions"])
    drawn = int(max(set(aepo.right_answers.values) & set(bonus.bonus_right_answers.values)))
    names = {"target": "setting", "coefficient": "setting", "bonus_right_answers": "right_answers",
             "bonus_start": "start"}
    held = long(aepo.held.mean("start").max("alpha"), "held", "right_answers", method="AEPO")
    edges = {"lowest": lowest_entropy(REWARDS),
             "highest": highest_entropy(REWARDS, n, np.asarray(drawn))}
    table = stacked([
        *(long(dataset[[entropy, reward]], panel, rename={**names, entropy: "x", reward: "y"},
               method=method)
          for dataset, entropy, reward, panel, method in (
              (aepo, "tail_entropy", "tail_reward", "ends", "AEPO"),
              (bonus, "bonus_tail_entropy", "bonus_tail_reward", "ends", "bonus"),
              (bonus, "bonus_fixed_entropy", "bonus_fixed_reward", "fixed", "bonus"))),
        *(pandas.DataFrame({"panel": "allowed", "method": name, "x": values, "y": REWARDS,
                            "right_answers": drawn}) for name, values in edges.items()),
        held.assign(y=held["target"], held=(held["y"] > 0.5).astype(float)),
        *(pandas.DataFrame({"panel": "ceiling", "right_answers": int(m), "x": GAPS,
                            "y": ceiling(GAPS, n, int(m))}) for m in aepo.right_answers.values),
    ], ["panel", "method", "right_answers", "setting", "start", "x", "y", "held"])
    table.insert(2, "n_actions", n)
    return table


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
    _draw_held(axes[0, 1], pick(table, panel="held"), int(table["n_actions"].iloc[0]))
    lines(axes[0, 2], pick(table, panel="ceiling"), "right_answers", band=None, name="m = {:.0f}".format,
          xlabel="gap, right − wrong (nats)", ylabel="ceiling (nats)", ylim=(-0.1, None),
          title="highest later entropy")
    return figure


def _draw_plane(panel: Axes, table: pandas.DataFrame) -> None:
    allowed = pick(table, panel="allowed")
    drawn = int(allowed["right_answers"].iloc[0])
    low, high = (pick(allowed, method=name) for name in ("lowest", "highest"))
    panel.fill_betweenx(low["y"], low["x"], high["x"], color="#999999", alpha=0.2, linewidth=0)
    fixed = pick(table, panel="fixed", right_answers=drawn).sort_values("x")
    panel.plot(fixed["x"], fixed["y"], color=SERIES[1]["color"], linewidth=1.0)
    for i, (method, text) in enumerate((("AEPO", "○ AEPO"), ("bonus", "□ bonus"))):
        rows = pick(table, panel="ends", right_answers=drawn, method=method)
        dots(panel, rows["x"], rows["y"], i, markersize=2.6, markeredgewidth=0.6)
        note(panel, text, 0.06, 0.17 - 0.1 * i, color=SERIES[i]["color"])
    panel.axvline(np.log(drawn), **REFERENCE)
    panel.annotate(f"log {drawn}", (np.log(drawn), 0.5), xytext=(-2, 0), textcoords="offset points",
                   fontsize=6.5, ha="right", color="#555555")
    panel.set(xlabel="entropy (nats)", ylabel="P(right answer)", ylim=(0, 1.03), xlim=(0, None),
              title=f"ends of runs, m = {drawn}")


def _draw_held(panel: Axes, held: pandas.DataFrame, n: int) -> None:
    sizes = np.arange(1, n)
    for i, (most, text) in enumerate((
            (np.log(sizes), "log m (AEPO)"),
            (highest_entropy(np.asarray(BONUS_REWARD), n, sizes), f"bonus, {BONUS_REWARD:.0%} right"))):
        panel.plot(sizes, most, **SERIES[i])
        note(panel, text, 0.98, 0.14 - 0.1 * i, size=6.5, color=SERIES[i]["color"])
    for value, face in ((1.0, SERIES[0]["color"]), (0.0, "none")):
        rows = pick(held, held=value)
        dots(panel, rows["x"], rows["y"], markersize=3.2, markerfacecolor=face)
    panel.set(xlabel="right answers m", ylabel="entropy (nats)", ylim=(-0.1, np.log(n) + 0.15),
              title="● held  ○ not held")


FIGURE = PaperFigure.of(
    __name__, name="reachable-entropies",
    source="This project",
    title="which entropies can be held, at which reward",
    paper="AEPO's title promises arbitrary entropy; Cui et al. that performance is bought with entropy.",
    ours="Left: all policies lie in the grey range. Points are ends of runs, the line fixed "
         "points of an entropy bonus. Middle: AEPO's targets, by whether most starts hold them at "
         f"some alpha. Lines are log m, and the most that a bonus leaves with {BONUS_REWARD:.0%} "
         "right. Right: the ceiling falls as right answers move ahead.",
    claims=("aepo.collapse-or-explosion",),
    headline=Headline(
        says="AEPO does not hold a target at or above the logarithm of the number of right "
             "answers; an entropy bonus gets above it, and pays with wrong answers.",
    ),
)
