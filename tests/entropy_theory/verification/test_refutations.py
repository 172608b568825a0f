"""Refuted claims: each counterexample is a theorem about the statement that the claim makes today."""

import dataclasses
import re
import shutil

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import kernel, ledger, proofs, refutations

CLAIMS = all_claims()
LEDGER = ledger.read_accepted()
REFUTED = {i: record["counterexample"] for i, record in LEDGER.items() if record["counterexample"]}
needs_interval = pytest.mark.skipif(
    kernel.rocq_version() is None or not refutations.is_installed(),
    reason=f"Rocq or coq-interval is not installed: {refutations.INSTALL}")


@pytest.mark.parametrize("source", sorted({i.partition(".")[0] for i in REFUTED}))
def test_every_counterexample_is_an_accepted_theorem(source):
    without = [i for i, stored in REFUTED.items()
               if i.startswith(source) and not refutations.theorem(CLAIMS[i], stored)]
    assert not without, f"run: policy-entropy prove --accept {' '.join(without)}"


def test_no_file_is_left_of_a_claim_that_is_not_refuted():
    files = set((proofs.formal_folder() / "proofs" / "claims" / "refuted").rglob("*.v"))
    assert files == {refutations.proof_file(CLAIMS[i]) for i in REFUTED}


def test_what_is_refuted_is_the_negation_of_the_claims_statement():
    claim = CLAIMS["aepo.asymmetry"]
    text = refutations.refutation_of(claim, REFUTED[claim.id]).statement
    printed = text.index("Definition printed")
    formal = claim.statement.formula.rocq(beside=False)
    assert formal.replace("Definition statement", "Definition printed") in text
    said = re.sub(r"\(\*.*?\*\)", "", text[printed:]).split(".\n")[1:]
    assert said[0].startswith("\nDefinition defined : Prop :=\n  forall")
    assert said[1:] == ["\n\nDefinition refuted : Prop := ~ printed", ""]


def reversed_sign(claim):
    """The claim that says the opposite of its margin's sign."""
    statement = dataclasses.replace(claim.statement, margin=lambda i: -claim.statement.margin(i))
    return dataclasses.replace(claim, statement=statement, mutants=())


def test_another_instance_or_statement_is_not_what_was_accepted():
    claim = CLAIMS["aepo.asymmetry"]
    stored = REFUTED[claim.id]
    assert refutations.theorem(claim, stored)
    assert not refutations.theorem(claim, stored | {"temperature_low": "3/4"})
    assert not refutations.theorem(claim, None)
    assert not refutations.theorem(reversed_sign(claim), stored)


def test_where_a_refuted_statement_divides_its_domain_is_proved():
    """A counterexample by a number that nobody means: a refutation without a proof of `defined`."""
    for claim_id, stored in REFUTED.items():
        proof = refutations.refutation_of(CLAIMS[claim_id], stored)
        divides = "Definition defined " in proof.statement
        stated = [of.rpartition(".")[2] for of, _ in proof.theorems]
        assert stated == ["refuted", "defined"][:1 + divides], claim_id
        assert ("\nTheorem defined : " in proof.path.read_text()) == divides, claim_id


@needs_interval
@pytest.mark.deep
def test_no_false_refutation_passes(tmp_path, monkeypatch):
    """A reversed sign, an instance where the claim holds, one beyond its hypotheses, an axiom."""
    folder = tmp_path / proofs.BUILD
    if proofs.BUILD.is_dir():
        shutil.copytree(proofs.BUILD, folder)
    claim = CLAIMS["aepo.asymmetry"]
    stored = REFUTED[claim.id]
    true = refutations.refutation_of(claim, stored)

    def sabotaged(name, changed=claim, ends=r"\g<0>", **values):
        """The theorem of another claim or instance, in files of its own."""
        text = refutations.proof_text(claim, stored | values)
        text = re.sub(r"refuted\.aepo( Require |\.)asymmetry", rf"refuted.mine\1{name}", text)
        text = re.sub(r"Proof\..*", ends, text, flags=re.DOTALL)
        text += refutations._DEFINED.format(source="refuted.mine", name=name)
        path = tmp_path / f"{name}.v"
        path.write_text(text)
        statement = true.statement.replace(
            *(c.statement.formula.rocq("printed", beside=False) for c in (claim, changed)))
        return proofs.gathered(name, true.part, f"refuted.mine.{name}", path, statement)

    wanted = [sabotaged("reversed", reversed_sign(claim)), sabotaged("holds", weights=[1, 2]),
              sabotaged("beyond", temperature_high="1/2"),
              sabotaged("assumed", ends="Proof. Admitted.\n", weights=[1, 2])]
    monkeypatch.setattr(refutations, "refutations_of", lambda claims, ledger: wanted)
    results = kernel.prove([], folder=folder, jobs=1, refuting=True)
    assert not any(result.accepted for result in results.values())
    for name in ("reversed", "holds", "beyond"):
        assert "line" in results[name].message
    assert "coqchk finds" in results["assumed"].message
