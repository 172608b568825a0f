"""Sentences of the papers that are no numbered statements: their verdicts, and the list of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from entropy_theory.claims import all_claims
from entropy_theory.claims.entropy_mechanism import points_on_the_curve
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.instances import Cases
from tests.entropy_theory.claims.verdicts import check_verdict

PAGE = Path(__file__).parents[3] / "docs" / "sentences.md"
CLAIMS = all_claims()

# Where nothing but search and printed numbers decides.
EXPECTED = {
    "aepo.all-entropy-levels": "proved",
    "aepo.rise-then-fall": "proved",
    "aepo.consistent-improvements": "refuted",
    "aepo.maxent-objective": "corrected",
    "aepo.pass-at-1024": "refuted",
    "aepo.table-1-superior": "refuted",
    "entropy-mechanism.consistently-outperforms": "refuted",
}


@pytest.mark.parametrize("claim_id", EXPECTED)
def test_verdict(claim_id):
    check_verdict(claim_id, EXPECTED[claim_id], "none")


def test_every_claim_says_its_scope():
    assert [i for i, claim in CLAIMS.items() if not claim.scope] == []


def test_every_claim_on_the_page_exists():
    named = re.findall(r"`((?:aepo|aent|entropy-mechanism|extension|later-work)\.[\w.-]+)`",
                       PAGE.read_text())
    assert set(named) <= set(CLAIMS)
    papers = {i for i in CLAIMS if not i.startswith(("extension.", "later-work."))}
    # The lemmas of AEnt are named by the first and the last.
    assert {i for i in papers - set(named) if not i.startswith("aent.lemma-")} == set()


def test_corollary_4_4_fails_where_theorem_4_3_applies():
    """The low half's counterexample has F(1) < 0: the margin and the hypothesis of the statement."""
    claim = CLAIMS["aepo.corollary-4.4-low"]
    witness = Cases(logits=np.log([[4.0, 7.0, 8.0]]), correct=np.array([[False, True, False]]),
                    temperature=np.array([0.05]))
    hypotheses, margins = claim.statement.evaluate(witness)
    assert all(np.all(np.asarray(h) > 0) for h in hypotheses)
    assert margins[0] < 0


def test_clip_cov_leaves_the_curve_upwards():
    """First-order entropy at equal performance against finite differences of whole policies."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        logits = rng.normal(size=(1, 5))
        correct = np.array([[True, True, False, False, False]])
        i = Cases(logits=logits, correct=correct)
        for kind, expected in ((correct, points_on_the_curve._right_spared(i)),
                               (~correct, points_on_the_curve._wrong_spared(i))):
            right = kind is correct
            inside = np.where(kind, logits, -np.inf if right else np.inf)[0]
            spared = np.argmax(inside) if right else np.argmin(inside)
            size = 1e-5
            moved = logits.copy()
            moved[0, spared] += -size if right else size
            shift = _log_odds(moved, correct) - _log_odds(logits, correct)
            base = logits + np.where(correct, shift, 0)
            found = (ar.entropy(moved) - ar.entropy(base)) / size
            assert found == pytest.approx(expected, abs=1e-4)
            assert expected > 0


def _log_odds(logits, correct):
    right = ar.total(ar.softmax(logits), correct)
    return np.log(right / (1 - right))
