"""Guards the docstrings of the packages: they are there, and they are sentences.

A docstring that opens with "Of ..." or in the middle of a sentence says nothing to a reader who has not
read the code before it. Formulas may open a docstring: a symbol is no word.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests import prose

PACKAGES = ("entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures", "policy_entropy")
ROOT = Path(__file__).parents[1]
# Names that are written with a small letter, and functions that open a formula.
LOWER_CASE = {
    "abs", "beta", "bound", "eta", "exp", "grad", "kappa", "lambda", "log", "max", "min", "omega", "pass",
    "pytest", "softmax", "sum", "transformers", "verl",
}
FRAGMENT = re.compile(r"(Of|As|Also|Likewise)\b|The same( (of|for|at|if|with|in|as)\b|[:;,.])")


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def documented(path: Path) -> Iterator[tuple[str, int, str]]:
    """(what, line, text) of each docstring in a file, those after fields and constants included."""
    tree = tree_of(path)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        before: ast.stmt | None = None
        for statement in node.body:
            is_field = isinstance(before, ast.Assign | ast.AnnAssign)
            if (before is None or is_field) and (text := _text(statement)) is not None:
                name = getattr(node, "name", "the module")
                yield name, statement.lineno, text
            before = statement


def is_fragment(text: str) -> bool:
    """Whether a docstring opens with "Of ..." or with a small letter that begins no symbol."""
    if FRAGMENT.match(text):
        return True
    word = re.match(r"([a-z]{3,})(?=[ .,;:'])", text)
    return bool(word) and word[1] not in LOWER_CASE


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def _text(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else None
    return None


@pytest.mark.parametrize(("text", "expected"), [
    ("Of the runs, each its own.", True),
    ("own ones, and from there on the new ones.", True),
    ("As `clause.broken`; what the rule raises is wrong too.", True),
    ("The same of the second batch.", True),
    ("pi / pi_old, capped.", False),
    ("d H/dt along dz/dt = x.", False),
    ("log pi - log pi_old, nats.", False),
    ("Official numbers of the paper.", False),
])
def test_a_fragment_is_told_from_a_formula(text: str, expected: bool) -> None:
    assert is_fragment(text) is expected


def test_docstrings_open_as_sentences() -> None:
    """Fails on a docstring that only the code before it explains."""
    found = [f"{path.relative_to(ROOT)}:{line} {name}: {text.split(chr(10))[0][:80]}"
             for path in files() for name, line, text in documented(path) if is_fragment(text)]
    assert not found, "\n".join(found)


def test_public_methods_are_documented() -> None:
    """Of classes and functions Ruff asks it; a method may have its words where it was first defined, and
    those of NumPy's arrays have theirs there."""
    known = {*dir(np.ndarray), *(name for path in files() for name, _, _ in documented(path))}
    found = [f"{path.relative_to(ROOT)}:{method.lineno} {node.name}.{method.name}"
             for path in files() for node in tree_of(path).body if isinstance(node, ast.ClassDef)
             for method in node.body
             if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")
             and not node.name.startswith("_") and method.name not in known]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("habit", "sentence"), [
    ("over 28 words", "The run " + "and the run " * 9 + "end."),
    ("three or more of ; : ( -", "A rule: it has a score; its terms (two of them) are added."),
    ("opens with a free relative", "What is drawn is kept."),
    ("a X a Y", "The store keeps one file a run."),
    ("is no N", "A bound is no proof."),
    ("a thing that speaks", "The page says that it holds."),
])
def test_a_habit_is_found_in_its_sentence_alone(habit: str, sentence: str) -> None:
    plain = "The trainer writes `one file a run`, and there are no others (see below)."
    assert _habits(sentence) == [habit]
    assert not _habits(plain)


def _habits(text: str) -> list[str]:
    return [name for sentence in prose.sentences(text) for name, found in prose.RULES.items()
            if found(sentence)]


@pytest.mark.parametrize(("name", "source", "habit"), [
    ("shown.toml", 'metric = ["What is drawn is kept."]', "opens with a free relative"),
    ("shown.toml", '[one.options]\nengine = {option = "What is drawn is kept."}', None),
    ("one.ipynb", '{"cells": [{"cell_type": "markdown", "source": ["It is ", "no proof."]}]}', "is no N"),
    ("one.ipynb", '{"cells": [{"cell_type": "code", "source": ["A bound is no proof."]}]}', None),
    ("page.md", "# " + "of a rule " * 4, "heading over 10 words"),
    ("page.md", "# A rule\n\n```python\n# " + "of a rule " * 4 + "\n```\n", None),
])
def test_every_kind_of_file_is_read(name: str, source: str, habit: str | None, tmp_path: Path) -> None:
    (path := tmp_path / name).write_text(source, encoding="utf-8")
    assert [found for _, found, _ in prose.hits(path)] == ([habit] if habit else [])


def test_files_that_readers_are_shown_are_read() -> None:
    assert {path.suffix for path in prose.files()} == {".md", ".ipynb", ".toml", ".py"}


def test_code_tables_and_formulas_are_not_sentences() -> None:
    page = "# What is it\n\n| What is a cell | one file a run |\n\n```\nWhat is no rule at all\n```\n"
    assert not list(prose.sentences(page))
    formula = "The gap x = a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p is small."
    (sentence,) = prose.sentences(formula)
    assert not prose.RULES["over 28 words"](sentence)
