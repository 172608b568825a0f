"""A small transformer trained with GRPO and with AEPO: entropy, reward, distinct answers.

What the papers show: entropy collapses under GRPO and is held by AEPO, on 7-billion-parameter models
(AEPO, Figures 1 and 4). What we run: the same update rules on the bundled 0.8 M-parameter
transformer, on ``split`` (many right answers to each prompt) and ``sum`` (one). Whether the finding
reproduces is read off the last tenth of each run: GRPO's entropy against its start, AEPO's against
GRPO's. Beside every reward stands what a constant answer would score.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure

from paper_figures.data import training_curves
from paper_figures.drawing.style import REFERENCE, SERIES, panels
from paper_figures.figure import Finding, MissingInputError, PaperFigure

MODEL = "small-sums"
TASKS = {"split": "many right answers (57=)", "sum": "one right answer (23+34=)"}
RULES = {"grpo": "GRPO", "aepo": "AEPO"}
CHOICES = [training_curves.Choice(label=name, rule=rule) for rule, name in RULES.items()]
LOOKS = dict(zip(RULES.values(), SERIES, strict=False))
QUANTITIES = {
    "entropy": "entropy (nats per token)",
    "reward": "mean reward (0 to 1)",
    "distinct_answers": "distinct answers (per prompt)",
}
COMMAND = (
    "python -m llm_bridge train --model small-sums --task split --rule grpo --steps 160 "
    "--output build/runs/small-sums-split-grpo"
)


def data(results: Path) -> pandas.DataFrame:
    """Return smoothed values in the columns of `training_curves.read`: each task's most complete setting.

    Rows of metric "constant_answer" carry what a constant answer would score.
    """
    table = training_curves.read(results, CHOICES, model=MODEL, metrics=tuple(QUANTITIES), measured=False)
    table = table[table["task"].isin(TASKS)]
    if table.empty:
        raise MissingInputError(f"no training run of {MODEL} was found: run `{COMMAND}`, and with aepo")
    first = table.groupby("task")["setting"].transform("first")
    return training_curves.smoothed(table[table["setting"] == first])


def ends(table: pandas.DataFrame) -> dict[str, float]:
    """Mean over seeds of each quantity's first and last tenth, as "TASK RULE QUANTITY first|last"."""
    numbers = {}
    for task, runs in table.groupby("task"):
        for row in training_curves.ends(runs).itertuples():
            if row.metric != training_curves.CONSTANT:  # which is known of the whole run alone
                numbers[f"{task} {row.rule} {row.metric} first"] = float(row.first)
            numbers[f"{task} {row.rule} {row.metric} last"] = float(row.last)
    return numbers


def finding(table: pandas.DataFrame) -> Finding:
    """State GRPO's loss of entropy, and whether AEPO keeps more of it."""
    numbers = ends(table)
    sentences, headlines = [], []
    for task, words in TASKS.items():
        grpo, aepo = (
            {k.split()[2] + k.split()[3]: v for k, v in numbers.items() if k.startswith(f"{task} {r} ")}
            for r in RULES
        )
        if not grpo or not aepo:
            continue
        seeds = table.loc[table["task"] == task, "seed"].nunique()
        headlines.append(
            f"with {words.split(' (')[0]} "
            f"{'falls' if grpo['entropylast'] < grpo['entropyfirst'] else 'does not fall'} under GRPO "
            f"and ends {'higher' if aepo['entropylast'] > grpo['entropylast'] else 'no higher'} under "
            "AEPO"
        )
        sentences.append(
            f"With {words.split(' (')[0]} ({seeds} seed{'s' if seeds > 1 else ''}), entropy went from "
            f"{grpo['entropyfirst']:.2f} to {grpo['entropylast']:.2f} nats under GRPO and to "
            f"{aepo['entropylast']:.2f} under AEPO; "
            f"reward ended at {grpo['rewardlast']:.2f} and {aepo['rewardlast']:.2f} (a constant answer "
            f"scores {grpo['constant_answerlast']:.2f})"
            + (
                f", distinct answers at {grpo['distinct_answerslast']:.1f} and "
                f"{aepo['distinct_answerslast']:.1f}"
                if {"distinct_answerslast"} <= grpo.keys() & aepo.keys() else ""
            )
        )
    if not sentences:
        text = "Runs of one rule only; nothing to compare yet."
        return Finding(standing="our own", headline="", text=text, numbers=numbers)
    text = ". ".join(sentences) + "."
    headline = f"A small transformer's entropy {', and '.join(headlines)}."
    return Finding(standing="our own", headline=headline, text=text, numbers=numbers)


def draw(table: pandas.DataFrame) -> Figure:
    """Draw a column for each task and a row for each quantity."""
    tasks = [task for task in TASKS if task in set(table["task"])]
    figure, axes = panels(len(QUANTITIES), len(tasks), height=1.75, sharex="col", sharey="row")
    for column, task in enumerate(tasks):
        for row, (quantity, unit) in enumerate(QUANTITIES.items()):
            panel = axes[row, column]
            chosen = table[(table["task"] == task) & (table["metric"] == quantity)]
            training_curves.draw_curves(panel, chosen, LOOKS, names=False)
            panel.set_ylim(bottom=0)
            if quantity == "reward":
                _constant_line(panel, table[table["task"] == task])
                panel.set_ylim(0, 1.02)
            if row == 0:
                panel.set_title(TASKS[task])
            if row < len(QUANTITIES) - 1:
                panel.set_xlabel("")
            if column == 0:
                panel.set_ylabel(unit.replace(" (", "\n("))
            training_curves.name_ends(panel, chosen, LOOKS)
    figure.align_ylabels()
    return figure


def _constant_line(panel: object, table: pandas.DataFrame) -> None:
    constant = table[table["metric"] == training_curves.CONSTANT]["value"]
    if constant.empty:
        return
    level = float(np.mean(constant))
    panel.axhline(level, **REFERENCE)  # type: ignore[attr-defined]
    panel.annotate(  # type: ignore[attr-defined]
        f"constant answer {level:.2f}", (0.98, level), xycoords=("axes fraction", "data"),
        xytext=(0, 2), textcoords="offset points", ha="right", va="bottom", fontsize=7,
        color="#555555",
    )


FIGURE = PaperFigure(
    name="small-transformer-training",
    source="This project",
    title="the same rules train a small transformer",
    paper="Entropy collapses under GRPO and is held by AEPO (AEPO, Figures 1 and 4).",
    ours="A 0.8 M-parameter Llama, trained through TRL with the update rules of the simulator.",
    claims=("aepo.arbitrary-entropy",),
    data=data,
    finding=finding,
    draw=draw,
)
