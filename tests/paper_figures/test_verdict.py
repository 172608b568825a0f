"""The rule of verdicts: what meets it, what the conditions are, and what is refused."""

from __future__ import annotations

import math

import pytest

from paper_figures.figure import Finding
from paper_figures.verdict import Criterion, Relation, judge


def criterion(met: bool, where: str = "") -> Criterion:
    return Criterion(says="x", value=1.0 if met else 0.0, relation="≥", threshold=0.5, where=where)


@pytest.mark.parametrize(("relation", "met"), [(">", False), ("≥", True), ("<", False), ("≤", True)])
def test_a_number_on_its_threshold(relation: Relation, met: bool) -> None:
    """A strict relation that lets equality through, or a weak one that does not."""
    assert Criterion(says="x", value=2.0, relation=relation, threshold=2.0).met is met


@pytest.mark.parametrize("relation", [">", "≥", "<", "≤"])
def test_what_was_not_measured_is_not_met(relation: Relation) -> None:
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
])
def test_the_rule(
    criteria: list[Criterion], verdict: str, holds: tuple[str, ...], fails: tuple[str, ...]
) -> None:
    """A condition that counts although one of its criteria is not met; one that overrules the core; one
    of three that suffices where there is no core."""
    found = judge(criteria)
    assert (found.verdict, found.holds, found.fails) == (verdict, holds, fails)


def test_conditions_are_named_and_long_lists_counted() -> None:
    """A finding that holds under conditions of which some are not named."""
    found = judge([criterion(True, "on a"), *(criterion(False, f"on {i}") for i in range(9))])
    assert found.conditions == ("Holds in 1 of 10: on a. "
                                "Fails in 9 of 10: on 0; on 1; on 2; and under 6 more conditions.")
    five = [criterion(i < 5, f"on {i}") for i in range(10)]
    assert judge(five).conditions == ("Holds in 5 of 10: on 0; on 1; on 2; on 3; on 4. "
                                      "Fails in 5 of 10: on 5; on 6; on 7; on 8; on 9.")
    assert judge([criterion(True), criterion(True, "on a")]).conditions == ""
    core = [criterion(True), criterion(False, "on a")]
    assert judge(core).conditions == "The core holds. Fails in 1 of 1: on a."
    core[0] = criterion(False)
    assert judge(core).conditions == "The core fails. Fails in 1 of 1: on a."


def test_a_finding_has_criteria_or_says_why_not() -> None:
    """A verdict typed in over its criteria; a figure that is judged by nothing."""
    with pytest.raises(ValueError, match="either criteria or a standing"):
        Finding(headline="h", text="t")
    with pytest.raises(ValueError, match="either criteria or a standing"):
        Finding(headline="h", text="t", criteria=(criterion(True),), standing="our own")
    with pytest.raises(ValueError, match="nothing to judge"):
        judge([])
