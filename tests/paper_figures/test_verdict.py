"""The rule of verdicts: what meets it, when a headline is shown, and what is refused."""

import math

import pytest

from paper_figures.figure import Finding
from paper_figures.verdict import Criterion, Headline, judge


def criterion(met, where=''):
    return Criterion(says="x", value=1.0 if met else 0.0, relation="≥", threshold=0.5, where=where)


@pytest.mark.parametrize(("relation", "met"), [(">", False), ("≥", True), ("<", False), ("≤", True)])
def test_a_number_on_its_threshold(relation, met):
    """A strict relation that lets equality through, or a weak one that does not."""
    assert Criterion(says="x", value=2.0, relation=relation, threshold=2.0).met is met


@pytest.mark.parametrize("relation", [">", "≥", "<", "≤"])
def test_what_was_not_measured_is_not_met(relation):
    """NaN, for which every comparison is false, taken for success by a negated one; NaN in JSON."""
    missing = Criterion(says="x", value=math.nan, relation=relation, threshold=0.0)
    assert not missing.met
    assert missing.record()["value"] is None


@pytest.mark.parametrize(("criteria", "verdict", "holds", "fails"), [
    ([criterion(True)], "holds", (), ()),
    ([criterion(False)], "core claim fails", (), ()),
    ([criterion(True, "a"), criterion(True, "b")], "holds", ("a", "b"), ()),
    ([criterion(True, "a"), criterion(False, "b")], "holds under a condition", ("a",), ("b",)),
    ([criterion(False, "a"), criterion(False, "b")], "core claim fails", (), ("a", "b")),
    ([criterion(True, "a"), criterion(False, "b"), criterion(False, "c")], "core claim fails", ("a",),
     ("b", "c")),
    ([criterion(True), criterion(True, "a"), criterion(False, "b"), criterion(False, "c")],
     "holds under a condition", ("a",), ("b", "c")),
    ([criterion(True), criterion(False, "a")], "holds under a condition", (), ("a",)),
    ([criterion(False), criterion(True, "a")], "core claim fails", ("a",), ()),
    ([criterion(True, "a"), criterion(False, "b"), criterion(False, "a")], "core claim fails", (),
     ("a", "b")),
    ([criterion(False, "a"), criterion(True, "a"), criterion(True, "b")], "holds under a condition",
     ("b",), ("a",)),
])
def test_the_rule(criteria, verdict, holds, fails):
    """A condition that counts although one of its criteria is not met; one that overrules the core; one
    of three that suffices where there is no core."""
    found = judge(criteria)
    assert (found.verdict, found.holds, found.fails) == (verdict, holds, fails)


@pytest.mark.parametrize(("holds", "fails", "met", "shown"), [
    ((), (), {"": True, "a": True}, True),
    ((), (), {"": True, "a": False}, False),
    (("a",), (), {"": False, "a": True}, True),
    (("a",), ("",), {"": False, "a": True}, True),
    (("a",), ("",), {"": True, "a": True}, False),
    (("a",), ("b",), {"a": True, "b": True}, False),
    (("a",), (), {"b": True}, False),
    ((), ("a",), {"b": True}, False),
    ((), (), {}, False),
])
def test_a_headline_is_shown_while_its_criteria_are_as_it_says(holds, fails, met, shown):
    """A sentence that stays when a number turns; one that rests on a condition that was not measured."""
    headline = Headline(says="It holds.", holds=holds, fails=fails)
    criteria = [criterion(value, where) for where, value in met.items()]
    assert headline.shown(criteria) == ("It holds." if shown else "")


def test_a_finding_has_criteria_or_says_why_not():
    """A verdict typed in over its criteria; a figure that is judged by nothing."""
    with pytest.raises(ValueError, match="needs criteria, or a standing"):
        Finding()
    assert Finding(criteria=(criterion(False),), standing="our own").verdict == "our own"
    with pytest.raises(ValueError, match="nothing to judge"):
        judge([])
