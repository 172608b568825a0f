"""Guards docs/engines_matrix.md: it says what the tests recorded, of every rule."""

import json
from pathlib import Path

import pytest

from entropy_theory import update_rules
from tests.llm_bridge import engine_matrix
from tests.llm_bridge.sharded_processes import CASES

ROOT = Path(__file__).parents[2]


def test_the_page_says_what_is_kept():
    """It is made by ``python -m tests.llm_bridge.engine_matrix``."""
    found = json.loads(engine_matrix.KEPT.read_text())
    assert engine_matrix.PAGE.read_text() == engine_matrix.page(found)


def test_a_rule_without_a_measurement_is_untested_and_a_new_one_gets_a_row():
    page = engine_matrix.page({"fsdp2": {"grpo": 3e-7}})
    rows = [line for line in page.splitlines() if line.startswith(("| grpo |", "| reinforce |"))]
    assert rows[0].startswith("| grpo | untested | equal, 3e-07 | untested |")
    assert rows[1].startswith("| reinforce | untested | untested |")
    for rule in update_rules.RULES:
        assert f"| {rule} |" in page


def test_every_rule_that_trains_is_measured():
    refused = {rule for rule in update_rules.RULES if engine_matrix.refused_by_trl(rule)}
    assert set(update_rules.RULES) - refused <= set(CASES)
    assert set(engine_matrix.VARIANT_NAMES) == (set(CASES) - set(update_rules.RULES)) | {
        "resumed", "2 to 1", "1 to 2"}


@pytest.mark.parametrize("plugin", engine_matrix.COMPARED)
def test_a_rule_that_is_equal_on_an_engine_is_compared_there(plugin):
    """A rule that an engine's adapter takes, and that no test there runs, is untested."""
    folder = plugin.__name__.rpartition(".")[2].removesuffix("_plugin")
    tests = "".join(path.read_text() for path in (ROOT / "tests" / folder).glob("*.py"))
    compared = engine_matrix.COMPARED[plugin]
    for rule, other in compared.items():
        assert f'"{rule}"' in tests, rule
        assert all(name in tests for name in other.split("`")[1::2]), rule
    unknown = set(update_rules.RULES) - set(compared)
    assert {engine_matrix.hosted(plugin, rule) for rule in unknown} <= {"refused", "untested"}
