"""The proof kernel: what it is asked, what it refuses, and what is said where it is not installed."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shutil
from pathlib import Path

import pytest

from entropy_theory import __main__ as console
from entropy_theory.claims import all_claims, claims_in_file
from entropy_theory.verification import (
    Claim,
    Reading,
    Statement,
    bandit_instances,
    kernel,
    ledger,
    proofs,
    refutations,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.check import QUICK, judge
from entropy_theory.verification.formula import rocq_words
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.terms import UntraceableError

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"
needs_rocq = pytest.mark.skipif(kernel.rocq_version() is None, reason="Rocq is not installed")


@functools.cache
def written_proofs():
    return [proof for claim in all_claims().values() if (proof := proofs.proof_of(claim))]


@functools.cache
def written_refutations():
    return refutations.refutations_of(all_claims().values(), ledger.read_accepted())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the library that `prove` has compiled, where it has: it is compiled again if it changed."""
    found = tmp_path_factory.mktemp("project") / proofs.BUILD
    if proofs.BUILD.is_dir():
        shutil.copytree(proofs.BUILD, found)
    return found


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The worked example of docs/proofs.md, from the page itself."""
    place = tmp_path_factory.mktemp("example")
    text = PAGE.read_text()
    (place / "my_claims.py").write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1))
    blocks = re.findall(r"```coq\n(.*?)```", text, re.DOTALL)
    (place / "at_least_zero.v").write_text(blocks[1])
    (claim,) = claims_in_file(place / "my_claims.py").values()
    assert blocks[0].strip() in proofs.statement_text(claim)
    return claim


def changed(claim, tmp_path, text):
    path = tmp_path / "changed.v"
    path.write_text(text)
    return dataclasses.replace(claim, proof_file=str(path))


@needs_rocq
@pytest.mark.deep
def test_the_worked_example_is_proved(example, folder, monkeypatch):
    result = kernel.prove([example], folder=folder)[example.id]
    assert result.accepted, result.message
    assert set(result.axioms) <= set(kernel.axioms())
    (said,) = proofs.evidence(example, folder)
    assert said.outcome == "pass"
    assert proofs.RECORDED not in said.detail
    monkeypatch.chdir(folder.parents[len(proofs.BUILD.parts) - 1])
    assert judge(example, QUICK).statement == "proved"


SABOTAGES = {
    "admitted": (lambda t: re.sub(r"Proof\..*", "Proof. Admitted.", t, flags=re.DOTALL), "coqchk finds"),
    "an axiom": (lambda t: re.sub(r"Theorem proved(.*?)Proof\..*", r"Axiom proved\1", t, flags=re.DOTALL),
                 "coqchk finds"),
    "another theorem": (lambda t: re.sub(
        r"Theorem proved.*", "Theorem proved : 0 < 1.\nProof. lra. Qed.\n", t, flags=re.DOTALL), "line"),
    "does not compile": (lambda t: t.replace("Qed.", "ring. Qed."), "line"),
    "deleted": (lambda t: "", "proved"),
    "never ends": (lambda t: re.sub(
        r"Theorem proved(.*?)Proof\..*",
        r"Unset Guard Checking.\nFixpoint absurd (n : nat) : 0 = 1 := absurd n.\nSet Guard Checking.\n"
        r"Theorem proved\1Proof. exfalso; pose proof (absurd 0); lra. Qed.\n", t, flags=re.DOTALL),
        "unsafe (co)fixpoints"),
}


@needs_rocq
@pytest.mark.deep
@pytest.mark.parametrize("name", SABOTAGES)
def test_what_is_no_proof_is_refused_with_file_and_line(example, folder, tmp_path, name):
    change, told = SABOTAGES[name]
    claim = changed(example, tmp_path, change(Path(example.proof_file).read_text()))
    result = kernel.prove([claim], folder=folder)[claim.id]
    assert not result.accepted
    assert told in result.message
    (said,) = proofs.evidence(claim, folder)
    assert said.outcome == "fail"


ABSURD = "Theorem proved : Statements.{module}.statement.\nProof. exfalso; {by} Qed.\n"
SPOOFS = {
    # claim: (what its proof file has before a false theorem, how it is proved, why it is refused)
    "mine.Classical-Prop": ("Axiom classic : False.", "exact classic.", "classic"),
    "mine.FunctionalExtensionality": (
        "Axiom functional_extensionality_dep : False.", "exact functional_extensionality_dep.",
        "functional_extensionality_dep"),
    "mine.bare-name": ("Axiom classic : False.", "exact classic.", "Axioms: .*bare_name.classic"),
    "mine.inner-module": (
        "Module Classical_Prop. Axiom classic : False. End Classical_Prop.",
        "exact Classical_Prop.classic.", "classic"),
    "mine.notation": ("Axiom bad : False. Notation classic := bad.", "exact classic.", "Axioms: .*bad"),
    "mine.parameter": ("Parameter classic : False.", "exact classic.", "Axioms: .*classic"),
    "mine.variable": ("Variable sig_not_dec : False.", "exact sig_not_dec.", "Axioms: .*sig_not_dec"),
    "mine.open-section": ("Section S. Variable bad : False.", "exact bad.", "was not compiled"),
    "mine.module-type": (
        "Module Type T. Axiom classic : False. End T. Declare Module M : T.", "exact M.classic.",
        "Axioms: .*M.classic"),
    "mine.universes": (
        "From Coq.Logic Require Hurkens. Unset Universe Checking. Definition bad : False := "
        "Hurkens.TypeNeqSmallType.paradox Type eq_refl. Set Universe Checking.", "exact bad.",
        "type-in-type: .*bad"),
    "mine.guard": (
        "#[bypass_check(guard)] Fixpoint absurd (n : nat) : False := absurd n.", "exact (absurd 0%nat).",
        "fixpoints: .*absurd"),
    "mine.positivity": (
        "#[bypass_check(positivity)] Inductive T := C (f : T -> False).\n"
        "Definition no (t : T) : False := match t with C f => f t end.", "exact (no (C no)).",
        "positivity is assumed: .*T"),
    "mine.primitive": (
        "From Coq Require Import Uint63. Definition bad := of_to_Z 0%uint63. "
        "Axiom a : bad = bad -> False.",
        "exact (a eq_refl).", "Axioms: .*primitive.a"),
    "mine.printing": (
        "Axiom classic : False. #[global] Set Printing Width 10. #[global] Set Printing All.",
        "exact classic.", "Axioms: .*classic"),
    "mine.admitted": ("Lemma classic : False. Admitted.", "exact classic.", "Axioms: .*classic"),
}


@needs_rocq
@pytest.mark.deep
def test_no_axiom_passes_for_one_of_the_classical_reals(example, folder, tmp_path):
    """By a name that is printed like theirs, by flags, by what a file leaves open: for falsehoods."""
    claims = [example]
    for claim_id, (before, by, _) in SPOOFS.items():
        module = proofs.module_name(claim_id)
        name = module.partition(".")[2]
        path = tmp_path / f"{name}.v"
        path.write_text(
            f"From Coq Require Import Reals.\nFrom Trusted Require Import Definitions.\n"
            f"From Trusted.Statements.mine Require {name}.\n{before}\n"
            + ABSURD.format(module=module, by=by))
        claims.append(Claim(
            id=claim_id, source="nobody", title="", reading=Reading("inferred"),
            instances=bandit_instances(correct=False),
            statement=Statement(latex="", margin=lambda i: -1 - ar.entropy(i.logits)),
            proof_file=str(path)))
    results = kernel.prove(claims, folder=folder)
    assert [claim_id for claim_id, result in results.items() if result.accepted] == [example.id]
    for claim_id, (_, _, why) in SPOOFS.items():
        assert re.search(why, results[claim_id].message, re.DOTALL), results[claim_id].message
    for claim in claims[1:]:
        (said,) = proofs.evidence(claim, folder)
        assert said.outcome == "fail", claim.id


@needs_rocq
@pytest.mark.deep
def test_the_independent_checker_has_the_last_word(example, folder, tmp_path):
    """An axiom beside a sound proof is in no list of what the proof assumes."""
    claim = changed(example, tmp_path, "Axiom aside : False.\n" + Path(example.proof_file).read_text())
    result = kernel.prove([claim], folder=folder)[claim.id]
    assert not result.accepted
    assert "aside" in result.message


def test_words_of_a_claim_stay_in_the_comment_of_its_statement(example):
    for source in ("a *) Axiom b : False. (* c", "**)) Axiom b : False. (*("):
        text = proofs.statement_text(dataclasses.replace(example, source=source))
        header = text.partition("From Coq")[0]
        assert header.count("(*") == header.count("*)") == 1


def test_a_changed_statement_is_not_the_accepted_one(tmp_path, monkeypatch):
    """The digest is of the statement too: a claim that says something else is no longer proved."""
    path = tmp_path / "proof.v"
    path.write_text("Theorem proved : True. Proof. exact I. Qed.")
    claim = Claim(id="mine.claim", source="here", title="", reading=Reading("inferred"),
                  instances=bandit_instances(correct=False),
                  statement=Statement(latex="", margin=lambda i: ar.entropy(i.logits)),
                  proof_file=str(path))
    record = tmp_path / "accepted.json"
    monkeypatch.setattr(proofs, "accepted_path", lambda: record)
    (said,) = proofs.evidence(claim, tmp_path / "nowhere")
    assert said.outcome == "skipped"
    proof = proofs.proof_of(claim)
    proofs.write_json(record, {"proofs": {claim.id: {
        "accepted": True, "digest": proof.digest, "axioms": [], "message": "", "rocq": "8.16.1"}}})
    (said,) = proofs.evidence(claim, tmp_path / "nowhere")
    assert said.outcome == "pass"
    assert proofs.RECORDED in said.detail
    assert proofs.INSTALL in said.detail
    for other in (
        dataclasses.replace(claim.statement, margin=lambda i: ar.entropy(i.logits) + 1),
        dataclasses.replace(claim.statement, relation=">"),
    ):
        (said,) = proofs.evidence(dataclasses.replace(claim, statement=other), tmp_path / "nowhere")
        assert said.outcome == "skipped"
    path.write_text("Theorem proved : True. Proof. trivial. Qed.")
    (said,) = proofs.evidence(claim, tmp_path / "nowhere")
    assert said.outcome == "skipped"


def test_what_the_kernel_said_of_another_proof_is_not_put_on_record(example, tmp_path, monkeypatch):
    monkeypatch.setattr(proofs, "accepted_path", lambda: tmp_path / "accepted.json")
    for digest, kept in (("another", []), (proofs.proof_of(example).digest, [example.id])):
        proofs.write_json(tmp_path / "checked.json", {"proofs": {example.id: {"digest": digest}}})
        proofs.accept([proofs.proof_of(example)], folder=tmp_path)
        assert list(proofs.read_accepted()) == kept


def test_only_what_has_not_changed_since_a_record_is_passed_over(example, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel, "rocq_version", lambda: "8.16.1")
    monkeypatch.setattr(kernel, "_refuses_the_false", lambda folder: None)
    monkeypatch.setattr(kernel, "_compiled", lambda proofs, *_: {p.claim_id: "asked" for p in proofs})
    stands = {"accepted": True, "digest": proofs.proof_of(example).digest, "rocq": "8.16.1"}
    assert not kernel.prove([example], folder=tmp_path, standing={example.id: stands})
    for change in ({"digest": "another"}, {"rocq": "8.20.1"}, {"accepted": False}):
        record = {example.id: stands | change}
        assert list(kernel.prove([example], folder=tmp_path, standing=record)) == [example.id], change
    assert list(kernel.prove([example], folder=tmp_path, standing={"mine.other": stands})) == [example.id]


def test_a_file_that_records_no_proofs_is_an_error(tmp_path):
    (tmp_path / "a.json").write_text('{"proofs": {"x": {}}}')
    with pytest.raises(ValueError, match="'x' of 'proofs' of it has no 'accepted'"):
        console.prove(since=tmp_path / "a.json")


def test_the_independent_checker_is_read_to_the_last_line():
    report = ("\nCONTEXT SUMMARY\n===============\n\n* Theory: Set is predicative\n  \n* Axioms:\n"
              "    Coq.Reals.ClassicalDedekindReals.sig_not_dec\n    Coq.Logic.Classical_Prop.classic\n"
              "  \n* Constants/Inductives relying on type-in-type: <none>\n  \n")
    assert kernel._foreign(report) == []
    mine = "PolicyEntropy.claims.extension.global_tempering.proved"
    assert kernel._foreign(report.replace("Classical_Prop.classic", f"x\n    {mine}")) == [
        "Axioms: Coq.Logic.x", f"Axioms: {mine}"]
    assert kernel._foreign(report.replace("<none>", "T")) == [
        "Constants/Inductives relying on type-in-type: T"]
    assert kernel._foreign(report.replace("predicative", "impredicative"))
    assert kernel._foreign("")


@needs_rocq
@pytest.mark.parametrize("name", ["coqc", "coqchk"])
def test_programs_that_accept_everything_are_no_kernel(example, tmp_path, monkeypatch, name):
    programs = tmp_path / "programs"
    programs.mkdir()
    script = "#!/bin/sh\necho 8.16.1\nfor f in *.v; do touch ${f%.v}.vo; done\n"
    (programs / name).write_text(script)
    (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(kernel.KernelError, match=f"{name} lets a proof of False pass"):
        kernel.prove([example], folder=tmp_path / "build")


def test_what_is_trusted_is_what_was_accepted():
    """Definitions, axioms, the writer of statements, and the statements: a change is named."""
    assert proofs.changed_since_accepted() == []
    written = {path: path.read_text()
               for path in (proofs.formal_folder() / "trusted" / "Statements").rglob("*.v")}
    wanted = {proofs.formal_folder() / f"trusted/Statements/{p.place}.v": p.statement
              for p in (*written_proofs(), *written_refutations())}
    assert written == wanted, "run: policy-entropy prove --accept"


def test_trusted_files_ask_for_trusted_files_only():
    for path in (proofs.formal_folder() / "trusted").rglob("*.v"):
        roots = set(re.findall(r"^From (\w+)", path.read_text(), re.MULTILINE))
        assert roots <= {"Coq", "Coquelicot", "Trusted"}, path


def test_what_stands_beside_a_statement_is_used():
    """A definition that a reader has to understand though no theorem speaks of it."""
    for path in (proofs.formal_folder() / "trusted" / "Theorems").rglob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)
        parts = re.split(r"^(?=Definition |Fixpoint )", text, flags=re.MULTILINE)[1:]
        named = {part.split()[1]: part for part in parts}
        used = {name for name, part in named.items() if part.split()[2:4] == [":", "Prop"]}
        while more := {name for name in named.keys() - used if any(
                f"let {name} " not in named[other] and re.search(rf"\b{name}\b", named[other])
                for other in used)}:
            used |= more
        assert used == named.keys(), path


def test_no_name_has_a_second_meaning():
    def named(name):
        def other(x):
            """x alone."""
            return x

        other.__name__ = name
        return definition(other)

    for name in ("Rplus", "softmax"):
        function = named(name)
        statement = Statement(latex="", margin=lambda i, f=function: f(ar.entropy(i.logits)))
        claim = Claim(id="mine.claim", source="here", title="", statement=statement,
                      reading=Reading("inferred"), instances=bandit_instances(correct=False))
        with pytest.raises(UntraceableError, match=f"{name} has another meaning"):
            proofs.statement_text(claim)
    own = [name for file in rocq_words.DEFINITIONS for name in rocq_words.defined_in(file)]
    assert len(set(own)) == len(own)
    assert not rocq_words.STANDARD & set(own)


def test_definitions_have_no_command_but_definitions():
    """A notation or a flag would change what the text means to a reader."""
    sentence = re.compile(r"(?:From [\w.\s]+ Require|Import |Open Scope R_scope|Definition |Fixpoint )")
    for path in (proofs.formal_folder() / "trusted").rglob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)
        for command in re.split(r"\.(?=\s)", text):
            assert not command.strip() or sentence.match(command.strip()), (path, command)


def test_without_rocq_there_is_one_error_with_the_remedy(example, monkeypatch, tmp_path):
    monkeypatch.setattr(kernel.shutil, "which", lambda name: None)
    with pytest.raises(kernel.KernelError, match="apt install coq"):
        kernel.prove([example], folder=tmp_path)


def test_every_proof_belongs_to_a_claim():
    names = {proofs.module_name(claim_id) for claim_id in all_claims()}
    for folder in ("proofs/claims", "trusted/Theorems", "trusted/Conditions"):
        found = {f"{path.parent.name}.{path.stem}"
                 for path in (proofs.formal_folder() / folder).rglob("*.v")}
        assert found <= names, found - names


def test_every_proof_is_the_accepted_one():
    """What is committed was accepted as it stands: statement, theorems beside it, proof and library."""
    accepted = proofs.read_accepted()
    for proof in (*written_proofs(), *written_refutations(), proofs.sanity()):
        assert accepted[proof.claim_id]["accepted"]
        assert accepted[proof.claim_id]["digest"] == proof.digest, proof.claim_id
        assert accepted[proof.claim_id]["theorems"] == [stated for stated, _ in proof.theorems]
        assert set(accepted[proof.claim_id]["axioms"]) <= set(kernel.axioms())


def test_every_hypothesis_is_met_somewhere():
    assert [proof.claim_id for proof in written_proofs() if proof.unwitnessed] == []


def test_every_theorem_of_a_proof_file_is_used_or_bound():
    for proof in written_proofs():
        text = re.sub(r"\(\*.*?\*\)", "", proof.path.read_text(), flags=re.DOTALL)
        pieces = re.split(r"^(?:Theorem|Lemma|Corollary|Definition|Fixpoint|Ltac|Let)\s+([\w']+)", text,
                          flags=re.MULTILINE)
        bodies = dict(zip(pieces[1::2], pieces[2::2], strict=True))
        left = [proved.rpartition(".")[2] for _, proved in proof.theorems]
        used: set[str] = set()
        while left:
            name = left.pop()
            if name in bodies and name not in used:
                used.add(name)
                left += re.findall(r"[\w']+", bodies[name])
        unused = {name for name in set(bodies) - used
                  if re.search(rf"^(Theorem|Lemma|Corollary)\s+{name}\b", text, re.MULTILINE)}
        assert not unused, (proof.path, unused)


def test_no_proof_admits_anything():
    for path in proofs.formal_folder().rglob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", text), path


def test_every_proof_names_its_statement():
    """The kernel accepts what is convertible to the statement; a reader should see the same name."""
    for proof in written_proofs():
        name = f"Statements.{proof.module}.{proof.part}"
        assert f"\nTheorem proved : {name}.\n" in proof.path.read_text(), proof.path


def test_accepting_a_proof_without_its_witness_warns(monkeypatch, capsys):
    """A claim that was accepted, of which a slow test alone found that its hypotheses may be empty."""
    claim_id = "extension.coin-groups"
    proof = proofs.proof_of(all_claims()[claim_id])
    assert proof.witnesses
    without = dataclasses.replace(proof, needs={name: text.replace("Theorem witness", "Theorem other")
                                                for name, text in proof.needs.items()})
    for module, name in ((refutations, "check_installed"), (refutations, "write"),
                         (refutations, "accept_all")):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr(console.report, "print_proofs", lambda *_, **__: {})
    found = []
    for made in (proof, without):
        monkeypatch.setattr(proofs, "proof_of", lambda _, made=made: made)
        console.prove((claim_id,), accept=True)
        found.append(capsys.readouterr().err)
    assert ["no Theorem witness" in said for said in found] == [False, True]
