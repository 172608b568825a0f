"""A diagnosis as one page for a browser: curves with phases shaded, findings beside them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from diagnosis.facts import per_response
from diagnosis.findings import Diagnosis, Finding, Remedy
from diagnosis.whose import said
from entropy_theory.performance_law.forecast import forecast
from entropy_theory.performance_law.report import told
from entropy_theory.performance_law.trend import stretches
from entropy_theory.support import pages
from entropy_theory.support.pages import Beside, Section, Table
from entropy_theory.training_logs.logs import Run
from entropy_theory.training_logs.names import MEANING, Quantity

CURVES: tuple[Quantity, ...] = (
    "entropy", "entropy_sampled", "reward", "score", "length", "truncated", "kl_reference", "kl_step",
    "clipped", "clipped_low", "clipped_high", "mismatch", "zero_variance", "gradient_norm",
    "learning_rate",
)
MOST_POINTS = 200
"""Curves are drawn as the means of so many stretches."""
SHADES = ("#f3f3f1", "#e3e8ef")
PER_RESPONSE = "entropy of a response: per token, times length, nats"


def page(runs: Sequence[Run], found: Sequence[Diagnosis]) -> str:
    """Return the page of some runs, a whole HTML document; several are overlaid."""
    single = len(found) == 1
    title = f"Diagnosis of {Path(found[0].run).name}" if single else f"Diagnosis of {len(found)} runs"
    lead = found[0].sentence if single else "The findings of each run stand beside its curves."
    notes = [note for number, one in enumerate(found, 1) for note in _notes(one, 0 if single else number)]
    marks = ["Shades are phases; a dotted line is where a finding begins."] if single else []
    sections: list[Section] = [("What happened", [*marks, Beside(list(_figures(runs, found)), notes)])]
    for run, one in zip(runs, found, strict=True):
        where = "" if single else f" of {Path(one.run).name}"
        if len(one.phases) > 1:
            sections.append((f"Phases{where}", [_phases(one)]))
        if law := _law(run):
            sections.append((f"Law and forecast{where}", law))
        sections.append((f"Columns taken{where}", [Table(
            ["", "column", "first", "last", "not taken"],
            [[name, taken.column, taken.first, taken.last, ", ".join(taken.runners_up[:3])]
             for name, taken in one.taken.items()]), *one.notes]))
        if one.missing:
            sections.append((f"Not in the log{where}", [
                Table(["", "how to log it"], [[lack.quantity, lack.setting] for lack in one.missing])]))
    return pages.page(title, lead, sections)


def _notes(found: Diagnosis, number: int) -> Iterator[tuple[str, list[str]]]:
    if number:
        yield f"{number}: {found.run}", [found.sentence]
    told: list[Remedy] = []
    for finding in found.findings:
        new = [one for one in finding.remedies if one not in told]
        told += new
        yield _heading(finding), [
            *(f"{name}: {'; '.join(texts)}." for name, texts in (
                ("For", finding.evidence), ("Against", finding.against)) if texts),
            *(f"Change {one.option}: {one.size}. Costs: {one.cost}. See {one.page}." for one in new)]
    if found.parts:
        yield "Whose doing", [said(found.parts)]


def _heading(finding: Finding) -> str:
    when = "" if finding.begin is None else f", from step {finding.begin:g}"
    return f"{finding.name} ({finding.confidence:.0%}){when}"


def _figures(runs: Sequence[Run], found: Sequence[Diagnosis]) -> Iterator[pages.Figure]:
    curves = [(MEANING[quantity], [
        (run.series[quantity].step, run.series[quantity].value) if quantity in run.series else None
        for run in runs]) for quantity in CURVES]
    products = [per_response(run.series) for run in runs]
    curves.insert(2, (PER_RESPONSE, [
        None if one is None else (one.step, one.value) for one in products]))
    single = found[0] if len(found) == 1 else None
    for meaning, lines in curves:
        if any(line is not None and np.ptp(line[1]) > 0 for line in lines):
            yield pages.figure(
                f"{meaning[0].upper()}{meaning[1:]}", "",
                partial(_draw, lines=lines, single=single), xlabel="step")


def _law(run: Run) -> list[str]:
    """Return the text of `fit` on the run; empty where too little entropy or reward was logged."""
    if not {"entropy", "reward"} <= run.series.keys():
        return []
    step, entropy, reward = run.series["entropy"].beside(run.series["reward"])
    with contextlib.suppress(ValueError):  # too few steps, or an entropy that rests
        return told(forecast(entropy, reward, step=step))
    return []


def _draw(
    axes: Any, lines: Sequence[tuple[np.ndarray, np.ndarray] | None], single: Diagnosis | None
) -> None:
    if single is not None:
        edges = [*(phase.begin for phase in single.phases), *(phase.end for phase in single.phases[-1:])]
        for place, (begin, end) in enumerate(pairwise(edges)):
            axes.axvspan(begin, end, color=SHADES[place % 2], linewidth=0, zorder=0)
        for finding in single.findings:
            if finding.begin is not None:
                axes.axvline(finding.begin, color="0.4", linewidth=0.8, linestyle=":")
    for number, line in enumerate(lines, 1):
        step, value = line if line is not None else (np.full(1, np.nan),) * 2
        marker = "o" if len(step) == 1 else ""
        # Also drawn where a run lacks the quantity, so that each keeps its color.
        axes.plot(stretches(step, MOST_POINTS), stretches(value, MOST_POINTS), marker=marker,
                  label=None if single is not None else str(number))


def _phases(found: Diagnosis) -> Table:
    shown = [quantity for quantity in CURVES if any(quantity in phase.trend for phase in found.phases)]
    arrows = {-1: "falls", 0: "level", 1: "rises"}
    rows = []
    for phase in found.phases:
        moves = [phase.trend.get(quantity) for quantity in shown]
        rows.append([f"{phase.begin:g} to {phase.end:g}", *(
            None if one is None else f"{one.first:.3g} to {one.last:.3g}, {arrows[one.direction]}"
            for one in moves)])
    return Table(["steps", *shown], rows)
