"""Reads a sweep file: TOML that says which problems, rules and dynamics a grid of runs goes over.

`policy-entropy sweep --help` shows one. Several tables ``[[rule]]`` (or ``[[problem]]``) instead of one
``[rule]`` make an axis of rules, each with a ``label`` (by default its name). A rule of your own is named
by its import path, ``name = "my_rules.py:Thrifty"``, relative to the current directory; when that file
changes, its runs are computed anew. "none" stands for None where an option may be None. These tables are
optional, and each may be in the grid too::

    [features]                        # parameters that logits share; or kind = "random", n_features
    kind = "coupled"                  # simulations.problems.shared_parameters
    coupling = 0.5
    [rule]
    towards = { name = "shorter-responses", per_token = 0.02 }    # entropy_theory.targets
    [dynamics]                        # or { kind = "sine", middle, amplitude, period }
    target_schedule = { kind = "points", points = [[0, 0.5], [1000, 1.5]] }    # (step, nats)
    sampler = { temperature = 0.8, top_p = 0.95 }      # simulations.engine.sampler
    optimizer = { kind = "adamw", eps = 1e-6 }         # or "adam", "sgd": simulations.engine.optimizer
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import json
import math
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_theory.schedules import SCHEDULES, Schedule
from entropy_theory.support.typed_values import NO_MATCH, checked, read_toml
from entropy_theory.support.user_errors import check_choice, lookup
from entropy_theory.update_rules import rule_options
from simulations.engine.dynamics import Dynamics
from simulations.engine.optimizer import OPTIMIZERS, Optimizer
from simulations.engine.sampler import Sampler
from simulations.engine.sampling import Samples
from simulations.engine.task import check_features_rule, check_second_batch, check_tree_dynamics
from simulations.engine.traced.reads import pools
from simulations.engine.trajectory import Record
from simulations.problems.bandits import Bandit
from simulations.problems.shared_parameters import Coupled, Random
from simulations.problems.token_trees import TokenProblem
from simulations.sweeps.cell import Features, Problem, shape_of

PROBLEMS: dict[str, type[Problem]] = {"bandit": Bandit, "tokens": TokenProblem}
FEATURES: dict[str, type[Features]] = {"coupled": Coupled, "random": Random}
GRID_TABLES = ("problem", "features", "rule", "dynamics")
TABLES = (*GRID_TABLES, "record")
MOST_RUNS = 1_000_000
"""The largest number of runs of a sweep: each is planned, and kept, on its own."""
NUMBERS = {"n_starts": 1, "seed": 0}
"""Top-level numbers and their defaults."""
LISTS = "; values to go over belong in [grid]"
"""Advice on a list where one value is needed."""
# Set by the sweep itself, or no data.
_NOT_OPTIONS = {Dynamics: ("rule", "targets", "seed", "first_run"),
                Record: ("logits", "forecasts")}
# Per-run values are what a grid is for.
_HINTS = {Dynamics: {"learning_rate": float, "temperature": float | None,
                     "target_schedule": Schedule | None}}
_WORDS = {Samples: "a table such as { group_size = 8 }",
          Sampler: "a table such as { temperature = 0.8 }",
          Optimizer: 'a table such as { kind = "adam" }',
          Schedule: 'a table such as { kind = "points", points = [[0, 0.5], [1000, 1.5]] }'}


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
        ValueError: no such file, not TOML, or an unknown key, option, value or kind of value. The message
            has the table, the nearest known name where there is one, and the combination. A seed beside a
            grid over seeds.
    """
    data = read_toml(path, "a sweep file")
    if seed is not None:
        if _find(data, ("grid", "seed")):
            raise ValueError(f"the grid of {path} goes over seeds of its own: leave --seed {seed} out")
        data["seed"] = seed
    for key in data:
        check_choice(key, (*NUMBERS, *TABLES, "grid"), f"key of {path}:")
    numbers = NUMBERS | checked(
        dict.fromkeys(NUMBERS, int), {key: data[key] for key in NUMBERS if key in data}, str(path))
    if numbers["n_starts"] < 1:
        raise ValueError(f"{path}: n_starts must be at least 1, got {numbers['n_starts']}")
    if "rule" not in data and not _find(data, ("grid", "rule", "name")):
        raise ValueError(f'{path}: no rule is given: add [rule] with a name, such as name = "grpo"')
    fixed: dict[str, Any] = {"seed": numbers["seed"]}
    for name in GRID_TABLES:
        is_axis = name in ("problem", "rule") and isinstance(data.get(name), list)
        if not is_axis and (name != "features" or name in data):
            fixed[name] = _table(data.get(name, {}), name, str(path))
    axes = (*_alternatives(data, str(path)), *_grid_axes(data, str(path)))
    n_runs = numbers["n_starts"] * math.prod(len(axis.values) for axis in axes)
    if n_runs > MOST_RUNS:
        raise ValueError(f"{path}: {n_runs:,} runs are asked for, and a sweep has at most {MOST_RUNS:,}: "
                         "lower n_starts, or make several sweeps of the grid")
    return SweepFile(
        name=path.stem, text=path.read_text(encoding="utf-8"), n_starts=numbers["n_starts"], axes=axes,
        record=_built(Record, _table(data.get("record", {}), "record", str(path)), "record", str(path)),
        points=tuple(_points(fixed, axes, str(path))), seed=seed,
    )


def _table(value: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: {name} must be a table of options, got {value!r}")
    return value


def _alternatives(data: Mapping[str, Any], where: str) -> Iterator[Axis]:
    """Yield an axis for each array of tables."""
    for name in ("problem", "rule"):
        tables = data.get(name)
        if not isinstance(tables, list):
            continue
        if not tables:
            raise ValueError(
                f"{where}: {name} = [] leaves nothing to run: give it a table, or leave it out")
        labels = [_table(table, f"[[{name}]]", where).get("label", table.get("name")) for table in tables]
        if not all(isinstance(label, str) for label in labels):
            raise ValueError(f'{where}: each [[{name}]] needs a label = "a text of its own"')
        _check_distinct(labels, f"{where}: the labels of [[{name}]]")
        values = tuple({k: v for k, v in table.items() if k != "label"} for table in tables)
        yield Axis(path=name, values=values, labels=tuple(labels))


def _grid_axes(data: Mapping[str, Any], where: str) -> Iterator[Axis]:
    for keys, values in _leaves(_table(data.get("grid", {}), "grid", where)):
        path = ".".join(keys)
        check_choice(keys[0], (*GRID_TABLES, "seed"), f"table of the grid of {where}:")
        if not isinstance(values, list):
            raise ValueError(f"{where}: grid.{path} must be a list of values, got {values!r}")
        if not values:
            raise ValueError(f"{where}: the axis {path} is empty: give it a value, or leave it out")
        first = data.get(keys[0], {})
        outside = first if isinstance(first, list) else [first]
        if keys != ("seed",) and any(_find(table, keys[1:]) for table in outside):
            raise ValueError(f"{where}: {path} is given twice, in the grid and outside: drop one")
        labels = _labels(values)
        _check_distinct(labels, f"{where}: the axis {path}")
        yield Axis(path=path, values=tuple(values), labels=labels)


def _check_distinct(labels: Sequence[Any], what: str) -> None:
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"{what} has {label!r} twice")


def _points(fixed: Mapping[str, Any], axes: Sequence[Axis], where: str) -> Iterator[Point]:
    for places in itertools.product(*(range(len(axis.values)) for axis in axes)):
        tables, chosen = dict(fixed), []
        for axis, place in zip(axes, places, strict=True):
            keys = axis.path.split(".")
            tables = _with(tables, keys, axis.values[place], where)
            chosen.append(f"{keys[-1]} = {axis.labels[place]}")
        yield _point(tables, f"{where}, at {', '.join(chosen)}" if chosen else where)


def _with(tables: dict[str, Any], keys: Sequence[str], value: Any, where: str) -> dict[str, Any]:
    """Return ``tables`` with ``value`` at ``keys``; nothing is changed in place."""
    first, *rest = keys
    if rest:
        inner = tables.get(first, {})
        if isinstance(inner, str):  # base = "grpo" and grid.rule.base.clip_high
            inner = {"name": inner}
        value = _with(_table(inner, first, where), rest, value, where)
    return {**tables, first: value}


def _point(tables: dict[str, Any], where: str) -> Point:
    seed = checked({"seed": int}, {"seed": tables["seed"]}, where)["seed"]
    if seed < 0:
        raise ValueError(f"{where}: seed must be at least 0, got {seed}")
    with _placed(f"{where}, [rule]"):
        rule = rule_options.from_table(tables["rule"])
        check_second_batch(rule)
    problem = _chosen(PROBLEMS, tables["problem"], "problem", where)
    features = None
    if "features" in tables:
        features = _chosen(FEATURES, tables["features"], "features", where)
    dynamics = _built(Dynamics, tables["dynamics"], "dynamics", where, rule=rule, seed=seed)
    n_states, n_actions = shape_of(problem)
    if features is not None:
        with _placed(f"{where}, [features]"):
            features.check(n_states, n_actions)
            check_features_rule(rule)
    if not isinstance(problem, Bandit):
        with _placed(f"{where}, [rule]"):
            check_tree_dynamics(
                problem.tree, (1, n_states, n_actions), dynamics,
                dynamics.steps_per_batch == 1 and pools(rule, 1))
    return Point(problem=problem, features=features, dynamics=dynamics)


@contextlib.contextmanager
def _placed(where: str) -> Iterator[None]:
    """Put the place into the message of what a block raises, and what to do with a list."""
    try:
        yield
    except ValueError as error:
        remedy = LISTS if isinstance(getattr(error, "value", None), list) else ""
        raise ValueError(f"{where}: {error}{remedy}") from None


def _chosen(choices: Mapping[str, Any], table: Any, name: str, where: str) -> Any:
    """Build the dataclass that ``kind`` of a table names, by default the first, with its options."""
    options = dict(_table(table, name, where))
    kind = options.pop("kind", next(iter(choices)))
    return _built(lookup(choices, kind, f"kind of {where}, [{name}]:"), options, name, where)


def _built(kind: Any, table: Mapping[str, Any], name: str, where: str, **given: Any) -> Any:
    """Build the dataclass ``kind`` with the options of a table, each checked."""
    def of_table(hint: Any, value: Any) -> Any:
        """Return what a table describes, or NO_MATCH."""
        if hint is Samples and isinstance(value, dict):
            return _built(Samples, value, f"{name}.samples", where)
        if hint is Sampler and isinstance(value, dict):
            return _built(Sampler, value, f"{name}.sampler", where)
        if hint is Schedule and isinstance(value, dict):
            return _chosen(SCHEDULES, value, f"{name}.target_schedule", where)
        if hint is Optimizer and isinstance(value, dict):
            return _chosen(OPTIMIZERS, value, f"{name}.optimizer", where)
        return NO_MATCH

    options = checked(_hints(kind), table, f"{where}, [{name}]", of_table, _WORDS, LISTS)
    with _placed(f"{where}, [{name}]"):
        return kind(**given, **options)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the annotation of each option."""
    hints = typing.get_type_hints(kind) | _HINTS.get(kind, {})
    # Numbers, or one a run: that is what a grid makes of them.
    return {
        field.name: float if field.type == "Array" else hints[field.name]
        for field in dataclasses.fields(kind) if field.name not in _NOT_OPTIONS.get(kind, ())
    }


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
    return tuple(v if isinstance(v, str) else json.dumps(v, default=str) for v in values)
