"""Describes rules and their options from their classes, for the command line and the site."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

from entropy_theory.update_rules.rule import UpdateRule


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """An option of a rule, in words."""

    name: str
    kind: str
    default: str
    meaning: str


def options(kind: type[UpdateRule]) -> list[Option]:
    """Return the options of a rule; the meanings are the docstrings below its class's fields."""
    meanings = _field_docstrings(kind)
    return [
        Option(name=field.name, kind=_kind(field.type), default=_default(field),
               meaning=" ".join(meanings.get(field.name, "").split()))
        for field in dataclasses.fields(kind)
    ]


def headline(kind: type[UpdateRule]) -> str:
    """Return the first line of the docstring of the rule's module, or else of its class."""
    return next(iter((_documented(kind) or inspect.getdoc(kind) or "").splitlines()), "")


def as_text(kind: type[UpdateRule]) -> str:
    """Describe a rule, its formula and its options for a terminal."""
    lines = [f"{kind.name}: {inspect.getdoc(kind)}", "", _documented(kind), ""]
    for option in options(kind):
        lines.append(f"{option.name} = {option.default}  ({option.kind})")
        if option.meaning:
            lines.append(textwrap.indent(textwrap.fill(option.meaning, 96), "    "))
    if not options(kind):
        lines.append("It has no options.")
    return "\n".join(lines)


def as_record(kind: type[UpdateRule]) -> dict[str, Any]:
    """Return name, headline and options of a rule for JSON."""
    return {"name": kind.name, "title": headline(kind), "source": kind.__module__,
            "options": [dataclasses.asdict(option) for option in options(kind)]}


def _documented(kind: type[UpdateRule]) -> str:
    return inspect.cleandoc(sys.modules[kind.__module__].__doc__ or "")


def _kind(annotation: Any) -> str:
    """Return an annotation as its source has it, whether Python kept it as text or evaluated it."""
    if isinstance(annotation, type):
        return annotation.__name__
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(field: dataclasses.Field[object]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        made: Any = field.default_factory()
        return str(made.name) if isinstance(made, UpdateRule) else repr(made)
    return "none: it must be given" if field.default is dataclasses.MISSING else repr(field.default)


def _field_docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings that stand below a class's fields, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        try:
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError):  # a class that was made without a file
            continue
        body = node.body if isinstance(node, ast.ClassDef) else []
        for before, after in itertools.pairwise(body):
            if (isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
                    and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)):
                found[before.target.id] = inspect.cleandoc(str(after.value.value))
    return found
