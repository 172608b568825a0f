"""A small transformer trained with GRPO and with AEPO: entropy, reward, distinct answers.

The same update rules on the bundled 0.8 M-parameter transformer, on ``split`` (many right answers to each
prompt) and ``sum`` (one). Compared are the first and last tenth of each run: entropy with its own start,
AEPO's with GRPO's and with its target. Beside every reward stands what a constant answer would score.
"""

from __future__ import annotations

from pathlib import Path

import pandas
from matplotlib.figure import Figure

from paper_figures.data import training_curves
from paper_figures.data.tables import pick
from paper_figures.drawing import SERIES, level, panels
from paper_figures.figure import (
    MODELS,
    Criterion,
    Finding,
    Headline,
    MissingInputError,
    PaperFigure,
)

MODEL = "small-sums"
TASKS = {"split": "many right answers (57=)", "sum": "one right answer (23+34=)"}
RULES = {"grpo": "GRPO", "aepo": "AEPO"}
TARGET = float(training_curves.default("aepo", "target"))  # type: ignore[arg-type]
"""AEPO's target entropy in these runs, nats per token: runs with another one are not read."""
NEAR = training_curves.TARGET_SPACING / 2
"""How near two entropies count as the same, nats per token."""
CHOICES = [training_curves.Choice(label=name, rule=rule) for rule, name in RULES.items()]
LOOKS = dict(zip(RULES.values(), SERIES, strict=False))
QUANTITIES = {
    "entropy": "entropy (nats per token)",
    "reward": "mean reward (0 to 1)",
    "distinct_answers": "distinct answers (per prompt)",
}
TEMPERATURE = "temperature"
COMMAND = (
    "python -m llm_bridge train --model small-sums --task split --rule grpo --steps 160 "
    "--output build/runs/small-sums-split-grpo"
)


def data(results: Path) -> pandas.DataFrame:
    """Return smoothed values in the columns of `training_curves.read`: each task's most complete setting.

    Rows of metric "constant_answer" carry what a constant answer would score, rows of "temperature" that
    of the second batch at each step, which is not smoothed.
    """
    metrics = (*QUANTITIES, TEMPERATURE)
    table = training_curves.read(results, CHOICES, model=MODEL, metrics=metrics, measured=False)
    table = table[table["task"].isin(TASKS)]
    if table.empty:
        raise MissingInputError(f"no training run of {MODEL} was found: run `{COMMAND}`, and with aepo")
    first = table.groupby("task")["setting"].transform("first")
    table = table[table["setting"] == first]
    heat = table["metric"] == TEMPERATURE
    found = pandas.concat([training_curves.smoothed(table[~heat]), table[heat]])
    found.attrs = table.attrs
    return found


def finding(table: pandas.DataFrame) -> Finding:
    """State under which rule entropy falls, whether AEPO keeps more of it, and how near its target."""
    criteria: list[Criterion] = []
    for task, words in TASKS.items():
        runs = table[(table["metric"] == "entropy") & (table["task"] == task)]
        ends = training_curves.ends(runs).set_index("rule")
        if not set(RULES) <= set(ends.index):
            continue
        grpo, aepo = (ends.loc[rule] for rule in RULES)
        where = f"with {words.split(' (')[0]}"
        criteria += [
            Criterion("entropy at the end under GRPO, less its start, nats per token",
                      float(grpo["last"] - grpo["first"]), "<", 0, where),
            Criterion("entropy at the end under AEPO, less GRPO's, nats per token",
                      float(aepo["last"] - grpo["last"]), ">", NEAR, where),
            Criterion("distance of AEPO's entropy at the end from its target, nats per token",
                      abs(float(aepo["last"]) - TARGET), "≤", NEAR, where),
        ]
    return Finding(criteria=tuple(criteria), standing="our own", model=MODELS["small-sums"])


def draw(table: pandas.DataFrame) -> Figure:
    """Draw a column for each task and a row for each quantity."""
    tasks = [task for task in TASKS if task in set(table["task"])]
    figure, axes = panels(len(QUANTITIES), len(tasks), height=1.75, sharex="col", sharey="row")
    last = [*QUANTITIES][-1]
    for column, task in zip(axes.T, tasks, strict=True):
        constant = pick(table, task=task, metric=training_curves.CONSTANT)["value"]
        for panel, quantity in zip(column, QUANTITIES, strict=True):
            if quantity == "reward" and len(constant):
                level(panel, constant.mean(), f"constant answer {constant.mean():.2f}", above=2, size=7)
            rows = pick(table, task=task, metric=quantity)
            training_curves.draw_curves(
                panel, rows, LOOKS, xlabel="optimizer step" if quantity == last else "",
                ylim=(0, 1.02 if quantity == "reward" else None))
        column[0].set_title(TASKS[task])
    for panel, unit in zip(axes[:, 0], QUANTITIES.values(), strict=True):
        panel.set_ylabel(unit.replace(" (", "\n("))
    figure.align_ylabels()
    return figure


FIGURE = PaperFigure.of(
    __name__, name="small-transformer-training",
    source="This project",
    title="the same rules train a small transformer",
    paper="Entropy collapses under GRPO and is held by AEPO (AEPO, Figures 1 and 4).",
    ours="A 0.8 M-parameter Llama, trained through TRL with the update rules of the simulator; "
    f"AEPO's target is {TARGET:g} nats.",
    claims=("aepo.arbitrary-entropy",),
    headline=Headline(
        says="In the runs drawn entropy falls under GRPO with many right answers, and AEPO ends higher, "
             "near its target; with one right this fails.",
        holds=("with many right answers",),
        fails=("with one right answer",),
    ),
)
