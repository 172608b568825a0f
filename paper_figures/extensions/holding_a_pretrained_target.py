"""What holds a target entropy of a pretrained model, and at which price.

The comparison is that of `holding_a_target`, with SmolLM2-135M on sums of several numbers: few small
steps, which a CPU makes.
"""

from __future__ import annotations

from pathlib import Path

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.drawing import Table, draw_mean, estimate, panels
from paper_figures.extensions import holding_a_target
from paper_figures.extensions.holding_a_target import LOOKS, K, complete, summary
from paper_figures.figure import MODELS, Finding, Headline, PaperFigure

MODEL = "smollm2-135m-instruct"
TRACED = {
    "AEPO and the entropy bonus": ("AEPO", "integral, entropy bonus", "forecast, entropy bonus"),
    "the diverse bonus": ("integral, diverse bonus", "two-sided integral, diverse bonus",
                          "forecast, diverse bonus"),
}
"""The controllers of each panel of curves."""
LOOK = {**LOOKS, "two-sided integral, diverse bonus": LOOKS["fast integral, diverse bonus"]}
"""The fast rules, which are two-sided, were not run here."""
SMOOTHED = 4
"""Over how many steps entropy is averaged where it is drawn: a step is a sample of 4 prompts."""
COLUMNS = (("entropy", "entropy (nats)", 2), ("deviation", "distance (nats)", 3), ("reward", "reward", 2),
           ("pass_at_k", f"held-out {K}", 2), ("distinct", "distinct answers of 16", 1))
"""A column of the table: of `summary`, its title and digits."""


def data(results: Path) -> pandas.DataFrame:
    """Return `holding_a_target.data` of SmolLM2's runs."""
    return holding_a_target.data(results, MODEL)


def finding(table: pandas.DataFrame) -> Finding:
    """State how far off each controller is, and how many are told apart from the nearest."""
    return holding_a_target.finding(table, MODELS["smollm2-135m-instruct"])


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return a table a setting, with a row per controller."""
    found = summary(table)
    return [
        Table(
            title=f"SmolLM2-135M, {setting} nats ({rows['seeds'].iloc[0]} seeds)",
            header=("controller", *(title for _, title, _ in COLUMNS)),
            rows=tuple((row["controller"], *(
                estimate(row[name], row[f"{name}_se"], digits=digits)
                for name, _, digits in COLUMNS)) for _, row in rows.iterrows()),
            origin="ours",
            note="Means over seeds with their standard errors; entropy and distance of the second half "
            f"of the steps, reward of the last {holding_a_target.LAST}.",
        ) for setting, rows in found.groupby("setting", sort=False)]


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy by step where the target rests, and reward and pass@k at the entropy that was held."""
    rows = complete(table)
    rows = rows[(rows["shape"] == "constant") & ~rows["other_prompts"]]
    figure, axes = panels(2, 2, height=2.15)
    curves = rows[rows["panel"] == "curve"]
    for panel, (title, names) in zip(axes[0], TRACED.items(), strict=True):
        for name in names:
            _draw_curve(panel, curves[curves["controller"] == name], name)
        for target in curves["target"].unique():
            panel.axhline(target, color="#000000", linewidth=1.8, alpha=0.4)
        panel.set(xlabel="optimizer step", ylim=(0, 1.05 * curves["entropy"].max()), title=title)
        panel.margins(x=0)
    axes[0, 0].set_ylabel("entropy (nats)")
    runs = rows[rows["panel"] == "run"]
    for panel, price, label in zip(
            axes[1], ("reward", "pass_at_k"), ("reward", f"held-out {K}"), strict=True):
        holding_a_target.draw_front(panel, runs, price, LOOK)
        panel.set(xlabel="entropy held (nats)", ylabel=label)
    axes[1, 0].set_title("reward (dotted: target)")
    axes[1, 1].set_title(f"{K} of new prompts")
    shown = [name for name in LOOK if name in set(rows["controller"])]
    handles = [axes[1, 0].plot([], [], markersize=4, **LOOK[name])[0] for name in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=3, fontsize=6.5)
    return figure


def _draw_curve(panel: Axes, rows: pandas.DataFrame, name: str) -> None:
    """Draw the mean over seeds with their range."""
    wide = rows.pivot_table(index="step", columns=["target", "seed"], values="entropy").rolling(
        SMOOTHED, min_periods=1).mean()
    look = {key: value for key, value in LOOK[name].items() if key != "marker"}
    for target in wide.columns.unique("target"):
        draw_mean(panel, wide[target], look, level=None)


FIGURE = PaperFigure.of(
    __name__, name="holding-a-pretrained-target",
    source="This project",
    title="what holds a target entropy, a pretrained model",
    paper="AEPO holds by a second batch, Skywork-OR1 and TRL by an integral rule; none was compared.",
    ours="SmolLM2-135M on sums of several numbers, 4 prompts of 8 samples a step. Above: entropy "
         "by step. Lines are means over seeds and 4 steps, bands the range of seeds, grey is the "
         "target. Below: reward and pass@k at the entropy held, means over seeds with standard "
         "errors.",
    claims=("extension.diverse-bonus-price",),
    headline=Headline(
        says="SmolLM2-135M is held nearest to its target, in the mean over seeds, by the forecast on "
             "the entropy bonus.",
        holds=("",),
    ),
)
