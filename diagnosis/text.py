"""Diagnoses as text: one run on a screen, or several side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence

from diagnosis.findings import Diagnosis, Finding, Remedy, short
from diagnosis.whose import said
from entropy_theory.training_logs.names import Quantity

WIDTH = 100
SHOWN: tuple[Quantity, ...] = ("entropy", "reward", "length", "score", "truncated")
"""The quantities shown of phases and of several runs, in their order."""
MOST_FINDINGS, MOST_REMEDIES = 4, (2, 1)
"""How many findings of a run are on a screen, and remedies of the first ones; `--json` has all."""


def as_text(found: Diagnosis) -> str:
    """Return a diagnosis as a screen of text."""
    lines = [f"{found.run}{f', in the columns of {found.engine}' if found.engine else ''}", "",
             *textwrap.wrap(found.sentence, WIDTH)]
    shown: list[Remedy] = []
    for place, finding in enumerate(found.findings[:MOST_FINDINGS]):
        most = MOST_REMEDIES[place] if place < len(MOST_REMEDIES) else 0
        new = [one for one in finding.remedies if one not in shown][:most]
        lines += ["", *_finding(
            finding, finding.evidence[not place:], new, {one.page for one in shown})]
        shown += new
    if found.parts:
        lines += ["", *_wrapped("whose doing  ", said(found.parts))]
    if len(found.phases) > 1:
        lines += ["", *_phases(found)]
    lines += ["", "columns taken, first and last value:"]
    for quantity, one in found.taken.items():
        also = f"; not {', '.join(one.runners_up[:2])}" if one.runners_up else ""
        lines += _wrapped(f"  {quantity:18}", f"{one.column}  {one.first:.4g} ... {one.last:.4g}{also}")
    if found.missing:
        lines += ["", "not in the log, and what logs it:"]
        for lack in found.missing:
            how = f": {lack.setting}" if lack.setting else ""
            lines += textwrap.wrap(lack.quantity + how, WIDTH, initial_indent="  ",
                                   subsequent_indent="    ", break_long_words=False,
                                   break_on_hyphens=False)
    for note in found.notes[:3]:
        lines += _wrapped("note: ", note)
    return "\n".join(lines)


def _wrapped(head: str, text: str) -> list[str]:
    """Wrap at spaces alone, so that an option can be copied."""
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head),
                         break_long_words=False, break_on_hyphens=False)


def _finding(
    found: Finding, evidence: Sequence[str], remedies: Sequence[Remedy], pages: Collection[str]
) -> Iterator[str]:
    """Yield a finding's lines; pages that were named before are not named again."""
    when = ""
    if found.begin is not None:
        when = f", from step {found.begin:g}"
        if found.begin_low != found.begin_high:
            when += f" (between {found.begin_low:g} and {found.begin_high:g})"
    yield f"{found.name} ({100 * found.confidence:.0f} %){when}"
    if evidence:  # the sentence above has the first finding's first
        yield from _wrapped("  for      ", "; ".join(evidence))
    if found.against:
        yield from _wrapped("  against  ", "; ".join(found.against))
    for remedy in remedies:
        yield from _wrapped("  change   ", remedy.option)
        see = "" if remedy.page in pages else f" See {remedy.page}"
        pages = {*pages, remedy.page}
        yield from _wrapped("           ", f"{remedy.size}. Costs: {remedy.cost}.{see}")


def _phases(found: Diagnosis) -> Iterator[str]:
    yield "phases"
    for phase in found.phases:
        moves = [f"{quantity} {short(one.first)} -> {short(one.last)}" for quantity in SHOWN
                 if (one := phase.trend.get(quantity)) is not None and one.direction]
        yield from _wrapped(f"  {f'{phase.begin:g}-{phase.end:g}':11} ", ", ".join(moves) or "level")


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
            lines += _wrapped("   change  ", remedy.option)
            lines += _wrapped("           ", f"{remedy.size}. See {remedy.page}")
        for note in found.notes[:3]:
            lines += _wrapped("   note: ", note)
    return "\n".join(lines)
