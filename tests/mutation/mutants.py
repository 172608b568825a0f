"""The small bugs that are tried: where they are put, what the line is then, and what is left alone.

Cosmic Ray's operators make them. What means nothing when it changes is left alone: annotations, text
(f-strings, and all of a ``raise``), blocks for type checkers, arguments of decorators, which say how a
class is written (frozen, slots, keyword-only) and not what it computes, caches, which save time,
``strict`` of a ``zip``, which tells of a bug elsewhere, and the number in ``reshape(-1)``, for NumPy
takes every negative length for the one that is left.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.plugins import get_operator

OPERATORS = tuple(f"core/{name}" for name in (
    "AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue",
    "NumberReplacer", "ExceptionReplacer", "RemoveDecorator", "ZeroIterationForLoop",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak",
    "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Invert",
    *(f"ReplaceBinaryOperator_{pair}" for pair in (
        "Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Div", "Mod_Mul", "Pow_Mul",
        "BitAnd_BitOr", "BitOr_BitAnd", "BitXor_BitAnd", "LShift_RShift", "RShift_LShift")),
    # Each comparison at its boundary, and turned round.
    *(f"ReplaceComparisonOperator_{pair}" for pair in (
        "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt",
        "Lt_GtE", "LtE_Gt", "Gt_LtE", "GtE_Lt")),
))
"""Of Cosmic Ray's: one or two plausible slips for each piece of code, not each other operator."""

CACHE = re.compile(r"\s*@(functools\.)?(lru_)?cache\b")
"""Decorators that save time."""

Place = tuple[int, int]
"""Line, from 1, and column, from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One small bug in one file."""

    file: str
    """Path from the repository's root."""
    operator: str
    """Cosmic Ray's name."""
    occurrence: int
    """Which place of the file where the operator applies, counted as Cosmic Ray does."""
    line: int
    scope: str
    """Function or class that holds it, as a qualified name; empty at the module's level."""
    in_body: bool
    """Whether it lies within a function's body, so that importing the module does not run it."""

    @property
    def key(self) -> str:
        """A name for it among the mutants of all files, as they are."""
        return f"{self.file}:{self.operator}:{self.occurrence}"


class Source:
    """A file to be mutated."""

    def __init__(self, root: Path, file: str) -> None:
        self.file = file
        self.text = (root / file).read_text()

    def mutants(self) -> Iterator[Mutant]:
        """All mutants that are not left alone, by operator and place."""
        tree = ast.parse(self.text)
        columns, lines = _columns(self.text), self.text.splitlines()
        silent = [_span(node, columns) for node in _left_alone(tree)]
        operations = [(_end(node.left, columns), _start(node.right, columns))
                      for node in ast.walk(tree) if isinstance(node, ast.BinOp)]
        nodes = list(ast_nodes(parso.parse(self.text)))
        for name in OPERATORS:
            operator = get_operator(name)()
            places = (place for node in nodes for place in operator.mutation_positions(node))
            for occurrence, (start, end) in enumerate(places):
                if any(low <= start and end <= high for low, high in silent):
                    continue
                if name.endswith("RemoveDecorator") and CACHE.match(lines[start[0] - 1]):
                    continue
                # Cosmic Ray takes a lone * or / among parameters for a product.
                if "BinaryOperator" in name and not any(
                        low <= start and end <= high for low, high in operations):
                    continue
                scope, in_body = _scope(tree, start)
                yield Mutant(file=self.file, operator=name, occurrence=occurrence, line=start[0],
                             scope=scope, in_body=in_body)

    def mutated(self, mutant: Mutant) -> str:
        """The file's text with the bug in it."""
        visitor = MutationVisitor(mutant.occurrence, get_operator(mutant.operator)())
        # The visitor changes the tree that it walks.
        tree = visitor.walk(parso.parse(self.text))
        if not visitor.mutation_applied:
            raise LookupError(f"{mutant.key} is no mutant of the file as it is")
        return tree.get_code()

    def change(self, mutant: Mutant) -> tuple[str, str]:
        """The mutant's line before and after, without indentation; after is empty where the line goes."""
        before, after = self.text.splitlines(), self.mutated(mutant).splitlines()
        changed = after[mutant.line - 1] if len(before) == len(after) else ""
        return " ".join(before[mutant.line - 1].split()), " ".join(changed.split())


def _left_alone(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr):
            yield node
        elif isinstance(node, ast.AnnAssign) or (isinstance(node, ast.arg) and node.annotation):
            yield node.annotation
        elif isinstance(node, ast.FunctionDef):
            if node.returns:
                yield node.returns
            yield from (d for d in node.decorator_list if isinstance(d, ast.Call))
        elif isinstance(node, ast.ClassDef):
            yield from (d for d in node.decorator_list if isinstance(d, ast.Call))
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            yield node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "reshape":
            yield from (size.operand for size in node.args
                        if isinstance(size, ast.UnaryOp) and isinstance(size.operand, ast.Constant))
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield node


def _scope(tree: ast.Module, place: Place) -> tuple[str, bool]:
    names, in_body, body = [], False, tree.body
    while True:
        inside = [node for node in body
                  if isinstance(node, ast.FunctionDef | ast.ClassDef)
                  and node.lineno <= place[0] <= (node.end_lineno or 0)]
        if not inside:
            return ".".join(names), in_body
        names.append(inside[0].name)
        if isinstance(inside[0], ast.FunctionDef) and place[0] >= inside[0].body[0].lineno:
            in_body = True
        body = inside[0].body


def _columns(text: str) -> Any:
    """From Python's columns, which count bytes, to parso's, which count characters."""
    lines = text.splitlines()
    return lambda line, column: len(lines[line - 1].encode()[:column].decode())


def _start(node: Any, columns: Any) -> Place:
    return node.lineno, columns(node.lineno, node.col_offset)


def _end(node: Any, columns: Any) -> Place:
    return node.end_lineno, columns(node.end_lineno, node.end_col_offset)


def _span(node: ast.AST, columns: Any) -> tuple[Place, Place]:
    return _start(node, columns), _end(node, columns)
