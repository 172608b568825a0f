"""Cui et al., Figure 6: reward against entropy under different algorithms.

What we run: prompts with 20 answers, one or five of them right, from the same starts: GRPO, RLOO and
REINFORCE++ in exact expectation and on sampled groups, and the natural gradient. (PRIME needs a reward
model for tokens; there are none here.) Reward is compared where entropy first falls to the same share
of its start.
"""

from __future__ import annotations

from pathlib import Path

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import long, pick, stacked
from paper_figures.drawing import MARKERS, REFERENCE, SERIES, dots, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

BASE, OTHER = "GRPO", "natural gradient"
SAMPLED = ", sampled"
SHORT = {"policy gradient (RLOO)": "RLOO", "RLOO, sampled": "RLOO", "GRPO, sampled": "GRPO",
         "REINFORCE++, sampled": "REINFORCE++"}
LOOKS = dict(zip((BASE, "RLOO", "REINFORCE++", OTHER), range(4), strict=True))
APART = 0.05
"""The gap in reward at equal entropy beyond which algorithms have curves of their own."""
COLUMNS = ["panel", "algorithm", "sampled", "right_answers", "start", "share", "entropy", "reward",
           "gap", "a", "b"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, algorithm, sampled, right_answers, start, share, entropy, reward, gap, a, b.

    Panels:

    - "curve": ``reward`` when entropy first falls to a ``share`` of its start, and its ``gap`` to
      GRPO of the same start and mode; NaN where a run never gets there;
    - "fit": the law, one row per run.
    """
    dataset = inputs.simulation(results, "performance_law_coefficients")
    begin = long(dataset[["start_entropy", "start_reward"]], "curve",
                 rename={"start_entropy": "entropy", "start_reward": "reward"}).assign(share=1.0)
    curve = long(dataset[["reward_at_entropy"]].assign(entropy=dataset.start_entropy * dataset.share),
                 "curve", rename={"reward_at_entropy": "reward"})
    table = stacked([begin, curve, long(dataset[["a", "b"]], "fit")], COLUMNS)
    table["sampled"] = table["algorithm"].str.endswith(SAMPLED)
    table["algorithm"] = table["algorithm"].replace(SHORT)
    same = ["sampled", "right_answers", "start", "share"]
    base = pick(table, panel="curve", algorithm=BASE).set_index(same)["reward"]
    table = table.join(base.rename("base"), on=same)
    exact = base.xs(False, level="sampled")
    alone = table["algorithm"] == OTHER
    table.loc[alone, "base"] = table.loc[alone].join(exact.rename("e"), on=same[1:])["e"]
    table["gap"] = table["reward"] - table["base"]
    return table[COLUMNS]


def gaps(table: pandas.DataFrame) -> pandas.Series:
    """The mean over starts of the gap to GRPO, by (right answers, algorithm, sampled, share).

    Only where all starts came to that share of their entropy.
    """
    curve = table[(table["panel"] == "curve") & (table["algorithm"] != BASE) & (table["share"] < 1)]
    by = curve.groupby(["right_answers", "algorithm", "sampled", "share"])
    return by["gap"].mean()[by["gap"].count() == by.size()]


def finding(table: pandas.DataFrame) -> Finding:
    """State the largest gap among the paper's algorithms, and the natural gradient's."""
    size = gaps(table).abs()
    is_other = size.index.get_level_values("algorithm") == OTHER
    exact = ~size.index.get_level_values("sampled").astype(bool)
    return Finding(criteria=tuple(
        Criterion("largest gap in reward to GRPO at equal entropy, mean over starts" + of,
                  float(size[chosen].max()), "≤", APART, where, beyond=bool(where))
        for of, where, chosen in (
            (", of the paper's algorithms but PRIME in exact expectation", "", ~is_other & exact),
            (", of the paper's algorithms but PRIME on sampled groups", "", ~is_other & ~exact),
            ("", "for the natural gradient", is_other))))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw reward against entropy, and its gap to GRPO's, a column for each number of right answers."""
    curve = pick(table, panel="curve")
    sizes = sorted(curve["right_answers"].unique())
    figure, axes = panels(2, len(sizes), height=2.2, sharey="row")
    for (above, below), size in zip(axes.T, sizes, strict=True):
        here = pick(curve, right_answers=size)
        _draw(above, here, "entropy", "reward")
        above.set(title="one right answer of 20" if size == 1 else f"{size} right answers",
                  xlabel="entropy (nats)")
        _draw(below, here[here["share"] < 1], "share", "gap")
        below.axhline(0, **REFERENCE)
        below.set(xlabel="entropy over its start", xlim=(1, 0))
    axes[0, 0].set_ylabel("P(right answer)")
    axes[1, 0].set_ylabel("reward beyond GRPO's")
    _key(axes[0, -1])
    return figure


def _draw(panel: Axes, rows: pandas.DataFrame, x: str, y: str) -> None:
    """Draw means over starts, lines in exact expectation and open markers from samples."""
    for name, i in LOOKS.items():
        for sampled, group in pick(rows, algorithm=name).groupby("sampled"):
            by_share = group.groupby("share")
            mean = by_share[[x, y]].mean().dropna()
            if sampled:
                dots(panel, mean[x], mean[y], i, markersize=4, markeredgewidth=0.9)
            else:
                panel.plot(mean[x], mean[y], **SERIES[i])
                low, high = by_share[y].min()[mean.index], by_share[y].max()[mean.index]
                panel.fill_between(mean[x], low, high, color=SERIES[i]["color"], alpha=0.15,
                                   linewidth=0)


def _key(panel: Axes) -> None:
    for name, i in LOOKS.items():
        sampled = "none" if name == OTHER else MARKERS[i]
        panel.plot([], [], marker=sampled, markersize=4, markerfacecolor="none", label=name, **SERIES[i])
    panel.legend(loc="lower left", fontsize=6.5, title="lines exact, markers sampled",
                 title_fontsize=6.5, handlelength=3)


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-6",
    source="Cui et al., Figure 6",
    title="reward against entropy under different algorithms",
    paper="The law's coefficients do not depend on the algorithm: GRPO, RLOO, PRIME and REINFORCE++ "
    "follow one curve.",
    place="Figure 6",
    ours="The paper's algorithms except PRIME, and the natural gradient, from the same starts on "
         "24 prompts with 20 answers. Lines are means over starts, bands from the lowest to the "
         "highest.",
    headline=Headline(
        says="GRPO, RLOO and REINFORCE++ share one curve of reward against entropy; the natural "
             "gradient leaves it.",
        holds=("",),
        fails=("for the natural gradient",),
    ),
    recipes=("paper/entropy-mechanism-grpo",),
)
