"""Sentences of the papers that are no numbered statements: how they are read, and their verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.instances import Cases

CLAIMS = all_claims()


def test_a_sentence_of_a_paper_is_quoted_with_its_place():
    """What is ours is inferred, and what is no sentence of a text at hand is not read literally."""
    for claim_id, claim in CLAIMS.items():
        reading = claim.reading
        if claim_id.startswith("extension."):
            assert reading.kind == "inferred", claim_id
        elif reading.kind == "precise":
            assert reading.quotation or "at hand" in reading.place, claim_id
        assert bool(reading.quotation) <= bool(reading.place), claim_id


def test_corollary_4_4_fails_where_theorem_4_3_applies():
    """The low half's counterexample has F(1) < 0: the margin and the hypothesis of the statement."""
    claim = CLAIMS["aepo.corollary-4.4-low"]
    witness = Cases(logits=np.log([[4.0, 7.0, 8.0]]), correct=np.array([[False, True, False]]),
                    temperature=np.array([0.05]))
    hypotheses, margins = claim.statement.evaluate(witness)
    assert all(np.all(np.asarray(h) > 0) for h in hypotheses)
    assert margins[0] < 0


def _entropy_at_equal_performance(logits, correct, action, size):
    """H after a natural step without this action, minus the base rule's where it performs alike."""
    step = correct - ar.total(ar.softmax(logits), correct)[..., None]
    step[0, action] = 0
    moved = logits + size * step
    shift = _log_odds(moved, correct) - _log_odds(logits, correct)
    return (ar.entropy(moved) - ar.entropy(logits + np.where(correct, shift[..., None], 0)))[0]


def test_clip_cov_can_land_below_the_curve():
    """The example of the claim's docstring; the band (1, 5) holds both right answers, one is below."""
    for weights, right, band, held, spared, below in (
        ([50, 30] + 20 * [1], 2, (0.03, 0.15), [1], 1, -0.0019),
        ([600, 400] + 1000 * [9], 2, (1, 5), [0, 1], 1, -0.0010),
    ):
        logits = np.log(np.array([weights], dtype=float))
        correct = np.arange(logits.shape[-1])[None] < right
        p = ar.softmax(logits)
        covariance = (np.log(p) + ar.entropy(logits)) * (correct - ar.total(p, correct))
        inside = (band[0] <= covariance) & (covariance <= band[1])
        assert np.flatnonzero(inside[0]).tolist() == held
        change = _entropy_at_equal_performance(logits, correct, spared, 0.1)
        assert change == pytest.approx(below, rel=0.1)


def _log_odds(logits, correct):
    right = ar.total(ar.softmax(logits), correct)
    return np.log(right / (1 - right))
