"""Update rules by name; each is one file here and runs unchanged on numpy and torch.

>>> from entropy_theory import update_rules
>>> rule = update_rules.get("aepo", alpha=1.0, target=0.5)

A user's own rule goes by its import path, ``my_rules.py:Thrifty`` (see
`entropy_theory.support.user_code`), wherever a rule has a name:
in Python, as ``base`` of another, in a sweep, in LLM training. One that an installed package has in the
entry points of `GROUP` goes by the name that it has there.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import typing
from collections.abc import Mapping
from typing import Any

from entropy_theory.array_types import Array
from entropy_theory.support.installed import load_installed
from entropy_theory.support.typed_values import in_words, is_union
from entropy_theory.support.user_code import load
from entropy_theory.support.user_errors import lookup
from entropy_theory.update_rules.combine import Combined
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, UpdateRule, registered, update_rule

GROUP = "policy_entropy.rules"
"""The group of entry points in which installed packages name rules; a name in `RULES` stays ours."""

__all__ = ["GROUP", "RULES", "Modifier", "Needs", "UpdateRule", "combine", "get", "is_rule", "rule_class",
           "update_rule"]


def rule_class(name: str) -> type[UpdateRule]:
    """Return the class of a rule, by its name or by the import path of a user's own.

    Raises:
        ValueError: an unknown name, a class without ``name``, or as `user_code.load` or `load_installed`.
    """
    if name.endswith(".py"):
        raise ValueError(f"update rule '{name}' is a file: name a class in it, {name}:CLASS")
    if name in RULES:
        return RULES[name]
    rule: type[UpdateRule]
    if ":" not in name:
        noun = "subclass of UpdateRule with a name"
        rule = load_installed(name, GROUP, RULES, "update rule", noun, _is_named_rule)
        return rule
    rule = load(name, "update rule", "subclass of UpdateRule", is_rule)
    if not _is_named_rule(rule):
        raise ValueError(
            f"update rule '{name}' has no name: put @update_rule(\"thrifty\") above its class"
        )
    return rule


def is_rule(value: Any) -> bool:
    """Whether ``kind`` is the class of a rule."""
    return isinstance(value, type) and issubclass(value, UpdateRule)


def _is_named_rule(value: Any) -> bool:
    return is_rule(value) and isinstance(getattr(value, "name", None), str)


def get(name: str, **options: Any) -> UpdateRule:
    """Make the update rule ``name`` with its options; by default these have the papers' values.

    ``name`` may be the import path of a rule of your own, ``my_rules.py:Thrifty`` or
    ``my_package.rules:Thrifty``. ``base`` may be given by name ("grpo"), by import path or as a rule.

    Raises:
        ValueError: an unknown rule or option (the nearest names are given), or a bad value.
    """
    rule = rule_class(name)
    known = {f.name: f for f in dataclasses.fields(rule)}
    for option in options:
        lookup(known, option, f"option of update rule '{name}':")
    if isinstance(options.get("base"), str):
        options["base"] = get(options["base"])
    _check_texts(rule, options)
    try:
        return rule(**options)
    except TypeError as error:  # an option without default, whose name Python says
        raise ValueError(f"update rule '{name}' cannot be made: {error}") from None


def _check_texts(rule: type[UpdateRule], options: Mapping[str, Any]) -> None:
    """Raise ValueError for a text where an option is a number or an array (one per run)."""
    texts = {option: value for option, value in options.items() if isinstance(value, str)}
    hints = typing.get_type_hints(rule) if texts else {}
    for option, value in texts.items():
        hint = float if hints[option] is Array else hints[option]
        kinds = typing.get_args(hint) if is_union(hint) else (hint,)
        if str not in kinds and not {int, float, bool}.isdisjoint(kinds):
            wanted = in_words(hint, {type(None): "None"})
            raise ValueError(f"{option} must be {wanted}, got {value!r}")


def combine(*rules: UpdateRule) -> UpdateRule:
    """The rule whose scores and state terms are the sums over ``rules``."""
    return Combined(rules=rules)


for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")  # registers the rules that it defines
RULES = dict(sorted(registered.items()))
"""The rules of this package by name."""
