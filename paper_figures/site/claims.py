"""A page for each claim, from the claim itself and from what the ledger says of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from entropy_theory.claims import claims_of, module_names
from entropy_theory.support.results import read_json
from entropy_theory.verification import ledger as accepted_ledger
from entropy_theory.verification import proofs, refutations
from entropy_theory.verification.claim import Claim, Statement
from entropy_theory.verification.floats import describe
from entropy_theory.verification.formula.latex import formula_or_none
from paper_figures.site.ledger import PRINTED_PROOFS, SOURCES, VERDICTS
from paper_figures.site.ledger import evidence as grouped_evidence
from paper_figures.site.markup import (
    badge,
    claim_page,
    displayed,
    docstring,
    fenced,
    figure_page,
    folded,
    formula,
    included,
    link,
    module_docstring,
    orphan,
    source,
    table,
    text,
)

ROOT = Path(__file__).resolve().parents[2]


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
    claims: Mapping[str, Claim], figures_of: Mapping[str, Sequence[tuple[str, str]]], results: Path
) -> dict[str, str]:
    """Return the pages of claims and their index, by name.

    Args:
        claims: the claims that get a page.
        figures_of: for each claim the names and labels of the figures that show it.
        results: folder with ledger.json, if it was computed.
    """
    found, seen, files = records(claims), evidence(results), _files()
    written = {
        claim_page(i): orphan(_page(claim, found[i], files[i], figures_of.get(i, ()), seen.get(i)))
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
        table(("claim", "what it says", "verdict", "where it stands"), rows, css="filterable"),
        "## What the verdicts mean", "",
        table(("verdict", "meaning"), [(b, text(m)) for b, m in meanings]),
    ])


def _page(
    claim: Claim, record: Mapping[str, Any], file: Path, figures: Sequence[tuple[str, str]],
    groups: Sequence[tuple[str, Sequence[Mapping[str, Any]]]] | None,
) -> str:
    paper = SOURCES.get(claim.id.split(".")[0], ("", claim.id.split(".")[0]))[1]
    source_link, source_text = source(file, claim_page(claim.id))
    facts = [
        ("verdict", f"{badge(record['verdict'])} {text(VERDICTS[record['verdict']])}"),
        ("printed proof", text(PRINTED_PROOFS.get(record["printed_proof"], record["printed_proof"]))),
        ("place", f"{link(paper, 'papers/' + claim.id.split('.')[0])}: {text(claim.source)}"),
        ("scope", text(claim.scope)),
        ("reading", text(str(claim.reading).replace("$$", "$"))),  # displayed in the paper
        ("words read", text(accepted_ledger.read_on(claim, record))),
        ("axioms", text(record["axioms"] or "none: no proof of the kernel")),
        ("figures", "\n\n".join(link(label, figure_page(name)) for name, label in figures)),
        ("source", source_link),
        ("check it", f"`policy-entropy claims {claim.id}`"),
    ]
    parts = [
        f"# {text(claim.title)}", "",
        table(("", claim.id), [(name, value) for name, value in facts if value], widths=(1, 5),
              css="facts"),
        "## The statement", "", *_statement(claim.statement),
    ]
    if record.get("counterexample"):
        parts += [
            "## Counterexample", "",
            "The smallest found, with the sign of its margin proved in ball arithmetic:", "",
            fenced(f"{describe(record['counterexample'])}\n"
                   f"margin {record['counterexample']['margin_interval']}"),
        ]
        if theorem := refutations.theorem(claim, record["counterexample"]):
            parts += [f"The proof kernel accepted that the statement is false: `{theorem}`.", ""]
    if claim.repair is not None:
        standing = badge(record["instead"]) if record.get("instead") else ""
        parts += [f"## What holds {'instead' if claim.repair_is == 'instead' else ''}".rstrip(), "",
                  f"{standing} {text(claim.repair_note)}", "", *_statement(claim.repair)]
    parts += ["## Proof", "", *_proof(claim, record)]
    parts += ["## How it is read", "", docstring(module_docstring(file))]
    if groups:
        parts += ["## Evidence", "", *(_evidence(title, rows) for title, rows in groups)]
    if claim.mutants:
        parts += ["## Wrong variants that the checks must reject", "",
                  "\n".join(f"- {text(mutant.name)}" for mutant in claim.mutants), ""]
    parts += [source_text]
    return "\n".join(parts)


def _statement(statement: Statement) -> list[str]:
    lines = [text(statement.latex), ""]
    if statement.conditions:
        lines += ["Hypotheses:", "",
                  *(f"- {_hypothesis(c.latex)}" for c in statement.conditions), ""]
    generated = formula_or_none(lambda: statement.formula)
    if generated is None:
        return [*lines, "It has no formula: the margin is a computation.", ""]
    return [*lines, "The formula, generated from what is searched and proved:", "",
            displayed(generated.splitlines())]


def _hypothesis(latex: str) -> str:
    """Return a hypothesis as prose, or as a formula where it is LaTeX without dollar signs."""
    return formula(latex) if "\\" in latex and "$" not in latex else text(latex)


def _proof(claim: Claim, record: Mapping[str, Any]) -> list[str]:
    proof = record.get("proof")
    found = proofs.proof_of(claim)
    if not proof or found is None:
        return ["None: what is known is what searches, fits and printed numbers show.", ""]
    of = "what holds" if proof["of"] == "repair" else "the statement"
    lines = [f"{proof['kernel']} accepted a theorem that is the formula of {of}, word for word; it "
             f"rests on the {record['axioms'] or 'kernel alone'}. `python -m entropy_theory prove "
             f"{claim.id}` checks it again.", ""]
    file = found.path.relative_to(ROOT)
    return [*lines, f"Digest of statement, proof and library: `{found.digest[:16]}`.", "",
            folded("The statement as the kernel reads it", fenced(proofs.statement_text(claim), "coq")),
            folded(f"The proof: {file}", included(found.path, "coq"))]


def _evidence(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    return f"**{text(title)}**\n\n" + table(("outcome", "by", "what", "cases", "s"), [
        (badge(e["outcome"]), e["method"], _what(e),
         f"{e['cases']:,}" if e["cases"] else "", f"{e['seconds']:.1f}")
        for e in rows
    ])


def _what(evidence: Mapping[str, Any]) -> str:
    said = ": ".join(text(evidence[part]) for part in ("statement", "detail") if evidence[part])
    return f"**{text(evidence['step'])}** {said}" if evidence["step"] else said


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
