"""The rule of verdicts: what meets it, in which model, when a headline is shown, and what is refused."""

import math

import numpy as np
import pytest

from paper_figures.figure import Finding
from paper_figures.verdict import Criterion, Headline, Number, described, judge, mean_of, share_of

SEEN, NOT, OPEN = Number(1.0, 0.8, 1.2), Number(0.0, -0.1, 0.1), Number(0.6, 0.4, 0.8)


def criterion(value=SEEN, where="", *, model="tabular", beyond=False, reported=None):
    """The number is to be at least 0.5."""
    return Criterion("x", value, "≥", 0.5, where, model, beyond=beyond, reported=reported)


@pytest.mark.parametrize(("relation", "met"), [(">", False), ("≥", True), ("<", False), ("≤", True)])
def test_a_number_on_its_threshold(relation, met):
    """A strict relation that lets equality through, or a weak one that does not."""
    one = Criterion("x", 2.0, relation, 2.0)
    assert one.met is met
    assert one.outcome == ("seen" if met else "not seen")


@pytest.mark.parametrize("relation", [">", "≥", "<", "≤"])
def test_what_was_not_measured_decides_nothing(relation):
    """NaN, for which every comparison is false, taken for success by a negated one; NaN in JSON."""
    missing = Criterion("x", math.nan, relation, 0.0)
    assert not missing.met
    assert missing.outcome == "undecided"
    assert missing.record()["value"] is None


@pytest.mark.parametrize(("value", "reported", "outcome"), [
    (SEEN, None, "seen"),
    (NOT, None, "not seen"),
    (OPEN, None, "undecided"),
    (Number(0.2, 0.0, 0.45), None, "not seen"),
    (Number(0.2, 0.0, 0.45), 0.9, "not seen"),
    (Number(1.0, 0.8, 1.2, seeds=1), None, "undecided"),
    (Number(0.0, -0.1, 0.1, seeds=1), None, "undecided"),
    (Number(1.0, 0.8, 1.2, seeds=2), None, "seen"),
    (mean_of([1.0]), None, "undecided"),
])
def test_an_interval_decides_only_as_a_whole(value, reported, outcome):
    """A mean above its threshold that counts although its interval is not; one seed that decides."""
    assert criterion(value, reported=reported).outcome == outcome


def test_an_interval_that_holds_what_the_paper_reports_does_not_speak_against_it():
    """A lead that the paper has as .5 sharp, ours below it but for rounding, held against it."""
    below = Criterion("x", Number(0.2, -0.1, 0.5), ">", 0.5)
    assert below.outcome == "not seen"
    assert Criterion("x", Number(-0.2, -0.5, 0.0), ">", -0.0, reported=0.02).outcome == "not seen"
    assert Criterion("x", Number(-0.01, -0.05, 0.03), ">", 0, reported=0.02).outcome == "undecided"


def test_no_criterion_asks_for_more_than_the_paper_reports():
    """A lead of .05 asked for where the paper itself has .016: a verdict that nobody could meet."""
    with pytest.raises(ValueError, match=r"> 0.05.*reports 0.016: ask for no more"):
        Criterion("lead", 0.04, ">", 0.05, reported=0.016)


def test_the_interval_of_a_mean_is_students():
    """A normal quantile in place of Student's: by hand t(.975, 3) = 3.1824."""
    found = mean_of([1.0, 2.0, 3.0, 4.0], seeds=True)
    half = 3.182446 * np.std([1, 2, 3, 4], ddof=1) / 2
    assert (found.value, found.seeds) == (2.5, 4)
    assert found.low == pytest.approx(2.5 - half, rel=1e-6)
    assert found.high == pytest.approx(2.5 + half, rel=1e-6)


@pytest.mark.parametrize(("hits", "of", "low", "high"), [
    (8, 8, 0.025 ** (1 / 8), 1.0), (0, 8, 0.0, 1 - 0.025 ** (1 / 8)), (7, 8, 0.473490, 0.996840)])
def test_the_interval_of_a_share_is_binomial(hits, of, low, high):
    """No width where all starts agree; an end beyond 0 or 1. 7 of 8: in Clopper and Pearson's tables."""
    found = share_of([True] * hits + [False] * (of - hits))
    assert found.value == hits / of
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)


@pytest.mark.parametrize(("criteria", "verdict"), [
    ([criterion()], "seen"),
    ([criterion(NOT)], "not seen"),
    ([criterion(OPEN)], "undecided"),
    ([criterion(), criterion(OPEN)], "undecided"),
    ([criterion(where="a"), criterion(where="b")], "seen"),
    ([criterion(where="a"), criterion(NOT, "b"), criterion(NOT, "c")], "seen in part"),
    ([criterion(where="a"), criterion(OPEN, "b")], "seen in part"),
    ([criterion(NOT, "a"), criterion(NOT, "b")], "not seen"),
    ([criterion(NOT, "a"), criterion(OPEN, "b")], "undecided"),
    ([criterion(NOT), criterion(where="a"), criterion(where="b")], "not seen"),
    ([criterion(), criterion(NOT, "a")], "not seen"),
    ([criterion(OPEN), criterion(where="a")], "undecided"),
    ([criterion(where="a"), criterion(NOT, "a"), criterion(where="b")], "seen in part"),
    ([criterion(), criterion(NOT, "a", beyond=True)], "seen"),
    ([criterion(NOT), *(criterion(where=w, beyond=True) for w in "abc")], "not seen"),
])
def test_the_rule(criteria, verdict):
    """Three settings that outvote one; a setting that counts although one of its criteria is not met; a
    condition that the paper does not have and that decides all the same."""
    assert judge(criteria) == {"tabular": verdict}


def test_each_model_has_a_verdict_of_its_own():
    """A bandit's verdict that stands for a network; the number of seeds left out."""
    network = [criterion(Number(0.0, -0.1, 0.1, seeds=3), model="0.8M transformer"),
               criterion(Number(0.0, -0.1, 0.1, seeds=2), model="0.8M transformer")]
    found = judge([criterion(), *network])
    assert found == {"tabular": "seen", "0.8M transformer": "not seen"}
    assert described("0.8M transformer", "not seen", network) == (
        "not seen: 0.8M transformer, 2 to 3 seeds")


def test_only_a_sentence_about_the_very_model_is_refuted():
    """A table of logits that refutes a sentence about language models; our precise form called theirs."""
    criteria = [criterion(where="a"), criterion(NOT, "b")]
    assert judge(criteria, "literal") == {"tabular": "refuted"}
    assert judge(criteria, "precise") == {"tabular": "fails as we read it"}
    assert judge([criterion(), criterion(NOT, "b", beyond=True)], "literal") == {"tabular": "seen"}
    assert judge([criterion(NOT, beyond=True)]) == {}


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
    """A sentence that stays when a number turns, that rests on what was not measured, or has no model."""
    headline = Headline(says="It holds.", holds=holds, fails=fails)
    criteria = [criterion(SEEN if value else NOT, where) for where, value in met.items()]
    assert headline.shown(criteria) == ("Tabular: It holds." if shown else "")


def test_beyond_the_paper_counts_for_a_headline_only_where_nothing_else_does():
    """A setting called not seen in a headline because of a condition that is our own."""
    mixed = [criterion(where="a"), criterion(NOT, "a", beyond=True), criterion(NOT, "b", beyond=True)]
    assert Headline(says="x", holds=("a",), fails=("b",)).shown(mixed) == "Tabular: x"


def test_a_finding_has_criteria_or_says_why_not():
    """A figure that is judged by nothing; a criterion without a model."""
    with pytest.raises(ValueError, match="needs criteria, or a standing"):
        Finding()
    (one,) = Finding(criteria=(criterion(model=""),), model="0.8M transformer").criteria
    assert one.model == "0.8M transformer"


def test_a_refutation_of_a_part_is_named_as_one():
    """A badge that calls the whole of a sentence refuted where a part of it was seen."""
    part = [criterion(), criterion(NOT, "b")]
    assert described("tabular", "fails as we read it", part) == "fails as we read it: tabular, in part"
    assert described("tabular", "refuted", part[1:]) == "refuted: tabular"
