"""Claims, verdicts, runs and diagnoses in a notebook: HTML that says what they are."""

from __future__ import annotations

import numpy as np

from diagnosis.findings import Diagnosis, Finding
from entropy_theory import update_rules
from entropy_theory.claims import all_claims
from entropy_theory.support.notebook import card
from entropy_theory.verification.verdict import Verdict
from simulations.engine import Dynamics, simulate


def test_a_card_escapes_and_leaves_empty_facts_out():
    assert card("a < b", {"x": "<i>", "none": None, "empty": ""}) == (
        '<p><b>a &lt; b</b></p><table><tr><th style="text-align:left">x</th>'
        '<td style="text-align:left">&lt;i&gt;</td></tr></table>')


def test_results_say_what_they_are():
    claim = all_claims()["aepo.high-temperature-raises"]
    assert claim.statement.latex.split()[0] in claim._repr_html_()
    verdict = Verdict(statement="refuted", printed_proof="none", problems=(), counterexample={
        "weights": [1, 2], "margin_interval": "[-1 +/- 0]"})
    assert "weights=(1,2)" in verdict._repr_html_()
    dynamics = Dynamics(rule=update_rules.get("reinforce"), learning_rate=0.3, steps=2)
    run = simulate(np.array([[[0.0, 0.0]]]), np.array([[True, False]]), dynamics)
    assert "1 runs, 2 steps" in run._repr_html_()
    assert "0.6931 → " in run._repr_html_()
    found = Diagnosis(run="a.log", engine="trl", sentence="Collapse.", findings=(
        Finding("collapse", 0.9, evidence=("entropy falls",)),))
    assert "<b>Collapse.</b>" in found._repr_html_()
    assert "collapse, 90%" in found._repr_html_()
