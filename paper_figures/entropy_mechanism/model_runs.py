"""Curves of entropy and reward of language models under GRPO, a panel of several figures here."""

from __future__ import annotations

from pathlib import Path

import pandas

from paper_figures.data import foreign_logs, training_curves
from paper_figures.data.training_curves import Choice

MOST = 4
"""The largest number of settings that a panel can show."""
COLUMNS = ["run", "model", "task", "seed", "step", "entropy", "reward"]


def curves(results: Path, *, least_steps: int = 2) -> pandas.DataFrame:
    """Return entropy (nats per token) and reward at each step of GRPO runs: columns ``COLUMNS``.

    First the logs of `foreign_logs`; then of each model, task and kind of device the setting with most
    seeds; at most ``MOST`` in all. The column ``run`` names them. Values are means over the share
    `training_curves.WINDOW` of a run, and ``attrs["inputs"]`` is the provenance. The table is empty where
    there are no runs.

    Args:
        least_steps: shorter runs are left out.
    """
    table = training_curves.read(
        results, [Choice(label="GRPO", rule="grpo")], metrics=("entropy", "reward"))
    found: dict[str, pandas.DataFrame] = {}
    provenance: dict[str, object] = {}
    for name, curve in foreign_logs.curves(results):
        if name in found or len(curve) < least_steps or len(found) == MOST:
            continue
        values = training_curves.centered_means(curve[["entropy", "reward"]])
        found[name] = curve.assign(**values, run=name, model=name, task="", seed=0)
        provenance |= curve.attrs["inputs"]
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
