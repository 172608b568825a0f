"""The command that fits the R-H law to a training log."""

from __future__ import annotations

from pathlib import Path

import tyro

from entropy_theory.performance_law.forecast import forecast
from entropy_theory.performance_law.report import as_json, as_text
from entropy_theory.performance_law.training_log import read
from entropy_theory.support import command_line
from entropy_theory.support.results import provenance
from entropy_theory.support.user_errors import check_file


def fit(
    logs: tyro.conf.Positional[tuple[Path, ...]],
    /,
    *,
    entropy: str | None = None,
    performance: str | None = None,
    step: str | None = None,
    run: str | None = None,
    first: float = 1.0,
    at: tuple[float, ...] = (),
    within: float = 0.0,
    level: float = 0.95,
    json: Path | None = None,
) -> int:
    """Fit the law R = b - a e^H to your training log: forecasts, and when not to trust them.

    Args:
        logs: console output, JSON lines, CSV or another table, a trainer_state.json, a run file of W&B, a
            database of trackio, a folder of TensorBoard or MLflow; "-" is standard input. Several logs of
            one run are joined by step.
        entropy: column of the mean token entropy in nats; by default the column is found by its name.
        performance: column of the reward or the accuracy; by default found by its name.
        step: column of the step; by default found by its name.
        run: which run, where a log holds several.
        first: share of the points, from the start, that the fit may see; the rest is forecast. The paper
            uses 0.15.
        at: entropies to forecast the performance for, beside 0 (the ceiling).
        within: pair numbers logged at different steps, if at most so many steps apart.
        level: confidence level of the intervals, between 0 and 1.
        json: write the result to this file; "-" prints it.
    """
    for log in logs:
        if str(log) != "-" and not log.is_dir():
            check_file(log, "a training log, or a folder of TensorBoard events")
    with command_line.json_output(json) as write:
        found = read(logs, entropy=entropy, performance=performance, step=step, run=run, within=within)
        report = forecast(found.entropy, found.performance, at=at, first=first, level=level)
        print(as_text(found, report))
        config = {"logs": [str(log) for log in logs], "first": first, "within": within, "run": run}
        write({"provenance": provenance(config=config), **as_json(found, report)})
    return 0
