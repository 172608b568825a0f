"""The claims about the R-H law and about printed numbers: verdicts, and numbers known from elsewhere."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from entropy_theory import performance_law as law
from entropy_theory import policy
from entropy_theory.claims.aent import table_1 as aent
from entropy_theory.claims.aepo import table_1_averages as aepo_1
from entropy_theory.claims.aepo import table_3_base_row as aepo_3
from entropy_theory.claims.entropy_mechanism import (
    ceiling,
    performance_after_collapse,
    performance_law,
    table_2,
)
from entropy_theory.claims.entropy_mechanism.exact_training import random_prompts, train


@pytest.mark.parametrize("n_correct", [1, 3])
def test_a_training_step_is_the_gradient_of_performance(n_correct):
    """Central differences of mean performance: the claims' own step formula is not used."""
    logits, correct = random_prompts(2, 4, n_correct)

    def total(z):
        return (policy.softmax(z) * correct).sum()

    gradient, h = np.zeros_like(logits), 1e-5
    for place in np.ndindex(*logits.shape):
        shift = np.zeros_like(logits)
        shift[place] = h
        gradient[place] = (total(logits + shift) - total(logits - shift)) / (2 * h)
    run = train(logits, correct, "policy gradient", learning_rate=0.7, steps=1)
    moved = logits + 0.7 * gradient
    assert run.performance[1] == pytest.approx(total(moved) / 2, rel=1e-9)
    assert run.entropy[1] == pytest.approx(policy.entropy(moved).mean(), rel=1e-8)


def test_natural_gradient_steps_have_a_closed_form():
    """k steps of size eta multiply the odds by e^{k eta}."""
    logits, correct = random_prompts(3, 5, 2)
    run = train(logits, correct, "natural gradient", learning_rate=0.3, steps=4)
    moved = policy.softmax(logits + 1.2 * correct)
    assert run.performance[4] == pytest.approx((moved * correct).sum(axis=-1).mean(), rel=1e-12)


def test_fits_of_the_exact_curves():
    """Best at n = 10 and bad at either end; ceilings 1.08 down to 0.61 for a true one of 1."""
    fits = performance_law.curve_fits()
    ceilings = {n: round(f.ceiling, 2) for n, f in fits.items()}
    assert ceilings == {2: 1.08, 3: 1.06, 5: 1.02, 10: 0.95, 100: 0.77, 1000: 0.68, 100_000: 0.61}
    assert fits[10].rmse == pytest.approx(0.020, abs=5e-4)
    right = np.linspace(0.1, 1, 2001)
    missed = fits[10].predict(law.one_right_answer_entropy(right, 10)) - right
    assert np.abs(missed).max() == pytest.approx(0.051, abs=5e-4)


def test_early_fits_announce_anything():
    """Independent runs gave 3.65, 3.28, 2.52, 1.66, 0.55, 0.31, 0.19 (up to the grid)."""
    expected = (3.64, 3.27, 2.51, 1.66, 0.55, 0.31, 0.19)
    assert list(ceiling.early_ceilings().values()) == pytest.approx(expected, abs=0.006)


def test_performance_rises_after_collapse():
    """The exact numbers that the docstring tells, from closed form."""
    logits, reward = np.log([1, 1e5, 1e5]), np.array([1, 0.5, 0])
    at = [logits + t * reward for t in (0, 12, 40)]
    assert [round(float(policy.entropy(z)), 3) for z in at] == [0.693, 0.043, 0.002]
    assert [round(float(policy.softmax(z) @ reward), 4) for z in at] == [0.25, 0.5008, 0.9999]
    entropy, performance = performance_after_collapse.mixture_run()
    low = int(np.argmax(entropy < 0.05))
    assert entropy[low:].max() < 0.08
    assert performance[-1] - performance[low] > 0.5


def failing(printed, allowed):
    """Names of the rows whose printed average is further from the mean than ``allowed``."""
    found = set()
    for name, (entries, average) in printed.items():
        numbers = [Decimal(e) for e in entries.split()]
        if abs(sum(numbers) / len(numbers) - Decimal(average)) > Decimal(allowed):
            found.add(name)
    return found


def test_which_averages_are_wrong():
    """In decimal arithmetic, without the claims' functions."""
    assert failing(aepo_1.PRINTED, "0.055") == {"Qwen2.5-Math-7B, +Entropy-Adv"}
    assert failing(aepo_3.PRINTED, "0.055") == {
        "AEPO at four target entropies, Qwen2.5-Math-7B"}
    assert failing(table_2.PRINTED, "0.1") == set(table_2.PRINTED)
    # Within rounding, though not the rounded mean of the printed digits (49.59).
    assert "Qwen2.5-7B, +AEPO" in failing(aepo_1.PRINTED, "0.005")


def test_one_weighting_fits_all_averages_of_table_2():
    weights = [Decimal(str(float(w))) for w in table_2.WEIGHTS]
    assert sum(weights) == 1
    for entries, average in table_2.PRINTED.values():
        mean = sum(w * Decimal(e) for w, e in zip(weights, entries.split(), strict=True))
        assert abs(mean - Decimal(average)) <= Decimal("0.1")


def test_wins_of_aent():
    """Five strict wins in each setting, four in both: MATH-500 is lost in (a), Minerva tied in (b)."""
    wins = {setting: {k for k in range(6) if all(
        table["aent"][k] > table[name][k] for name in aent.BASELINES)}
        for setting, table in aent.PRINTED.items()}
    assert wins == {"a": {0, 2, 3, 4, 5}, "b": {0, 1, 2, 4, 5}}
