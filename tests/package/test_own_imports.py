"""Guards what files that other environments run, such as ``make test-verl``, import from ours.

Nothing else here would see that a module they need was moved.
"""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OWN = {"entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures", "policy_entropy",
       "benchmarks", "tests"}
ELSEWHERE = ("tests/verl", "tests/skyrl", "tests/vllm", "tests/losses", "benchmarks")


def there(module: str, name: str) -> bool:
    """Whether a module of ours has a name, as far as this environment can import it."""
    if module.startswith(("tests.verl.", "tests.skyrl.", "tests.vllm.", "tests.losses.")):
        return importlib.util.find_spec(module) is not None  # it skips itself where its engine is missing
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        return importlib.util.find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError as error:
        # Of an engine that is not installed here; a module of our own would be missing everywhere.
        return (error.name or "").split(".")[0] not in OWN


@pytest.mark.parametrize("folder", ELSEWHERE)
def test_what_other_environments_import_is_there(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    asked = {(path.relative_to(ROOT), node.module, alias.name)
             for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OWN
             for alias in node.names}
    assert len(asked) > len(files) / 2
    assert not [one for one in sorted(asked) if not there(*one[1:])]


@pytest.mark.parametrize(("module", "name", "found"), [
    ("tests.rules_by_hand", "OPTIONS", True), ("tests", "rules", True),
    ("tests.rules_by_hand", "SELDOM", False), ("tests.active_rules", "OPTIONS", False)])
def test_what_is_missing_is_seen(module, name, found):
    assert there(module, name) is found
