"""What the site shows of results: evidence in groups, formulas, figures that are missing, the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paper_figures.site import run
from paper_figures.site.ledger import evidence
from paper_figures.site.mathematics import formula
from paper_figures.site.records import figures
from tests.paper_figures.conftest import write_run

EVIDENCE: list[dict[str, Any]] = [
    {"method": "symbolic", "outcome": "pass", "detail": "proved", "cases": 0, "seconds": 0.1,
     "target": "statement", "name": "Chebyshev"},
    {"method": "search", "outcome": "fail", "detail": "at 2", "cases": 12345, "seconds": 2.0,
     "target": "repair", "name": ""},
    {"method": "mutant", "outcome": "pass", "detail": "rejected", "cases": 3, "seconds": 0.0,
     "target": "mutant", "name": "sign"},
]


def test_evidence_stands_in_groups() -> None:
    """Something the ledger holds and the reader does not see."""
    found = evidence({"claims": [{"id": "aepo.test-1", "evidence": EVIDENCE}]})["aepo.test-1"]
    assert [title.partition(" ")[0] for title, _ in found] == ["Steps", "Evidence", "Wrong"]
    shown = [(row["step"], row["detail"], row["cases"]) for _, rows in found for row in rows]
    assert shown == [("Chebyshev", "proved", 0), ("", "repair: at 2", 12345),
                     ("", "mutant 'sign': rejected", 3)]


def test_formulas_are_set_and_a_broken_one_is_an_error() -> None:
    """LaTeX that docutils reads otherwise than TeX, or not at all: a page with a hole, or false."""
    assert formula(r"\frac12") == formula(r"\frac{1}{2}").replace(r"\frac{1}{2}", r"\frac12")
    assert formula(r"\tfrac14(1 + n)").count("<mfrac><mn>1</mn><mn>4</mn></mfrac>") == 1
    assert formula(r"\|d\|^2").count('stretchy="false">‖</mo>') == 2
    assert formula(r"|a|").count('<mo lspace="0" rspace="0" stretchy="false">|</mo>') == 2
    assert "stretchy" not in formula(r"\left\|\frac ab\right\|")
    assert "<mfrac><mi>p</mi><mrow><mn>1</mn><mo>" in formula(r"\frac p{1 - p}")
    assert "<mtext>own rate</mtext>" in formula(r"\mathrm{own\,rate}")
    assert formula(r"\log n").count("<mspace") == 1
    assert formula(r"\log(n)").count("<mspace") == 0
    with pytest.raises(ValueError, match="cannot set"):
        formula(r"\nosuchcommand")


def test_failed_and_missing_figures_say_why(tmp_path: Path) -> None:
    """A figure that silently is not there."""
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "index.json").write_text(json.dumps({
        "drawn": [], "missing": {"aepo-figure-1": "no x.nc: run `python -m simulations run x`"},
        "failed": {"aepo-figure-2": "ZeroDivisionError: division by <zero>"},
    }))
    (tmp_path / "figures" / "aepo-figure-3.json").write_text(json.dumps({"verdicts": []}))
    problems = {figure["name"]: figure["problem"] for figure in figures(tmp_path)}
    assert problems["aepo-figure-1"] == "Not made yet: no x.nc: run `python -m simulations run x`"
    assert problems["aepo-figure-2"] == "It could not be made: ZeroDivisionError: division by <zero>"
    assert problems["aepo-figure-3"].startswith("Made by another version of this package: run `python -m")


def test_the_run_has_its_trainings_evaluations_and_skipped_stages(tmp_path: Path) -> None:
    """A score without the line it is read against; a stage that was skipped and is not named."""
    empty = run.page(tmp_path, None)
    for command in ("train --task", "evaluate --model", "policy-entropy audit"):
        assert command in empty
    write_run(tmp_path / "runs" / "<b>mine", rule="grpo", entropies=[1.0, 0.5])
    (tmp_path / "evaluations").mkdir()
    (tmp_path / "evaluations" / "m.json").write_text(json.dumps({
        "model": "m", "task": "chain-sum", "prompts": 32, "num_samples": 8, "pass@1": 0.33,
        "intervals": {"pass@1": [0.25, 0.41]}, "entropy": 0.82,
        "constant_answer": {"answer": "9", "score": 0.12},
    }))
    stage = {"name": "evaluate a model", "status": "skipped", "reason": "no network today",
             "seconds": 1.0, "peak_megabytes": 1.0, "command": "python -m x", "log": "x"}
    page = run.page(tmp_path, {"profile": "default", "seconds": 3.0, "peak_megabytes_at_once": 10.0,
                               "stages": [stage]})
    for said in ("1.00 → 0.50", "8.0 → 4.0", "small-sums, split, grpo", r"\<b\>mine",
                 "0.33 \\[0.25, 0.41\\]", "0.12 (9)", "no network today"):
        assert said in page, said


def test_what_computes_the_numbers_anew_comes_first(tmp_path):
    """The paper's recipes alone, for a figure that was drawn from simulations."""
    folder = tmp_path / "figures"
    folder.mkdir()
    (folder / "aepo-table-2.svg").touch()
    (folder / "aepo-table-2.json").write_text(json.dumps({
        "verdicts": [], "headline": "", "evidence": [], "drawn_from": "", "criteria": [],
        "data_sha256": "0", "inputs": {"simulations/pass_at_k.nc": {}}}))
    (found,) = [one for one in figures(tmp_path) if one["name"] == "aepo-table-2"]
    assert found["rerun"][0] == "python -m simulations run pass-at-k"
    assert len(found["rerun"]) > 1
    assert all(recipe.startswith("paper/") for recipe in found["rerun"][1:])
