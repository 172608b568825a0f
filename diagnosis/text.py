"""Diagnoses as text: one run on a screen, or several side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from diagnosis.findings import Diagnosis, Finding, Remedy, short
from diagnosis.whose import said
from entropy_theory.training_logs.names import Quantity

WIDTH = 100
SHOWN: tuple[Quantity, ...] = ("entropy", "reward", "length", "score", "truncated")
"""What is shown of phases and of several runs, in that order."""
MOST_FINDINGS, MOST_REMEDIES = 4, 2
"""How much of a run is on a screen; of findings after the first there is one remedy. `--json` has all."""


def as_text(found: Diagnosis) -> str:
    """Return a diagnosis as a screen of text."""
    lines = [f"{found.run}{f', in the columns of {found.engine}' if found.engine else ''}", "",
             *textwrap.wrap(found.sentence, WIDTH)]
    shown: list[Remedy] = []
    for place, finding in enumerate(found.findings[:MOST_FINDINGS]):
        new = [one for one in finding.remedies if one not in shown][:1 if place else MOST_REMEDIES]
        shown += new
        lines += ["", *_finding(finding, new)]
    if found.parts:
        lines += ["", *_wrapped("whose doing  ", said(found.parts))]
    if len(found.phases) > 1:
        lines += ["", *_phases(found)]
    lines += ["", "columns taken, first and last value:"]
    for quantity, one in found.taken.items():
        also = f"; not {', '.join(one.runners_up[:2])}" if one.runners_up else ""
        lines += [f"  {quantity:18}{one.column}  {one.first:.4g} ... {one.last:.4g}{also}"[:WIDTH]]
    if found.missing:
        lines += ["", "not in the log:"]
        for lack in found.missing:
            how = f"; to log it: {lack.setting}" if lack.setting else ""
            lines += _wrapped("  ", lack.quantity + how)
    for note in found.notes[:3]:
        lines += _wrapped("note: ", note)
    return "\n".join(lines)


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def _finding(found: Finding, remedies: Sequence[Remedy]) -> Iterator[str]:
    when = ""
    if found.begin is not None:
        when = f", from step {found.begin:g}"
        if found.begin_low != found.begin_high:
            when += f" (between {found.begin_low:g} and {found.begin_high:g})"
    yield f"{found.name} ({100 * found.confidence:.0f} %){when}"
    yield from _wrapped("  for      ", "; ".join(found.evidence))
    if found.against:
        yield from _wrapped("  against  ", "; ".join(found.against))
    for remedy in remedies:
        yield from _wrapped("  change   ", f"{remedy.option}: {remedy.size}. Costs: {remedy.cost}. "
                                           f"See {remedy.page}")


def _phases(found: Diagnosis) -> Iterator[str]:
    yield "phases"
    for phase in found.phases:
        moves = [f"{quantity} {short(one.first)} -> {short(one.last)}" for quantity in SHOWN
                 if (one := phase.trend.get(quantity)) is not None]
        yield f"  {f'{phase.begin:g}-{phase.end:g}':12}{', '.join(moves)}"[:WIDTH]


def side_by_side(several: Sequence[Diagnosis]) -> str:
    """Return several diagnoses as a table, and each one's sentence below it."""
    quantities = [one for one in SHOWN if any(one in found.taken for found in several)]
    rows = [["", *quantities, "findings"]]
    for number, found in enumerate(several, 1):
        taken = [found.taken.get(quantity) for quantity in quantities]
        cells = [f"{short(one.first)} ... {short(one.last)}" if one else "-" for one in taken]
        rows.append([f"{number}", *cells, ", ".join(one.name for one in found.findings)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in rows]
    for number, found in enumerate(several, 1):
        lines += ["", *_wrapped(f"{number}  ", f"{found.run}: {found.sentence}")]
        first = found.findings[0]
        for remedy in first.remedies[:1]:
            lines += _wrapped("   change  ", f"{remedy.option}: {remedy.size}. See {remedy.page}")
        for note in found.notes[:3]:
            lines += _wrapped("   note: ", note)
    return "\n".join(lines)
