"""Guards llm_bridge/conformance: the record fits today's rules and cases, and the command shows it."""

import dataclasses
import json
from pathlib import Path

import pytest

from entropy_theory.update_rules import RULES
from llm_bridge.conformance import command, engines, page, record, verification

PAGE = Path(__file__).parents[2] / "docs" / "losses.md"
REMEDY = "run policy-entropy losses --update-record in the environment of make test-losses"


def test_the_record_is_not_older_than_the_rules():
    now = {name: record.digest(RULES[name]) for name in record.digests()}
    old = [name for name, digest in record.digests().items() if now[name] != digest]
    assert not old, f"{', '.join(old)} changed since the record: {REMEDY}"


def test_the_record_has_digests_of_its_rules():
    """`tests/rules.json` has the engines of each rule."""
    assert {name for row in record.rows() for name in row.names} == record.digests().keys()


def test_the_record_has_the_cases_of_today():
    """Reading them needs no engine."""
    cases = [record.Row(engine=name, version=engines.PACKAGES[name].version, function=case.function,
                        options=case.options, drawn=case.drawn, rule=case.rule, gap=0.0,
                        departure=case.departure)
             for name in engines.PACKAGES for case in engines.module(name).CASES]
    plain = [record.Row(**json.loads(json.dumps(dataclasses.asdict(case)))) for case in cases]
    assert verification.differences(plain, record.rows()) == [], REMEDY


def test_the_page_is_that_of_the_record():
    assert PAGE.read_text(encoding="utf-8") == page.page(), (
        "run python -m llm_bridge.conformance.page > docs/losses.md")


def test_gaps_are_those_of_equals_or_of_a_known_departure():
    known = record.departures()
    used = {row.departure for row in record.rows()} - {""}
    assert used == known.keys()
    for row in record.rows():
        assert row.gap <= (known[row.departure].at_most if row.departure else 1e-10), row
    assert {each.right for each in known.values()} <= {"rule", "engine", "either"}


def test_a_changed_formula_changes_the_digest_and_a_comment_does_not(monkeypatch):
    before = {name: record.digest(RULES[name]) for name in ("grpo", "gspo", "reinforce")}
    source = record.inspect.getsource

    def changed(old, new):
        monkeypatch.setattr(record.inspect, "getsource", lambda module: source(module).replace(old, new)
                            if module.__name__.endswith("update_rules.grpo") else source(module))
        return {name for name, digest in before.items() if record.digest(RULES[name]) != digest}

    assert changed("# ", "# !") | changed('"""eps_low', '"""The eps_low') == set()
    assert changed("advantage >= 0", "advantage > 0") == {"grpo", "gspo"}


def test_the_command_shows_the_record(capsys):
    assert command.losses() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(record.rows()) + sum(map(len, record.without_rule().values()))
    assert command.losses("verl") == 0
    assert "clip-cov" in capsys.readouterr().out
    assert command.losses("k3-clamp") == 0
    shown = capsys.readouterr().out
    assert "Right: rule" in shown
    assert "assert x.grad == 0" in shown


def test_without_engines_the_command_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(engines, "installed", lambda name: None)
    with pytest.raises(ValueError, match="make test-losses"):
        command.losses(verify=True)
    with pytest.raises(ValueError, match="did you mean verl"):
        command.losses("verll")
