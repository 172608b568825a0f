"""The ledger: every claim's verdict and evidence as JSON, and the accepted ledger beside it.

The accepted ledger (claims/ledger.json, committed) holds what the last accepted run concluded,
without timings: id, verdict, printed proof, counterexample. A run whose verdicts differ from it fails.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support.results import provenance, read_json, write_json
from entropy_theory.verification import kernel
from entropy_theory.verification.claim import Claim, Evidence
from entropy_theory.verification.formula.latex import formula_or_none
from entropy_theory.verification.search import describe, evaluate
from entropy_theory.verification.verdict import Verdict

SAMPLED = 8
PACKAGES = ("numpy", "scipy", "sympy", "z3-solver", "hypothesis", "python-flint")


def entry(claim: Claim, evidence: Sequence[Evidence], verdict: Verdict) -> dict[str, Any]:
    """Return the ledger's record of one claim."""
    statement, repaired = claim.statement.latex, claim.repair or claim.statement
    # A margin that cannot be evaluated has neither formula nor samples; the evidence says why.
    works = not any(e.outcome == "error" and not e.cases and e.target in ("statement", "repair")
                    for e in evidence)
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
        "samples": samples(claim) if works else [],
        "scope": claim.scope,
        "text": claim.source_text,
        "verdict": verdict.statement,
        "instead": verdict.instead,
        "repair_note": claim.repair_note,
        "printed_proof": verdict.printed_proof,
        "proof": _proof(claim, verdict),
        "axioms": list(kernel.axioms(claim)) if "proved" in _standings(claim, verdict) else [],
        "evidence": [
            {"method": e.method, "outcome": e.outcome, "detail": e.detail, "cases": e.cases,
             "seconds": round(e.seconds, 3), "target": e.target, "name": e.name}
            for e in evidence
        ],
        "counterexample": verdict.counterexample,
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


def text_digest(record: Mapping[str, Any]) -> str:
    """A digest of what a claim says: its words, its hypotheses, its formulas, its scope."""
    said = [record[key] for key in ("statement", "hypotheses", "formula", "repaired_formula", "scope")]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()[:16]


def _standings(claim: Claim, verdict: Verdict) -> tuple[str, ...]:
    return (verdict.statement, verdict.instead) if verdict.instead else (
        ("proved",) if verdict.statement == "first-order" else (verdict.statement,))


def _proof(claim: Claim, verdict: Verdict) -> dict[str, str] | None:
    """The file with the kernel's proof and the digest of what it accepted, where that is the verdict."""
    if "proved" not in _standings(claim, verdict):
        return None
    proof = kernel.proof_of(claim)
    if proof is None:
        return None
    return {"kernel": "Rocq", "file": f"entropy_theory/formal/claims/{proof.module.replace('.', '/')}.v",
            "of": proof.part, "digest": proof.digest}


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
    form = {"claims": [{"id": str, "verdict": str, "samples?": [float]}]}
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
        accepted[record["id"]] = _lasting(record)
    write_json(path, {"claims": [accepted[claim_id] for claim_id in sorted(accepted)]})


def differences(
    entries: Sequence[dict[str, Any]],
    accepted: Mapping[str, dict[str, Any]],
    *,
    known_ids: Sequence[str],
) -> list[str]:
    """List how a run differs from the accepted ledger, one line each; empty if it agrees."""
    lines = []
    for record in entries:
        before = accepted.get(record["id"])
        if before is None:
            lines.append(f"{record['id']}: {record['verdict']}, not in the accepted ledger")
            continue
        if text_digest(record) != before.get("says", text_digest(record)):
            lines.append(f"{record['id']}: its words or its formula are not those that were accepted")
        if not np.allclose(record["samples"], before.get("samples", record["samples"]), rtol=1e-4,
                           atol=1e-7):
            lines.append(f"{record['id']}: its margin is not the one that was accepted: other values "
                         "on the same instances")
        for key in ("verdict", "instead", "printed_proof"):
            if record[key] != before.get(key, ""):
                lines.append(f"{record['id']}: {key} is {record[key]}, accepted was {before[key]}")
    lines += [f"{claim_id}: in the accepted ledger but no longer a claim"
              for claim_id in accepted if claim_id not in known_ids]
    return lines


def markdown(claims: Mapping[str, Claim], accepted: Mapping[str, dict[str, Any]]) -> str:
    """The accepted ledger as a Markdown page: a table for each source."""
    verdicts = Counter(accepted[i]["verdict"] for i in claims if i in accepted)
    counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
    lines = [
        "# The ledger of claims", "",
        "<!-- Generated by: python -m entropy_theory table --output docs/ledger.md -->", "",
        f"{len(claims)} statements: {counts}. `python -m entropy_theory show ID` prints a claim's "
        "statement, hypotheses, proof steps, evidence, mutants and counterexample.",
    ]
    for source in sorted({claim_id.split(".")[0] for claim_id in claims}):
        lines += ["", f"## {source}", "",
                  "| claim | what it says | scope | verdict | printed proof | axioms | what holds "
                  "instead, counterexample |", "|---|---|---|---|---|---|---|"]
        for claim_id, claim in claims.items():
            if claim_id.split(".")[0] == source:
                record = accepted.get(claim_id, {})
                cells = (f"`{claim_id}`", claim.title, claim.scope,
                         record.get("verdict", "not checked"), record.get("printed_proof", ""),
                         record.get("axioms", ""), _remark(claim, record))
                lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return "\n".join(lines) + "\n"


def _remark(claim: Claim, record: Mapping[str, Any]) -> str:
    parts = []
    if record.get("instead"):
        parts.append(f"{record['instead']}: {claim.repair_note}")
    if record.get("counterexample"):
        parts.append(f"fails at {describe(record['counterexample'])}")
    return "; ".join(parts)


def _lasting(record: dict[str, Any]) -> dict[str, Any]:
    kept = {key: record[key]
            for key in ("id", "verdict", "instead", "printed_proof", "counterexample")}
    kept |= {"says": text_digest(record), "samples": record["samples"]}
    return {**kept, "axioms": "classical reals" if record["axioms"] else "", "proof": record["proof"]}
