"""Logs of any trainer, in RESULTS/training-logs, read as `diagnose` and `fit` read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas

from entropy_theory.training_logs.logs import Run, read
from paper_figures.data import inputs


def curves(results: Path) -> Iterator[tuple[str, pandas.DataFrame]]:
    """Yield name and curves of each run that has entropy and reward: columns step, entropy, reward.

    A file or folder is one log; what cannot be read as one is left out, as is a run that lacks either.
    """
    inputs.note(inputs.LOGS)
    for path in sorted((results / "training-logs").glob("*")):
        try:
            runs = read([path])
        except ValueError:
            continue
        for run in runs:
            if {"entropy", "reward"} <= run.series.keys():
                yield _curve(run, path.stem)


def _curve(run: Run, stem: str) -> tuple[str, pandas.DataFrame]:
    name = f"{stem}, {run.name}" if run.name else stem
    step, entropy, reward = run.series["entropy"].beside(run.series["reward"])
    origin = {"config": {"model": stem}, "log": Path(run.path).name, "seed": name}
    inputs.note_shown(name, origin, "pretrained model")
    curve = pandas.DataFrame({"step": step, "entropy": entropy, "reward": reward})
    curve.attrs["inputs"] = {name: origin}
    return name, curve
