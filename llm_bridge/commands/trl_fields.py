"""The options of TRL's GRPOConfig and the kinds of their values, read off the sources.

To import GRPOConfig takes ten seconds, in which a mistyped option would go unanswered.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import operator
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from entropy_theory.support.typed_values import is_union
from entropy_theory.support.user_errors import need

CLASSES = (
    ("transformers", "training_args.py", "TrainingArguments"),
    ("trl", "trainer/base_config.py", "_BaseConfig"),
    ("trl", "trainer/grpo_config.py", "GRPOConfig"),
)
"""GRPOConfig after its bases: package, file and class of each dataclass."""
KINDS = {"bool": bool, "int": int, "float": float, "str": str, "None": type(None), "NoneType": type(None)}
"""The kinds of values that a text can be read as."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """An option of GRPOConfig."""

    annotation: str
    """The annotation in its source."""
    kind: Any
    """The union of those of its kinds that are in `KINDS`; Any where none is."""


@functools.cache
def fields() -> dict[str, Field]:
    """Return the options of the installed TRL's GRPOConfig by name."""
    need("reading options of TRL", "trl")
    try:
        return _of_sources()
    except (OSError, LookupError):  # a release that keeps its classes elsewhere: right, if slow
        return _of_class()


def _of_sources() -> dict[str, Field]:
    """Raise an OSError or a LookupError where a source is not what `CLASSES` says of it."""
    found: dict[str, Field] = {}
    bases: list[str] = []
    for package, file, name in CLASSES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        module = ast.parse((Path(spec.origin).parent / file).read_text(encoding="utf-8")).body
        classes = {node.name: node for node in module if isinstance(node, ast.ClassDef)}
        if [ast.unparse(base) for base in classes[name].bases] != bases:
            raise LookupError(f"{name} in {file} has other bases than {bases}")
        found |= {ast.unparse(line.target): _field(ast.unparse(line.annotation), _parts(line.annotation))
                  for line in classes[name].body if isinstance(line, ast.AnnAssign)}
        bases = [name]
    return found


def _of_class() -> dict[str, Field]:
    from llm_bridge.trainer.trl_release import GRPOConfig

    found: dict[str, Field] = {}
    hints = typing.get_type_hints(GRPOConfig)
    for option in (option for option in dataclasses.fields(GRPOConfig) if option.init):
        hint = hints[option.name]
        parts = typing.get_args(hint) if is_union(hint) else (hint,)
        found[option.name] = _field(str(hint), (getattr(part, "__name__", "") for part in parts))
    return found


def _field(annotation: str, parts: Iterable[str]) -> Field:
    kinds = [KINDS[part] for part in parts if part in KINDS]
    return Field(annotation=annotation, kind=functools.reduce(operator.or_, kinds) if kinds else Any)


def _parts(annotation: ast.expr) -> Iterator[str]:
    """Yield the members of a union written with "|"."""
    if isinstance(annotation, ast.BinOp):
        yield from _parts(annotation.left)
        yield from _parts(annotation.right)
    else:
        yield ast.unparse(annotation)
