"""Guards against code that runs what it reads: a file, a checkpoint or a model from a hub.

Ruff refuses `eval`, `exec`, pickles, unsafe YAML and shells (rules S in pyproject.toml), but for a user's
own Python file, which is executed because the user names it. Here is what Ruff does not know.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOMS = ("entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures", "policy_entropy")
ROOT = Path(str(importlib.util.find_spec("entropy_theory").origin)).parents[1]


def unsafe(source: str) -> Iterator[str]:
    """The calls of a module that can run what they read."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name, given = ast.unparse(node.func), {o.arg: ast.unparse(o.value) for o in node.keywords}
            if (name in ("joblib.load", "__import__")
                    or (name == "torch.load" and given.get("weights_only") != "True")
                    or given.get("trust_remote_code") == "True"
                    or given.get("allow_pickle", "False") != "False"):
                yield ast.unparse(node)


def test_nothing_that_is_read_is_executed():
    assert not [(path, call) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))
                for call in unsafe(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("source", [
    "torch.load(path)", "torch.load(path, weights_only=False)", "np.load(path, allow_pickle=chosen)",
    "AutoModel.from_pretrained(name, trust_remote_code=True)", "joblib.load(path)",
])
def test_what_is_unsafe_is_seen(source):
    """A search that finds nothing anywhere would pass too."""
    assert list(unsafe(source))
    assert not list(unsafe("torch.load(path, weights_only=True); np.load(path)"))
