"""A page for each paper: its statements and figures, what fails and why, paper beside ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from entropy_theory.verification.claim import Claim
from entropy_theory.verification.floats import describe
from entropy_theory.verification.verdict import FAILED
from paper_figures.site import claims as claim_pages
from paper_figures.site.figures import badges
from paper_figures.site.ledger import SOURCES, VERDICTS
from paper_figures.site.markup import badge, claim_page, fenced, figure_page, link, table, text

FAILS = (*FAILED, "corrected", "true with a hypothesis", "empirical", "undecided")
"""Verdicts on statements that do not hold as printed, or of which it is not known."""
ABOUT = {
    "aepo": "*Arbitrary Entropy Policy Optimization Breaks The Exploration Bottleneck of Reinforcement "
            "Learning*, [arXiv 2510.08141](https://arxiv.org/abs/2510.08141).",
    "entropy-mechanism": "*The Entropy Mechanism of Reinforcement Learning for Reasoning Language "
                         "Models*, [arXiv 2505.22617](https://arxiv.org/abs/2505.22617).",
    "aent": "*On Entropy Control in LLM-RL Algorithms*, "
            "[arXiv 2509.03493](https://arxiv.org/abs/2509.03493).",
    "later-work": "Single statements of later papers; each names its own.",
    "extension": "What this project adds: what holds instead, and what the papers leave open.",
}
KEYS = {"aepo": "AEPO", "entropy-mechanism": "Cui et al.", "aent": "AEnt", "extension": "This project"}
"""What the sources of a paper's figures begin with."""


def pages(claims: Mapping[str, Claim], figures: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the pages of all papers that have a claim or a figure, and their index, by name."""
    found = claim_pages.records(claims)
    written = {}
    for prefix, (_, title) in SOURCES.items():
        own = {i: claim for i, claim in claims.items() if i.split(".")[0] == prefix}
        shown = [f for f in figures if f["source"].split(",")[0] == KEYS.get(prefix)]
        if own or shown:
            written[f"papers/{prefix}"] = _page(prefix, title, own, found, shown)
    return {**written, "papers/index": _index(list(written), claims, found)}


def _index(names: Sequence[str], claims: Mapping[str, Claim], found: Mapping[str, Any]) -> str:
    rows = []
    for name in names:
        prefix = name.split("/")[1]
        counts = Counter(found[i]["verdict"] for i in claims if i.split(".")[0] == prefix)
        rows.append((link(SOURCES[prefix][1], name), _counted(counts)))
    names = "\n".join(f"/{name}" for name in names)
    return "\n".join(["# The papers", "", table(("paper", "verdicts on its statements"), rows, (2, 3)),
                      fenced(f":hidden:\n\n{names}", "{toctree}")])


def _counted(counts: Mapping[str, int]) -> str:
    return " ".join(f"{counts[verdict]} {badge(verdict)}" for verdict in VERDICTS if counts.get(verdict))


def _page(
    prefix: str, title: str, claims: Mapping[str, Claim], found: Mapping[str, Mapping[str, Any]],
    figures: Sequence[Mapping[str, Any]],
) -> str:
    failing = [i for verdict in FAILS for i in claims if found[i]["verdict"] == verdict]
    counts = Counter(found[i]["verdict"] for i in claims)
    parts = [f"# {text(title)}", "", ABOUT[prefix], ""]
    if claims:
        parts += [f"{len(claims)} statements: {_counted(counts)}", "",
                  "## Every statement", "", _statements(claims, found)]
    if failing:
        parts += ["## What does not hold as printed, and why", "", *(
            _failure(claims[i], found[i]) for i in failing)]
    if figures:
        parts += ["## Figures and tables: the paper beside ours", "", table(
            ("figure", "the paper", "ours"),
            [(link(f["label"], figure_page(f["name"])),
              text(f"{f['paper']} ({f['place']})" if f["place"] else f["paper"]),
              badges(f) + " "
              + text(f"{f['headline']} {f['met']}".strip() or f["ours"]))
             for f in figures], (2, 4, 5), css="filterable")]
    return "\n".join(parts)


def _statements(claims: Mapping[str, Claim], found: Mapping[str, Mapping[str, Any]]) -> str:
    return table(("statement", "what it says", "verdict"), [
        (link(claim.source.split(", ", 1)[-1], claim_page(i)), text(claim.title),
         badge(found[i]["verdict"]))
        for i, claim in sorted(claims.items(), key=lambda named: _place(named[1]))
    ], (3, 5, 2), css="filterable")


def _place(claim: Claim) -> tuple[bool, list[tuple[bool, str, int]]]:
    """Return a key that puts what is numbered as a theorem first, and numbers by their value."""
    place = claim.source.split(", ", 1)[-1].lower()
    words = [(part.isdigit(), part if not part.isdigit() else "", int(part) if part.isdigit() else 0)
             for part in re.split(r"(\d+)", place)]
    return re.match("lemma|theorem|proposition|corollary", place) is None, words


def _failure(claim: Claim, record: Mapping[str, Any]) -> str:
    lines = [f"### {link(claim.title, claim_page(claim.id))}", "",
             f"{badge(record['verdict'])} {text(claim.source)}. {text(claim.statement.latex)}", ""]
    if record.get("counterexample"):
        lines += [f"It fails at {text(describe(record['counterexample']))}.", ""]
    if claim.repair is not None:
        standing = f" ({record['instead']})" if record.get("instead") else ""
        lines += [f"**What holds{standing}:** {text(claim.repair.latex)} {text(claim.repair_note)}", ""]
    return "\n".join(lines)
