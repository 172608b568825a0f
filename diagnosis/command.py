"""The command that diagnoses training logs."""

from __future__ import annotations

import sys
from pathlib import Path

import tyro

from diagnosis.engine import diagnose as diagnosed
from diagnosis.findings import FOUND, SCHEMA, check_names
from diagnosis.text import as_text, side_by_side
from entropy_theory.support import command_line
from entropy_theory.support.pages import MODULES
from entropy_theory.support.results import check_writable, provenance, write_text
from entropy_theory.support.user_errors import check_file, need
from entropy_theory.training_logs.logs import read
from entropy_theory.training_logs.names import Quantity


def diagnose(
    logs: tyro.conf.Positional[tuple[Path, ...]],
    /,
    *,
    entropy: str | None = None,
    reward: str | None = None,
    score: str | None = None,
    step: str | None = None,
    fail_on: tuple[str, ...] = (),
    json: Path | None = None,
    html: Path | None = None,
) -> int:
    """Say what happened to the entropy of your training run, when, and what to change in your engine.

    examples:
      policy-entropy diagnose console.log
      policy-entropy diagnose runs/a runs/b wandb.csv
      policy-entropy diagnose metrics.jsonl --entropy my_entropy --score val_acc
      train.sh | policy-entropy diagnose - --fail-on collapse explosion --json found.json

    Args:
        logs: console output, JSON lines, CSV or another table, a trainer_state.json, a run file of W&B, a
            database of trackio, a folder of TensorBoard or MLflow; "-" is standard input. Several runs
            are shown side by side.
        entropy: column of the mean token entropy in nats; by default the column is found by its name.
        reward: column of the training reward; by default found by its name.
        score: column of the held-out score; by default found by its name.
        step: column of the step; by default found by its name.
        fail_on: exit with status 1 on one of these findings, or with "any" on any fault. The findings are
            converging, collapse, dilution, explosion, truncation, length drift, no signal, held-out
            apart, clipping, kl, mismatch, schedule, prompt order, restart, nothing learned, not finite,
            not enough.
        json: write the findings to this file; "-" prints them.
        html: write a page for a browser to this file: curves with phases shaded, findings beside them.
    """
    check_names(fail_on)
    if html is not None:
        need("the page of a diagnosis", *MODULES)
        check_writable(html)
    if not logs:
        raise ValueError('name a training log, such as console.log ("-" is standard input)')
    for log in logs:
        if str(log) != "-" and not log.is_dir():
            check_file(log, "a training log, or a folder of TensorBoard events")
    named: tuple[tuple[Quantity, str | None], ...] = (
        ("entropy", entropy), ("reward", reward), ("score", score))
    asked = {quantity: column for quantity, column in named if column is not None}
    with command_line.json_output(json) as write:
        runs = read(logs, asked, step=step)
        found = [diagnosed(run, [other for other in runs if other is not run]) for run in runs]
        print(as_text(found[0]) if len(found) == 1 else side_by_side(found))
        config = {"logs": [str(log) for log in logs], "step": step}
        write({"schema": SCHEMA, "provenance": provenance(config=config | dict(asked)),
               "runs": [one.record() for one in found]})
    if html is not None:
        from diagnosis.page import page

        write_text(html, page(runs, found))
        print(f"page: {html}", file=sys.stderr)
    return FOUND if any(one.has(fail_on) for one in found) else 0
