"""Compares all functions of the engines that are installed, and what is found with the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropy_theory.support.results import plain
from entropy_theory.update_rules import RULES
from llm_bridge.conformance import comparison, engines, record
from llm_bridge.conformance.record import Row


def verified(names: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Compare every case of some engines.

    Returns:
        What was found, and a sentence on each case that is not what it is meant to be.
    """
    known, found, problems = record.departures(), [], []
    for engine in names:
        for case in engines.module(engine).CASES:
            gap = comparison.gap(case)
            row = Row(
                engine=engine, version=str(engines.installed(engine)), function=case.function,
                options=plain(dict(case.options)), drawn=plain(dict(case.drawn)),
                rule=plain(dict(case.rule)), gap=float(f"{gap:.1e}"), departure=case.departure)
            found.append(row)
            most = known[case.departure].at_most if case.departure else comparison.EQUAL
            name = f"{engine} {row.function} {dict(case.options)} and {case.rule['name']}"
            if gap > most:
                problems.append(f"{name} differ by {gap:.1e}, more than {most:g}")
            elif case.departure and gap <= comparison.EQUAL:
                problems.append(f"{name} are equal: {case.departure} is a departure no longer")
    return found, problems


def as_record(found: Sequence[Row]) -> dict[str, Any]:
    """Return the record of a whole comparison, with a digest of the formulas of each rule in it."""
    names = sorted({name for row in found for name in row.names})
    return {"batches": comparison.BATCHES, "equal": comparison.EQUAL,
            "without_rule": {name: dict(getattr(engines.module(name), "WITHOUT_RULE", {}))
                             for name in engines.PACKAGES},
            "rules": {name: record.digest(RULES[name]) for name in names},
            "rows": [plain(row) for row in found]}


def differences(found: Sequence[Row], accepted: Sequence[Row]) -> list[str]:
    """Say what the record has otherwise, for the engines compared; gaps that are rounding may differ."""
    engines_here = {row.engine for row in found}
    now, then = ({_key(row): row for row in rows if row.engine in engines_here}
                 for rows in (found, accepted))
    said = [f"not in the record: {key}" for key in now.keys() - then.keys()]
    said += [f"in the record alone: {key}" for key in then.keys() - now.keys()]
    for key in now.keys() & then.keys():
        if now[key].version != then[key].version:
            said.append(f"compared with {now[key].engine} {now[key].version}, the record is of "
                        f"{then[key].version}")
    return sorted(set(said))


def _key(row: Row) -> str:
    options = " ".join(f"{key}={value}" for key, value in (*row.options.items(), *row.drawn.items()))
    return f"{row.engine} {row.function} {options} against {dict(row.rule)} {row.departure}"
