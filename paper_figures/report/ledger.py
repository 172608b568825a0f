"""The ledger of claims as the report shows it: by source, each claim with its evidence in groups."""

from __future__ import annotations

from collections import Counter
from typing import Any

from entropy_theory.claims import all_claims
from entropy_theory.verification.claim import Claim

VERDICTS = {
    "proved": "the proof kernel (Rocq) accepted a theorem that is the formula, word for word",
    "first-order": "true up to a remainder, proved with its bound; its order is measured",
    "verified": "searched up to a vocabulary's size, no counterexample found; no proof for every number "
                "of actions",
    "no counterexample found": "none, but part of what the statement is about was not searched",
    "true with a hypothesis": "false as printed; proved with the hypothesis that is named",
    "corrected": "false as printed; with another constant, factor or sign it holds",
    "refuted": "a certified counterexample exists; what holds instead stands beside it",
    "empirical": "false as an exact law; experiments say in which sense it holds",
    "vacuous": "it passes for a reason that has nothing to do with what it says",
    "undecided": "the evidence does not settle it",
}
PRINTED_PROOFS = {
    "ok": "the printed proof is complete",
    "gap": "the printed proof leaves a premise unsaid; completed here",
    "wrong": "a step of the printed proof fails",
    "reconstructed": "the displays of the printed proof are lost in the source; what was judged is a "
                     "reconstruction",
    "not in sources": "the sources print no proof of what was judged",
    "none": "the source prints no proof",
    "undecided": "the printed proof could not be judged in the time given",
}

CHECKS = "Evidence (fail speaks against the statement as printed)"
MUTANTS = "Wrong variants of the statement (pass: the same checks reject it)"
STEPS = {
    "statement": "Steps towards the statement",
    "repair": "Steps towards what holds",
    "experiment": "Experiments: what long exact runs and fits show",
    "printed proof": "The printed proof: does each step follow from what is printed?",
}
SOURCES = {
    "entropy-mechanism": (
        "Cui et al.", "The Entropy Mechanism of RL for Reasoning Language Models (Cui et al.)"),
    "aepo": ("AEPO", "Arbitrary Entropy Policy Optimization (AEPO)"),
    "aent": ("AEnt", "On Entropy Control in LLM-RL Algorithms (AEnt)"),
    "later-work": ("Later work", "Later work"),
    "extension": ("Ours", "Extensions, ours"),
}
"""The short and the full name of each source of claims, by the first part of the claims' ids."""
EVIDENCE_GROUPS = (*STEPS.values(), CHECKS, MUTANTS)


def ledger(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the report shows of ledger.json; formulas stand between dollar signs."""
    known = all_claims()
    claims = [_claim(claim, known.get(claim["id"])) for claim in found["claims"]]
    counts = Counter(claim["verdict"] for claim in claims)
    proofs = {claim["printed_proof"] for claim in claims}
    prefixes = dict.fromkeys(claim["id"].split(".")[0] for claim in claims)
    return {
        "claims": claims,
        "sources": [
            _source(prefix, [c for c in claims if c["id"].split(".")[0] == prefix])
            for prefix in sorted(prefixes, key=lambda p: [*SOURCES, p].index(p))
        ],
        "counts": [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        "proofs": [proof for proof in PRINTED_PROOFS if proof in proofs],
        "cases": sum(claim["cases"] for claim in claims),
        "provenance": found.get("provenance", {}),
    }


def _source(prefix: str, claims: list[dict[str, Any]]) -> dict[str, Any]:
    short, title = SOURCES.get(prefix, (prefix, prefix))
    counts = Counter(claim["verdict"] for claim in claims)
    return {"key": prefix, "short": short, "title": title, "claims": claims, "counts": counts}


def _claim(claim: dict[str, Any], known: Claim | None) -> dict[str, Any]:
    statements = {} if known is None else _step_statements(known)
    statement, _, repaired = claim["statement"].partition(" Repaired: ")
    hypotheses = [_as_formula(h) for h in claim["hypotheses"]]
    groups: dict[str, list[dict[str, Any]]] = {title: [] for title in EVIDENCE_GROUPS}
    for evidence in claim["evidence"]:
        target, name, detail = (evidence[key] for key in ("target", "name", "detail"))
        if target == "mutant":
            title, step, detail = MUTANTS, "", f"mutant '{name}': {detail}"
        elif name:
            title, step = STEPS[target], name
        else:
            about = "" if target == "statement" else f"{target}: "
            title, step, detail = CHECKS, "", about + detail
        shown = {"step": step, "statement": statements.get(step, ""), "detail": detail}
        groups[title].append({**evidence, **shown})
    return {
        "id": claim["id"],
        "source": claim["source"],
        "title": claim["title"],
        "statement": statement,
        "repaired": repaired,
        "formula": (claim.get("formula") or "").splitlines(),
        "repaired_formula": (claim.get("repaired_formula") or "").splitlines(),
        "instead": claim.get("instead", ""),
        "repair_note": claim.get("repair_note", ""),
        "scope": claim.get("scope", ""),
        "text": claim.get("text", "printed"),
        "proof": claim.get("proof"),
        "axioms": claim.get("axioms", []),
        "hypotheses": hypotheses,
        "verdict": claim["verdict"],
        "printed_proof": claim["printed_proof"],
        "groups": [(title, rows) for title, rows in groups.items() if rows],
        "cases": sum(e["cases"] for e in claim["evidence"]),
        "methods": ", ".join(dict.fromkeys(e["method"] for e in claim["evidence"])),
        "counterexample": _flat(claim["counterexample"]),
        # Formulas become pictures: what a search is to find of them.
        "words": " ".join([claim["title"], claim["statement"], *hypotheses]),
    }


def _step_statements(claim: Claim) -> dict[str, str]:
    """Return what each experiment and printed step of a claim says, by its name."""
    steps = [*claim.experiments]
    for printed in claim.printed_proof:
        steps.append(printed.as_printed)
        steps += [printed.completed] if printed.completed is not None else []
    return {step.name: step.statement for step in steps}


def _as_formula(hypothesis: str) -> str:
    """Add dollar signs to a hypothesis that is written without them."""
    return f"${hypothesis}$" if "\\" in hypothesis and "$" not in hypothesis else hypothesis


def _flat(record: dict[str, Any] | None) -> list[tuple[str, str]]:
    if record is None:
        return []
    return [
        (name.replace("_", " "), value if isinstance(value, str) else repr(value).replace("'", ""))
        for name, value in record.items()
    ]
