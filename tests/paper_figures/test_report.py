"""The report page: whole without its inputs, readable without a network, safe with odd text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from entropy_theory.claims import all_claims
from paper_figures.catalog import FIGURES
from paper_figures.figure import build
from paper_figures.formulas import Formulas
from paper_figures.report import render, write_report
from tests.paper_figures.conftest import write_run

CLAIM: dict[str, Any] = {
    "id": "aepo.test-1", "source": "AEPO, Test 1", "title": "Entropy & <temperature>",
    "statement": r"For $T' > T$: $H(\pi^{T'}) > H(\pi^{T})$, and $\begin{cases}0\end{cases}$.",
    "hypotheses": [r"\sum_{a \in A^*} \pi_a \le \frac12", "n is at least 2"],
    "verdict": "repaired", "printed_proof": "gap",
    "evidence": [
        {"method": "smt", "outcome": "pass", "detail": "step 'Chebyshev': proved", "cases": 0,
         "seconds": 0.1},
        {"method": "search", "outcome": "fail", "detail": "<script>alert(1)</script>",
         "cases": 12345, "seconds": 2.0},
        {"method": "mutant", "outcome": "pass", "detail": "mutant 'sign': rejected", "cases": 3,
         "seconds": 0.0},
    ],
    "counterexample": {"weights": [1, 2], "correct": [2], "margin_interval": "[-0.5 +/- 1e-9]"},
}


def write_ledger(results: Path) -> None:
    provenance = {"commit": None, "created": "2026-01-01T00:00:00+00:00", "versions": {}}
    (results / "ledger.json").write_text(
        json.dumps({"provenance": provenance, "claims": [CLAIM]})
    )


def section(page: str, name: str) -> str:
    return page.split(f'<section id="{name}">')[1].split("</section>")[0]


def test_an_empty_folder_gives_a_page_that_says_what_to_run(tmp_path: Path) -> None:
    """One missing input that costs the whole page."""
    page = render(tmp_path)
    for name, command in (
        ("summary", "make reproduce"),
        ("theory", "python -m entropy_theory verify --quick"),
        ("figures", "python -m paper_figures build aepo-figure-1"),
        ("runs", "python -m llm_bridge train"),
        ("runs", "python -m llm_bridge evaluate"),
        ("audit", "python -m llm_bridge audit"),
    ):
        assert command in section(page, name)


def test_a_damaged_ledger_costs_its_own_section_alone(tmp_path: Path) -> None:
    """A file cut off by a full disk."""
    (tmp_path / "ledger.json").write_text('{"claims": [')
    write_run(tmp_path / "runs" / "mine", rule="grpo", entropies=[1.0, 0.5])
    page = render(tmp_path)
    assert "has not been computed" in section(page, "theory")
    assert "1.00 → 0.50" in section(page, "runs")


def test_a_claim_shows_verdict_proof_steps_evidence_and_counterexample(tmp_path: Path) -> None:
    """Something the ledger holds and the reader does not see."""
    write_ledger(tmp_path)
    theory = section(render(tmp_path), "theory")
    for text in ("repaired", "printed proof: gap", "Proof, for any number of actions", "Chebyshev",
                 "Wrong variants", "12,345",
                 "[-0.5 +/- 1e-9]", "n is at least 2", "search"):
        assert text in theory


def test_text_from_files_is_escaped(tmp_path: Path) -> None:
    """Markup in a claim or a run's name that becomes part of the page."""
    write_ledger(tmp_path)
    write_run(tmp_path / "runs" / "<b>bold", rule="grpo", entropies=[1.0, 0.5])
    page = render(tmp_path)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "Entropy &amp; &lt;temperature&gt;" in page
    assert "<b>bold" not in page


def test_formulas_are_drawn_and_a_broken_one_stands_as_source(tmp_path: Path) -> None:
    """LaTeX that mathtext cannot set must not stop the report, nor vanish."""
    formulas = Formulas()
    html = formulas.text(CLAIM["statement"])
    assert html.count("<svg") == 2
    assert formulas.broken == [r"\begin{cases}0\end{cases}"]
    assert r'<code class="latex">\begin{cases}0\end{cases}</code>' in html
    used = set(re.findall(r'href="#(g\d+)"', html))
    assert used == set(re.findall(r'<path id="(g\d+)"', formulas.definitions()))


def test_the_page_asks_nothing_of_the_network(smoke_results: Path, tmp_path: Path) -> None:
    """A picture, font or script that is not in the page."""
    for figure in FIGURES.values():
        if figure.name.startswith("aepo"):
            build(figure, smoke_results, tmp_path / "figures", ["svg"])
    write_ledger(tmp_path)
    page = write_report(tmp_path).read_text()
    assert page.count('src="data:image/svg+xml;base64,') == 3
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    assert not re.findall(r"<(?:script|link|iframe)\b|@import|url\(", page)
    # Links beside the page lead to files that exist.
    for target in re.findall(r'href="(\.\./[^"]+)"', page):
        assert (tmp_path / "report" / target).exists()


def test_captions_come_from_the_data(smoke_results: Path, tmp_path: Path) -> None:
    """A caption typed in by hand."""
    found = build(FIGURES["aepo-figure-1"], smoke_results, tmp_path / "figures", ["svg"])
    page = render(tmp_path)
    assert found.headline in section(page, "summary")
    assert found.text in section(page, "figures")
    assert found.text in section(page, "comparison")


def test_failed_and_skipped_stages_stand_in_the_summary(tmp_path: Path) -> None:
    """A page that looks complete when a part of the job was not done."""
    stage = {"name": "evaluate a model", "status": "skipped", "reason": "no network today",
             "seconds": 1.0, "peak_megabytes": 1.0, "command": "python -m x", "log": "x"}
    (tmp_path / "reproduce.json").write_text(
        json.dumps({"profile": "default", "seconds": 3.0, "peak_megabytes_at_once": 10.0,
                    "stages": [stage]})
    )
    assert "no network today" in section(render(tmp_path), "summary")


def test_evaluations_stand_beside_the_constant_answer(tmp_path: Path) -> None:
    """A score without the line it must be read against."""
    folder = tmp_path / "evaluations"
    folder.mkdir()
    (folder / "m.json").write_text(json.dumps({
        "model": "m", "task": "chain-sum", "prompts": 32, "num_samples": 8, "pass@1": 0.33,
        "intervals": {"pass@1": [0.25, 0.41]}, "entropy": 0.82,
        "constant_answer": {"answer": "9", "score": 0.125},
    }))
    runs = section(render(tmp_path), "runs")
    assert "0.33" in runs
    assert "[0.25, 0.41]" in runs
    assert "0.12 (<code>9</code>)" in runs or "0.13 (<code>9</code>)" in runs


def test_every_formula_of_the_ledger_can_be_set():
    """One that cannot would stand as LaTeX source in the report."""
    formulas = Formulas()
    for claim in all_claims().values():
        texts = [claim.title, claim.statement.latex, claim.repair_note]
        steps = [*claim.statement.proof, *claim.negation, *claim.experiments]
        if claim.repair is not None:
            texts.append(claim.repair.latex)
            steps += claim.repair.proof
        for text in (*texts, *(step.statement for step in steps)):
            formulas.text(text)
    assert formulas.broken == []
