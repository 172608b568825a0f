"""Compares training runs in a table, two CSV files and a page of plots.

Runs are folders of the train command, or logs of any trainer (`logged_runs`). A folder may hold the
output of `evaluate --output RUN/evaluation.json`. Runs of different models or tasks are refused,
since their entropies and rewards do not compare; the error names what differs. A log does not name
its task, and the page has a note on that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import rich.table
import tyro

from entropy_theory.performance_law.forecast import forecast
from entropy_theory.support import pages, results
from entropy_theory.support.console import Console
from entropy_theory.support.pages import Figure, Section, Table
from entropy_theory.support.user_errors import need
from llm_bridge.analysis import logged_runs
from llm_bridge.running import run_folder
from llm_bridge.running.run_folder import RunRecord

SAME = ("model", "task", "data", "reward", "chat_template", "max_new_tokens")
"""The options in which runs must agree."""
UNTOLD = ("columns", "notes", "output", "log_to", "save_every", "save_model", "audit_every",
          "account_every", "account_tokens", "account_sequences", "account_offload", "device", "dtype")
"""Options in which runs may differ without computing anything else, so that they are not shown."""
CURVES = {
    "entropy": ("Entropy", "nats per token"),
    "reward": ("Reward", "mean of the step"),
    "distinct_answers": ("Distinct answers", "of a prompt's samples"),
    "forecast_entropy_change": ("Forecast entropy change", "nats per step"),
    "entropy_gradient": ("Entropy change forecast by its gradient", "nats per step"),
    "measured_entropy_change": ("Measured entropy change, same states", "nats per step"),
    "temperature": ("Temperature of the second batch", "T"),
    "coefficient": ("Coefficient", ""),
    "score": ("Held-out score", ""),
    "mean_length": ("Length", "tokens"),
    "response_entropy": ("Entropy of a response", "nats: per token, times length"),
    "truncated": ("Truncated responses", "share"),
    "kl_reference": ("KL divergence from the reference", "nats"),
    "mismatch": ("Sampler against trainer", "difference of probabilities"),
    "best_reward": ("Best reward of a prompt's samples", "mean of the step"),
    "covariance": ("Covariance of log-probability and advantage", "nats"),
}
WINDOW = 0.05
"""Curves on the page are means over this share of a run's steps."""
LONG_WINDOW = 0.2
"""That share for reward against entropy, where both are noisy and the order of steps is hidden."""
NOTE = (
    "First and last: means over a tenth of the steps. Ceiling: the reward at zero entropy, where the law "
    "R = b − a exp(H) holds along the run. Forecast correlation: of forecast (i) with the change of the "
    "logged entropy to the next step, which has other prompts. Audit correlation: with the change at the "
    "same tokens. Account correlation: of the forecast by the entropy's gradient, at the same tokens.")
"""The page's notes below its numbers."""
Series = tuple[str, Sequence[float | None], Sequence[float | None]]
"""A name, x and y, where None leaves a gap."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CompareConfig:
    """Put training runs side by side."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of training runs, or logs of any trainer, as `fit` reads them."""
    output: Path = Path("comparison")
    """Folder for comparison.html, comparison.csv (a line per run) and steps.csv (a line per step)."""
    json: Path | None = None
    """Write the table to this file; "-" prints it."""
    allow_different: bool = False
    """Compare runs of different models or tasks all the same; the page then names the differences."""


def read(path: Path) -> list[RunRecord]:
    """Read the run of a folder, or those of a log. Raises ValueError where there is none with a step."""
    runs = [run_folder.read(path)] if (path / "run.json").exists() else logged_runs.read(path)
    for run in runs:
        if not run.steps:
            raise ValueError(f"{path} has no step in its metrics.jsonl yet: wait, or leave it out")
        for step in run.steps:
            if step.get("entropy") is not None and step.get("mean_length") is not None:
                step["response_entropy"] = step["entropy"] * step["mean_length"]
    return runs


def read_all(paths: Sequence[Path]) -> list[RunRecord]:
    """Read all runs and give them distinct labels. Raises ValueError for a run named twice, or none."""
    if not paths:
        raise ValueError("no run to compare: name folders of training runs, or logs")
    whole = [path.resolve() for path in paths]
    if len(set(whole)) < len(whole):
        twice = next(path for i, path in enumerate(whole) if path in whole[:i])
        raise ValueError(f"{twice} is named twice: name each run once")
    names = [path.name for path in whole]
    return [
        dataclasses.replace(run, name=run.name.replace(path.name, str(given), 1)
                            if names.count(path.name) > 1 else run.name)
        for given, path in zip(paths, whole, strict=True) for run in read(path)
    ]


def differences(runs: Sequence[RunRecord], names: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Return the options in which runs differ, among ``names`` if given: one value per run, by name."""
    every = sorted({name for run in runs for name in run.options}) if names is None else names
    found = {}
    for name in every:
        values = [run.options.get(name) for run in runs]
        if any(value != values[0] for value in values) and name not in UNTOLD:
            found[name] = values
    return found


def check_comparable(runs: Sequence[RunRecord]) -> None:
    """Raise ValueError, saying what differs, for runs of different models or tasks."""
    found = differences([run for run in runs if "model" in run.options], SAME)
    if found:
        told = "; ".join(
            f"{name}: "
            + ", ".join(f"{run.name} {value}" for run, value in zip(runs, values, strict=True))
            for name, values in found.items()
        )
        raise ValueError(
            f"runs of different models or tasks do not compare ({told}): leave some out, or give "
            "--allow-different"
        )


def summary(run: RunRecord) -> dict[str, Any]:
    """Return one line of the table: a run's first and last values, None where it lacks a metric.

    First and last are means over a tenth of the steps. ``forecast_correlation`` is the correlation
    of each step's forecast with the change of the logged entropy to the next step, which also has
    other prompts. ``audit_correlation`` is that of an audit, on the same tokens.
    ``account_correlation`` is that of forecast (i') with the measured change of the same tokens, at
    the accounted steps.
    """
    evaluation = run.evaluation or {}
    ks = sorted(int(name[5:]) for name in evaluation if name.startswith("pass@"))
    return {
        "run": run.name,
        "rule": run.options.get("rule"),
        "engine": run.options.get("engine"),
        "status": run.status or None,
        "steps": run.steps[-1]["step"],
        "entropy_first": _mean(run, "entropy", first=True),
        "entropy_last": _mean(run, "entropy"),
        "reward_first": _mean(run, "reward", first=True),
        "reward_last": _mean(run, "reward"),
        "constant_answer": run.constant_answer_reward,
        "distinct_answers_last": _mean(run, "distinct_answers"),
        **{f"{name}_{end}": _mean(run, name, first=end == "first") for name in (
            "score", "mean_length", "response_entropy", "truncated") for end in ("first", "last")},
        "ceiling": _ceiling(run),
        "pass@1": evaluation.get("pass@1"),
        "largest_k": ks[-1] if ks else None,
        "pass@largest_k": evaluation.get(f"pass@{ks[-1]}") if ks else None,
        "forecast_correlation": forecast_correlation(run),
        "audit_correlation": None if run.audit is None else run.audit["summary"].get(
            "steps", {}).get("correlation", {}).get("coefficients"),
        "account_correlation": account_correlation(run),
        "temperature_last": _mean(run, "temperature"),
        "coefficient_last": _mean(run, "coefficient"),
        "seconds_a_step": _known(_column(run, "seconds").median()),
    }


def forecast_correlation(run: RunRecord) -> float | None:
    """The correlation of the forecast with the change to the next step; None where it is undefined."""
    follows = _column(run, "step").diff().shift(-1) == 1
    change = _column(run, "entropy").diff().shift(-1).where(follows)
    return _correlation(_column(run, "forecast_entropy_change"), change)


def account_correlation(run: RunRecord) -> float | None:
    """The correlation of forecast (i') with the measured change; None where it is undefined."""
    return _correlation(_column(run, "entropy_gradient"), _column(run, "measured_entropy_change"))


def _correlation(forecast: pandas.Series, measured: pandas.Series) -> float | None:
    pairs = pandas.concat([forecast, measured], axis=1).dropna().to_numpy()
    if len(pairs) < 3 or (pairs.std(0) == 0).any():
        return None
    return float(np.corrcoef(pairs.T)[0, 1])


def compare_command(config: CompareConfig) -> list[dict[str, Any]]:
    """Compare as ``config`` says: print the table, write page and CSV files, return the table."""
    need("the page of a comparison", *pages.MODULES)
    runs = read_all(config.runs)
    if not config.allow_different:
        check_comparable(runs)
    table = [summary(run) for run in runs]
    for name in ("comparison.html", "comparison.csv", "steps.csv"):
        results.check_writable(config.output / name)
    results.write_text(config.output / "comparison.csv", _csv(table))
    results.write_text(config.output / "steps.csv", _csv([
        {"run": run.name, **step} for run in runs for step in run.steps
    ]))
    results.write_text(config.output / "comparison.html", page(runs, table))
    _print(table)
    print(f"page: {config.output / 'comparison.html'}")
    return table


def page(runs: Sequence[RunRecord], table: Sequence[dict[str, Any]]) -> str:
    """Return the page, a whole HTML document."""
    first = runs[0].options
    lead = "Whether the runs are of one model and task is not known from logs."
    if all("model" in run.options for run in runs):
        lead = f"{Path(first['model']).name} on {first.get('data') or first['task']}."
    if differences([run for run in runs if "model" in run.options], SAME):
        lead = "Not the same model and task in all runs: their numbers do not compare."
    names = [run.name for run in runs]
    shown = [name for name in table[0]
             if name != "run" and any(row[name] is not None for row in table)]
    differ = differences(runs)
    return pages.page(
        f"{len(runs)} runs compared" if len(runs) > 1 else f"Run {runs[0].name}", lead, [
            ("Step by step", [_curves(runs)]),
            *_pass_at_k(runs),
            ("Numbers", [
                Table(["", *names],
                      [[name.replace("_", " "), *(row[name] for row in table)] for name in shown]),
                NOTE]),
            *_accounts(runs),
            ("In what they differ", [
                Table(["option", *names],
                      [[name, *("none" if v is None else _told(v) for v in values)]
                       for name, values in differ.items()]) if differ else "In no option."]),
            ("Where this comes from", [
                f"{run.name}: {pages.provenance(run.provenance)}" for run in runs
                if run.provenance is not None] + logged_runs.sources(runs)),
        ])


def _curves(runs: Sequence[RunRecord]) -> list[Figure]:
    baselines = sorted({run.constant_answer_reward for run in runs
                        if run.constant_answer_reward is not None})
    constant = "" if not baselines else (
        " Always giving one answer scores " + ", ".join(f"{value:.3f}" for value in baselines) + "."
    )
    figures = [
        _lines(title, f"Mean over {WINDOW:.0%} of the steps, three at least."
               + (constant if name == "reward" else ""),
               [(run.name, *smoothed(run, name)) for run in runs], xlabel="step", ylabel=unit)
        for name, (title, unit) in CURVES.items()
        if any(value is not None for run in runs for value in run.column(name))
    ]
    return [*figures, _lines(
        "Reward against entropy",
        f"Means over {LONG_WINDOW:.0%} of the steps; the law R = b − a exp(H) would be one curve.",
        [(run.name, smoothed(run, "entropy", LONG_WINDOW)[1], smoothed(run, "reward", LONG_WINDOW)[1])
         for run in runs],
        xlabel="entropy (nats)", ylabel="reward")]


def _lines(title: str, caption: str, series: Sequence[Series], **properties: Any) -> Figure:
    """Draw a line for each series, across gaps."""
    def draw(axes: Any) -> None:
        for name, x, y in series:
            points = np.array([x, y], dtype=float)
            points = points[:, np.isfinite(points).all(0)]
            # matplotlib leaves out a label that begins with "_", and takes "$" for mathematics.
            label = f"{' ' * name.startswith('_')}{name}".replace("$", r"\$")
            axes.plot(*points, label=label if points.size else None,
                      marker="o" if points.shape[1] == 1 else "")

    return pages.figure(title, caption, draw, **properties)


def smoothed(
    run: RunRecord, name: str, window: float = WINDOW
) -> tuple[list[float], list[float | None]]:
    """Return (steps, centered means of a metric over this share of the run, three steps at least).

    A mean is None where there is no value.
    """
    values = _column(run, name)
    width = 1 + 2 * max(1, int(len(values) * window / 2))
    means = values.rolling(width, center=True, min_periods=1).mean()
    return _column(run, "step").tolist(), [_known(mean) for mean in means]


def _pass_at_k(runs: Sequence[RunRecord]) -> list[Section]:
    series: list[Series] = []
    rows: list[list[Any]] = []
    for run in runs:
        found = run.evaluation or {}
        ks = sorted(int(name[5:]) for name in found if name.startswith("pass@"))
        series.append((run.name, [float(k) for k in ks], [found[f"pass@{k}"] for k in ks]))
        rows += [
            [run.name, k, found[f"pass@{k}"], *found["intervals"][f"pass@{k}"]] for k in ks
        ]
    if not rows:
        return []
    return [("pass@k", [
        [_lines("pass@k", "Unbiased estimates, from each run's evaluation.json.", series,
                xlabel="k", ylabel="pass@k", xscale="log")],
        Table(["run", "k", "pass@k", "low", "high"], rows)])]


def accounts(run: RunRecord) -> dict[str, float]:
    """Add up what each part did to the mean entropy, nats, over the steps that were accounted for.

    ``measured`` and ``accounted`` are the whole; the optimizer's parts add up to it, and those by rule
    and by answer to the gradient's part, clipping included. Empty for a run without accounts.
    """
    found = {}
    steps = [step for step in run.steps if step.get("accounted") is not None]
    for name in dict.fromkeys(name for step in steps for name in step):
        if name in ("measured_entropy_change", "accounted") or name.startswith("accounted/"):
            label = "measured" if name == "measured_entropy_change" else name.removeprefix("accounted/")
            found[label] = math.fsum(step.get(name) or 0.0 for step in steps)
    return found


def _accounts(runs: Sequence[RunRecord]) -> list[Section]:
    found = [accounts(run) for run in runs]
    names = list(dict.fromkeys(name for one in found for name in one))
    if not names:
        return []
    counts = ", ".join(
        f"{sum(step.get('accounted') is not None for step in run.steps)} of {run.name}" for run in runs)
    return [("Where the entropy went", [
        f"Sums over the steps that were accounted for ({counts}), nats, each on its own rows. The "
        "optimizer's parts add up to what is accounted for; the rules, and right and wrong answers, "
        "each to gradient and clipping.",
        Table(["", *(run.name for run in runs)],
              [[name.replace("_", " "), *(one.get(name) for one in found)] for name in names])])]


def _ceiling(run: RunRecord) -> float | None:
    """The performance at zero entropy, where the law holds along the run."""
    pairs = pandas.concat([_column(run, "entropy"), _column(run, "reward")], axis=1).dropna().to_numpy()
    with contextlib.suppress(ValueError):  # too few points, or an entropy that rests
        found = forecast(*pairs.T.tolist()).ceiling
        return None if found is None else found.value
    return None


def _column(run: RunRecord, name: str) -> pandas.Series:
    """A metric at each step; NaN where a step has none."""
    return pandas.Series(run.column(name), dtype=float)


def _mean(run: RunRecord, name: str, first: bool = False) -> float | None:
    """The mean of a metric over the first or the last tenth of the steps."""
    values = _column(run, name)
    count = max(1, len(values) // 10)
    return _known((values.head(count) if first else values.tail(count)).mean())


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _told(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    """Write CSV with columns in the order in which they first appear, empty where a row has no value."""
    return pandas.DataFrame(rows, dtype=object).to_csv(index=False, lineterminator="\n")


def _print(table: Sequence[dict[str, Any]]) -> None:
    """Print the table with a line for each metric and a column for each run, as runs have long names."""
    shown = rich.table.Table(box=None, pad_edge=False)
    shown.add_column("")
    for row in table:
        shown.add_column(row["run"], justify="right", overflow="fold")
    for name in table[0]:
        values = [row[name] for row in table]
        if name != "run" and any(value is not None for value in values):
            shown.add_row(name.replace("_", " "), *(_short(value) for value in values))
    Console(soft_wrap=False).print(shown)


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
