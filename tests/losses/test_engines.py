"""Guards llm_bridge/conformance/record.json: the engines' own functions give what the record has.

These tests run where the engines are (`make test-losses`), and are skipped elsewhere.
"""

import pytest

from llm_bridge.conformance import engines, record

if absent := [name for name in engines.PACKAGES if engines.installed(name) is None]:
    pytest.skip(f"no {', '.join(absent)} here: make test-losses", allow_module_level=True)

from llm_bridge.conformance import comparison, verification

CASES = {name: engines.module(name).CASES for name in engines.PACKAGES}
PLAIN = {"name": "reinforce", "normalization": "token-mean"}


@pytest.mark.parametrize("engine", CASES)
def test_the_record_is_what_the_engine_s_functions_give(engine):
    found, problems = verification.verified([engine])
    assert problems == []
    assert verification.differences(found, record.rows()) == []
    accepted = {verification._key(row): row.gap for row in record.rows()}
    for row in found:
        if row.departure:
            assert row.gap == pytest.approx(accepted[verification._key(row)], rel=0.2)


@pytest.mark.parametrize("engine", CASES)
def test_a_wrong_rule_is_noticed(engine):
    """What is called equal must depend on the rule: plain REINFORCE is none of these."""
    for case in CASES[engine]:
        if not case.departure and case.rule["name"] != "reinforce" and not case.of_advantages:
            assert comparison.gap(case, 3, PLAIN) > 1e-5, case


@pytest.mark.parametrize("key", record.departures())
def test_a_departure_can_be_reproduced_as_its_engine_is_told(key):
    for name in engines.PACKAGES:
        comparison.gap(CASES[name][0], 1)  # imports the engine, with stand-ins
    exec(record.departures()[key].reproduction, {})


@pytest.mark.parametrize("engine", CASES)
def test_all_that_an_engine_registers_is_compared_or_has_a_reason(engine):
    module = engines.module(engine)
    if hasattr(module, "registered"):
        compared = {case.subject for case in module.CASES} | getattr(module, "CORRECTED", frozenset())
        assert module.registered() == compared & module.registered() | module.WITHOUT_RULE.keys()
        assert not compared & module.WITHOUT_RULE.keys()
