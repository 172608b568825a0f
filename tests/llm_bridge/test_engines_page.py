"""Guards docs/engines_matrix.md: a rule runs where the page tells so, and is refused elsewhere."""

import re
from pathlib import Path

import pytest

from entropy_theory import update_rules
from llm_bridge import skyrl_plugin, verl_plugin
from llm_bridge.trainer.options import check_rule

PAGE = Path(__file__).parents[2] / "docs" / "engines_matrix.md"
HOSTS = [*4 * [lambda rule: check_rule(update_rules.get(rule))],
         *(lambda rule, host=host: host.make_rule(rule, {}) for host in (verl_plugin, skyrl_plugin))]
"""What refuses a rule: TRL's trainer under each sharding, and the adapters."""


ROWS = {cells[0]: cells[1:] for line in PAGE.read_text().splitlines()
        if (cells := line.strip("| ").split(" | "))[0] in update_rules.RULES}


def test_rules_are_on_the_page():
    assert len(ROWS) >= 13


@pytest.mark.parametrize("rule", ROWS)
def test_a_rule_runs_where_the_page_tells_so(rule):
    for host, cell in zip(HOSTS, ROWS[rule], strict=True):
        if cell == "refused":
            with pytest.raises(ValueError, match=rule):
                host(rule)
        else:
            host(rule)


@pytest.mark.parametrize(("engine", "host"), [("verl", verl_plugin), ("skyrl", skyrl_plugin)])
def test_pages_name_the_rules_that_run(engine, host):
    run, refused = [], []
    for rule in update_rules.RULES:
        try:
            host.make_rule(rule, {})
        except ValueError:
            refused.append(rule)
        else:
            run.append(rule)
    text = (PAGE.parent / "how_to" / f"{engine}.md").read_text()
    _, found, told = text.partition(
        "These rules do not run in verl" if engine == "verl" else "These rules run there")
    named = re.findall(r"`([a-z0-9-]+)`", told.split("`sampler-correction`, and `dppo`")[0])
    assert found
    assert sorted(set(named)) == sorted(refused if engine == "verl" else run)
