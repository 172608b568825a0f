"""A recipe: an update rule and the settings of its samples, whatever engine it was written for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.modifier import length_normalization
from entropy_theory.update_rules.reference_kl import ReferenceKl
from entropy_theory.update_rules.rule import components

SETTINGS: dict[str, Any] = {
    "model": None, "temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "samples_per_prompt": 1,
    "max_new_tokens": None, "learning_rate": None,
}
"""Settings of a recipe beside its loss, with the values where nothing is set."""


class UntranslatableError(ValueError):
    """Raised for a loss that no rule here describes, or that no options of an engine describe."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The loss and samples that a configuration trains with."""

    rule: UpdateRule
    """The loss."""
    settings: Mapping[str, Any]
    """Values of `SETTINGS`."""
    by_default: tuple[str, ...] = ()
    """Options of the loss that the engine has on by default, where the rule has another default."""
    without_effect: tuple[str, ...] = ()
    """Options that were given, and that the engine does not read under the others."""


def parts(rule: UpdateRule) -> dict[str, UpdateRule]:
    """Return the rules that a rule is made of by name: its modifiers, outermost first, and last the loss.

    Raises:
        UntranslatableError: a sum of rules.
    """
    found: dict[str, UpdateRule] = {}
    for path, part in components(rule):
        if any(step != "base" for step in path):
            raise UntranslatableError(f"no engine has a sum of rules such as '{rule.name}'")
        if isinstance(part, ReferenceKl) and part.normalization is None:
            part = dataclasses.replace(part, normalization=length_normalization(part.base)[0])
        found["grpo" if part.name == "clip-higher" else part.name] = part
    return found


def differences(one: UpdateRule, other: UpdateRule) -> Iterator[tuple[str, Any, Any]]:
    """Yield where two rules differ: ``part.option`` and both values, or ``part`` where one lacks it."""
    here, there = parts(one), parts(other)
    for name in {**here, **there}:
        if name not in here or name not in there:
            yield name, "on" if name in here else "off", "on" if name in there else "off"
            continue
        for option in dataclasses.fields(here[name]):
            values = [getattr(each[name], option.name) for each in (here, there)]
            if not isinstance(values[0], UpdateRule) and values[0] != values[1]:
                yield f"{name}.{option.name}", *values


def as_table(rule: UpdateRule) -> dict[str, Any]:
    """Return a rule as a table, its name and what is not its default (`rule_options.from_table`)."""
    table: dict[str, Any] = {"name": rule.name}
    plain = type(rule)()
    for option in dataclasses.fields(rule):
        value = getattr(rule, option.name)
        if value != getattr(plain, option.name):
            table[option.name] = as_table(value) if isinstance(value, UpdateRule) else value
    return table
