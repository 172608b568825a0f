"""GRPO runs of real models as curves of entropy and reward: a further panel of several figures here."""

from __future__ import annotations

from pathlib import Path

import pandas

from paper_figures.data import training_curves
from paper_figures.data.training_curves import Choice

MOST = 4
"""Settings that a panel can show."""
COLUMNS = ["run", "model", "task", "seed", "step", "entropy", "reward"]


def curves(results: Path, *, least_steps: int = 2) -> pandas.DataFrame:
    """Entropy (nats per token) and reward at each step of GRPO runs: columns ``COLUMNS``.

    One setting a model, task and kind of device, that with most seeds, ``MOST`` of them in all, by the
    name ``run``; values are means over `real_runs.WINDOW` of the run. ``attrs["inputs"]`` is their
    provenance. Empty where there are no runs.

    Args:
        least_steps: shorter runs are left out.
    """
    table = training_curves.read(
        results, [Choice(label="GRPO", rule="grpo")], metrics=("entropy", "reward"))
    found: dict[str, pandas.DataFrame] = {}
    provenance: dict[str, object] = {}
    for setting in training_curves.settings(table):
        rows = table[(table["setting"] == setting) & (table["metric"] != training_curves.CONSTANT)]
        first = rows.iloc[0]
        name = f"{first['model']}, {first['task']}" + ("" if first["device"] == "cpu" else ", GPU")
        if name in found or rows["step"].max() < least_steps or len(found) == MOST:
            continue
        wide = training_curves.smoothed(rows).pivot_table(
            index=["model", "task", "seed", "step"], columns="metric", values="value")
        found[name] = wide.reset_index().assign(run=name)
        provenance |= training_curves.provenance(rows)
    if not found:
        return pandas.DataFrame(columns=COLUMNS)
    chosen = pandas.concat(found.values(), ignore_index=True)[COLUMNS]
    chosen.attrs["inputs"] = provenance
    return chosen
