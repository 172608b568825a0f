"""A page for each claim, from the claim itself and its record in the ledger."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from entropy_theory.claims import claims_of, module_names
from entropy_theory.support.results import read_json
from entropy_theory.verification import ledger as accepted_ledger
from entropy_theory.verification import proofs, refutations
from entropy_theory.verification.claim import Claim, Statement
from entropy_theory.verification.floats import describe
from entropy_theory.verification.formula.latex import formula_text
from entropy_theory.verification.formula.latex_writer import SYMBOLS, number_text, symbol_of
from entropy_theory.verification.formula.plain import latex_to_text
from entropy_theory.verification.formula.statement import Parameter, Relation, used_fields
from entropy_theory.verification.formula.terms import STATES
from entropy_theory.verification.judged import sizes
from entropy_theory.verification.verdict import FAILED
from paper_figures.site import lemmas
from paper_figures.site.bandit import live
from paper_figures.site.ledger import PRINTED_PROOFS, READINGS, SOURCES, VERDICTS
from paper_figures.site.ledger import evidence as grouped_evidence
from paper_figures.site.markup import (
    badge,
    claim_page,
    displayed,
    documented,
    fenced,
    figure_page,
    folded,
    formula,
    link,
    orphan,
    prose_or_formula,
    source,
    table,
    text,
)
from paper_figures.verdict import AGAINST

ROOT = Path(__file__).resolve().parents[2]
FORMAL = "entropy_theory/formal"
LONG = 30
"""Lines from which a statement of the kernel is folded."""
WIDE = 300
"""Characters of LaTeX from which the parts of a line stand on lines of their own."""
FLOAT = re.compile(r"\\t?frac\{(\d{12,})\}\{(\d{12,})\}")
"""The exact fraction of a float, which nobody reads as one."""
GAPS = {"aent": " The text at hand has no formulas: quotations have gaps where they stood."}
"""Why the sentences of a paper cannot be quoted whole, by its source."""


def records(claims: Mapping[str, Claim]) -> dict[str, dict[str, Any]]:
    """Return the accepted ledger's record of each claim, by id.

    Raises:
        ValueError: a claim that the accepted ledger does not know.
    """
    accepted = accepted_ledger.read_accepted()
    if unknown := sorted(claims.keys() - accepted.keys()):
        raise ValueError(
            f"claim '{unknown[0]}' is not in the accepted ledger: run python -m entropy_theory verify "
            f"{unknown[0]} --update-ledger")
    return {claim_id: accepted[claim_id] for claim_id in claims}


def evidence(results: Path) -> dict[str, list[tuple[str, list[dict[str, Any]]]]]:
    """Return the evidence of the last ``verify --json``, by claim, in groups; none without the file."""
    path = results / "ledger.json"
    if not path.exists():
        return {}
    return grouped_evidence(read_json(path))


def pages(
    claims: Mapping[str, Claim], figures_of: Mapping[str, Sequence[Mapping[str, Any]]], results: Path
) -> dict[str, str]:
    """Return the pages of claims and their index, by name.

    Args:
        claims: the claims that get a page.
        figures_of: for each claim the figures that show it, as `records.figures` has them.
        results: folder with ledger.json, if it was computed.
    """
    found, seen, files = records(claims), evidence(results), _files()
    written = {
        claim_page(i): orphan(
            _page(claim, found[i], files[i], figures_of.get(i, ()), seen.get(i)))
        for i, claim in claims.items()
    }
    return {**written, "claims/index": _index(claims, found)}


def _index(claims: Mapping[str, Claim], found: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (link(i, claim_page(i)), text(claim.title), badge(found[i]["verdict"]), text(claim.source))
        for i, claim in claims.items()
    ]
    meanings = [(badge(verdict), meaning) for verdict, meaning in VERDICTS.items()
                if any(record["verdict"] == verdict for record in found.values())]
    return "\n".join([
        "# All statements", "",
        f"{len(claims)} statements of the papers and of this project, each with a verdict that "
        "follows from its evidence. Type to filter: a paper, a theorem, a word, a verdict.", "",
        table(("claim", "what it says", "verdict", "where it stands"), rows, css="filterable stacked"),
        "## What the verdicts mean", "",
        table(("verdict", "meaning"), [(b, text(m)) for b, m in meanings]),
    ])


def _page(
    claim: Claim, record: Mapping[str, Any], file: Path, figures: Sequence[Mapping[str, Any]],
    groups: Sequence[tuple[str, Sequence[Mapping[str, Any]]]] | None,
) -> str:
    read = record.get("read", {})
    facts = [
        ("words read", text(f"against the formal statement on {read['on']}, by {read['by']}"
                            if accepted_ledger.read_on(claim, record) else
                            "by nobody yet against the formal statement as it is now")),
        ("figures", "\n\n".join(f"{link(figure['label'], figure_page(figure['name']))} {badges(figure)}"
                                for figure in figures)),
        ("source", source(file)),
    ]
    parts = [
        f"# {text(claim.title)}", "", *_sentence(claim), *_verdict(claim, record),
        *(_beside_figures(claim) if any(opposed(record["verdict"], f) for f in figures) else []),
        table(("", claim.id), [(name, value) for name, value in facts if value], widths=(1, 5),
              css="facts"),
        "## How it is read", "", documented(_module_name(file)),
        "## The statement", "", *_statement(claim.statement),
        *_counterexample(claim, record.get("counterexample")), *live(claim_page(claim.id)),
    ]
    if claim.repair is not None:
        standing = badge(record["instead"]) if record.get("instead") else ""
        parts += [f"## What holds {'instead' if claim.repair_is == 'instead' else ''}".rstrip(), "",
                  f"{standing} {text(claim.repair_note)}", "", *_statement(claim.repair)]
    parts += ["## The printed proof", "", *_printed_proof(claim, record["printed_proof"]),
              "## In the proof kernel", "", *_kernel(claim)]
    if groups:
        parts += ["## Evidence", "", *(_evidence(title, rows) for title, rows in groups)]
    if claim.mutants:
        parts += ["## Wrong variants that the checks must reject", "",
                  "\n".join(f"- {text(mutant.name)}" for mutant in claim.mutants), ""]
    return "\n".join([*parts, *_contest(claim, record, file)])


def _sentence(claim: Claim) -> list[str]:
    """Return what the source has, where, and how our statement is related to it."""
    reading, prefix = claim.reading, claim.id.split(".")[0]
    paper = SOURCES.get(prefix, (prefix, prefix))
    where = (reading.place or claim.source).removeprefix("ours: ")
    place = f"{link(paper[0], f'papers/{prefix}')}, {text(where)}"
    words = f"> {prose_or_formula(reading.quotation)}\n>\n> " if reading.quotation else ""
    meaning = READINGS[reading.kind] if words else READINGS[reading.kind].partition("; words that")[0]
    return [f"{words}{place}", "",
            f"*{reading.kind.capitalize()}*: {text(meaning)}. "
            f"Scope: {text(claim.scope)}." + (GAPS.get(prefix, "") if words else ""), ""]


def _verdict(claim: Claim, record: Mapping[str, Any]) -> list[str]:
    """Return the verdict, and of which instances it is said."""
    verdict, counterexample = record["verdict"], record.get("counterexample")
    asked = "Asked of" if counterexample else f"{verdict.capitalize()} for"
    lines = [f"- **{text(asked)}** {_domain(claim.statement)}."]
    if counterexample:
        lines.append(f"- **Fails at** {text(describe(counterexample))}.")
    if claim.repair is not None and record.get("instead"):
        lines.append(f"- **{text(record['instead'].capitalize())}**, as what holds, for "
                     f"{_domain(claim.repair)}.")
    return [f"{badge(verdict)} {text(VERDICTS[verdict])}. [Contest this](#contest-this)", "", *lines, ""]


def badges(figure: Mapping[str, Any]) -> str:
    """Return a label for each verdict of a figure, with the model that it is from."""
    return " ".join(badge(one["verdict"], one["says"]) for one in figure["verdicts"])


def opposed(verdict: str, figure: Mapping[str, Any]) -> bool:
    """Whether a statement's verdict and a figure's are of the kind that would contradict each other."""
    seen = {one["verdict"] for one in figure["verdicts"]}
    return bool(seen & ({"seen", "seen in part"} if verdict in FAILED else
                        {"not seen", *AGAINST} if verdict in ("proved", "verified") else set()))


def _beside_figures(claim: Claim) -> list[str]:
    """Return why figures with another verdict do not contradict this page's."""
    return ["**Beside the figures below.** They ask whether the paper's finding comes out in most of our "
            "runs, by the criteria on their pages. This page judges the sentence, read as above, for its "
            f"whole domain: {text(claim.scope)}. One counterexample decides that, "
            "whatever most runs show. So both verdicts can stand.", ""]


def _domain(statement: Statement) -> str:
    """Return of which instances a statement speaks: how many actions, what is given, its hypotheses."""
    said, parameters = statement.formula, statement.formula.parameters
    used = used_fields([said.conclusion, *said.hypotheses,
                        *(Relation(term, None) for term in said.beyond)])
    trees = any(STATES in field.axes for field in parameters.fields)
    length = f"at most {parameters.longest} tokens" if parameters.longest else "any length"
    given = [*(line.removeprefix("for ") for line in sizes(statement)),
             *([f"responses of {length}"] if trees else []),
             *(_given(field) for field in parameters.fields if field.name in used)]
    if parameters.rows:
        given = [f"each row of printed numbers, {len(parameters.rows)} in all"]
    hypotheses = [prose_or_formula(condition.latex) for condition in statement.conditions]
    return ", ".join(given) + ("; where " + "; and ".join(hypotheses) if hypotheses else "")


def _given(field: Parameter) -> str:
    """Return what one of a statement's variables is, and between which bounds."""
    bounds, symbol = field.range, symbol_of(field.name)
    below, above = ("<" if is_open else r"\le" for is_open in (bounds.open_low, bounds.open_high))
    low = "" if bounds.low is None else f"{number_text(Fraction(bounds.low))[0]} {below} "
    high = "" if bounds.high is None else f" {above} {number_text(Fraction(bounds.high))[0]}"
    words = text(field.name.replace("_", " "))
    if field.kind == "mask":
        return f"{words} answers {formula(symbol)}" + (" (not empty)" if field.nonempty else "")
    bounded = formula(low + symbol + high)
    if field.name in SYMBOLS:
        return f"{words} {bounded}"
    return bounded if low or high else words  # its symbol is its name, which would stand there twice


def _statement(statement: Statement) -> list[str]:
    lines = [part for line in FLOAT.sub(_power_of_ten, formula_text(statement.formula)).splitlines()
             for part in (line.split(r",\quad ") if len(line) > WIDE else [line])]
    return [text(statement.latex.replace(r"\&", "&")), "",
            "The formula, generated from what is searched and proved:", "", displayed(lines)]


def _power_of_ten(found: re.Match[str]) -> str:
    """Return a float that stands as its exact fraction as it was written, such as ``10^{-6}``."""
    digits, _, power = f"{int(found[1]) / int(found[2]):e}".partition("e")
    factor = f"{float(digits):g}"
    return ("" if factor == "1" else rf"{factor} \cdot ") + f"10^{{{int(power)}}}"


def _counterexample(claim: Claim, found: dict[str, Any] | None) -> list[str]:
    if not found:
        return []
    lines = ["## Counterexample", "",
             "The smallest found, in exact numbers; the sign of its margin is proved in ball arithmetic. "
             + ("Weights are the exponentials of the logits. " if "weights" in found else "")
             + ("Answers count from 1." if "correct" in found else ""), "",
             fenced(f"{describe(found)}\nmargin {found['margin_interval']}"),
             f"`policy-entropy claims {claim.id} --recheck` computes it again.", ""]
    proof = refutations.refutation_of(claim, found)
    if proof is None or not refutations.theorem(claim, found):
        return lines
    return [*lines, "The proof kernel accepted that the statement is false: "
            f"`{FORMAL}/{proof.own}`. `policy-entropy prove --refuted {claim.id}` checks it again.", "",
            folded("The statement and its negation, as the kernel reads them",
                   fenced(proof.statement)),
            f"The refutation: `{FORMAL}/{proof.own}`.", ""]


def _printed_proof(claim: Claim, judged: str) -> list[str]:
    """Return what was found of the source's own proof, and each step that needs a further premise."""
    words = PRINTED_PROOFS.get(judged, judged)
    gaps = [f"- {text(step.completed.name.removeprefix('completed: '))}: {text(step.completed.statement)}"
            for step in claim.printed_proof if step.completed]
    return [text(f"{words[0].upper()}{words[1:]}."), "", *gaps, ""]


def _kernel(claim: Claim) -> list[str]:
    """Return what the kernel accepted: statement, witnesses, theorems beside it, proof, axioms."""
    proof = proofs.proof_of(claim)
    known = None if proof is None else proofs.said_of(proof)
    if proof is None or known is None or not known["accepted"]:
        return ["No theorem that something holds: what is known is what searches and fits show.", ""]
    of = "what holds" if proof.part == "repair" else "the statement"
    lines = [f"Rocq {known['rocq']} accepted:", ""]
    for name, _ in proof.theorems:
        own = name.rpartition(".")[2]
        about = ("something meets its hypotheses" if own.startswith("witness") else
                 f"{of}, word for word the formula above" if own == proof.part else "proved beside it")
        lines.append(f"- `{name}`: {about}")
    if left := ", ".join(f"`{name}`" for name in proof.unwitnessed):
        lines.append(f"- not proved: {left}, that what is supposed can be met")
    axioms = ", ".join(f"`{axiom.rpartition('.')[2]}`" for axiom in known["axioms"])
    lines += ["", f"Axioms: {axioms or 'none'}. `policy-entropy prove {claim.id}` checks it again. "
              f"Digest of statement, proof and library: `{proof.digest[:16]}`.", ""]
    shown = fenced(proof.statement)
    if len(proof.statement.splitlines()) > LONG:
        shown = folded("The statement as the kernel reads it: "
                       f"{FORMAL}/trusted/Statements/{proof.place}.v", shown)
    beside = f"trusted/Theorems/{proof.place}.v"
    if beside in proof.needs:
        shown += folded(f"Theorems beside it: {FORMAL}/{beside}",
                        fenced(proof.needs[beside]))
    library = proofs.formal_folder() / "proofs" / "library"
    rests = ["It rests on no lemma.", ""] if len(lemmas.users(proof.path, library)) == 1 else [
        "The lemmas that it rests on, each above those that it uses:", "",
        fenced(lemmas.graph(proof.path, library), "{raw} html"),
        folded("Their statements", lemmas.statements(proof.path, library))]
    return [*lines, shown, *rests, f"The proof: `{FORMAL}/{proof.own}`.", ""]


def _contest(claim: Claim, record: Mapping[str, Any], file: Path) -> list[str]:
    """Return how to show that a verdict is wrong: command, file, criterion, and an issue to copy."""
    place, found, reading = file.relative_to(ROOT), record.get("counterexample"), claim.reading
    words = [f'"{reading.quotation.replace("&", "")}"'] if reading.quotation else []
    sentence = latex_to_text(" ".join([*words, f"({reading.place})"])) if reading.place else "none"
    commands = [f"policy-entropy verify {claim.id} --profile smoke",
                *([f"policy-entropy prove {claim.id}"] if proofs.proof_file(claim) else [])]
    issue = [
        f"Contest {claim.id}: {latex_to_text(claim.title)}", "",
        f"Sentence: {sentence}",
        f"Reading: {reading.kind}; scope: {claim.scope}",
        f"Verdict: {record['verdict']}" + (f", at {describe(found)}" if found else ""),
        *(f"Command: {command}" for command in commands), f"File: {place}",
        f"Criterion: {latex_to_text(claim.statement.latex)}", "",
        "Wrong is (reading, formula, counterexample or proof), because:",
    ]
    return [
        "## Contest this", "", "The verdict falls if one of these is so:", "",
        "- The sentence does not say what the formula says.",
        "- The sentence excludes the counterexample." if found else
        "- An instance of the formula's domain violates it.",
        "- A command gives another verdict, or refuses the proof:", "",
        fenced("\n".join(commands), "bash"),
        "Without `--profile smoke` the search is larger. "
        f"To judge a reading of your own, copy `{place}`, change it, and run `policy-entropy check "
        f"{file.name}`. To contest it in public, open an issue of the repository with this text:", "",
        fenced("\n".join(issue)),
    ]


def _evidence(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    return f"**{text(title)}**\n\n" + table(("outcome", "by", "what", "cases", "s"), [
        (badge(e["outcome"]), e["method"], _what(e),
         f"{e['cases']:,}" if e["cases"] else "", f"{e['seconds']:.1f}")
        for e in rows
    ])


def _what(evidence: Mapping[str, Any]) -> str:
    said = ": ".join(text(evidence[part]) for part in ("statement", "detail") if evidence[part])
    return f"**{text(evidence['step'])}** {said}" if evidence["step"] else said


def _module_name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def _files() -> dict[str, Path]:
    """Return the file that defines each claim of the package, by the claim's id."""
    found: dict[str, Path] = {}
    for name in module_names():
        path = Path(str(sys.modules[name].__file__))
        source = path.read_text(encoding="utf-8")
        for claim in claims_of(sys.modules[name]):
            # Others import it, to build on its statement.
            if claim.id not in found or f'"{claim.id}"' in source:
                found[claim.id] = path
    return found
