"""The command that looks for the R-H law in a training log, and forecasts the run."""

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
    until: tuple[float, ...] = (),
    within: float = 0.0,
    level: float = 0.9,
    best: float | None = None,
    json: Path | None = None,
) -> int:
    """Say whether your training log follows the law R = b - a e^H, and forecast entropy and performance.

    Args:
        logs: console output, JSON lines, CSV or another table, a trainer_state.json, a run file of W&B, a
            database of trackio, a folder of TensorBoard or MLflow; "-" is standard input. Several logs of
            one run are joined by step.
        entropy: column of the mean token entropy in nats; by default the column is found by its name.
        performance: column of the reward or the accuracy; by default found by its name.
        step: column of the step; by default found by its name.
        run: which run, where a log holds several.
        first: share of the points, from the start, that may be seen; the rest tries the forecast. The
            paper uses 0.15.
        at: entropies to forecast the performance for, beside 0 (the ceiling), and when they are reached.
        until: steps to forecast for; by default twice the steps so far.
        within: pair numbers logged at different steps, if at most so many steps apart.
        level: confidence level of the intervals, between 0 and 1.
        best: the largest performance there is; by default 1 where all are from 0 to 1.
        json: write the result to this file; "-" prints it.
    """
    for log in logs:
        if str(log) != "-" and not log.is_dir():
            check_file(log, "a training log, or a folder of TensorBoard events")
    with command_line.json_output(json) as write:
        found = read(logs, entropy=entropy, performance=performance, step=step, run=run, within=within)
        report = forecast(found.entropy, found.performance, step=found.step, at=at, until=until,
                          first=first, level=level, best=best)
        print(as_text(found, report))
        config = {"logs": [str(log) for log in logs], "first": first, "within": within, "run": run}
        write({"provenance": provenance(config=config), **as_json(found, report)})
    return 0
