"""The templates of CONTRIBUTING.md and the numbers of the model card are what they say they are."""

from __future__ import annotations

import json
import re
import sys
from importlib import util
from pathlib import Path

import pytest

from entropy_theory.claims import claims_in_file
from entropy_theory.support.user_code import module_of_file
from entropy_theory.verification import rule_contract
from entropy_theory.verification.check import QUICK, judge
from llm_bridge.data import models
from paper_figures.figure import build

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RULE, CLAIM, FIGURE = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_rule_keeps_what_rules_must_keep(tmp_path):
    (tmp_path / "template_rule.py").write_text(RULE)
    (rule,) = rule_contract.rules_in(module_of_file(tmp_path / "template_rule.py")).values()
    findings = rule_contract.check_rule(rule, repeats=2)
    assert not [f for f in findings if f.outcome == "broken"]
    with pytest.raises(ValueError, match="above must be"):
        type(rule)(above=0)


def test_the_claim_holds(tmp_path):
    (tmp_path / "template_claim.py").write_text(CLAIM)
    (claim,) = claims_in_file(tmp_path / "template_claim.py").values()
    verdict = judge(claim, QUICK)
    assert verdict.statement == "verified"
    assert not verdict.problems


def test_the_figure_is_built_and_its_verdict_follows_the_table(tmp_path, simulated):
    path = tmp_path / "template_figure.py"
    path.write_text(FIGURE)
    spec = util.spec_from_file_location("template_figure", path)
    module = util.module_from_spec(spec)
    sys.modules["template_figure"] = module
    try:
        spec.loader.exec_module(module)
        record = build(module.FIGURE, simulated("aepo_figure_2"), tmp_path / "figures", ("svg",))
        assert record["verdicts"] == [{"verdict": "seen", "says": "seen: tabular"}]
        table = module.data(simulated("aepo_figure_2"))
        found = module.finding(table.assign(rate=-table["rate"]))
        assert module.FIGURE.verdicts(found) == {"tabular": "not seen"}
    finally:
        del sys.modules["template_figure"]


def test_the_model_card_says_what_was_measured():
    folder = models.locate("small-sums")
    card = (Path(folder) / "README.md").read_text()
    measured = json.loads((Path(folder) / "provenance.json").read_text())
    assert f"{measured['parameters']:,} parameters" in card
    for task, held_out in measured["held_out"].items():
        row = next(line for line in card.splitlines() if line.startswith(f"| `{task}`"))
        shown = [f"{held_out[key]:.2f}"[1:] for key in ("pass@1", "pass@8", "entropy")]
        assert [cell.strip() for cell in row.split("|")[3:6]] == shown
    assert f"{measured['history'][-1]['step']} steps" in card
