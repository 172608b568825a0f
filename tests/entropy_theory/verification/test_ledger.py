"""The ledger: its schema, exact counterexamples, and the comparison with the accepted one."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import Claim, Reading, ledger, proofs
from entropy_theory.verification.certify import check_instance
from entropy_theory.verification.check import checks, run_check
from entropy_theory.verification.instances import from_json, to_json
from entropy_theory.verification.verdict import derive
from tests.entropy_theory.verification import planted

FALSE = Claim(id="planted.false", source="here", title="planted", reading=planted.READING,
              statement=planted.ENTROPY_BELOW_ONE, instances=planted.POLICIES)


def judged(**options):
    evidence = [e for check in checks(FALSE, planted.TINY, **options) for e in run_check(check)]
    return ledger.entry(FALSE, evidence, derive(FALSE, evidence))


@pytest.fixture(scope="module")
def entry():
    return judged()


def test_schema(entry):
    """The fixed interface: other tools read these keys."""
    assert list(entry) == [
        "id", "source", "title", "statement", "hypotheses", "formula", "repaired_formula", "scope",
        "reading", "quotation", "place", "repair_note", "printed_steps", "samples",
        "verdict", "instead", "printed_proof", "proof", "axioms", "evidence", "counterexample",
        "searched", "left_open"]
    for evidence in entry["evidence"]:
        assert list(evidence) == [
            "method", "outcome", "detail", "cases", "seconds", "target", "name"]
        assert evidence["outcome"] in (
            "pass", "fail", "undecided", "timeout", "error", "skipped")
    assert entry["verdict"] == "refuted"
    assert entry["counterexample"]["weights"] == [1, 1, 2]


def test_accept_then_compare(entry, tmp_path):
    path = tmp_path / "ledger.json"
    assert ledger.differences([entry], ledger.read_accepted(path), known_ids=["planted.false"])
    ledger.accept([entry], known_ids=["planted.false"], path=path)
    accepted = ledger.read_accepted(path)
    assert "seconds" not in path.read_text()
    assert ledger.differences([entry], accepted, known_ids=["planted.false"]) == []
    for key, other in (*((key, "another") for key in ledger.WORDS),
                       ("samples", [2 * m for m in entry["samples"]])):
        line, remedy = ledger.differences([{**entry, key: other}], accepted, known_ids=["planted.false"])
        assert {"samples": "margin"}.get(key, key.replace("_", " ")) in line
        assert "policy-entropy verify planted.false --update-ledger" in remedy
    changed = {**entry, "verdict": "proved"}
    line, _ = ledger.differences([changed], accepted, known_ids=["planted.false"])
    assert "verdict is proved, accepted was refuted" in line
    (line,) = ledger.differences([], accepted, known_ids=[])
    assert "no longer a claim" in line
    ledger.accept([], known_ids=["another"], path=path)
    assert ledger.read_accepted(path) == {}


def test_a_change_of_words_or_statement_voids_a_sign_off(entry, tmp_path, monkeypatch):
    path = tmp_path / "ledger.json"
    ledger.accept([entry], known_ids=[FALSE.id], path=path)
    assert ledger.read_on(FALSE, ledger.read_accepted(path)[FALSE.id]) == ""
    ledger.sign([FALSE], by="somebody", on="2026-11-26", path=path)
    ledger.accept([entry], known_ids=[FALSE.id], path=path)  # a further run keeps it
    record = ledger.read_accepted(path)[FALSE.id]
    assert ledger.read_on(FALSE, record) == "2026-11-26"
    other = dataclasses.replace(FALSE.statement, relation=">")
    for change in ({"title": "louder"}, {"scope": "everywhere"}, {"reading": Reading("inferred")},
                   {"statement": other},
                   {"statement": dataclasses.replace(FALSE.statement, latex="H < 1")}):
        assert ledger.read_on(dataclasses.replace(FALSE, **change), record) == ""
    theorems = tmp_path / "trusted" / "Theorems" / "planted"
    theorems.mkdir(parents=True)
    (theorems / "false.v").write_text("Definition more : Prop := True.\n")
    monkeypatch.setattr(proofs, "formal_folder", lambda: tmp_path)
    assert ledger.read_on(FALSE, record) == ""
    with pytest.raises(ValueError, match="accept its verdict first"):
        ledger.sign([dataclasses.replace(FALSE, id="planted.other")], by="", on="", path=path)


def test_every_claim_says_what_was_accepted():
    """Words, formulas, titles, notes, sources and sampled margins; no search and no Rocq."""
    assert ledger.reworded(all_claims(), ledger.read_accepted()) == []


def test_a_claim_that_was_reworded_is_named_with_the_command_that_accepts_it():
    claim = all_claims()["aepo.theorem-4.3b"]
    louder = dataclasses.replace(claim, title=claim.title + ", in every language model")
    line, remedy = ledger.reworded({claim.id: louder}, ledger.read_accepted())
    assert line == "aepo.theorem-4.3b: its title changed since it was accepted"
    assert remedy.endswith("policy-entropy verify aepo.theorem-4.3b --update-ledger")
    unknown = dataclasses.replace(claim, id="aepo.theorem-9")
    line, _ = ledger.reworded({unknown.id: unknown}, ledger.read_accepted())
    assert "not in the accepted ledger" in line


def test_an_accepted_counterexample_is_checked_again(entry):
    """By code that did not find it: a corrupted one must not pass."""
    again = judged(accepted_counterexample=entry["counterexample"])
    assert any("accepted counterexample" in e["detail"] and e["outcome"] == "fail"
               for e in again["evidence"])
    # Hypothesis need not make another small then, and the claim keeps the one that it has.
    small = [["shrunk" in e["detail"] for e in found["evidence"]
              if e["method"] == "property" and e["outcome"] == "fail"] for found in (entry, again)]
    assert small == [[True], [False]]
    assert again["counterexample"] == entry["counterexample"]
    corrupted = judged(accepted_counterexample={"weights": [1, 9], "margin_interval": "[-1]"})
    assert corrupted["verdict"] == "undecided"


def test_instances_survive_json_exactly():
    instance = {"weights": [1, 4, 5], "correct": [False, True, False],
                "temperature": Fraction(4, 5), "step": [0.1, -2.0, 3.0]}
    assert from_json(to_json(instance)) == instance
    assert check_instance(planted.ENTROPY_BELOW_ONE,
                          from_json({"weights": [1, 1, 2]})).status == "violated"
