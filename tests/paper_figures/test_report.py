"""The report page: whole without its inputs, readable without a network, safe with odd text."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pandas
import pytest

from paper_figures.catalog import FIGURES
from paper_figures.data import inputs
from paper_figures.drawing.table import Table
from paper_figures.figure import Finding, PaperFigure, build
from paper_figures.report.figures import lighter
from paper_figures.report.formulas import Formulas
from paper_figures.report.page import render
from tests.paper_figures.conftest import ON_THE_PAGE, write_run

SPACES = re.compile(r"\s+")

CLAIM: dict[str, Any] = {
    "id": "aepo.test-1", "source": "AEPO, Test 1", "title": "Entropy & <temperature>",
    "statement": r"For $T' > T$: $H(\pi^{T'}) > H(\pi^{T})$, and $\begin{cases}0\end{cases}$.",
    "hypotheses": [r"\sum_{a \in A^*} \pi_a \le \frac12", "n is at least 2"],
    "formula": "0 < T\n\\Rightarrow\\quad H(\\pi^{T}) \\ge 0", "repaired_formula": None,
    "scope": "one tabular state", "text": "printed", "repair_note": "hypothesis T > 1",
    "verdict": "true with a hypothesis", "instead": "proved", "printed_proof": "gap",
    "proof": {"kernel": "Rocq", "file": "formal/claims/aepo/test_1.v", "of": "repair",
              "digest": "0123456789abcdef"},
    "axioms": ["Classical_Prop.classic"],
    "evidence": [
        {"method": "smt", "outcome": "pass", "detail": "proved", "cases": 0,
         "seconds": 0.1, "target": "statement", "name": "Chebyshev"},
        {"method": "search", "outcome": "fail", "detail": "<script>alert(1)</script>",
         "cases": 12345, "seconds": 2.0, "target": "statement", "name": ""},
        {"method": "mutant", "outcome": "pass", "detail": "rejected", "cases": 3,
         "seconds": 0.0, "target": "mutant", "name": "sign"},
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
    for text in ("true with a hypothesis", "printed proof: gap", "Steps towards the statement",
                 "Chebyshev", 'aria-label="\\Rightarrow\\quad H(\\pi^{T}) \\ge 0"', "one tabular state",
                 "formal/claims/aepo/test_1.v", "0123456789ab", "Classical_Prop.classic",
                 "Wrong variants", "12,345", 'aria-label="H(\\pi^{T&#39;}) &gt; H(\\pi^{T})"',
                 "[-0.5 +/- 1e-9]", "n is at least 2", "search"):
        assert text in theory


def test_text_from_files_is_escaped(tmp_path: Path) -> None:
    """Markup in a claim or a run's name that becomes part of the page."""
    write_ledger(tmp_path)
    write_run(tmp_path / "runs" / "<b>bold", rule="grpo", entropies=[1.0, 0.5])
    page = render(tmp_path)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "Entropy &amp; &lt;temperature&gt;" in page
    assert "<b>bold" not in page


def test_formulas_are_drawn_and_a_broken_one_stands_as_source(tmp_path: Path) -> None:
    """LaTeX that mathtext cannot set must not stop the report, nor vanish."""
    formulas = Formulas()
    text = formulas.text(CLAIM["statement"])
    assert text.count("<svg") == 2
    assert formulas.broken == [r"\begin{cases}0\end{cases}"]
    assert r'<code class="latex">\begin{cases}0\end{cases}</code>' in text
    used = set(re.findall(r'href="#(g\d+)"', text))
    assert used == set(re.findall(r'<path id="(g\d+)"', formulas.definitions()))
    write_ledger(tmp_path)
    broken = render(tmp_path).split('<ul id="broken">')[1].split("</ul>")[0]
    assert broken.count("<li>") == 1
    assert r"\begin{cases}0\end{cases}" in broken


def test_the_page_asks_nothing_of_the_network(page_file: Path) -> None:
    """A picture, font or script that is not in the page; a link to a file that is not beside it."""
    page = page_file.read_text()
    assert page.count('src="data:image/svg+xml,') == len(ON_THE_PAGE)
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    # What is left of url() are the drawings' references to their own parts.
    assert not re.findall(r"<(?:link|iframe)\b|<script [^>]*src|@import|url\((?!%23)", page)
    links = re.findall(r'href="(\.\./[^"]+)"', page)
    assert len(links) == 3 * len(ON_THE_PAGE)
    for target in links:
        assert (page_file.parent / target).exists()


def test_a_drawing_is_made_lighter_but_stays_the_same(page_file: Path) -> None:
    """A coordinate off by more than one sees, a clipped path, quotes that end the attribute."""
    path = page_file.parent.parent / "figures" / "aepo-figure-1.svg"
    drawing = path.read_text()
    small = lighter(drawing)
    assert len(small) < 0.9 * len(drawing)
    before, after = (list(ElementTree.fromstring(text).iter()) for text in (drawing, small))
    assert [node.tag for node in before] == [node.tag for node in after]
    for old, new in zip(before, after, strict=True):
        assert old.keys() == new.keys()
        for key, value in old.items():
            if key not in ("d", "x", "y", "points"):
                assert SPACES.sub(" ", value) == new.get(key)
                continue
            for number, shorter in zip(value.split(), new.get(key).split(), strict=True):
                assert number == shorter or abs(float(number) - float(shorter)) < 0.01
    title = FIGURES["aepo-figure-1"].title
    (encoded,) = re.findall(
        rf'<img src="data:image/svg\+xml,([^"]+)" [^>]*alt="{title}', page_file.read_text())
    assert unquote(html.unescape(encoded)) == small


def test_failed_and_missing_figures_say_why(tmp_path: Path) -> None:
    """A figure that silently is not there."""
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "index.json").write_text(json.dumps({
        "drawn": [], "missing": {"aepo-figure-1": "no x.nc: run `python -m simulations run x`"},
        "failed": {"aepo-figure-2": "ZeroDivisionError: division by <zero>"},
    }))
    (tmp_path / "figures" / "aepo-figure-3.json").write_text(json.dumps({"verdict": "holds"}))
    figures = section(render(tmp_path), "figures")
    assert "Made by another version of this package: run <code>python -m paper_figures build" in figures
    assert "Not made yet: no x.nc: run <code>python -m simulations run x</code>" in figures
    assert "It could not be made: ZeroDivisionError: division by &lt;zero&gt;" in figures


def test_tables_stand_with_their_origin_and_formulas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper's numbers taken for ours; LaTeX of a cell as source."""
    paper = Table(title="Printed", header=("model", "$\\beta$"), rows=(("a <b>", "0.5"), ("c", "–")),
                  origin="the paper", note="Average of $n$ runs.")
    figure = PaperFigure(
        name="x-table-1", source="AEPO, Table 1", title="a table", paper="p", ours="o",
        data=lambda results: (inputs.printed("AEPO, Table 1"), pandas.DataFrame({"n": [1]}))[1],
        tables=lambda table: [paper],
        finding=lambda table: Finding(standing="awaits runs"),
        recipes=("paper/aepo-targets", "gpu-small/aepo-targets"),
    )
    monkeypatch.setitem(FIGURES, figure.name, figure)
    build(figure, tmp_path, tmp_path / "figures")
    page = render(tmp_path)
    figures = section(page, "figures")
    assert 'Printed <span class="badge origin">the paper</span>' in figures
    assert '<th scope="col" class="number"><svg class="formula" role="img" aria-label="\\beta"' in figures
    assert '<th scope="row">a &lt;b&gt;</th><td class="number">0.5</td>' in figures
    assert 'aria-label="n"' in figures
    row = section(page, "comparison").split('href="#x-table-1"')[1].split("</tr>")[0]
    assert "awaits runs" in row
    assert "the paper&#39;s numbers" in row
    assert "<code>paper/aepo-targets</code></td>" in row


def test_captions_come_from_the_data(page_file: Path) -> None:
    """A caption typed in by hand."""
    page = page_file.read_text()
    for name in ON_THE_PAGE:
        found = json.loads((page_file.parent.parent / "figures" / f"{name}.json").read_text())
        assert found["headline"] in section(page, "summary")
        for one in found["criteria"]:
            assert one["says"] in section(page, "figures")
        assert found["headline"] in section(page, "comparison")


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


def test_every_formula_of_the_ledger_can_be_set(page_file: Path) -> None:
    """One that cannot would stand as LaTeX source in the report."""
    page = page_file.read_text()
    assert '<code class="latex">' not in page
    assert 'id="broken"' not in page
    assert page.count('class="formula"') > 300
