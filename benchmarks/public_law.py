"""Where the law R = b - a e^H held on public training logs: draws docs/how_to/public-runs.svg.

    python benchmarks/public_law.py             draw from the table beside this file
    python benchmarks/public_law.py LOG...      make public_runs.csv of these logs first

public_runs.csv has the means of 24 stretches of each log.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import tyro
from matplotlib import rc_context
from matplotlib.figure import Figure

from entropy_theory.performance_law.law import fit
from entropy_theory.performance_law.training_log import read
from entropy_theory.performance_law.trend import stretches
from entropy_theory.support.results import write_text

HERE = Path(__file__).parent
RUNS = HERE / "public_runs.csv"
PICTURE = HERE.parent / "docs" / "how_to" / "public-runs.svg"
STRETCHES = 24
MARKERS = "osv^D"


def table(logs: tuple[Path, ...]) -> pandas.DataFrame:
    """Means of stretches of each log."""
    parts = []
    for log in logs:
        run = read([log])
        parts.append(pandas.DataFrame({
            "run": log.stem, "points": len(run.step),
            **{name: stretches(values, STRETCHES).round(4) for name, values in (
                ("step", run.step), ("entropy", run.entropy), ("reward", run.performance))}}))
    return pandas.concat(parts)


def draw(runs: pandas.DataFrame) -> Figure:
    """Reward against entropy, with each run's line."""
    figure = Figure(figsize=(4.2, 3.4), layout="constrained")  # about the width of a phone
    axes = figure.subplots()
    for marker, (name, run) in zip(MARKERS, runs.groupby("run", sort=False), strict=False):
        points = axes.plot(run["entropy"], run["reward"], marker, markersize=4, label=name)
        line = np.geomspace(run["entropy"].min(), run["entropy"].max(), 200)
        axes.plot(line, fit(run["entropy"], run["reward"]).predict(line), color=points[0].get_color(),
                  linewidth=0.8)
    axes.set(xscale="log", xlabel="entropy (nats per token)", ylabel="training reward")
    axes.legend(frameon=False, fontsize=7)
    return figure


def main(logs: tyro.conf.Positional[tuple[Path, ...]] = (), /) -> None:
    """Draw the figure, of new logs if some are named."""
    if logs:
        write_text(RUNS, table(logs).to_csv(index=False, lineterminator="\n"))
    style = {"svg.hashsalt": "policy-entropy", "svg.fonttype": "none", "font.size": 8,
             "axes.spines.top": False, "axes.spines.right": False}
    with rc_context(style):
        draw(pandas.read_csv(RUNS)).savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    tyro.cli(main)
