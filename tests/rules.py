"""Writes down what follows from a rule's own file, for its author to read as a diff.

    python -m tests.rules NAME ...

writes the rules' entries in ``rules.json``, their golden runs and their rows of docs/engines.md. Without
names it writes those of all rules, in four minutes. An entry has the default of each option, the numbers
that the option takes, and the error of the nearest number that it refuses. It has the rule's expected
step, its warnings, and the engines with which its loss was compared. `tests/test_rules.py` holds each
rule to it.
Only a person can know what stands in `tests/rules_by_hand.py`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.array_types import Array
from entropy_theory.update_rules import RULES, UpdateRule, get
from entropy_theory.verification.expected_step import expected_step
from entropy_theory.verification.on_policy import relation
from llm_bridge import verl_rules
from llm_bridge.conformance import record
from tests.rules_by_hand import OPTIONS, SETTINGS

FILE = Path(__file__).with_suffix(".json")
NEAR = 1e-9
"""How far beyond a bound a value is tried, relative to the bound where that is above 1."""


def entry(name: str) -> dict[str, Any]:
    """What follows from the rule's own file."""
    return options(name) | behavior(name)


def options(name: str) -> dict[str, dict[str, str]]:
    """Each option as `of_options` has it, and what is otherwise beside other options."""
    found = {"options": (plain := of_options(name, {}))}
    for setting in filter(None, (OPTIONS.get(name), *SETTINGS.get(name, ()))):
        found[f"options with {setting}"] = {
            option: said for option, said in of_options(name, setting).items()
            if option not in setting and said != plain[option]}
    return {title: said for title, said in found.items() if said}


def behavior(name: str) -> dict[str, Any]:
    """The rule's step with its defaults, and what others do with it."""
    rule = get(name)
    return {"expected step": expected_step(rule), "relation to policy gradient": relation(rule),
            "warnings on-policy": list(rule.warnings(on_policy=True, tokens=10_000)),
            "verl shows it the whole batch": verl_rules.needs_whole_batch(rule),
            "compared with": sorted(compared().get(name, ()))}


@cache
def compared() -> dict[str, set[str]]:
    """The engines with a function that was compared with a rule, by the rule's name."""
    found: dict[str, set[str]] = {}
    for row in record.rows():
        for name in row.names:
            found.setdefault(name, set()).add(row.engine)
    return found


def of_options(name: str, setting: dict[str, Any]) -> dict[str, str]:
    """Each option's default and range beside these others."""
    rule, hints = get(name, **setting), typing.get_type_hints(RULES[name])
    values = {field.name: getattr(rule, field.name) for field in dataclasses.fields(rule)}
    found = {}
    for option, default in values.items():
        others = [value for other, value in values.items() if other != option and is_number(value)]
        said = of_option(Trial(name, setting, option), hints[option], default, others)
        found[option] = shown(default) + said
    return found


def is_number(value: Any) -> bool:
    """Whether another option's bound may be this value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def shown(value: Any) -> str:
    """A default: of a rule its name, and the options that are not its own defaults."""
    if not isinstance(value, UpdateRule):
        return repr(value)
    plain = get(value.name)
    changed = [f"{field.name}={getattr(value, field.name)!r}" for field in dataclasses.fields(value)
               if getattr(value, field.name) != getattr(plain, field.name)]
    return f"{value.name}({', '.join(changed)})"


@dataclasses.dataclass(frozen=True)
class Trial:
    """Gives an option a value and returns the error, "" where the value is taken as it is."""

    name: str
    setting: dict[str, Any]
    option: str

    def __call__(self, value: Any) -> str:
        try:
            rule = get(self.name, **{**self.setting, self.option: value})
            rule.coefficient_controller()
        except ValueError as error:
            return str(error)
        assert getattr(rule, self.option) is value, "a rule keeps the value that it is given"
        return ""


def of_option(error: Callable[[Any], str], hint: Any, default: Any, others: list[float]) -> str:
    """Write what an option takes, and the error of the nearest value that it refuses."""
    kinds = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
    if hint is str:
        return f": {error('?')}"
    if hint is not Array and not kinds & {int, float}:
        return ""
    taken, refused = interval(error, others, whole=hint is not Array and float not in kinds)
    if hint is Array:
        of_array, _ = interval(lambda value: error(np.array([default, value])), others, whole=False)
        taken += f", of an array {of_array}" * (of_array != taken)
    if types.NoneType in kinds and not error(None):
        taken = f"{taken} or None" if taken else "None"
    return f" in {taken}" + f": {refused}" * bool(refused)


def interval(error: Callable[[Any], str], others: list[float], *, whole: bool) -> tuple[str, str]:
    """Write the numbers that are taken as intervals; return the error nearest to them, too.

    Bounds are looked for at -1, 0, 1, 2 and at the values of other options and their negatives. Each is
    tried with its neighbors, and 1.5 for whole numbers ("fractions").
    """
    bounds = sorted({-1, 0, 1, 2, *others, *(-value for value in others)})
    tried = [*(whole_numbers if whole else numbers)(bounds)]
    errors = [error(value) for *_, value in tried]
    parts: list[list[str]] = []
    near = []
    for place, (low, high, _) in enumerate(tried):
        beside = [errors[side] for side in (place - 1, place + 1) if 0 <= side < len(tried)]
        if errors[place]:
            near += [errors[place]] * ("" in beside)
        elif not place or errors[place - 1]:
            parts.append([low, high])
        else:
            parts[-1][1] = high
    texts = [f"{{{low[1:]}}}" if low[1:] == high[:-1] else f"{low}, {high}" for low, high in parts]
    texts += ["fractions"] * (whole and not error(1.5)) + ["nan"] * (not error(math.nan))
    return " or ".join(texts), next(iter(near or filter(None, errors)), "")


def numbers(bounds: list[float]) -> Iterator[tuple[str, str, float]]:
    """Yield what is tried, ascending, with how an interval that begins or ends there is written."""
    yield "[-inf", "", -math.inf
    yield "(-inf", "", -1e9
    for bound in bounds:
        step = NEAR * max(1.0, abs(bound))
        yield "", f"{bound:g})", bound - step
        yield f"[{bound:g}", f"{bound:g}]", bound
        yield f"({bound:g}", "", bound + step
    yield "", "inf)", 1e9
    yield "", "inf]", math.inf


def whole_numbers(bounds: list[float]) -> Iterator[tuple[str, str, int]]:
    """Yield as `numbers` does, for an option that takes whole numbers."""
    yield "(-inf", "", -(10**9)
    for value in sorted({int(bound) + shift for bound in bounds for shift in (-1, 0, 1)}):
        yield f"[{value}", f"{value}]", value
    yield "", "inf)", 10**9


def write(names: list[str]) -> None:
    """Write the rules' entries, golden runs and rows of the table of engines."""
    from tests.simulations import engine_matrix  # llvmlite is slow to load

    entries = json.loads(FILE.read_text()) | {name: entry(name) for name in names or RULES}
    entries = {name: entries[name] for name in RULES}
    FILE.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
    engine_matrix.write(names)


if __name__ == "__main__":
    write(sys.argv[1:])
