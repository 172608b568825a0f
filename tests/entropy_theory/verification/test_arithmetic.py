"""The formulas that margins are made of, against the package's functions and against balls."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from entropy_theory import entropy_change, policy
from entropy_theory.claims.aepo import tempered_reinforce as tr
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.certify import precision
from entropy_theory.verification.drawn_fields import sample_correct, sample_logits
from entropy_theory.verification.instances import as_balls


@pytest.fixture
def bandits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    logits = sample_logits(generator, 60, 5)
    return logits, sample_correct(generator, 60, 5), np.exp(generator.uniform(-2, 2, 60))


def test_the_package_computes_what_the_claims_are_about(bandits):
    """A claim proved about other formulas than the package's would be worthless."""
    logits, correct, temperature = bandits
    pairs = [
        (tr.rate(logits, correct, temperature),
         entropy_change.tempered_reinforce_rate(logits, correct, temperature)),
        (tr.scaled_slope(logits, correct, temperature) / temperature**2,
         entropy_change.tempered_reinforce_rate_slope(logits, correct, temperature)),
        (tr.unit_step(logits, correct, temperature),
         entropy_change.tempered_reinforce_step(logits, correct, temperature)),
        (ar.entropy(logits, temperature), policy.entropy(logits, temperature)),
        (ar.softmax(logits, temperature), policy.softmax(logits, temperature)),
    ]
    for ours, theirs in pairs:
        # Two orders of summation of at most 25 terms of size 1.
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_floats_agree_with_balls_in_saturated_policies(bandits):
    """The float trap: near collapse the naive formulas lose all digits of H and the signs of c - C."""
    logits, correct, temperature = bandits
    with precision(400):
        for k in range(60):
            ball = as_balls({"logits": logits[k].tolist(), "correct": correct[k].tolist(),
                             "temperature": float(temperature[k])})
            exact = float(ar.entropy(ball.logits, ball.temperature)[0].mid())
            found = ar.entropy(logits[k:k + 1], temperature[k:k + 1])[0]
            # Balls of 400 bits hold values below 1e-308, where floats underflow.
            assert found == pytest.approx(exact, rel=1e-12, abs=1e-300)
            terms = ar.softmax(logits[k:k + 1]) * tr.excess(logits[k:k + 1])
            scale = np.sum(np.abs(terms))
            value = tr.rate(logits[k:k + 1], correct[k:k + 1])[0]
            # Each term keeps its relative accuracy (pairwise differences); only their sum rounds.
            exact_rate = float(tr.rate(ball.logits, ball.correct)[0].mid())
            assert abs(value - exact_rate) <= 1e-12 * scale
            each = ar.softmax(ball.logits) * tr.excess(ball.logits)
            signs = np.sign([float(t.mid()) for t in each[0]])
            large = np.abs(terms[0]) > 1e-150
            np.testing.assert_array_equal(np.sign(terms[0])[large], signs[large])


@pytest.mark.parametrize("size", [90.0, 110.0, 2_000.0])
def test_a_large_step_does_not_overflow(size):
    """Found at 10,001 actions: the exponential of a drift of thousands of nats."""
    logits, step = np.array([0.0, 1.0, 2.0]), np.array([size, 0.0, -size])
    assert ar.entropy_change(logits, step) == pytest.approx(-policy.entropy(logits), rel=1e-14)
    assert ar.log_growth(logits, step) == pytest.approx(
        policy.log_softmax(logits + step) - policy.log_softmax(logits), rel=1e-14)


def test_maxima_enclose_both_balls_and_comparisons_admit_doubt():
    wide = np.array([arb(1, 0.5), arb(1.2, 0.5)], dtype=object)
    top = ar.largest(wide)
    assert top.contains(1.2)
    assert top.contains(1.6)
    with pytest.raises(ar.UndecidedComparisonError):
        ar.less(wide[:1], wide[1:])
    assert ar.less(np.array([arb(1)], dtype=object), np.array([arb(2)], dtype=object)).tolist() == [
        True]
