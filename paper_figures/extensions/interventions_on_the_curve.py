"""Do interventions stay on the curve of reward against entropy?

Cui et al. fit R = -a e^H + b to runs without intervention and read it as a trade: performance is bought
with entropy. A referee's first objection is that they did not check whether runs *with* an
intervention stay on that curve, slide along it or leave it. Here every update rule runs from the
same starts. Reward is compared with GRPO's when entropy first falls to the same level, in pairs of
one start. A rule is off the curve if it is further than a fixed margin and its interval excludes 0.
It is on the curve if it is within the margin. GRPO with other samples, and with half the step,
differ by less than the margin.

The table has a verdict for each rule: above, on, or below GRPO's curve, or undecided by the
interval. The finding's verdicts are from samples. Exact expectation, which some rules do not have,
may put a rule elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.data.tables import long, pick, stacked
from paper_figures.drawing import REFERENCE, SERIES, Table, note, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

BASE = "GRPO"
CONTROLS = ("GRPO, other samples", "GRPO, half the step")
SIDES = {1: "above", 0: "on", -1: "below", -9: "not told"}
DRAWN = 4
"""Number of rules drawn beside GRPO. These are the two furthest above, the furthest below, and
Clip-Cov, or without its runs another of the rules that Cui et al. draw."""
COLUMNS = ["panel", "family", "mode", "rule", "x", "y", "low", "high", "side", "margin"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, family, mode, rule, x, y, low, high, side, margin.

    Panels:

    - "gap": y reward beyond GRPO's at equal entropy, its interval, and the rule's side of the curve;
    - "within": y entropy among right answers beyond GRPO's at equal reward;
    - "curve": x entropy, y reward, means over starts at a recorded step;
    - "misfit": y root mean square that the fitted law leaves of a rule's own runs.

    ``margin``: reward within which a rule is on the curve.
    """
    dataset = inputs.simulation(results, "interventions_on_the_curve")
    config = inputs.dataset_provenance(dataset)["config"]
    parts = [_gaps(dataset, "reward", "gap"), _gaps(dataset, "within", "within"),
             long(dataset[["entropy", "reward"]].mean("start"), "curve",
                  rename={"entropy": "x", "reward": "y"}).dropna(subset=["x"]),
             long(dataset.law_rmse.mean("start"), "misfit").dropna(subset=["y"])]
    return stacked(parts, COLUMNS).assign(margin=float(config["margin"]))


def _gaps(dataset: xarray.Dataset, axis: str, panel: str) -> pandas.DataFrame:
    names = {f"{axis}_gap_mean": "y", f"{axis}_gap_low": "low", f"{axis}_gap_high": "high"}
    rows = long(dataset[[*names, "side"]], panel, rename=names)
    return rows[(rows["rule"] != BASE) & rows["y"].notna()]


def finding(table: pandas.DataFrame) -> Finding:
    """State how many rules leave the curve, in which family."""
    gaps = table[(table["panel"] == "gap") & (table["mode"] == "sampled")]
    rules = gaps[~gaps["rule"].isin(CONTROLS) & ~(gaps[["y", "low", "high"]] == 0).all(axis=1)]
    return Finding(standing="our own", criteria=tuple(
        Criterion("interventions that leave GRPO's curve of reward against entropy, from samples",
                  float(rules[rules["family"] == family]["side"].isin((1, -1)).sum()), ">", 0,
                  f"on prompts with {family}")
        for family in gaps["family"].unique()))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the curves and, below them, the gap of every rule; a column for each family."""
    sampled = table[table["mode"] == "sampled"]
    families = list(sampled[sampled["panel"] == "gap"]["family"].unique())
    figure, axes = panels(
        2, len(families), height=2.6, height_ratios=(1.0, 1.35), sharex="row", sharey="row")
    order = _order(sampled)
    for column, family in enumerate(families):
        rows = sampled[sampled["family"] == family]
        panel = axes[0, column]
        _draw_curves(panel, rows, order)
        panel.set_title(str(family))
        _draw_gaps(axes[1, column], rows[rows["panel"] == "gap"], order, float(table["margin"].iloc[0]))
    axes[0, 0].invert_xaxis()  # of all: they are shared
    axes[0, 0].set_ylabel("P(right answer)")
    return figure


def _order(sampled: pandas.DataFrame) -> list[str]:
    """Order rules by their gap in the last family, from below the curve to above it."""
    gaps = pick(sampled, panel="gap")
    last = pick(gaps, family=gaps["family"].unique()[-1])
    return [str(name) for name in last.sort_values("y")["rule"]]


def _draw_curves(panel: Axes, rows: pandas.DataFrame, order: list[str]) -> None:
    rules = [name for name in order if name not in CONTROLS]
    nearest = [name for name in ("Clip-Cov", "KL-Cov", "clip-higher") if name in rules]
    shown = [BASE, *rules[-2:][::-1], *nearest[:DRAWN - 3], rules[0]]
    for i, (look, name) in enumerate(zip(SERIES, shown, strict=False)):
        line = pick(rows, panel="curve", rule=name)
        panel.plot(line["x"], line["y"], **{**look, "linewidth": 2.2 if name == BASE else 1.2})
        note(panel, name, 0.97, 0.05 + 0.1 * (len(shown) - 1 - i), size=6.5, color=look["color"])
    panel.set(xlabel="entropy (nats), falling")


def _draw_gaps(panel: Axes, gaps: pandas.DataFrame, order: list[str], margin: float) -> None:
    panel.axvspan(-margin, margin, color="#999999", alpha=0.2, linewidth=0)
    panel.axvline(0, **REFERENCE)
    for side, marker, look, face in (
        (1, "^", SERIES[0], "full"), (-1, "v", SERIES[1], "full"), (0, "o", SERIES[6], "none"),
        (-9, "o", {"color": "#999999"}, "none"),
    ):
        rows = gaps[gaps["side"] == side]
        if rows.empty:
            continue
        place = [order.index(name) for name in rows["rule"]]
        panel.errorbar(
            rows["y"], place, xerr=[rows["y"] - rows["low"], rows["high"] - rows["y"]],
            linestyle="none", marker=marker, markersize=3.6, color=look["color"], elinewidth=0.8,
            markerfacecolor=look["color"] if face == "full" else "none",
        )
    panel.set_yticks(range(len(order)), order, fontsize=6.5)
    panel.set(xlabel="reward beyond GRPO's", ylim=(-0.6, len(order) - 0.4))


def tables(table: pandas.DataFrame) -> tuple[Table, ...]:
    """Return the gap and the side of every rule, a column for each family."""
    found = []
    for mode, rows in table[table["panel"] == "gap"].groupby("mode", sort=False):
        families = list(rows["family"].unique())
        cells = rows.set_index(["rule", "family"])
        names = [str(name) for name in rows["rule"].unique()]
        found.append(Table(
            title=f"Reward beyond GRPO's at equal entropy, {mode}",
            header=("rule", *families),
            rows=tuple(
                (name, *(
                    f"{cells.loc[(name, f), 'y']:+.3f} ({SIDES[int(cells.loc[(name, f), 'side'])]})"
                    if (name, f) in cells.index else "–" for f in families
                )) for name in names
            ),
            origin="ours",
            note="Means over starts and levels of entropy; in brackets the side of GRPO's curve.",
        ))
    return tuple(found)


FIGURE = PaperFigure.of(
    __name__, name="interventions-on-the-curve",
    source="This project",
    title="which interventions leave the reward-entropy curve",
    paper="Cui et al., section 2: performance is bought with entropy along one curve; whether "
    "interventions obey it is not tested.",
    ours="Nine prompts of graded difficulty over 20 answers, sampled groups of 8, all rules from "
         "the same starts, each at one strength. Above: reward against entropy, means over "
         "starts. Below: reward beyond GRPO's at equal entropy, mean over levels with its "
         "interval over starts. Within the grey band a rule is on the curve.",
    claims=("entropy-mechanism.points-on-the-curve",),
    headline=Headline(
        says="From samples some interventions leave GRPO's curve of reward against entropy on prompts "
             "with five right answers, and none does with one.",
        holds=("on prompts with five right, graded",),
        fails=("on prompts with one right, graded",),
    ),
)
