"""A page for each paper: sentence by sentence with verdicts, and its figures beside ours."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from entropy_theory.verification.claim import Claim
from entropy_theory.verification.floats import describe
from paper_figures.site import claims as claim_pages
from paper_figures.site.claims import badges
from paper_figures.site.ledger import SOURCES, VERDICTS
from paper_figures.site.markup import (
    badge,
    claim_page,
    fenced,
    figure_page,
    link,
    prose_or_formula,
    table,
    text,
)

SENTENCES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    paper: [{"claim": one} if isinstance(one, str) else one for one in rows] for paper, rows in
    tomllib.loads(Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8")).items()}
"""The sentences of each paper in its order: a claim, or what no claim judges and why."""
ABOUT = {
    "aepo": "*Arbitrary Entropy Policy Optimization Breaks The Exploration Bottleneck of Reinforcement "
            "Learning*, [arXiv 2510.08141](https://arxiv.org/abs/2510.08141) as it first was. The number "
            "now carries another text, *SCOPE-RL: Stable and Quantitative Control of Policy Entropy in "
            "RL Post-Training*, which is judged as later work.",
    "entropy-mechanism": "*The Entropy Mechanism of Reinforcement Learning for Reasoning Language "
                         "Models*, [arXiv 2505.22617](https://arxiv.org/abs/2505.22617).",
    "aent": "*On Entropy Control in LLM-RL Algorithms*, "
            "[arXiv 2509.03493](https://arxiv.org/abs/2509.03493)." + claim_pages.GAPS["aent"],
    "later-work": "Single sentences of later papers, mostly of abstracts, made precise for one tabular "
                  "state. The texts of QAE and CE-GPPO were at hand, other papers' theorems were not.",
    "extension": "What this project adds: what holds instead, and what the papers leave open.",
}
KEYS = {"aepo": "AEPO", "entropy-mechanism": "Cui et al.", "aent": "AEnt", "extension": "This project"}
"""First words of the sources of a paper's figures."""


def pages(claims: Mapping[str, Claim], figures: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the pages of all papers that have a claim or a figure, and their index, by name."""
    found = claim_pages.records(claims)
    written = {}
    for prefix, (_, title) in SOURCES.items():
        own = {i: claim for i, claim in claims.items() if i.split(".")[0] == prefix}
        shown = [f for f in figures if f["source"].split(",")[0] == KEYS.get(prefix)]
        if own or shown:
            written[f"papers/{prefix}"] = _page(prefix, title, list(own), claims, found, shown)
    return {**written, "papers/index": _index(list(written), claims, found)}


def _index(names: Sequence[str], claims: Mapping[str, Claim], found: Mapping[str, Any]) -> str:
    rows = []
    for name in names:
        prefix = name.split("/")[1]
        own = _of_sentences(prefix, [i for i in claims if i.split(".")[0] == prefix])
        rows.append((link(SOURCES[prefix][1], name),
                     _counted(Counter(found[i]["verdict"] for i in own))))
    names = "\n".join(f"/{name}" for name in names)
    return "\n".join(["# The papers", "", table(("paper", "verdicts on its statements"), rows, (2, 3)),
                      fenced(f":hidden:\n\n{names}", "{toctree}")])


def _of_sentences(prefix: str, own: Sequence[str]) -> list[str]:
    """Return the claims that judge sentences of the paper; others of its prefix stand beside them."""
    return [i for i in own if prefix not in SENTENCES
            or any(entry.get("claim") == i for entry in SENTENCES[prefix])]


def _counted(counts: Mapping[str, int]) -> str:
    return " ".join(f"{counts[verdict]} {badge(verdict)}" for verdict in VERDICTS if counts.get(verdict))


def _page(
    prefix: str, title: str, own: Sequence[str], claims: Mapping[str, Claim],
    found: Mapping[str, Mapping[str, Any]], figures: Sequence[Mapping[str, Any]],
) -> str:
    parts = [f"# {text(title)}", "", ABOUT[prefix], ""]
    if own:
        entries = SENTENCES.get(prefix, [{"claim": i} for i in own])
        rows = [_row(entry, claims, found) for entry in entries if entry.get("claim") in {None, *own}]
        unjudged = sum("why" in entry for entry in entries)
        judged = _of_sentences(prefix, own)
        inferred = [i for i in judged if claims[i].reading.kind == "inferred"]
        parts += [*(f"{len(these)} {kind}: {_counted(Counter(found[i]['verdict'] for i in these))}\n"
                    for kind, these in (
                        ("sentences as printed or in our precise form",
                         [i for i in judged if i not in inferred]),
                        ("statements inferred from sentences, which nobody wrote", inferred)) if these),
                  f"No claim judges {unjudged} other sentences; the reason stands beside each.\n"
                  if unjudged else "",
                  *(["The order is the paper's."] if prefix in SENTENCES else []),
                  "The link below a sentence leads to its page: formula, proof, counterexample, and how "
                  "to contest the verdict. "
                  "[What the verdicts mean](/claims/index.md#what-the-verdicts-mean).", "",
                  "## Sentence by sentence", "",
                  table(("place", "sentence, and how it is read", "verdict, and what holds"), rows,
                        (3, 8, 7), css="filterable sentences")]
    if figures:
        parts += ["## Figures and tables: the paper beside ours", "", table(
            ("figure", "the paper", "ours"),
            [(link(f["label"], figure_page(f["name"])),
              text(f"{f['paper']} ({f['place']})" if f["place"] else f["paper"]),
              badges(f) + " "
              + text(f"{f['headline']} {f['met']}".strip() or f["ours"]))
             for f in figures], (2, 4, 5), css="filterable")]
    return "\n".join(parts)


def _row(
    entry: Mapping[str, Any], claims: Mapping[str, Claim], found: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str, str]:
    """Return a sentence's place, its words with our reading, and its verdict with what holds."""
    if "why" in entry:
        return (text(entry["place"]), f"“{text(entry['sentence'])}”",
                f"{badge('not judged')} {text(entry['why'])}")
    claim, record = claims[entry["claim"]], found[entry["claim"]]
    reading, quotation = claim.reading, prose_or_formula(claim.reading.quotation)
    words = [quotation if quotation.startswith("{math}") else f"“{quotation}”"] if quotation else []
    words.append(f"*{reading.kind}*: {link(claim.title, claim_page(claim.id))}")
    words += [f"of ours: {link(claims[i].title, claim_page(i))}"
              for i in entry.get("also", ()) if i in claims]
    holds = []
    if record["instead"]:
        holds.append(f"{badge(record['instead'])} {text(claim.repair_note)}")
    elif record["counterexample"]:
        holds.append(f"fails at {text(describe(record['counterexample']))}")
    return (text(reading.place or claim.source.split(", ", 1)[-1]), "\n\n".join(words),
            "\n\n".join([badge(record["verdict"]), *holds]))
