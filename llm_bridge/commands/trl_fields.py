"""The options of TRL's GRPOConfig and the kinds of their values, read off the sources.

To import GRPOConfig takes ten seconds, in which a mistyped option would go unanswered.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_theory.support.user_errors import need

CLASSES = (
    ("transformers", "training_args.py", "TrainingArguments"),
    ("trl", "trainer/base_config.py", "_BaseConfig"),
    ("trl", "trainer/grpo_config.py", "GRPOConfig"),
)
"""GRPOConfig after its bases: package, file and class of each dataclass."""
KINDS = {"bool": bool, "int": int, "float": float, "str": str, "None": type(None)}
"""The kinds of values that a text can be read as."""


@dataclass(frozen=True, kw_only=True, slots=True)
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
    found: dict[str, Field] = {}
    for package, file, name in CLASSES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        module = ast.parse((Path(spec.origin).parent / file).read_text(encoding="utf-8")).body
        body = next(node.body for node in module if isinstance(node, ast.ClassDef) and node.name == name)
        found |= {ast.unparse(line.target): _field(line.annotation)
                  for line in body if isinstance(line, ast.AnnAssign)}
    return found


def _field(annotation: ast.expr) -> Field:
    kinds = [KINDS[part] for part in map(ast.unparse, _parts(annotation)) if part in KINDS]
    return Field(annotation=ast.unparse(annotation),
                 kind=functools.reduce(operator.or_, kinds) if kinds else Any)


def _parts(annotation: ast.expr) -> Iterator[ast.expr]:
    """Yield the members of a union written with "|"."""
    if isinstance(annotation, ast.BinOp):
        yield from _parts(annotation.left)
        yield from _parts(annotation.right)
    else:
        yield annotation
