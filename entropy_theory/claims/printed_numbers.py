r"""Numbers as printed in tables, which are rounded.

A decimal string such as "12.6" stands for every number within half a unit of its last digit. A
printed average is compatible with its row if some unrounded entries have a mean that rounds to it,

.. math::

    |\text{average } - \sum_j w_j \text{ entry}_j| \le \text{ half unit of the average } + \sum_j w_j
    \text{ half unit of entry}_j.

This is as lenient as can be. An average that fails is wrong for any digits left out.
"""

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.instances import drawn_by


def printed_rows(place: str) -> dict[str, tuple[str, str]]:
    """Rows of a paper's table, such as ``aepo/table_1_benchmarks``, with the digits that are printed.

    By block and row they have the entries and the average; it is "" where the table has none.
    """
    text = (Path(__file__).parent / f"{place}.toml").read_text("utf-8")
    content: dict[str, Any] = tomllib.loads(text, parse_float=str)
    found: dict[str, tuple[str, str]] = {}
    for block in content.values():
        if isinstance(block, dict):
            header = block.get("header") or content["header"]
            mean = header.index(content["average"]) if "average" in content else len(header)
            found |= {f"{block['title']}, {row[0]}": (" ".join(row[1:mean]), "".join(row[mean:mean + 1]))
                      for row in block["rows"]}
    return found


def half_unit(printed: str) -> Fraction:
    """Half a unit of the last printed digit."""
    return Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))


def averaged_row(number: int, entries: str, average: str) -> vf.Instance:
    """A table row: its number, its entries (separated by spaces) and its printed average."""
    printed = entries.split()
    return {
        "row": number,
        "entries": [Fraction(e) for e in printed],
        "average": Fraction(average),
        "entry_rounding": [half_unit(e) for e in printed],
        "average_rounding": half_unit(average),
    }


def rounding_room(
    i: vf.Cases, weights: Sequence[Fraction] | ar.Reals | None = None, shift: Fraction | int = 0
) -> ar.Reals:
    """Slack that rounding allows, minus ``|average + shift - weighted mean|``.

    Weights are equal by default, and may be a field of the instances.
    """

    def mean(values: ar.Reals) -> ar.Reals:
        if weights is None:
            return ar.total(values) / values.shape[-1]
        if isinstance(weights, (list, tuple)):
            numbers = [ar.constant(s.numerator, like=values) / s.denominator for s in weights]
            return ar.total(np.array(numbers) * values)
        return ar.total(weights * values)

    moved = i.average + ar.constant(shift.numerator, like=i.average) / shift.denominator
    allowed = i.average_rounding + mean(i.entry_rounding)
    return allowed - np.abs(moved - mean(i.entries))


def corrected_room(
    number: int, printed: str, right: str
) -> vf.Margin:
    """`rounding_room` with one number put right: the average of row ``number``, misprinted."""
    correction = Fraction(right) - Fraction(printed)

    def room(i: vf.Cases) -> ar.Reals:
        is_row = ar.less(np.abs(i.row - number), 0 * i.average + ar.constant(1, like=i.average) / 2)
        return np.where(is_row, rounding_room(i, shift=correction), rounding_room(i))

    return room


def unrounded_instances(**printed: str) -> vf.Instances:
    """Every set of positive numbers that would be printed like this; one field per keyword."""
    ranges = {name: (Fraction(text) - half_unit(text), Fraction(text) + half_unit(text))
              for name, text in printed.items()}

    def sample(generator: np.random.Generator, size: int) -> vf.Batch:
        return {name: generator.uniform(float(low), float(high), size)
                for name, (low, high) in ranges.items()}

    def enumerate_corners(largest_total: int) -> Iterator[vf.Batch]:
        rows = list(itertools.product(*((Fraction(printed[name]), *ends)
                                        for name, ends in ranges.items())))
        yield {name: np.array([float(row[k]) for row in rows]) for k, name in enumerate(ranges)}

    return vf.Instances(
        strategy=drawn_by(sample), sample=sample, enumerate=enumerate_corners, movable=tuple(ranges),
        ranges={name: (float(low), float(high)) for name, (low, high) in ranges.items()},
        families="values that round to the printed ones",
        parameters=vf.Parameters(fields=tuple(
            vf.Parameter(name=name, range=vf.Range(low=low, high=high))
            for name, (low, high) in ranges.items())),
    )


def compared(ours: str, theirs: str) -> vf.Instance:
    """Two rows of scores on the same benchmarks, and what rounding can hide of each difference."""
    pairs = list(zip(ours.split(), theirs.split(), strict=True))
    return {
        "ours": [Fraction(a) for a, _ in pairs],
        "theirs": [Fraction(b) for _, b in pairs],
        "rounding": [half_unit(a) + half_unit(b) for a, b in pairs],
    }


def not_behind(i: vf.Cases) -> ar.Reals:
    """Score by score, below zero where ours is behind by more than rounding can hide."""
    return i.ours - i.theirs + i.rounding


def ahead(i: vf.Cases) -> ar.Reals:
    """Score by score, above zero where ours is ahead by more than rounding can add."""
    return i.ours - i.theirs - i.rounding


def flagged(name: str, latex: str) -> vf.Condition:
    """The hypothesis that a field of the rows, 0 or 1, is 1."""

    def value(i: vf.Cases) -> ar.Reals:
        flag: ar.Reals = getattr(i, name)
        return flag - ar.constant(1, like=flag) / 2

    return vf.Condition(latex=latex, value=value)


def ahead_on(i: vf.Cases, least: int) -> ar.Reals:
    """Above zero where ours is printed ahead on at least this many benchmarks."""
    one = 0 * i.ours + ar.constant(1, like=i.ours)
    return ar.total(one, ar.less(i.theirs, i.ours)) - least + ar.constant(1, like=i.ours) / 2


def mean_lead(i: vf.Cases) -> ar.Reals:
    """Mean difference, minus the most that rounding can add to it."""
    return ar.total(i.ours - i.theirs - i.rounding) / i.ours.shape[-1]
