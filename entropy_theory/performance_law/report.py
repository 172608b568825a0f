"""The law R = -a e^H + b along a training log, and the run's forecasts, in words and as JSON."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from entropy_theory.performance_law.ahead import Interval
from entropy_theory.performance_law.forecast import AtEntropy, AtStep, Report
from entropy_theory.performance_law.training_log import LoggedRun


def as_text(run: LoggedRun, report: Report) -> str:
    """Return the text of the command: points, law, forecasts, and their errors on the run's past."""
    used = run.step[: report.n_used]
    return "\n".join([
        f"H = '{run.entropy_name}', R = '{run.performance_name}': {report.n_used} of {len(run.step)} "
        f"points, steps {used[0]:g} to {used[-1]:g}, as logged (no smoothing)",
        *_taken(run),
        *(f"note: {note}" for note in run.notes),
        "",
        *told(report),
    ])


def told(report: Report) -> list[str]:
    """Return the lines on the law and on the forecasts, each with a word before it or spaces."""
    law, lines = report.law, [f"law       {report.verdict}"]
    if report.holds:
        lines.append(f"          R = {report.formula}: a = {law.a:.4g} ({_span(report.a_interval)}), b = "
                     f"{law.b:.4g} ({_span(report.b_interval)})")
    lines += [_at_step(place) for place in report.steps]
    if report.steps and report.steps[0].performance is None:
        lines.append("          R is not forecast by steps, as its largest value is not known: --best")
    if report.ceiling is not None:
        end = ", the ceiling" if law.a > 0 else ""  # elsewhere performance falls with entropy
        lines.append(f"          at H = 0{end}: R = {_interval(report.ceiling)}")
    lines += [_at_entropy(place, report.last_entropy) for place in report.entropies]
    if tried := report.tried:
        later = f"the last of {report.n_later} later points" if report.n_later else "the run's end"
        missed = {"by the law": tried.law if report.holds else None, "by steps": tried.steps,
                  "if it stays": tried.stays}
        origins = ", ".join(map(str, tried.origins))
        lines.append(f"tried     from {origins} points, R at {later} was missed by " + ", ".join(
            f"{error:.2g} {how}" for how, error in missed.items() if error is not None))
    first = next((at for at, line in enumerate(lines) if line.startswith("          at ")), None)
    if first is not None:
        lines[first] = "forecast" + lines[first][8:]
        lines.append(f"intervals at {report.level:.0%}, by the errors of such forecasts on other runs")
    return lines


def as_json(run: LoggedRun, report: Report) -> dict[str, Any]:
    """Return the report as JSON-like data: plain numbers, None for unknown ones."""
    law = report.law
    fit = {
        "a": law.a, "a_interval": report.a_interval, "b": law.b, "b_interval": report.b_interval,
        "rmse": law.rmse, "r_squared": law.r_squared, "explained": report.explained,
    }
    return {
        "entropy_column": run.entropy_name,
        "performance_column": run.performance_name,
        "not_read": {kind: list(names) for kind, names in run.others.items()},
        "points": len(run.step),
        "points_used": report.n_used,
        "steps_used": [run.step[0], run.step[report.n_used - 1]],
        "level": report.level,
        "holds": report.holds,
        "verdict": report.verdict,
        "trend": {"entropy": dataclasses.asdict(report.entropy_trend),
                  "performance": dataclasses.asdict(report.performance_trend)},
        "fit": fit if report.holds else None,
        "ceiling": None if report.ceiling is None else dataclasses.asdict(report.ceiling),
        "entropies": [dataclasses.asdict(place) for place in report.entropies],
        "steps": [dataclasses.asdict(place) for place in report.steps],
        "tried": None if report.tried is None else dataclasses.asdict(report.tried),
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


def _at_step(place: AtStep) -> str:
    performance = "" if place.performance is None else f", R = {_interval(place.performance)}"
    return f"          at step {place.step:.6g}: H = {_interval(place.entropy)}{performance}"


def _at_entropy(place: AtEntropy, last: float) -> str:
    said = ("no performance is told: " + place.why_not if place.performance is None
            else f"R = {_interval(place.performance)}")
    if place.entropy >= last:
        when = "which the run is below"
    elif place.earliest is None:
        when = "not reached as far as forecasts go"
    else:
        middle = "later than forecasts go" if place.step is None else f"at step {_rounded(place.step)}"
        late = "or later" if place.latest is None else f"to {_rounded(place.latest)}"
        when = f"reached {middle} ({_rounded(place.earliest)} {late})"
    return f"          at H = {place.entropy:g}, {when}: {said}"


def _rounded(step: float) -> str:
    return f"{step:.0f}" if step >= 100 else f"{step:.3g}"


def _span(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"


def _interval(found: Interval) -> str:
    # Three digits do not tell apart what differs by less than a hundredth.
    digits = 4 if math.isclose(found.value, found.stays, rel_tol=0.01) else 3
    return (f"{found.value:.{digits}g} ({found.low:.{digits}g} to {found.high:.{digits}g}; "
            f"{found.stays:.{digits}g} if it stays)")
