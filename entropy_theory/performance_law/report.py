"""A fit of the law R = b - a e^H to a training log, in words and as JSON."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from entropy_theory.performance_law.forecast import Forecast, Report
from entropy_theory.performance_law.training_log import LoggedRun


def as_text(run: LoggedRun, report: Report) -> str:
    """Return what the command prints: points, fit, forecasts, rivals and doubts."""
    law, level = report.law, f"{report.level:.0%}"
    used = run.step[: report.n_used]
    lines = [
        f"H = '{run.entropy_name}', R = '{run.performance_name}': {report.n_used} of {len(run.step)} "
        f"points fitted, steps {used[0]:g} to {used[-1]:g}, as logged (no smoothing)",
        *_taken(run),
        *(f"note: {note}" for note in run.notes),
        "",
        f"fit       R = {law.b:.4g} - {law.a:.4g} e^H",
        f"          a = {law.a:.4g} ({_span(report.a_interval)}), b = {law.b:.4g} "
        f"({_span(report.b_interval)}), {level} confidence",
        f"          rmse {law.rmse:.3g}, R^2 {law.r_squared:.3f}, correlation of successive residuals "
        f"{law.autocorrelation:.2f}",
        f"forecast  {_forecast(report.ceiling)}, the ceiling",
        *(f"          {_forecast(place)}" for place in report.forecasts),
    ]
    if report.later_rmse is not None:
        lines.append(
            f"tried on  {report.n_later} later points: rmse {report.later_rmse:.3g}, measured - forecast "
            f"{report.later_bias:+.3g} on average"
        )
    lines += ["", "form               AICc      ceiling  rmse       fitted"]
    best = report.rivals[0].aicc
    for rival in report.rivals:
        lead = "too few" if math.isinf(rival.aicc) else f"+{rival.aicc - best:.1f}"
        lines.append(f"{rival.name:18} {lead:9} {rival.ceiling:<8.4g} {rival.rmse:<10.3g} "
                     f"{rival.formula}")
    lines.append("")
    lines += [f"doubt: {doubt}" for doubt in report.doubts] or [
        "no doubt: nothing here speaks against the fit (the law is empirical all the same)"
    ]
    return "\n".join(lines)


def as_json(run: LoggedRun, report: Report) -> dict[str, Any]:
    """Return the report as JSON-like data: plain numbers, None for what is not finite."""
    law = report.law
    return {
        "entropy_column": run.entropy_name,
        "performance_column": run.performance_name,
        "not_read": {kind: list(names) for kind, names in run.others.items()},
        "points": len(run.step),
        "points_used": report.n_used,
        "steps_used": [run.step[0], run.step[report.n_used - 1]],
        "level": report.level,
        "fit": {
            "a": law.a, "a_interval": report.a_interval, "b": law.b, "b_interval": report.b_interval,
            "rmse": law.rmse, "r_squared": _finite(law.r_squared),
            "autocorrelation": _finite(law.autocorrelation),
        },
        "ceiling": dataclasses.asdict(report.ceiling),
        "forecasts": [dataclasses.asdict(place) for place in report.forecasts],
        "later": {"points": report.n_later, "rmse": report.later_rmse, "bias": report.later_bias},
        "rivals": [
            {**dataclasses.asdict(rival), "aicc": _finite(rival.aicc)} for rival in report.rivals
        ],
        "doubts": list(report.doubts),
        "trusted": not report.doubts,
        "notes": list(run.notes),
    }


def _taken(run: LoggedRun) -> list[str]:
    """The first and last values of both columns, and which others could have been read."""
    lines = []
    for letter, kind, values in (("H", "entropy", run.entropy), ("R", "performance", run.performance)):
        others = ", ".join(f"'{name}'" for name in run.others.get(kind, ())[:3])
        lines.append(f"          {letter} from {values[0]:.4g} to {values[-1]:.4g}" + (
            f"; not read: {others} (--{kind} NAME)" if others else ""))
    return lines


def _span(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"


def _forecast(place: Forecast) -> str:
    return f"R = {place.performance:.4g} ({_span((place.low, place.high))}) at H = {place.entropy:g}"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
