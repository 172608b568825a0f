"""Reads a sweep file: TOML that says which problems, rules and dynamics a grid of runs goes over.

`simulations.sweeps.example` holds one. Several tables ``[[rule]]`` (or ``[[problem]]``) instead of one
``[rule]`` make an axis of rules, each with a ``label`` (by default its name). A rule of your own is named
by its import path, ``name = "my_rules.py:Thrifty"``, relative to the current directory; when that file
changes, its runs are computed anew. "none" stands for None where an option may be None. These tables are
optional, and each may be in the grid too:

    [features]                        # parameters that logits share; or kind = "random", n_features
    kind = "coupled"                  # simulations.problems.shared_parameters
    coupling = 0.5
    [rule]
    towards = { name = "shorter-responses", per_token = 0.02 }    # entropy_theory.targets
    [dynamics]                        # or { kind = "sine", middle, amplitude, period }
    target_schedule = { kind = "points", points = [[0, 0.5], [1000, 1.5]] }    # (step, nats)
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import re
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from entropy_theory.schedules import SCHEDULES, Schedule
from entropy_theory.support.typed_values import NO_MATCH, in_words, matched
from entropy_theory.support.user_errors import check_choice, check_file
from entropy_theory.update_rules import UpdateRule, rule_options
from simulations.engine.dynamics import Dynamics
from simulations.engine.sampling import Samples
from simulations.engine.task import check_features_rule, check_second_batch, check_tree_dynamics
from simulations.engine.trajectory import Record
from simulations.problems.bandits import Bandit
from simulations.problems.shared_parameters import Coupled, Random
from simulations.problems.token_trees import TokenProblem
from simulations.sweeps.cell import Features, Problem, shape_of

Path_ = tuple[str | int, ...]
"""The place of a value in the file: keys, and numbers of tables in arrays of tables."""
PROBLEMS: dict[str, type[Problem]] = {"bandit": Bandit, "tokens": TokenProblem}
FEATURES: dict[str, type[Features]] = {"coupled": Coupled, "random": Random}
GRID_TABLES = ("problem", "features", "rule", "dynamics")
TABLES = (*GRID_TABLES, "record")
MOST_RUNS = 1_000_000
"""The largest number of runs of a sweep: each is planned, and kept, on its own."""
NUMBERS = {"n_starts": 1, "seed": 0}
"""Top-level numbers and their defaults."""
# Set by the sweep itself, or no data.
_NOT_OPTIONS = {Dynamics: ("rule", "targets", "seed", "first_run"),
                Record: ("logits", "forecasts")}
# Per-run values are what a grid is for.
_HINTS = {Dynamics: {"learning_rate": float, "temperature": float | None,
                     "target_schedule": Schedule | None}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """A dimension of the grid."""

    path: str
    """The option that varies, such as "rule.target", or "rule" or "problem" for an array of tables."""
    values: tuple[Any, ...]
    labels: tuple[Any, ...]
    """The coordinates of the axis: a number or a text for each value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A combination of values, which makes ``n_starts`` runs; the starts have the dynamics' seed."""

    problem: Problem
    features: Features | None
    dynamics: Dynamics


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepFile:
    """The contents of a sweep file, checked."""

    name: str
    """The name of the file without its ending."""
    text: str
    n_starts: int
    record: Record
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    """All combinations of the axes, the last varying fastest."""
    seed: int | None = None
    """The seed that was given in place of the file's."""


def read_sweep(path: Path, seed: int | None = None) -> SweepFile:
    """Read the sweep that a file describes; every combination is checked.

    Args:
        path: the file.
        seed: in place of the file's own.

    Raises:
        ValueError: no such file, not TOML, or an unknown key, option, value or kind of value, with
            the line, the nearest known name where there is one, and the combination; a seed beside a
            grid over seeds.
    """
    check_file(path, "a sweep file")
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"cannot read sweep file {path} ({error.strerror}): check its path") from None
    except ValueError as error:  # a number of thousands of digits, too
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply: write it flatter") from None
    if seed is not None:
        if _find(data, ("grid", "seed")):
            raise ValueError(f"the grid of {path} goes over seeds of its own: leave --seed {seed} out")
        data["seed"] = seed
    return dataclasses.replace(_Reader(path, text, data).sweep(), seed=seed)


class _Reader:
    """The file being read; its errors name the line."""

    def __init__(self, path: Path, text: str, data: dict[str, Any]) -> None:
        self.path, self.text, self.data = path, text, data
        self.origin: dict[Path_, Path_] = {}
        """Where the file itself holds the values that the grid or an array of tables has put in place."""
        self.combination = ""

    def fail(self, where: Path_, message: str) -> NoReturn:
        for length in range(len(where), 0, -1):
            if (origin := self.origin.get(where[:length])) is not None:
                where = (*origin, *where[length:])
                break
        line = line_of(self.text, where)
        place = f"{self.path}, line {line}" if line else f"{self.path}"
        raise ValueError(f"{place}: {self.combination}{message}")

    def known(self, names: Any, name: str, kind: str, where: Path_) -> None:
        try:
            check_choice(name, names, kind)
        except ValueError as error:
            self.fail(where, str(error))

    def sweep(self) -> SweepFile:
        for key in self.data:
            self.known((*NUMBERS, *TABLES, "grid"), key, "key", (key,))
        numbers = {
            name: self.value(int, self.data.get(name, default), (name,))
            for name, default in NUMBERS.items()
        }
        if numbers["n_starts"] < 1:
            self.fail(("n_starts",), f"n_starts must be at least 1, got {numbers['n_starts']}")
        if "rule" not in self.data and not _find(self.data, ("grid", "rule", "name")):
            self.fail((), "no rule is given: add [rule] with name = \"grpo\", or another update rule")
        fixed = {"seed": numbers["seed"]}
        for name in GRID_TABLES:
            is_axis = name in ("problem", "rule") and isinstance(self.data.get(name), list)
            if not is_axis and (name != "features" or name in self.data):
                fixed[name] = self.table(self.data.get(name, {}), (name,))
        axes = (*self._alternatives(), *self._grid_axes())
        n_runs = numbers["n_starts"] * math.prod(len(axis.values) for axis in axes)
        if n_runs > MOST_RUNS:
            self.fail(("n_starts",), f"{n_runs:,} runs are asked for, and a sweep has at most "
                                     f"{MOST_RUNS:,}: lower n_starts, or make several sweeps of the grid")
        points = tuple(self._points(fixed, axes))
        self.combination = ""
        record = self.build(Record, self.table(self.data.get("record", {}), ("record",)), ("record",))
        return SweepFile(
            name=self.path.stem, text=self.text, n_starts=numbers["n_starts"], record=record,
            axes=axes, points=points,
        )

    def table(self, value: Any, where: Path_) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fail(where, f"{dotted(where)} must be a table of options, got {value!r}")
        return value

    def _alternatives(self) -> Iterator[Axis]:
        for name in ("problem", "rule"):
            tables = self.data.get(name)
            if not isinstance(tables, list):
                continue
            labels = []
            for place, table in enumerate(tables):
                where = (name, place)
                found = self.table(table, where)
                label = found.get("label", found.get("name"))
                if not isinstance(label, str):
                    self.fail(where, f'each [[{name}]] needs a label = "a text of its own"')
                labels.append(label)
            self._unique(labels, (name,), f"the labels of [[{name}]]")
            values = tuple({k: v for k, v in t.items() if k != "label"} for t in tables)
            yield Axis(path=name, values=values, labels=tuple(labels))

    def _grid_axes(self) -> Iterator[Axis]:
        for path, values in _leaves(self.table(self.data.get("grid", {}), ("grid",))):
            where: Path_ = ("grid", *path)
            self.known((*GRID_TABLES, "seed"), path[0], "table of the grid:", where)
            if not isinstance(values, list):
                self.fail(where, f"grid.{dotted(path)} must be a list of values, got {values!r}")
            if not values:
                self.fail(where, f"the axis {dotted(path)} is empty: give it a value, or leave it out")
            first = self.data.get(path[0], {})
            outside = first if isinstance(first, list) else [first]
            if path != ("seed",) and any(_find(table, path[1:]) for table in outside):
                self.fail(where, f"{dotted(path)} is given twice, in the grid and outside: drop one")
            labels = _labels(values)
            self._unique(list(labels), where, f"the axis {dotted(path)}")
            yield Axis(path=dotted(path), values=tuple(values), labels=labels)

    def _unique(self, labels: list[Any], where: Path_, what: str) -> None:
        for label in labels:
            if labels.count(label) > 1:
                self.fail(where, f"{what} has {label!r} twice")

    def _points(self, fixed: Mapping[str, Any], axes: tuple[Axis, ...]) -> Iterator[Point]:
        for places in itertools.product(*(range(len(axis.values)) for axis in axes)):
            tables = dict(fixed)
            self.origin.clear()
            chosen = []
            for axis, place in zip(axes, places, strict=True):
                keys = tuple(axis.path.split("."))
                in_file: Path_ = (*keys, place) if keys in (("rule",), ("problem",)) else (
                    "grid", *keys)
                self.origin[keys] = in_file
                tables = self._with(tables, keys, axis.values[place], in_file)
                chosen.append(f"{keys[-1]} = {axis.labels[place]}")
            self.combination = f"at {', '.join(chosen)}: " if chosen else ""
            yield self._point(tables)

    def _with(
        self, tables: dict[str, Any], keys: tuple[str, ...], value: Any, where: Path_
    ) -> dict[str, Any]:
        """Return ``tables`` with ``value`` at ``keys``; nothing is changed in place."""
        first, *rest = keys
        if rest:
            inner = tables.get(first, {})
            if isinstance(inner, str):  # base = "grpo" and grid.rule.base.clip_high
                inner = {"name": inner}
            value = self._with(self.table(inner, where), tuple(rest), value, where)
        return {**tables, first: value}

    def _point(self, tables: dict[str, Any]) -> Point:
        seed = self.value(int, tables["seed"], ("seed",))
        if seed < 0:
            self.fail(("seed",), f"seed must be at least 0, got {seed}")
        rule = self.rule(tables["rule"], ("rule",))
        self.checked(("rule", "towards"), check_second_batch, rule)
        problem = self.chosen(PROBLEMS, tables["problem"], ("problem",), "kind", "kind of problem")
        features = None
        if "features" in tables:
            features = self.chosen(
                FEATURES, tables["features"], ("features",), "kind", "kind of features")
        dynamics = self.build(Dynamics, tables["dynamics"], ("dynamics",), rule=rule, seed=seed)
        n_states, n_actions = shape_of(problem)
        if features is not None:
            self.checked(("features",), features.check, n_states, n_actions)
            self.checked(("rule",), check_features_rule, rule)
        if not isinstance(problem, Bandit):
            self.checked(("rule",), check_tree_dynamics, problem.tree, (1, n_states, n_actions), dynamics)
        return Point(problem=problem, features=features, dynamics=dynamics)

    def checked(self, where: Path_, check: Callable[..., object], *arguments: Any) -> None:
        """Fail at ``where`` if the check raises."""
        try:
            check(*arguments)
        except ValueError as error:
            self.fail(where, str(error))

    def chosen(
        self, choices: Mapping[str, Any], table: Any, where: Path_, key: str, what: str
    ) -> Any:
        """Build the dataclass that ``key`` of a table names, by default the first, with its options."""
        table = dict(self.table(table, where))
        name = self.value(str, table.pop(key, next(iter(choices))), (*where, key))
        self.known(choices, name, what, (*where, key))
        return self.build(choices[name], table, where)

    def rule(self, value: Any, where: Path_) -> UpdateRule:
        try:
            return rule_options.from_table(value)
        except rule_options.OptionError as error:
            there = (*where, *error.path)
            label = {"option": f"{dotted(there)} ", "table": f"[{dotted(there)}] ", "": ""}
            self.fail(there, f"{label[error.subject]}{error.problem}{_remedy(error.value, there)}")

    def build(
        self, kind: Any, table: Mapping[str, Any], where: Path_, *, owner: str = "", **given: Any
    ) -> Any:
        """Build the dataclass ``kind`` with the options of a table, each checked."""
        hints = _hints(kind)
        options = dict(given)
        for key, value in table.items():
            there = (*where, key)
            if key not in hints:
                self.known(hints, key, f"option of {owner or f'[{dotted(where)}]'}:", there)
            options[key] = self.value(hints[key], value, there)
        try:
            return kind(**options)
        except ValueError as error:
            self.fail(where, f"[{dotted(where)}] {error}")

    def value(self, hint: Any, value: Any, where: Path_) -> Any:
        """Convert ``value`` to what an annotation asks for."""
        found = matched(hint, value, lambda kind, item: self._table_value(kind, item, where))
        if found is NO_MATCH:
            wanted = in_words(hint, _WORDS)
            if wanted is None:
                self.fail(where, f"{dotted(where)} cannot be set in a sweep file: use Python")
            self.fail(
                where, f"{dotted(where)} must be {wanted}, got {value!r}{_remedy(value, where)}")
        return found

    def _table_value(self, hint: Any, value: Any, where: Path_) -> Any:
        """What a table describes; NO_MATCH for what is none."""
        if hint is Samples and isinstance(value, dict):
            return self.build(Samples, value, where)
        if hint is Schedule and isinstance(value, dict):
            return self.chosen(SCHEDULES, value, where, "kind", "schedule")
        return NO_MATCH


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the annotation of each option."""
    hints = typing.get_type_hints(kind) | _HINTS.get(kind, {})
    # Numbers, or one a run: that is what a grid makes of them.
    return {
        field.name: float if field.type == "Array" else hints[field.name]
        for field in dataclasses.fields(kind) if field.name not in _NOT_OPTIONS.get(kind, ())
    }


_WORDS = {Samples: "a table such as { group_size = 8 }",
          Schedule: 'a table such as { kind = "points", points = [[0, 0.5], [1000, 1.5]] }'}


def _remedy(value: Any, where: Path_) -> str:
    """What to do about a list where one value is asked for."""
    if not isinstance(value, list) or where[0] == "grid":
        return ""
    return f"; values to go over belong in [grid]: {dotted(where)} = [...]"


def dotted(path: Path_) -> str:
    """Write a path as TOML does, without the numbers of tables in arrays."""
    return ".".join(key for key in path if isinstance(key, str))


def _leaves(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _find(table: Any, keys: tuple[str, ...]) -> bool:
    """Whether nested tables have something at ``keys``."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table is not None


def _labels(values: list[Any]) -> tuple[Any, ...]:
    """Make the coordinates of an axis: numbers stay as they are, anything else becomes text."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    if numbers:
        return tuple(values)
    return tuple(v if isinstance(v, str) else json.dumps(v) for v in values)


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_ASSIGNMENT = re.compile(r"""\s*([A-Za-z0-9_\-."' ]+?)\s*=""")


def line_of(text: str, path: Path_) -> int | None:
    """Return the line (from 1) where a TOML file sets ``path``, or what encloses it; None without one.

    Only headers and assignments are searched, not values over several lines.
    """
    best, best_length = None, 0
    header: Path_ = ()
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if (match := _HEADER.match(line)) is not None:
            keys = _keys(match[2])
            header = keys
            if match[1] == "[[":
                counts[keys] = counts.get(keys, -1) + 1
                header = (*keys, counts[keys])
            full = header
        elif (match := _ASSIGNMENT.match(line)) is not None:
            full = (*header, *_keys(match[1]))
        else:
            continue
        # A header or a key that leads to the path, or lies below it.
        length = min(len(full), len(path))
        if full[:length] == path[:length] and length > best_length:
            best, best_length = number, length
    return best


def _keys(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
