"""Selects training runs for figures and returns their steps as a tidy table.

A figure lists its comparisons, each a `Choice`: a rule and its options under the label of its
line. Runs are compared where they agree in all but rule and seed. Such a set is a *setting* (model,
task, steps, batch, learning rate, device ...). A table may hold several settings, the one with most
choices first:

>>> table = read(results, [Choice(label="GRPO", rule="grpo"),
...                        Choice(label="target {target:g}", rule="aepo", free=("target",))])
>>> for setting in settings(table):
...     draw_curves(panel, one(smoothed(table), setting, "entropy"))
>>> last = ends(table)  # a row per setting, label and metric: mean over seeds of the last tenth
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any, TypeVar

import numpy as np
import pandas
from matplotlib.axes import Axes

from entropy_theory import update_rules
from entropy_theory.update_rules import rule_options
from paper_figures.data import inputs
from paper_figures.data.tables import last_tenth
from paper_figures.drawing.bands import draw_mean
from paper_figures.drawing.style import SERIES, label_ends
from paper_figures.verdict import MODELS, Criterion, mean_of

Value = float | bool | str | None
Item = TypeVar("Item")
Values = TypeVar("Values", pandas.Series, pandas.DataFrame)

METRICS = ("entropy", "reward", "distinct_answers", "mean_length")
CONSTANT = "constant_answer"
"""The metric, with one row per run, that says what always giving the most common right answer scores."""
COLUMNS = ("setting", "model", "task", "device", "label", "rule", "strength", "run", "seed", "step",
           "metric", "value")
SAME = (
    "model", "task", "data", "reward", "chat_template", "max_new_tokens", "steps", "prompts", "samples",
    "iterations", "mini_batches", "tempered_fraction", "learning_rate", "optimizer", "max_grad_norm",
    "trl_options",
)
"""The options in which all runs of one setting agree; they must agree in the device too."""
RUN = ["setting", "label", "seed", "metric"]
TARGET_SPACING = 0.25
"""How far apart the targets of AEPO's Table 3 are, nats."""
WINDOW = 0.05
"""The share of a run's steps, five at least, that curves are averaged over: a step is a small sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One line of a figure, or a family of lines: runs of a rule.

    A run belongs to it if its rule's options have the values given here, or else the rule's
    defaults. Only the options in ``free`` may have any value.
    """

    label: str
    """The label of the line. It may name free options, as in "target {target:g}" (a dot in an option's
    name becomes "_"). Other options in which its runs differ are added: settings never share a line."""
    rule: str
    options: Mapping[str, Value] = field(default_factory=dict)
    """The values of the rule's options by name, such as {"ratio": 0.01, "base.clip_low": 1.0}."""
    free: tuple[str, ...] = ()
    """The options that may have any value; the first one's value becomes the column ``strength``."""
    strength: float = np.nan
    """The column's value where no option is free, such as 0 for a run without the term of the others."""

    def values(self, rule: str, texts: Iterable[str]) -> dict[str, Value] | None:
        """Return the values of the free options in a run of this choice; None for any other run.

        Args:
            texts: the rule's options as ``name=value``; a run with an option that its rule no longer has
                does not belong to the choice.
        """
        if rule != self.rule:
            return None
        given = tuple(texts)
        wanted = {name: default(rule, name) for name in (*self.options, *self.free)}
        wanted |= self.options
        try:
            made = rule_options.from_texts(rule, given)
            wanted = {name: default(rule, name)
                      for name in (text.partition("=")[0] for text in given)} | wanted
            found = {name: rule_options.value_at(made, name) for name in wanted}
        except ValueError:
            return None
        if any(found[name] != wanted[name] for name in wanted.keys() - set(self.free)):
            return None
        return {name: found[name] for name in self.free}

    def named(self, values: Mapping[str, Value]) -> tuple[str, tuple[str, ...]]:
        """Return the label with the values of free options, and the options that it does not name."""
        fields = {name: name.replace(".", "_") for name in values}
        shown = {field for _, field, *_ in Formatter().parse(self.label)}
        return self.label.format(**{fields[name]: value for name, value in values.items()}), tuple(
            f"{name.replace('_', ' ')} {value:g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in values.items() if fields[name] not in shown
        )


def default(rule: str, option: str) -> Value:
    """Return an option's value in a rule made without options; dots lead into the rule it modifies.

    Raises:
        ValueError: an unknown rule or option.
    """
    value: Value = rule_options.value_at(update_rules.get(rule), option)
    return value


def read(
    results: Path, choices: Sequence[Choice], *, model: str | None = None, task: str | None = None,
    metrics: Sequence[str] = METRICS, least: int = 1, measured: bool | None = None,
) -> pandas.DataFrame:
    """Read the steps of all finished runs of the choices: columns ``COLUMNS``, a row a metric and step.

    Both the user's own runs and the committed ones count; of two equal ones the user's is taken. A metric
    that a step does not have is left out; ``CONSTANT`` has one row per run. ``attrs["inputs"]`` maps each
    run to its provenance. The most complete settings come first; without runs the table is empty.

    Args:
        model, task: runs of this model and task only. A folder of models goes by its last name.
        least: settings in which fewer labels have runs are left out.
        measured: True reads committed runs only, False the user's only, None both.
    """
    found: dict[tuple[Any, ...], tuple[dict[str, Any], inputs.TrainingRun]] = {}
    for run in inputs.training_runs(results):
        options = run.options
        names = (Path(str(options.get("model"))).name, Path(_task(options)).stem)
        audit = options.get("audit_every") == 1  # a few steps made to be looked at
        if not run.finished or run.metrics.empty or audit or measured not in (None, run.measured):
            continue
        if model not in (None, names[0]) or task not in (None, names[1]):
            continue
        for choice in choices:
            free = choice.values(str(options.get("rule")), options.get("rule_options", ()))
            if free is None:
                continue
            label, more = choice.named(free)
            seed = int(options.get("seed") or 0)
            about = {"run": run.name, "device": run.device, "rule": choice.rule, "seed": seed,
                     "strength": next(iter(free.values()), choice.strength)}
            found.setdefault((_setting(run), label, more, seed), (about, run))
            break
    ranked = _ranked(found, least)
    names_of, lines = _names(ranked), _lines(found)
    parts = [
        _steps(run, metrics).assign(**about, **names_of[wanted], label=lines[key])
        for wanted in ranked for key, (about, run) in found.items() if key[0] == wanted
    ]
    table = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=[*COLUMNS])
    table = table[[*COLUMNS]]
    table.attrs["inputs"] = {
        run.name: run.provenance for (setting, *_), (_, run) in found.items() if setting in ranked
    }
    return table


def _task(options: Mapping[str, Any]) -> str:
    return str(options.get("data") or options.get("task"))


def _setting(run: inputs.TrainingRun) -> tuple[str, ...]:
    values = (run.options.get(name) for name in SAME)
    return (*("" if value is None else str(value) for value in values), run.device)


def _ranked(found: Iterable[tuple[Any, ...]], least: int) -> list[tuple[str, ...]]:
    """Order the settings with enough labels: most labels first, then most runs, then as found."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for setting, label, *_ in found:
        labels.setdefault(setting, []).append(label)
    enough = [setting for setting, names in labels.items() if len(set(names)) >= least]
    return sorted(enough, key=lambda s: (-len(set(labels[s])), -len(labels[s])))


def _lines(found: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], str]:
    """Return each run's label, with what the runs of that setting and label differ in."""
    common: dict[tuple[Any, ...], set[str]] = {}
    for setting, label, more, _ in found:
        common[setting, label] = set(more) & common.get((setting, label), set(more))
    return {
        key: ", ".join([key[1], *(text for text in key[2] if text not in common[key[:2]])])
        for key in found
    }


def told_apart(names: Iterable[str], *, files: bool = False) -> dict[str, str]:
    """Shorten each path to its last part, with as many folders as distinguish it from the others.

    Args:
        files: whether to leave out suffixes.
    """
    parts = {name: (Path(name).with_suffix("") if files else Path(name)).parts for name in names}
    return {
        name: next(
            ("/".join(own[-n:]) for n in range(1, len(own) + 1)
             if sum(other[-n:] == own[-n:] for other in parts.values()) == 1), name)
        for name, own in parts.items()
    }


def _names(settings: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], dict[str, str]]:
    """Return each setting's model, task and title, which also names steps, device and what differs."""
    names = (*SAME, "device")
    values = {setting: dict(zip(names, setting, strict=True)) for setting in settings}
    models = told_apart(value["model"] for value in values.values())
    tasks = told_apart((_task(value) for value in values.values()), files=True)
    always = ("model", "task", "data", "steps", "device")
    differ = [name for name in names
              if name not in always and len({value[name] for value in values.values()}) > 1]
    found = {}
    for setting, value in values.items():
        model, task = models[value["model"]], tasks[_task(value)]
        where = "CPU" if value["device"] == "cpu" else value["device"]
        more = [f"{name.replace('_', ' ')} {value[name] or None}" for name in differ]
        title = ", ".join([f"{model} on {task}", f"{value['steps']} steps", where, *more])
        found[setting] = {"setting": title, "model": model, "task": task}
    return found


def _steps(run: inputs.TrainingRun, metrics: Sequence[str]) -> pandas.DataFrame:
    wide = run.metrics[["step", *(name for name in metrics if name in run.metrics)]]
    tidy = wide.melt(id_vars="step", var_name="metric").dropna(subset=["value"])
    if run.constant_answer is not None:
        row = {"step": [wide["step"].max()], "metric": [CONSTANT], "value": [run.constant_answer]}
        tidy = pandas.concat([tidy, pandas.DataFrame(row)])
    return tidy.astype({"value": float})


def provenance(rows: pandas.DataFrame) -> dict[str, Any]:
    """Return the provenance of the runs that these rows of a table come from, by name."""
    return {name: rows.attrs["inputs"][name] for name in rows["run"].unique()}


def settings(table: pandas.DataFrame) -> list[str]:
    """Return the settings of a table, the most complete first."""
    return [str(name) for name in table["setting"].unique()]


def first(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of the most complete setting, with their provenance only."""
    rows = table[table["setting"].isin(settings(table)[:1])]
    rows.attrs["inputs"] = provenance(rows)
    return rows


def model_of(setting: str) -> str:
    """Return the model of a setting ("MODEL on TASK" or "MODEL, TASK"), as verdicts name it."""
    name = setting.partition(" on ")[0].partition(", ")[0]
    return MODELS.get(name, name)


def in_two_lines(setting: str) -> str:
    """Write a setting as a panel's title in two lines: what is trained, and how."""
    return setting.replace(", ", ",\n", 1)


def labels(table: pandas.DataFrame) -> list[str]:
    """Return the labels of a table, by strength where they have one, else as found."""
    order = table[["label", "strength"]].drop_duplicates()
    return [str(name) for name in order.sort_values("strength", kind="stable")["label"].unique()]


def evenly(items: Sequence[Item], most: int = len(SERIES)) -> list[Item]:
    """Choose at most so many of the items, spread evenly, the first and the last among them.

    By default there are as many as lines of a panel can be distinguished.
    """
    picks = np.unique(np.linspace(0, len(items) - 1, most).round().astype(int)) if len(items) else ()
    return [items[i] for i in picks]


def one(table: pandas.DataFrame, setting: str, metric: str) -> pandas.DataFrame:
    """Return the rows of one setting and metric."""
    return table[(table["setting"] == setting) & (table["metric"] == metric)]


def smoothed(table: pandas.DataFrame, window: float = WINDOW) -> pandas.DataFrame:
    """Replace each value by the centered mean over this share of its run's steps, five at least."""
    runs = table.groupby(RUN, sort=False)["value"]
    return table.assign(value=runs.transform(lambda values: centered_means(values, window)))


def centered_means(values: Values, window: float = WINDOW) -> Values:
    """Replace each value of a run by the centered mean over this share of its steps, five at least."""
    return values.rolling(max(5, int(window * len(values))), min_periods=1, center=True).mean()


def ends(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return what runs began and ended with: a row per setting, label and metric, in the table's order.

    Columns are setting, label, rule, strength, metric, seeds, first, last, low and high. First and
    last are means over seeds of the first and last tenth of the steps. Low and high are the lowest
    and highest seed's last.
    """
    rows = []
    for _, run in table.groupby(RUN, sort=False):
        length = int(run["step"].max())
        tenth = max(1, length // 10)
        rows.append({
            **run.iloc[0][["setting", "label", "rule", "strength", "metric"]].to_dict(),
            "first": run.loc[run["step"] <= tenth, "value"].mean(),
            "last": run.loc[run["step"] > length - tenth, "value"].mean(),
        })
    columns = ["setting", "label", "rule", "strength", "metric", "seeds", "first", "last", "low", "high"]
    if not rows:
        return pandas.DataFrame(columns=columns)
    by = ["setting", "label", "rule", "strength", "metric"]
    found = pandas.DataFrame(rows).groupby(by, sort=False, dropna=False).agg(
        seeds=("last", "size"), first=("first", "mean"), low=("last", "min"), high=("last", "max"),
        last=("last", "mean"),
    ).reset_index()
    return found[columns]


def targets_held(curves: pandas.DataFrame) -> list[Criterion]:
    """Ask of AEPO's runs, setting by setting, that entropy is nearer to its target than to another one.

    The paper's targets lie `TARGET_SPACING` apart; a run that is off by half of that could as well be
    said to hold the next one.

    Args:
        curves: entropy along runs, with columns setting, target (nats), start (the seed), step, value.
    """
    late = last_tenth(curves, "setting")
    ends = late.groupby(["setting", "target", "start"], sort=False)["value"].mean().reset_index()
    ends["off"] = (ends["value"] - ends["target"]).abs()
    return [
        Criterion("distance of AEPO's entropy over the last tenth of the steps from its target "
                  f"{target:g}, nats per token", mean_of(runs["off"], seeds=True), "≤",
                  TARGET_SPACING / 2, f"on {setting}", model_of(setting))
        for (setting, target), runs in ends.groupby(["setting", "target"], sort=False)
    ]


def spread(mean: float, low: float, high: float, seeds: int, digits: int) -> str:
    """Write a mean over seeds with the extremes in brackets; of one seed there are none."""
    extremes = f" ({low:.{digits}f} to {high:.{digits}f})" if seeds > 1 else ""
    return f"{mean:.{digits}f}{extremes}"


def draw_curves(
    panel: Axes, curves: pandas.DataFrame, looks: Mapping[str, Mapping[str, Any]] | None = None,
    *, level: float | None = None, seed: str = "seed", **options: Any,
) -> None:
    """Draw for each label the mean over seeds against step, named at its end, with a band.

    Args:
        curves: rows of one setting and one metric (`one`).
        looks: line properties by label; by default ``style.SERIES`` in the order of `labels`. If there
            are more labels than looks, some are drawn (`evenly`).
        level: confidence level of the band; None is from the lowest to the highest seed.
        seed: the column that tells the seeds apart.
        options: properties of the axes.
    """
    looks = dict(zip(evenly(labels(curves)), SERIES, strict=False)) if looks is None else looks
    ends = []
    for label, look in looks.items():
        rows = curves[curves["label"] == label]
        if len(rows):
            wide = rows.pivot_table(index="step", columns=seed, values="value")
            ends.append((*draw_mean(panel, wide, look, level=level), label, str(look["color"])))
    panel.margins(x=0)
    panel.set(**{"xlabel": "optimizer step", **options})
    label_ends(panel, ends)
