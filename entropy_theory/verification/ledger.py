"""The ledger: every claim's verdict and evidence as JSON, and the accepted ledger beside it.

The accepted ledger (claims/ledger.json, committed) holds what the last accepted run concluded,
without timings: id, verdict, printed proof, counterexample. A run whose verdicts differ from it fails.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support.results import provenance, read_json, write_json
from entropy_theory.verification import proofs, refutations
from entropy_theory.verification.claim import Claim, Evidence
from entropy_theory.verification.floats import describe, evaluate
from entropy_theory.verification.formula.latex import formula_or_none
from entropy_theory.verification.formula.terms import UntraceableError
from entropy_theory.verification.judged import judged
from entropy_theory.verification.verdict import Verdict

SAMPLED = 8
WORDS = ("source", "title", "statement", "hypotheses", "formula", "repaired_formula", "scope",
         "reading", "quotation", "place", "repair_note", "printed_steps")
"""The parts of a record that a reader sees before any check."""
PACKAGES = ("numpy", "scipy", "sympy", "hypothesis", "python-flint")


def entry(claim: Claim, evidence: Sequence[Evidence], verdict: Verdict) -> dict[str, Any]:
    """Return the ledger's record of one claim."""
    # A margin that cannot be evaluated has neither formula nor samples; the evidence says why.
    works = not any(e.outcome == "error" and not e.cases and e.target in ("statement", "repair")
                    for e in evidence)
    return words(claim, works=works) | {
        "samples": samples(claim) if works else [],
        "verdict": verdict.statement,
        "instead": verdict.instead,
        "printed_proof": verdict.printed_proof,
        "proof": _proof(claim, verdict),
        "axioms": list(proofs.axioms(claim)) if "proved" in _standings(verdict) else [],
        "evidence": [
            {"method": e.method, "outcome": e.outcome, "detail": e.detail, "cases": e.cases,
             "seconds": round(e.seconds, 3), "target": e.target, "name": e.name}
            for e in evidence
        ],
        "counterexample": verdict.counterexample,
        "searched": verdict.searched,
        "left_open": verdict.left_open,
    }


def words(claim: Claim, *, works: bool = True) -> dict[str, Any]:
    """The words of a claim, without any check: source, title, statement, formulas, notes.

    Args:
        claim: the claim.
        works: whether its margin can be evaluated; without that it has no formula.
    """
    statement, repaired = claim.statement.latex, claim.repair or claim.statement
    if claim.repair is not None:
        statement += f" Repaired: {claim.repair.latex}"
    hypotheses = [condition.latex for condition in claim.statement.conditions]
    if claim.repair is not None:
        hypotheses += [
            f"(repaired) {condition.latex}"
            for condition in claim.repair.conditions
            if condition.latex not in hypotheses
        ]
    return {
        "id": claim.id,
        "source": claim.source,
        "title": claim.title,
        "statement": statement,
        "hypotheses": hypotheses,
        "formula": formula_or_none(lambda: claim.statement.formula) if works else None,
        "repaired_formula": formula_or_none(lambda: repaired.formula) if works and claim.repair else None,
        "scope": claim.scope,
        "reading": claim.reading.kind,
        "quotation": claim.reading.quotation,
        "place": claim.reading.place,
        "repair_note": claim.repair_note,
        "printed_steps": [
            step.statement for printed in claim.printed_proof
            for step in (printed.as_printed, printed.completed) if step is not None],
    }


def samples(claim: Claim) -> list[float]:
    """The margins of the statement that is said to be true on a few sampled instances.

    They tell a changed margin where a statement has no formula; one that does not meet the hypotheses
    counts as minus one.
    """
    statement = claim.repair or claim.statement
    batch = claim.instances.sample(np.random.default_rng(zlib.crc32(claim.id.encode())), SAMPLED)
    margins, meets = evaluate(statement, batch)
    return [float(f"{m:.6e}") if ok else -1.0 for m, ok in zip(margins, meets, strict=True)]


def digests(said: Mapping[str, Any]) -> dict[str, str]:
    """A digest of each of a claim's words, so that a change can be named."""
    return {key: hashlib.sha256(json.dumps(said[key], ensure_ascii=False).encode()).hexdigest()[:12]
            for key in WORDS}


def reworded(claims: Mapping[str, Claim], accepted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List the claims that do not say what was accepted, one line each; runs no check.

    The last line names the command that accepts them.
    """
    found = {claim_id: line for claim_id, claim in claims.items()
             for line in _reworded(words(claim) | {"samples": samples(claim)}, accepted.get(claim_id))}
    return [f"{claim_id}: {line}" for claim_id, line in found.items()] + _how_to_accept(found)


def _reworded(said: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[str]:
    """How a claim's words and its margin's values differ from the accepted record's: no line, or one."""
    if before is None:
        return ["it is not in the accepted ledger"]
    was = before["says"]
    changed = [key.replace("_", " ") for key, now in digests(said).items() if was.get(key) != now]
    if not np.allclose(said["samples"], before["samples"], rtol=1e-4, atol=1e-7):
        changed.append("margin (other values on the same instances)")
    return [f"its {' and '.join(changed)} changed since it was accepted"] if changed else []


def _how_to_accept(claim_ids: Iterable[str]) -> list[str]:
    ids = " ".join(claim_ids)
    return [f"to accept them as they are now: policy-entropy verify {ids} --update-ledger"] if ids else []


def signature(claim: Claim) -> str:
    """A digest of what a reader compares: the words, and what is proved or judged of them."""
    part, statement = proofs.statement_of(claim)
    try:
        formal = statement.formula.rocq(part, beside=False)
    except UntraceableError:
        formal = "\n".join(judged(statement))
    text = json.dumps([digests(words(claim)), formal, *filter(None, [proofs.beside(claim)])])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def sign(
    claims: Iterable[Claim], *, on: str, by: str = "a reader of title, words and statement",
    path: Path | None = None,
) -> None:
    """Record who read the words of these claims against their statements, and when.

    A claim whose words, statement or theorems beside it change is unsigned again (`signature`).

    Raises:
        ValueError: a claim without an accepted verdict.
    """
    path = path or accepted_path()
    accepted = read_accepted(path)
    for claim in claims:
        if claim.id not in accepted:
            raise ValueError(f"{claim.id} is not in the accepted ledger: accept its verdict first")
        accepted[claim.id]["read"] = {"by": by, "on": on, "of": signature(claim)}
    write_json(path, {"claims": list(accepted.values())})


def read_on(claim: Claim, record: Mapping[str, Any]) -> str:
    """When its words were last read against its statement; "" if that is not what they are now."""
    read = record.get("read", {})
    return read["on"] if read and read["of"] == signature(claim) else ""


def _standings(verdict: Verdict) -> tuple[str, ...]:
    return (verdict.statement, verdict.instead) if verdict.instead else (
        ("proved",) if verdict.statement == "first-order" else (verdict.statement,))


def _proof(claim: Claim, verdict: Verdict) -> dict[str, str] | None:
    """Which statement the kernel's proof is of, where that is the verdict."""
    if "proved" not in _standings(verdict) or proofs.proof_file(claim) is None:
        return None
    return {"kernel": "Rocq", "of": proofs.statement_of(claim)[0]}


def whole(
    entries: Sequence[dict[str, Any]], *, rules: Sequence[dict[str, Any]] = (), config: Any = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the full ledger as ``--json`` writes it; ``rules`` are those of a user's file."""
    return {"provenance": provenance(config=config, seed=seed, packages=PACKAGES),
            "claims": list(entries)} | ({"rules": list(rules)} if rules else {})


def accepted_path() -> Path:
    """Return the path of the accepted ledger."""
    return Path(str(files("entropy_theory") / "claims" / "ledger.json"))


def read_accepted(path: Path | None = None) -> dict[str, dict[str, Any]]:
    """Read the accepted verdicts, by id; there are none if there is no accepted ledger yet."""
    path = path or accepted_path()
    if not path.exists():
        return {}
    form = {"claims": [{"id": str, "verdict": str, "samples": [float], "says": dict}]}
    return {record["id"]: record for record in read_json(path, form)["claims"]}


def accept(
    entries: Sequence[dict[str, Any]], *, known_ids: Sequence[str], path: Path | None = None
) -> None:
    """Make these verdicts the accepted ones.

    Claims that were not run keep theirs; ids that are no longer claims are dropped.
    """
    path = path or accepted_path()
    accepted = {i: record for i, record in read_accepted(path).items() if i in known_ids}
    for record in entries:
        before = accepted.get(record["id"], {})
        accepted[record["id"]] = _lasting(record) | ({"read": before["read"]} if "read" in before else {})
    write_json(path, {"claims": [accepted[claim_id] for claim_id in sorted(accepted)]})


def differences(
    entries: Sequence[dict[str, Any]],
    accepted: Mapping[str, dict[str, Any]],
    *,
    known_ids: Sequence[str],
) -> list[str]:
    """List how a run differs from the accepted ledger, one line each; empty if it agrees."""
    lines, changed = [], []
    for record in entries:
        claim_id, before = record["id"], accepted.get(record["id"])
        found = _reworded(record, before)
        if before is not None:
            found += [f"{key} is {record[key]}, accepted was {before[key]}"
                      for key in ("verdict", "instead", "printed_proof") if record[key] != before[key]]
        lines += [f"{claim_id}: {line}" for line in found]
        changed += [claim_id] if found else []
    gone = [f"{claim_id}: in the accepted ledger but no longer a claim"
            for claim_id in accepted if claim_id not in known_ids]
    return lines + gone + _how_to_accept(changed)


def markdown(claims: Mapping[str, Claim], accepted: Mapping[str, dict[str, Any]]) -> str:
    """The accepted ledger as a Markdown page: a table for each source."""
    verdicts = Counter(accepted[i]["verdict"] for i in claims if i in accepted)
    counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
    lines = [
        "# The ledger of claims", "",
        "<!-- Generated by: python -m entropy_theory table --output docs/ledger.md -->", "",
        f"{len(claims)} statements: {counts}. `policy-entropy claims ID` prints a claim's "
        "statement, hypotheses, proof and counterexample.", "",
        "*Reading* is *literal* for the sentence as printed, *precise* for our form of it, and "
        "*inferred* if nobody wrote it. Only what is read literally is *refuted*. *Words read* is when "
        "title and words were last compared with the formal statement and the theorems beside it; a "
        "change of any empties the cell.",
    ]
    for source in sorted({claim_id.split(".")[0] for claim_id in claims}):
        lines += ["", f"## {source}", "",
                  "| claim | what it says | scope | reading | verdict | printed proof | axioms | what "
                  "holds instead, counterexample | words read |", "|---|---|---|---|---|---|---|---|---|"]
        for claim_id, claim in claims.items():
            if claim_id.split(".")[0] == source:
                record = accepted.get(claim_id, {})
                cells = (f"`{claim_id}`", claim.title, claim.scope, claim.reading.kind,
                         record.get("verdict", "not checked"), record.get("printed_proof", ""),
                         record.get("axioms", ""), _remark(claim, record), read_on(claim, record))
                lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return "\n".join(lines) + "\n"


def _remark(claim: Claim, record: Mapping[str, Any]) -> str:
    parts = []
    if record.get("instead"):
        parts.append(f"{record['instead']}: {claim.repair_note}")
    if record.get("counterexample"):
        theorem = refutations.theorem(claim, record["counterexample"])
        parts.append(f"fails at {describe(record['counterexample'])}"
                     + (f" (theorem: `{theorem}`)" if theorem else ""))
    return "; ".join(parts)


def _lasting(record: dict[str, Any]) -> dict[str, Any]:
    kept = {key: record[key]
            for key in ("id", "verdict", "instead", "printed_proof", "counterexample")}
    kept |= {"says": digests(record), "samples": record["samples"]}
    return {**kept, "axioms": "classical reals" if record["axioms"] else "", "proof": record["proof"]}
