"""The words of the ledger on the site: meanings of verdicts, names of sources, evidence in groups."""

from __future__ import annotations

from typing import Any

from entropy_theory.claims import all_claims
from entropy_theory.verification.claim import Claim

VERDICTS = {
    "proved": "the proof kernel (Rocq) accepted a theorem that is the formula, word for word",
    "first-order": "true up to a remainder, proved with its bound; its order is measured",
    "verified": "searched up to a vocabulary's size, no counterexample found; no proof for every number "
                "of actions",
    "no counterexample found": "none, but part of what the statement is about was not searched",
    "true with a hypothesis": "false as stated; proved with the hypothesis that is named",
    "corrected": "false as stated; with another constant, factor or sign it holds",
    "refuted": "read literally: a certified counterexample exists; what holds instead stands beside it",
    "fails as we read it": "a certified counterexample to our reading, which is not word for word what "
                           "is printed",
    "empirical": "false as an exact law; experiments say in which sense it holds",
    "vacuous": "it passes for a reason that has nothing to do with what it says",
    "undecided": "the evidence does not settle it",
}
READINGS = {
    "literal": "the sentence or formula as printed",
    "precise": "our precise form of what is printed",
    "inferred": "nobody wrote it; words that are quoted are the nearest",
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


def evidence(found: dict[str, Any]) -> dict[str, list[tuple[str, list[dict[str, Any]]]]]:
    """Return the evidence of each claim of a ledger.json by id, in groups, each with its heading."""
    known = all_claims()
    return {claim["id"]: _groups(claim, known.get(claim["id"])) for claim in found["claims"]}


def _groups(
    claim: dict[str, Any], known: Claim | None
) -> list[tuple[str, list[dict[str, Any]]]]:
    statements = {} if known is None else _step_statements(known)
    groups: dict[str, list[dict[str, Any]]] = {title: [] for title in EVIDENCE_GROUPS}
    for one in claim["evidence"]:
        target, name, detail = (one[key] for key in ("target", "name", "detail"))
        if target == "mutant":
            title, step, detail = MUTANTS, "", f"mutant '{name}': {detail}"
        elif name:
            title, step = STEPS[target], name
        else:
            about = "" if target == "statement" else f"{target}: "
            title, step, detail = CHECKS, "", about + detail
        shown = {"step": step, "statement": statements.get(step, ""), "detail": detail}
        groups[title].append({**one, **shown})
    return [(title, rows) for title, rows in groups.items() if rows]


def _step_statements(claim: Claim) -> dict[str, str]:
    """Return the words of each experiment and printed step of a claim, by its name."""
    steps = [*claim.experiments]
    for printed in claim.printed_proof:
        steps.append(printed.as_printed)
        steps += [printed.completed] if printed.completed is not None else []
    return {step.name: step.statement for step in steps}
