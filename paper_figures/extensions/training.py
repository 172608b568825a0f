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

from paper_figures import inputs
from paper_figures.figure import Finding, MissingInputError, PaperFigure
from paper_figures.style import REFERENCE, SERIES, label_ends, panels

MODEL = "small-sums"
TASKS = {"split": "many right answers (57=)", "sum": "one right answer (23+34=)"}
RULES = {"grpo": "GRPO", "aepo": "AEPO"}
QUANTITIES = {
    "entropy": "entropy (nats per token)",
    "reward": "mean reward (0 to 1)",
    "distinct_answers": "distinct answers (per prompt)",
}
WINDOW = 5  # steps; one step has some 256 completions, too few for a smooth curve
COMMAND = (
    "python -m llm_bridge train --model small-sums --task split --rule grpo --steps 160 "
    "--output build/runs/small-sums-split-grpo"
)


def data(results: Path) -> pandas.DataFrame:
    """Columns task, rule, seed, quantity, step, value (means over WINDOW steps).

    Rows with quantity "constant_answer" carry what a constant answer would score.
    """
    parts, provenance = [], {}
    for run in inputs.training_runs(results):
        task, rule = run.options.get("task"), run.options.get("rule")
        trained = run.options.get("model") == MODEL and task in TASKS and rule in RULES
        plain = not run.rule_options and run.options.get("audit_every") != 1
        if run.measured or not run.finished or not trained or not plain:
            continue
        provenance[run.name] = run.provenance
        values = {
            name: run.metrics[name].rolling(WINDOW, min_periods=1, center=True).mean()
            for name in QUANTITIES if name in run.metrics
        }
        if run.constant_answer is not None:
            values["constant_answer"] = pandas.Series(run.constant_answer, run.metrics.index)
        for name, column in values.items():
            parts.append(pandas.DataFrame({
                "task": task, "rule": rule, "seed": run.options.get("seed", 0), "quantity": name,
                "step": run.metrics["step"], "value": column,
            }))
    if not parts:
        raise MissingInputError(f"no training run of {MODEL} was found: run `{COMMAND}`, and with aepo")
    table = pandas.concat(parts, ignore_index=True).dropna(subset=["value"])
    table.attrs["inputs"] = provenance
    return table


def ends(table: pandas.DataFrame) -> dict[str, float]:
    """Mean over seeds of each quantity's first and last tenth: "TASK RULE QUANTITY first|last"."""
    numbers = {}
    for (task, rule, quantity), group in table.groupby(["task", "rule", "quantity"]):
        last_step = group["step"].max()
        tenth = max(1, last_step // 10)
        early, late = group[group["step"] <= tenth], group[group["step"] > last_step - tenth]
        numbers[f"{task} {rule} {quantity} first"] = float(early["value"].mean())
        numbers[f"{task} {rule} {quantity} last"] = float(late["value"].mean())
    return numbers


def finding(table: pandas.DataFrame) -> Finding:
    """GRPO's loss of entropy, and whether AEPO keeps more of it."""
    numbers = ends(table)
    sentences, headlines = [], []
    for task, words in TASKS.items():
        grpo, aepo = (
            {k.split()[2] + k.split()[3]: v for k, v in numbers.items() if k.startswith(f"{task} {r} ")}
            for r in RULES
        )
        if not grpo or not aepo:
            continue
        headlines.append(
            f"{grpo['entropyfirst']:.2f} to {grpo['entropylast']:.2f} nats under GRPO and to "
            f"{aepo['entropylast']:.2f} under AEPO with {words.split(' (')[0]}"
        )
        sentences.append(
            f"With {words.split(' (')[0]}, entropy went from {grpo['entropyfirst']:.2f} to "
            f"{grpo['entropylast']:.2f} nats under GRPO and to {aepo['entropylast']:.2f} under AEPO; "
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
        return Finding(verdict="our own", headline="", text=text, numbers=numbers)
    seeds = table["seed"].nunique()
    text = ". ".join(sentences) + f". {seeds} seed{'s' if seeds > 1 else ''}; means of {WINDOW} steps."
    headline = f"A small transformer's entropy went from {', and from '.join(headlines)}."
    return Finding(verdict="our own", headline=headline, text=text, numbers=numbers)


def draw(table: pandas.DataFrame) -> Figure:
    """One column a task, one row a quantity."""
    tasks = [task for task in TASKS if task in set(table["task"])]
    figure, axes = panels(len(QUANTITIES), len(tasks), height=1.75, sharex="col", sharey="row")
    for column, task in enumerate(tasks):
        for row, (quantity, unit) in enumerate(QUANTITIES.items()):
            panel = axes[row, column]
            chosen = table[(table["task"] == task) & (table["quantity"] == quantity)]
            labels = []
            for look, (rule, name) in zip(SERIES, RULES.items(), strict=False):
                curves = chosen[chosen["rule"] == rule].pivot_table(
                    index="step", columns="seed", values="value"
                )
                if curves.empty:
                    continue
                mean = curves.mean(axis=1)
                panel.plot(mean.index, mean, **look)
                if curves.shape[1] > 1:
                    panel.fill_between(mean.index, curves.min(axis=1), curves.max(axis=1),
                                       color=look["color"], alpha=0.2, linewidth=0)
                labels.append((mean.index[-1], mean.iloc[-1], name, str(look["color"])))
            panel.set_ylim(bottom=0)
            if quantity == "reward":
                _constant_line(panel, table[table["task"] == task])
                panel.set_ylim(0, 1.02)
            if row == 0:
                panel.set_title(TASKS[task])
            if row == len(QUANTITIES) - 1:
                panel.set_xlabel("optimizer step")
            if column == 0:
                panel.set_ylabel(unit.replace(" (", "\n("))
            panel.margins(x=0)
            label_ends(panel, labels)
    figure.align_ylabels()
    return figure


def _constant_line(panel: object, table: pandas.DataFrame) -> None:
    constant = table[table["quantity"] == "constant_answer"]["value"]
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
    data=data,
    finding=finding,
    draw=draw,
)
