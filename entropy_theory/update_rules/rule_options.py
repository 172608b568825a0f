"""Reads update rules as a user writes them: a table of TOML or JSON, or texts ``name=value``.

::

    name = "clip-cov"                              clip-cov
    ratio = 0.002                                  ratio=0.002
    base = { name = "grpo", clip_high = 0.28 }     base=grpo base.clip_high=0.28

A part without a name (``base = { clip_high = 0.28 }``) is the rule's default part with these changes.
A schedule is a table, with a kind in place of a name, or texts; lists are written as in JSON::

    target_schedule = { kind = "sine", period = 100 }         target_schedule.kind=sine
                                                              target_schedule.period=100
    target_schedule = { points = [[0, 0.8], [100, 0.4]] }     target_schedule.points=[[0,0.8],[100,0.4]]

Every option is checked against its annotation, and None may be written "none".
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from entropy_theory.array_types import Array
from entropy_theory.schedules import SCHEDULES, Schedule
from entropy_theory.support.typed_values import NO_MATCH, from_text, in_words, is_union, matched
from entropy_theory.support.user_errors import check_choice, lookup
from entropy_theory.targets import TARGETS, TargetPolicy
from entropy_theory.update_rules import UpdateRule, rule_class

WORDS = {TargetPolicy: 'a table such as { name = "shorter-responses", per_token = 0.02 }',
         Schedule: 'a table such as { kind = "points", points = [[0, 0.8], [100, 0.4]] }',
         UpdateRule: 'a rule such as "grpo" or { name = "grpo", clip_high = 0.28 }'}


class OptionError(ValueError):
    """Raised for an option that its rule does not have, or for a value that it cannot take.

    Attributes:
        path: keys from the rule's table to the mistake.
        problem: what is wrong there.
        subject: the subject of ``problem``: option or table at ``path``, or nothing if the problem
            is a whole sentence.
        value: the value that was given there, if it is of the wrong kind.
    """

    def __init__(
        self, path: tuple[str, ...], problem: str, subject: Literal["option", "table", ""] = "",
        value: Any = None,
    ) -> None:
        place = ".".join(path)
        option = f"rule option {place} " if path else "the rule "
        label = {"option": option, "table": "", "": ""}[subject]
        super().__init__(f"{label}{problem}")
        self.path, self.problem, self.subject, self.value = path, problem, subject, value


def from_table(table: Any) -> UpdateRule:
    """Make the rule that a table describes, or whose name is a text.

    Raises:
        OptionError: an unknown rule or option (the nearest names are given), a value of another kind than
            the option's, or one that the rule refuses.
    """
    return _rule(table, (), None, "", texts=False)


def from_texts(name: str, texts: Iterable[str]) -> UpdateRule:
    """Make the rule ``name`` with options ``option=value``; dots lead into parts: ``base.clip_high=3``.

    Raises:
        OptionError: a text without "=", or as `from_table`.
    """
    table: dict[str, Any] = {"name": name}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals:
            raise OptionError((), f"rule option '{text}' is not of the form name=value, as in alpha=3")
        *way, last = path.replace("-", "_").split(".")
        place = table
        for step in way:
            inner = place.get(step, {})
            place[step] = place = dict(inner) if isinstance(inner, dict) else {"name": inner}
        inner = place.get(last)
        place[last] = {**inner, "name": value} if isinstance(inner, dict) else value
    return _rule(table, (), None, "", texts=True)


def to_texts(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Write the options of a rule's table as `from_texts` reads them, without the rule's own name."""
    return tuple(_texts({key: value for key, value in table.items() if key != "name"}, ""))


def value_at(rule: UpdateRule, path: str) -> Any:
    """Return the value of an option; dots lead into parts, and a part is given by its name.

    Raises:
        ValueError: an unknown option (the nearest names are given).
    """
    value: Any = rule
    for step in path.split("."):
        known = {f.name for f in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else ()
        check_choice(step, known, f"option of update rule '{rule.name}':")
        value = getattr(value, step)
    if isinstance(value, TargetPolicy):
        return next((name for name, kind in TARGETS.items() if kind is type(value)), value)
    return value.name if isinstance(value, UpdateRule) else value


def _rule(
    table: Any, path: tuple[str, ...], default: UpdateRule | None, owner: str, *, texts: bool
) -> UpdateRule:
    """Make a rule from a table; ``owner`` names what has this rule as an option, for error messages."""
    if isinstance(table, str):
        table = {"name": table}
    if not isinstance(table, Mapping):
        raise OptionError(path, f"must be {WORDS[UpdateRule]}, got {table!r}", "option")
    options = dict(table)
    name = options.pop("name", None)
    kind: Any = type(default)
    if name is not None or default is None:
        if not isinstance(name, str):
            raise OptionError(path, f'needs a name, such as name = "grpo", got {name!r}', "table")
        try:
            kind = rule_class(name)
        except ValueError as error:
            raise OptionError((*path, "name"), str(error)) from None
        default, owner = None, f"update rule '{name}'"
    else:
        owner = f"{path[-1]} of {owner}"
    return _built(kind, default, options, path, owner, texts)


def _target(table: Any, path: tuple[str, ...], default: Any, owner: str, *, texts: bool) -> Any:
    if isinstance(table, str) and (texts or table in TARGETS):
        table = {"name": table}
    if not isinstance(table, Mapping):
        return NO_MATCH
    options = dict(table)
    name = options.pop("name", None)
    kind = type(default)
    if name is not None:
        try:
            kind, default = lookup(TARGETS, name, "target"), None
        except ValueError as error:
            raise OptionError((*path, "name"), str(error)) from None
    return _built(kind, default, options, path, f"{path[-1]} of {owner}", texts)


def _schedule(table: Any, path: tuple[str, ...], owner: str, *, texts: bool) -> Any:
    options = dict(table)
    kind = options.pop("kind", next(iter(SCHEDULES)))
    try:
        found = lookup(SCHEDULES, kind, "kind of schedule")
    except ValueError as error:
        raise OptionError((*path, "kind"), str(error)) from None
    return _built(found, None, options, path, f"{path[-1]} of {owner}", texts)


def _built(
    kind: Any, default: Any, options: Mapping[str, Any], path: tuple[str, ...], owner: str, texts: bool
) -> Any:
    """Make the dataclass ``kind``, or ``default`` with these options changed."""
    known = _hints(kind)
    found = {}
    for written, value in options.items():
        key, there = written.replace("-", "_"), (*path, written)
        if key in found:
            raise OptionError(there, f"is given twice, as {key} too: leave one out", "option")
        try:
            hint = lookup(known, key, f"option of {owner}:")
        except ValueError as error:
            raise OptionError(there, str(error)) from None
        there = (*path, key)
        found[key] = _value(hint, value, there, default or kind, owner, texts)
    try:
        return kind(**found) if default is None else dataclasses.replace(default, **found)
    except (TypeError, ValueError) as error:
        raise OptionError(path, str(error), "table") from None


def _value(
    hint: Any, value: Any, path: tuple[str, ...], record: Any, owner: str, texts: bool
) -> Any:
    """Convert the value of an option; ``record`` is the instance that has the option, or its class."""
    if hint is UpdateRule:
        return _rule(value, path, _default(record, path[-1]), owner, texts=texts)
    if is_union(hint) and Schedule in typing.get_args(hint) and isinstance(value, Mapping):
        found = _schedule(value, path, owner, texts=texts)
    elif hint is TargetPolicy:
        found = _target(value, path, _default(record, path[-1]), owner, texts=texts)
    elif isinstance(value, Mapping):
        raise OptionError(path, f"option {path[-1]} of {owner} has no options of its own: {value!r}")
    elif texts and isinstance(value, str):
        found = from_text(hint, value)
    else:
        found = matched(hint, value)
    if found is NO_MATCH:
        wanted = in_words(hint, WORDS)
        raise OptionError(
            path, f"must be {wanted}, got {value!r}" if wanted else "cannot be set so: use Python",
            "option", value)
    return found


def _default(record: Any, name: str) -> Any:
    """Return the part that an instance has, or that a class gives its instances."""
    if not isinstance(record, type):
        return getattr(record, name)
    field = next(field for field in dataclasses.fields(record) if field.name == name)
    return None if field.default_factory is dataclasses.MISSING else field.default_factory()


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the annotation of each option; an `Array`, a number or one per run, takes a number."""
    hints = typing.get_type_hints(kind)
    return {field.name: float if hints[field.name] is Array else hints[field.name]
            for field in dataclasses.fields(kind) if field.init}


def _texts(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            inner = dict(value)
            if "name" in inner:
                yield f"{prefix}{key}={inner.pop('name')}"
            yield from _texts(inner, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={str(value).lower() if isinstance(value, bool) else value}"
