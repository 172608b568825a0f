"""The pages of claims and papers: each has what an author needs to check, and to contest, a sentence."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import ledger, proofs
from entropy_theory.verification.floats import describe
from paper_figures.site import claims as claim_pages
from paper_figures.site import figures as figure_pages
from paper_figures.site import lemmas, markup, papers
from policy_entropy import __main__ as console
from tests.daily import one_in

CLAIMS = all_claims()
RECORDS = ledger.read_accepted()
SECTIONS = ("The statement", "In the proof kernel", "How it is read", "Contest this")
THREE = ("aepo.table-1-superior", "aent.squeezes-unsampled", "entropy-mechanism.printed-forms")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of each claim, and of each paper, as Markdown."""
    pages = claim_pages.pages(CLAIMS, {}, tmp_path_factory.mktemp("results"))
    return {name: page.replace("\\", "") for name, page in {**pages, **papers.pages(CLAIMS, [])}.items()}


def shown(words: str) -> str:
    """Words as they stand on a page, whose escapes the fixture has dropped."""
    return markup.prose_or_formula(words).replace("\\", "")


def test_every_claims_page_has_each_part(written):
    for claim_id, claim in CLAIMS.items():
        page, record = written[f"claims/{claim_id}"], RECORDS[claim_id]
        top = page.partition("## The statement")[0]
        headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
        assert set(SECTIONS) <= set(headings), claim_id
        # Quotation, place and reading are the claim's own.
        assert (f"> {shown(claim.reading.quotation)}\n" in top) == bool(claim.reading.quotation), claim_id
        assert shown(claim.reading.place) in top, claim_id
        assert f"*{claim.reading.kind.capitalize()}*" in top, claim_id
        assert shown(claim.scope) in top, claim_id
        # The verdict, with the hypotheses of what is said to hold.
        assert markup.badge(record["verdict"]) in top, claim_id
        for condition in (claim.repair or claim.statement).conditions:
            assert shown(condition.latex) in top, claim_id
        assert (record.get("read", {}).get("on", "by nobody yet") in top), claim_id
        assert ("## Counterexample" in page) == bool(record["counterexample"]), claim_id
        if record["counterexample"]:
            assert describe(record["counterexample"]) in page, claim_id


def test_lemmas_stand_below_all_that_use_them(tmp_path):
    """A name is the file's own lemma above it, else that of the library file which is imported last."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "Old.v").write_text("Lemma base : 0 = 0. Qed.\n\nLemma shared : 0 = 0. exact base. Qed.\n")
    (library / "New.v").write_text(
        "From PolicyEntropy.library Require Import Old.\nLemma shared : 1 = 1. Qed.\n"
        "Lemma step : 1 = 1. rewrite base, shared; trivial. Qed.\n")
    proof = tmp_path / "claim.v"
    proof.write_text(
        "(* Lemma no : unused. *)\nFrom PolicyEntropy.library Require Import\n  Old New.\n"
        "Lemma first : 2 = 2. intro second; exact shared. Qed.\n"
        "Lemma second : 2 = 2. apply step, first. Qed.\n"
        "Theorem proved : Statements.claim.statement. apply second, first. Qed.\n")
    users = {name: [user for _, user in by] for (_, name), by in lemmas.users(proof, library).items()}
    assert list(users.items()) == [
        ("proved", []), ("second", ["proved"]), ("step", ["second"]), ("first", ["proved", "second"]),
        ("shared", ["first"])]
    assert lemmas.statements(proof, library).splitlines() == [
        "- `proved : Statements.claim.statement`", "- `second : 2 = 2`", "- `first : 2 = 2`"]
    drawn = lemmas.graph(proof, library)
    assert re.findall(r"<text[^>]*>(\w+)<tspan>([^<]*)</tspan>", drawn) == [
        ("proved", ""), ("second", ""), ("step", " New, 2 below it"), ("first", ""), ("shared", " New")]
    dots = dict(zip(users, re.findall(r'cx="(\d+)" cy="(\d+)"', drawn), strict=True))
    branches = [(user, f"V{int(dots[name][1]) - 5}q0 5 5 5H{dots[name][0]}")
                for name, by in users.items() for user in by]
    lines = {user: line for line in re.findall(r'<path d="([^"]*)"', drawn) for user in users
             if line.startswith("M{} {}V".format(*dots[user]))}
    assert all(lines[user].count(branch) == 1 for user, branch in branches)
    assert sum(line.count("V") for line in lines.values()) == len(branches)


def test_gaps_of_the_printed_proof_are_listed(written):
    """A premise that the proof leaves out, without the step that needs it."""
    page = written["claims/aepo.theorem-4.3b"].partition("## The printed proof")[2].partition("\n## ")[0]
    steps = re.findall(r"^- ([^:]*): ", page, re.MULTILINE)
    assert steps == ["A1", "u of an empty A2", "A3", "last line"]
    assert all("given" in line for line in page.splitlines() if line.startswith("- "))


@pytest.mark.parametrize(("verdict", "explained"), [
    ("seen in part", True), ("not seen", False), ("undecided", False)])
def test_a_page_explains_a_figure_that_seems_to_contradict_it(tmp_path, verdict, explained):
    """A sentence that fails as we read it, beside a figure where it is seen, and no word on why."""
    claim = CLAIMS["aepo.collapse-or-explosion"]
    figure = {"name": "aepo-figure-3", "label": "AEPO, Figure 3",
              "verdicts": [{"verdict": verdict, "says": f"{verdict}: tabular"}]}
    page = claim_pages.pages({claim.id: claim}, {claim.id: [figure]}, tmp_path)[f"claims/{claim.id}"]
    assert markup.badge(verdict, f"{verdict}: tabular") in page
    assert ("So both verdicts can stand" in page) == explained
    there = figure_pages.stated(claim, RECORDS[claim.id]["verdict"], figure)
    assert markup.badge("fails as we read it") in there
    assert (shown(claim.scope) in there.replace("\\", "")) == explained


def test_a_claims_page_has_what_the_kernel_accepted(written):
    """A statement that is not the one that was proved; a theorem or an axiom that is left out."""
    for claim_id, claim in CLAIMS.items():
        page = written[f"claims/{claim_id}"]
        if (proof := proofs.proof_of(claim)) is None:
            assert "No theorem" in page, claim_id
            continue
        known = proofs.read_accepted()[claim_id]
        assert proofs.statement_text(claim).replace("\\", "").rstrip() in page, claim_id
        assert set(re.findall(r"^- `(Trusted\.\S+)`:", page, re.MULTILINE)) == set(known["theorems"])
        assert all(f"`{axiom.rpartition('.')[2]}`" in page for axiom in known["axioms"]), claim_id
        left = re.findall(r"^- not proved: (.*), that", page, re.MULTILINE)
        assert left == [", ".join(f"`{name}`" for name in proof.unwitnessed)][:len(proof.unwitnessed)]
        assert proof.own in page, claim_id


def test_a_verdict_without_its_record_is_not_shown_as_accepted(monkeypatch):
    """A page that names theorems which the kernel has not accepted as they are now."""
    monkeypatch.setattr(proofs, "said_of", lambda proof: None)
    page = claim_pages.pages({"aent.lemma-2": CLAIMS["aent.lemma-2"]}, {}, proofs.BUILD)
    assert "No theorem" in page["claims/aent.lemma-2"]
    assert "accepted:" not in page["claims/aent.lemma-2"]


def test_a_domain_names_what_is_given_and_its_bounds(written):
    """Bounds turned around, a hypothesis or the number of actions left out."""
    page = written["claims/aepo.theorem-4.3a"]
    line, = re.findall(r"^- \*\*First-order for\*\* (.*)$", page, re.MULTILINE)
    assert line.startswith("all n ≥ 2, logits {math}`z`, correct answers {math}`A^{*}` (not empty), ")
    assert "temperature {math}`0 < T`" in line
    assert "responses of any length, " in written["claims/aent.lemma-5"]
    page = written["claims/aepo.theorem-4.3b"]
    line, = re.findall(r"^- \*\*Proved for\*\* (.*)$", page, re.MULTILINE)
    assert "; where {math}`F(1) < 0` (" in line


def test_a_papers_page_has_each_of_its_claims_once(written):
    """A claim that no row shows; a row for a claim that there is not; one under a paper not its own."""
    for paper, rows in papers.SENTENCES.items():
        own = [i for i in CLAIMS if i.startswith(f"{paper}.")]
        beside = {i for row in rows for i in row.get("also", ()) if i.startswith(f"{paper}.")}
        assert sorted([*(row["claim"] for row in rows if "claim" in row), *beside]) == sorted(own)
        named = {i for row in rows for i in (
            *row.get("also", ()), *re.findall(r"`([\w-]+\.[\w.-]+)`", row.get("why", "")))}
        assert named <= CLAIMS.keys()
        page = written[f"papers/{paper}"]
        for row in rows:
            words = CLAIMS[row["claim"]].reading.quotation if "claim" in row else row["sentence"]
            assert not words or re.search(rf"“?{re.escape(shown(words))}”?\n", page), row
        places = [page.index(f"](/claims/{row['claim']}.md)\n") for row in rows if "claim" in row]
        assert places == sorted(places)
        assert page.count("[not judged]") == sum("why" in row for row in rows)
    assert papers.SENTENCES.keys() == {i.split(".")[0] for i in CLAIMS} - {"extension", "later-work"}


def test_a_claims_page_says_nothing_twice_and_leaves_no_source(written):
    """*Ours, ours: ...*; *a 0 < a*; words that are quoted where none are; LaTeX in a text to copy."""
    for claim_id, claim in CLAIMS.items():
        top, _, issue = written[f"claims/{claim_id}"].partition("## Contest this")
        assert ", ours: " not in top.partition("## How it is read")[0], claim_id
        assert claim.reading.quotation or "words that are quoted" not in top, claim_id
        assert not re.search(r"\b(\w+) \{math\}`(?:0 <|0 \\le) \1`", top), claim_id
        assert not re.search(r"frac\{\d{12}", top), claim_id
        sentence, = re.findall(r"^Sentence: (.*)$", issue, re.MULTILINE)
        assert '""' not in sentence, claim_id
        assert "$" not in sentence, claim_id
        assert " & " not in sentence, claim_id
    assert "Δ H'_k(T)|_(T=1) > 0" in written["claims/aepo.theorem-4.3b"]
    assert "quotations have gaps" in written["claims/aent.lemma-2"]
    assert "quotations have gaps" in written["papers/aent"]
    assert "It rests on no lemma." in written["claims/aepo.rise-then-fall"]
    assert "PA&HP" in written["claims/later-work.ce-gppo-classes"]
    assert "10^{-6}" in written["claims/later-work.opefo-reward"]


@pytest.mark.parametrize("claim_id", one_in(3, THREE))
def test_what_contests_a_verdict_runs(written, claim_id, capsys, monkeypatch, tmp_path):
    """A command that is none, or a copy of the claim's file that cannot be checked by itself."""
    part = written[f"claims/{claim_id}"].partition("## Contest this")[2]
    commands = re.search(r"```bash\n(.*?)```", part, re.DOTALL)[1].splitlines()
    assert [shlex.split(line)[:3] for line in commands] == [
        ["policy-entropy", "verify", claim_id], ["policy-entropy", "prove", claim_id]]
    assert all(f"Command: {line}" in part for line in commands)
    file, = re.findall(r"^File: (.*)$", part, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    copy = shutil.copy(claim_pages.ROOT / file, tmp_path)
    monkeypatch.setattr("sys.argv", shlex.split(commands[0]))
    assert console.main() == 0, capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["policy-entropy", "check", str(copy), "--profile", "smoke"])
    console.main()  # its status tells whether the claim holds
    assert f"{claim_id}: {RECORDS[claim_id]['verdict']}" in capsys.readouterr().out
