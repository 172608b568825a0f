"""Guards docs/engines_matrix.md: every rule is on it, and refused there where it is refused."""

from pathlib import Path

import pytest

from entropy_theory import update_rules
from llm_bridge import skyrl_plugin, verl_plugin
from llm_bridge.trainer.options import check_rule

PAGE = Path(__file__).parents[2] / "docs" / "engines_matrix.md"
HOSTS = [*4 * [lambda rule: check_rule(update_rules.get(rule))],
         *(lambda rule, host=host: host.make_rule(rule, {}) for host in (verl_plugin, skyrl_plugin))]
"""What refuses a rule: TRL's trainer under each sharding, and the adapters."""


@pytest.mark.parametrize("rule", update_rules.RULES)
def test_the_page_says_where_a_rule_runs(rule):
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| {rule} |"))
    for host, cell in zip(HOSTS, line.strip("| ").split(" | ")[1:], strict=True):
        if cell == "refused":
            with pytest.raises(ValueError, match=rule):
                host(rule)
        else:
            host(rule)
