"""The page of the run that the site was made from: trainings, evaluations, audits, stages, versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas

from entropy_theory.support.results import provenance
from paper_figures.data import inputs
from paper_figures.extensions import entropy_audit as audit
from paper_figures.figure import MissingInputError
from paper_figures.site.markup import badge, table, text

PACKAGES = ("numpy", "scipy", "sympy", "hypothesis", "python-flint", "xarray",
            "matplotlib", "torch", "transformers", "trl", "reasoning-gym")
"""The packages whose versions the site names."""


def page(results: Path, job: dict[str, Any] | None) -> str:
    """Return the page; a part that was not computed says which command computes it.

    Args:
        results: folder with runs/ and evaluations/, as far as they were computed.
        job: what reproduce.json says, if there is one.
    """
    made = provenance(packages=PACKAGES)
    return "\n".join([
        "# The run behind this site", "",
        "Every number was computed by a command; each figure's page names its own.", "",
        "## Training runs", "",
        table(("run", "model, task, rule", "steps", "entropy, first to last tenth", "reward",
               "a constant answer", "distinct answers", "seconds a step", "where"),
              _runs(results), css="filterable")
        or "None here: `policy-entropy train --task split --rule grpo`", "",
        "## Evaluations", "",
        table(("model", "task", "prompts, samples", "scores, with 95 % intervals", "entropy, nats",
               "a constant answer"), [
            (text(str(found.get("model"))), text(str(found.get("task"))),
             text(f"{found.get('prompts')} x {found.get('num_samples')}"), text(_scores(found)),
             "" if found.get("entropy") is None else f"{found['entropy']:.2f}", text(_constant(found)))
            for found in inputs.evaluations(results)])
        or "None here: `policy-entropy evaluate --model smollm2-135m-instruct --task chain-sum`", "",
        "## Audits", "",
        table(("policy", "compared", "correlation of (i)", "of (ii)", "slope of (ii)", "tabular error",
               "first-order error", "(iii) - measured", "larger error"), _audits(results))
        or "None here: `policy-entropy audit`", "",
        "The columns are explained in [Read an audit](/how_to/read_an_audit.md).", "",
        *_stages(job),
        "## Versions", "", table(("", ""), [
            ("commit", f"`{made['commit'] or 'not a checkout'}`"),
            ("written", text(str(made["created"]))),
            *((text(name), text(str(version))) for name, version in made["versions"].items())]),
    ])


def _scores(found: dict[str, Any]) -> str:
    intervals = found.get("intervals", {})
    return ", ".join(f"{name} {found[name]:.2f} [{low:.2f}, {high:.2f}]"
                     for name, (low, high) in intervals.items() if name in found)


def _constant(found: dict[str, Any]) -> str:
    score, answer = (found.get("constant_answer", {}).get(key) for key in ("score", "answer"))
    return "" if score is None else f"{score:.2f} ({answer})"


def _stages(job: dict[str, Any] | None) -> list[str]:
    if job is None:
        return []
    rows = [(text(stage["name"]), badge(stage["status"]), f"{stage['seconds']:.1f}",
             f"{stage['peak_megabytes']:.0f}",
             f"`` {stage['command']} ``" + (f" {text(stage['reason'])}" if stage.get("reason") else ""))
            for stage in job["stages"]]
    return ["## The main job", "",
            f"Profile {job['profile']}: {job['seconds']:.0f} s, at most "
            f"{job['peak_megabytes_at_once'] / 1024:.1f} GB at once.", "",
            table(("stage", "outcome", "seconds", "peak memory, MB", "command"), rows)]


def _runs(results: Path) -> list[tuple[str, ...]]:
    """Return a row for each run: first steps → last steps."""
    rows: list[tuple[str, ...]] = []
    for run in inputs.training_runs(results):
        if run.metrics.empty:
            continue
        options, metrics = run.options, run.metrics
        rule = str(options["rule"])
        if run.rule_options:
            rule += " (" + ", ".join(f"{k} {v}" for k, v in run.rule_options.items()) + ")"
        task = Path(str(options.get("data") or options["task"])).stem
        commit = (run.provenance.get("commit") or "unknown")[:12]
        rows.append((
            text(run.name), text(f"{options['model']}, {task}, {rule}"),
            f"{len(metrics)}{'' if run.finished else ', unfinished'}",
            text(_change(metrics, "entropy", 2)), text(_change(metrics, "reward", 2)),
            text("–" if run.constant_answer is None else f"{run.constant_answer:.2f}"),
            text(_change(metrics, "distinct_answers", 1)), f"{metrics['seconds'].median():.2f}",
            text(f"{run.device}, seed {options.get('seed')}, {commit}")))
    return rows


def _change(metrics: pandas.DataFrame, name: str, digits: int) -> str:
    """Write the mean of the first tenth → mean of the last tenth."""
    values = metrics[name].dropna() if name in metrics else pandas.Series(dtype=float)
    if values.empty:
        return "–"
    tenth = max(1, len(values) // 10)
    first, last = values.iloc[:tenth].mean(), values.iloc[-tenth:].mean()
    return f"{first:.{digits}f} → {last:.{digits}f}"


def _audits(results: Path) -> list[tuple[str, ...]]:
    """Return for each policy and rule how each forecast met the measured entropy change."""
    try:
        compared = audit.comparisons(audit.data(results))
    except MissingInputError:
        return []
    return [
        (text(f"{policy}, {rule}"), f"{found.steps} {level}",
         f"{found.correlation['coefficients']:.3f}", f"{found.correlation['first_order']:.3f}",
         f"{found.slope['first_order']:.3f}", f"{found.tabular_error:.1e}",
         f"{found.first_order_error:.1e}", f"{found.identity_error:.0e}", text(found.dominant))
        for (policy, level, rule), found in compared.items()
    ]
