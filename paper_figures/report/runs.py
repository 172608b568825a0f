"""Tables of the site: what each training run did, and how the forecasts met each audited run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas

from paper_figures.data import inputs
from paper_figures.extensions import entropy_audit as audit
from paper_figures.figure import MissingInputError

PACKAGES = ("numpy", "scipy", "sympy", "hypothesis", "python-flint", "xarray",
            "matplotlib", "torch", "transformers", "trl", "reasoning-gym")
"""The packages whose versions the site names."""


def runs_table(results: Path) -> list[dict[str, Any]]:
    """Return a record for each run, with values as text: first steps → last steps."""
    rows = []
    for run in inputs.training_runs(results):
        if run.metrics.empty:
            continue
        options = run.options
        rule = str(options["rule"])
        if run.rule_options:
            rule += " (" + ", ".join(f"{k} {v}" for k, v in run.rule_options.items()) + ")"
        rows.append({
            "name": run.name,
            "model": options["model"],
            "task": Path(str(options.get("data") or options["task"])).stem,
            "rule": rule,
            "steps": len(run.metrics),
            "finished": run.finished,
            "entropy": _change(run.metrics, "entropy", 2),
            "reward": _change(run.metrics, "reward", 2),
            "distinct": _change(run.metrics, "distinct_answers", 1),
            "constant": "–" if run.constant_answer is None else f"{run.constant_answer:.2f}",
            "seconds": f"{run.metrics['seconds'].median():.2f}",
            "seed": options.get("seed"),
            "device": run.device,
            "commit": (run.provenance.get("commit") or "unknown")[:12],
        })
    return rows


def _change(metrics: pandas.DataFrame, name: str, digits: int) -> str:
    """Write the mean of the first tenth → mean of the last tenth."""
    values = metrics[name].dropna() if name in metrics else pandas.Series(dtype=float)
    if values.empty:
        return "–"
    tenth = max(1, len(values) // 10)
    first, last = values.iloc[:tenth].mean(), values.iloc[-tenth:].mean()
    return f"{first:.{digits}f} → {last:.{digits}f}"


def audits_table(results: Path) -> list[dict[str, Any]]:
    """Return for each policy and rule how each forecast met the measured entropy change."""
    try:
        table = audit.data(results)
    except MissingInputError:
        return []
    return [
        {
            "name": f"{policy}, {rule}",
            "count": f"{found.steps} {level}",
            "correlation_coefficients": f"{found.correlation['coefficients']:.3f}",
            "correlation_first_order": f"{found.correlation['first_order']:.3f}",
            "slope_first_order": f"{found.slope['first_order']:.3f}",
            "tabular_error": f"{found.tabular_error:.1e}",
            "first_order_error": f"{found.first_order_error:.1e}",
            "identity_error": f"{found.identity_error:.0e}",
            "dominant": found.dominant,
        }
        for (policy, level, rule), found in audit.comparisons(table).items()
    ]
