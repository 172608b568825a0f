"""``policy-entropy losses``: which rule is which engine's loss, and whether that still holds here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import tyro

from entropy_theory.support import command_line
from entropy_theory.support.results import write_json
from entropy_theory.support.user_errors import check_choice, need
from entropy_theory.update_rules import RULES
from entropy_theory.update_rules.rule_options import to_texts
from llm_bridge.conformance import engines, record
from llm_bridge.conformance.record import Row

COLUMNS = ("rule", "engine", "function", "options", "verdict", "gap")
HOW = "'make test-losses' makes an environment with all of them"


def losses(
    name: tyro.conf.Positional[str] = "", /, *, verify: bool = False, json: Path | None = None,
    update_record: bool = False,
) -> int:
    """Print which rule is which engine's loss or estimator, and where the two differ.

    examples:
      policy-entropy losses
      policy-entropy losses verl
      policy-entropy losses clip-cov
      policy-entropy losses k3-clamp
      policy-entropy losses --verify

    Args:
        name: an engine or a rule to show alone, or a departure to explain; by default all.
        verify: call the functions of the engines that are installed here, on random batches, and compare
            with the record (exit status 1 if they differ).
        json: write it to this file; "-" prints it.
        update_record: make what is found the record; all engines must be installed, in its versions.
    """
    known = record.departures()
    if name:
        check_choice(name, (*engines.PACKAGES, *RULES, *known), "engine, rule or departure")
    if verify or update_record:
        return _verified(name, json, update_record)
    rows = [row for row in record.rows()
            if name in ("", row.engine, row.departure) or name in row.names]
    without = [("-", f"{engine} {engines.PACKAGES[engine].version}", function, "", f"no rule: {why}", "")
               for engine, found in record.without_rule().items() if name in ("", engine)
               for function, why in found.items()]
    command_line.print_list(COLUMNS, [*map(_cells, rows), *without], json)
    if name in known and str(json) != "-":
        found = known[name]
        print(f"\nThe engine {found.what}.\nRight: {found.right}, since {found.why}.\n"
              f"To reproduce it:\n\n{found.reproduction.strip()}")
    return 0


def _cells(row: Row) -> tuple[str, ...]:
    return (" ".join((row.rule["name"], *to_texts(row.rule))), f"{row.engine} {row.version}",
            row.function, " ".join(f"{key}={value}" for key, value in row.options.items()),
            row.departure or "equal", f"{row.gap:.0e}")


def _verified(name: str, json: Path | None, update_record: bool) -> int:
    """Compare anew, print what is not as recorded, and return the exit status."""
    need("policy-entropy losses --verify", "torch")
    from llm_bridge.conformance import verification

    wanted = [name] if name in engines.PACKAGES else list(engines.PACKAGES)
    here = [engine for engine in wanted if engines.installed(engine)]
    if not here:
        raise ValueError(
            f"losses --verify calls the engines' own functions, and {_listed(wanted)} "
            f"{'is' if len(wanted) == 1 else 'are'} not installed here: {HOW}")
    found, problems = verification.verified(here)
    shown = [row for row in found if name in ("", row.engine, row.departure) or name in row.names]
    command_line.print_list(COLUMNS, map(_cells, shown), json)
    for problem in problems:
        print(problem)
    if absent := [engine for engine in wanted if engine not in here]:
        print(f"not installed here, and not compared: {_listed(absent)}")
    if update_record:
        other = [engine for engine, package in engines.PACKAGES.items()
                 if engines.installed(engine) != package.version]
        if other or problems:
            what = (f"{_listed(other)} must be installed in the record's versions ({HOW})" if other
                    else "resolve the problems above first")
            raise ValueError(f"the record is unchanged: {what}")
        write_json(record.PATH, verification.as_record(found))
        return 0
    differences = verification.differences(found, record.rows())
    for difference in differences:
        print(difference)
    return 1 if problems or differences else 0


def _listed(names: Iterable[str]) -> str:
    found: Sequence[str] = sorted(names)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
