"""The ladder: which evidence gives which verdict, and nothing else does."""

from __future__ import annotations

import dataclasses

import pytest

from entropy_theory.verification import Claim, Condition, Mutant, PrintedStep, Reading, Step
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.claim import Evidence
from entropy_theory.verification.formula import limits
from entropy_theory.verification.report import print_table, summarize
from entropy_theory.verification.verdict import derive
from tests.entropy_theory.verification import planted

STEP = Step(name="measured", statement="", method="experiment", check=lambda: ("pass", ""))
WITNESS = {"weights": [1, 1, 2], "margin_interval": "[-0.04 +/- 1e-9]"}
MUTANT = Mutant(name="reversed", statement=planted.AT_MOST_LOG_N)

SEARCHED = Evidence(method="search", outcome="pass", detail="")
TESTED = Evidence(method="property", outcome="pass", detail="")
REJECTED = Evidence(method="mutant", outcome="pass", detail="", target="mutant", name="reversed")
VIOLATED = Evidence(method="search", outcome="fail", detail="", counterexample=WITNESS)
MEASURED = Evidence(method="experiment", outcome="pass", detail="", name="measured")
SYMBOLIC = Evidence(method="symbolic", outcome="pass", detail="")
CLEAN = (SEARCHED, TESTED, REJECTED)


def claim(**changes):
    return dataclasses.replace(
        Claim(id="planted.claim-1", source="here", title="", reading=planted.READING,
              statement=planted.AT_MOST_LOG_N, instances=planted.POLICIES, mutants=(MUTANT,)),
        **changes,
    )


def changed(evidence, **changes):
    return dataclasses.replace(evidence, **changes)


def about(target, *evidence):
    return tuple(dataclasses.replace(e, target=target) for e in evidence)


KERNEL = Evidence(method="kernel", outcome="pass", detail="")
REPAIRED = planted.AT_MOST_LOG_N
RESTRICTED = dataclasses.replace(REPAIRED, conditions=(
    Condition(latex="H > 0", value=lambda i: ar.entropy(i.logits)),))
ANOTHER = planted.ENTROPY_BELOW_ONE
LIMIT = dataclasses.replace(
    planted.AT_MOST_LOG_N, beyond=lambda i: (limits.tends_to(lambda k: ar.entropy(i.logits), 0),))
HOLDS_INSTEAD = about("repair", SEARCHED, TESTED)

LADDER = [
    ("verified", claim(), CLEAN),
    ("proved", claim(), (*CLEAN, KERNEL)),
    # Whatever the kernel accepted, it was not a margin that is no formula.
    ("verified", claim(statement=planted.COMPUTED_AT_MOST_LOG_N), (*CLEAN, KERNEL)),
    ("refuted", claim(statement=planted.COMPUTED_AT_MOST_LOG_N, repair=REPAIRED, repair_is="hypothesis"),
     (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD, *about("repair", KERNEL))),
    # Nothing has changed since the kernel accepted it, or something has.
    ("verified", claim(), (*CLEAN, changed(KERNEL, outcome="skipped"))),
    ("undecided", claim(), (*CLEAN, changed(KERNEL, outcome="fail"))),
    ("undecided", claim(), (*CLEAN, changed(KERNEL, outcome="error"))),
    ("undecided", claim(), (SEARCHED, REJECTED, KERNEL)),
    # SymPy writes a few sizes out: that proves nothing for all, but what it denies is in doubt.
    ("verified", claim(symbolic=True), (*CLEAN, SYMBOLIC)),
    ("proved", claim(symbolic=True), (*CLEAN, KERNEL, SYMBOLIC)),
    ("undecided", claim(symbolic=True), (*CLEAN, KERNEL, changed(SYMBOLIC, outcome="fail"))),
    ("undecided", claim(symbolic=True), (*CLEAN, KERNEL, changed(SYMBOLIC, outcome="timeout"))),
    ("undecided", claim(symbolic=True), (*CLEAN, KERNEL)),
    ("undecided", claim(symbolic=True), (*CLEAN, KERNEL, changed(SYMBOLIC, target="printed proof"))),
    # No search can falsify a limit.
    ("undecided", claim(statement=LIMIT), CLEAN),
    ("proved", claim(statement=LIMIT), (*CLEAN, KERNEL)),
    ("first-order", claim(first_order=True), (*CLEAN, KERNEL)),
    ("verified", claim(first_order=True), CLEAN),
    ("refuted", claim(), (VIOLATED, TESTED, REJECTED)),
    ("refuted", claim(repair=REPAIRED), (VIOLATED, TESTED, REJECTED)),
    ("refuted", claim(repair=REPAIRED), (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD)),
    ("refuted", claim(repair=REPAIRED),
     (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD, *about("repair", KERNEL))),
    ("corrected", claim(repair=REPAIRED, repair_is="correction"),
     (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD)),
    ("true with a hypothesis", claim(repair=RESTRICTED, repair_is="hypothesis"),
     (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD, *about("repair", KERNEL))),
    ("refuted", claim(repair=RESTRICTED, repair_is="hypothesis"),
     (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD)),
    # A repair that is said to add a hypothesis, but concludes something else.
    ("undecided", claim(repair=ANOTHER, repair_is="hypothesis"),
     (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD, *about("repair", KERNEL))),
    ("undecided", claim(), (VIOLATED, TESTED, REJECTED, KERNEL)),
    # An approximate law: exactly false, but experiments measure in which sense it holds.
    ("empirical", claim(experiments=(STEP,)),
     (VIOLATED, TESTED, REJECTED, *about("experiment", MEASURED))),
    ("undecided", claim(experiments=(STEP,)),
     (VIOLATED, TESTED, REJECTED, *about("experiment", changed(MEASURED, outcome="fail")))),
    ("undecided", claim(experiments=(STEP,)), (VIOLATED, TESTED, REJECTED)),
    # A statement that nothing violates needs its experiments too.
    ("verified", claim(experiments=(STEP,)), (*CLEAN, *about("experiment", MEASURED))),
    ("undecided", claim(experiments=(STEP,)),
     (*CLEAN, *about("experiment", changed(MEASURED, outcome="fail")))),
    # The repair is violated as well: the whole claim is in doubt, not "refuted with a repair".
    ("undecided", claim(repair=REPAIRED),
     (VIOLATED, TESTED, REJECTED, *about("repair", VIOLATED, TESTED))),
    ("undecided", claim(), (SEARCHED, TESTED, changed(REJECTED, outcome="fail"))),
    ("undecided", claim(), (SEARCHED, TESTED)),
    ("undecided", claim(mutants=()), (SEARCHED, TESTED)),
    ("undecided", claim(), (SEARCHED, REJECTED)),
    ("undecided", claim(), (changed(SEARCHED, outcome="error"), TESTED, REJECTED)),
    ("undecided", claim(), (changed(SEARCHED, outcome="timeout"), TESTED, REJECTED)),
]


@pytest.mark.parametrize(("expected", "judged", "evidence"), LADDER,
                         ids=[f"{k}-{row[0]}" for k, row in enumerate(LADDER)])
def test_ladder(expected, judged, evidence):
    assert derive(judged, evidence).statement == expected


def test_a_counterexample_of_an_untrusted_check_is_not_called_a_failure_of_the_claim(capsys):
    """A verdict of "undecided", beside it that the claim fails."""
    for evidence, fails in (((VIOLATED, TESTED, REJECTED), True), ((VIOLATED, TESTED), False)):
        one, verdict = claim(), derive(claim(), evidence)
        print_table({one.id: one}, {one.id: verdict}, {one.id: evidence})
        assert (f"{one.id} fails at" in capsys.readouterr().out) is fails
        assert summarize(one, evidence, verdict).splitlines()[1].startswith("fails at") is fails


def test_the_counterexample_is_the_searchs():
    assert derive(claim(), (VIOLATED, TESTED, REJECTED)).counterexample == WITNESS


def test_a_float_violation_without_certificate_is_no_refutation():
    uncertified = changed(VIOLATED, counterexample=None)
    assert derive(claim(), (uncertified, TESTED, REJECTED)).statement == "undecided"


@pytest.mark.parametrize(
    ("printed", "completed", "expected"),
    [("pass", None, "ok"), ("fail", "pass", "gap"), ("fail", "fail", "wrong"),
     ("fail", None, "wrong"), ("timeout", "pass", "undecided")],
)
def test_printed_proof(printed, completed, expected):
    step = PrintedStep(as_printed=dataclasses.replace(STEP, name="printed"),
                       completed=dataclasses.replace(STEP, name="completed"))
    evidence = [*CLEAN, changed(MEASURED, name="printed", outcome=printed, target="printed proof")]
    if completed is not None:
        evidence.append(
            changed(MEASURED, name="completed", outcome=completed, target="printed proof"))
    verdict = derive(claim(printed_proof=(step,)), evidence)
    assert verdict.printed_proof == expected
    assert verdict.statement == "verified"


def test_no_printed_proof():
    assert derive(claim(), CLEAN).printed_proof == "none"


def test_the_text_that_was_judged():
    """A proof whose displays are lost is no proof that was read."""
    step = PrintedStep(as_printed=dataclasses.replace(STEP, name="printed"))
    evidence = [*CLEAN, changed(MEASURED, name="printed", target="printed proof")]
    for text, expected in (("printed", "ok"), ("reconstructed", "reconstructed"),
                           ("not in sources", "not in sources")):
        judged = claim(printed_proof=(step,), proof_text=text)
        assert derive(judged, evidence).printed_proof == expected


@pytest.mark.parametrize("kind", ["precise", "inferred"])
def test_only_what_is_read_literally_is_refuted(kind):
    judged = claim(reading=Reading(kind, place="here"))
    assert derive(judged, (VIOLATED, TESTED, REJECTED)).statement == "fails as we read it"
    assert derive(claim(), (VIOLATED, TESTED, REJECTED)).statement == "refuted"


def test_what_holds_instead_has_its_own_standing():
    judged = claim(repair=REPAIRED)
    found = derive(judged, (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD))
    assert (found.statement, found.instead) == ("refuted", "verified")
    found = derive(judged, (VIOLATED, TESTED, REJECTED, *HOLDS_INSTEAD, *about("repair", KERNEL)))
    assert (found.statement, found.instead) == ("refuted", "proved")
