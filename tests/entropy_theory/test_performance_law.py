"""Guards performance_law.py: R = -a e^H + b, its errors, its rivals and its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from entropy_theory import performance_law as pl
from tests.tolerances import ROUNDING

ENTROPY = np.array([1.4, 1.1, 0.9, 0.52, 0.3, 0.11, 0.04])
NOISE = np.array([0.3, -0.1, -0.25, 0.2, 0.05, -0.3, 0.1]) * 0.02


def planted(a=0.2, b=0.9, noise=0.0):
    return b - a * np.exp(ENTROPY) + noise * NOISE


@given(st.floats(0.01, 1), st.floats(-1, 2))
@settings(max_examples=60, deadline=None)
def test_planted_coefficients_are_recovered(a, b):
    law = pl.fit(ENTROPY, planted(a, b))
    assert law.a == pytest.approx(a, abs=1e-13)
    assert law.b == pytest.approx(b, abs=1e-13)
    assert law.ceiling == pytest.approx(b - a, abs=1e-13)
    assert law.rmse < 1e-14
    np.testing.assert_allclose(law.predict(ENTROPY), planted(a, b), atol=1e-13)


def test_errors_agree_with_the_normal_equations():
    """An oracle that shares no formula with the closed form: numpy's lstsq and X^T X."""
    performance = planted(noise=1)
    design = np.stack([-np.exp(ENTROPY), np.ones(7)], axis=1)
    solution, squares, *_ = np.linalg.lstsq(design, performance)
    covariance = np.linalg.inv(design.T @ design) * squares[0] / 5
    law = pl.fit(ENTROPY, performance)
    assert (law.a, law.b) == pytest.approx(tuple(solution), rel=1e-12)
    assert (law.a_error, law.b_error) == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-10)
    assert law.rmse == pytest.approx(math.sqrt(squares[0] / 7), rel=1e-12)
    assert law.r_squared == pytest.approx(np.corrcoef(-np.exp(ENTROPY), performance)[0, 1] ** 2)


def test_an_interval_has_the_scatter_of_an_observation():
    """Student's t on N - 2 degrees of freedom, by the normal equations at one entropy."""
    performance, place = planted(noise=1), np.array([-math.exp(0.2), 1.0])
    design = np.stack([-np.exp(ENTROPY), np.ones(7)], axis=1)
    solution, squares, *_ = np.linalg.lstsq(design, performance)
    variance, share = squares[0] / 5, place @ np.linalg.inv(design.T @ design) @ place
    half, middle = stats.t.ppf(0.9, 5) * math.sqrt(variance * (share + 1)), place @ solution
    assert pl.fit(ENTROPY, performance).interval(0.2, 0.8) == pytest.approx(
        (middle - half, middle + half), rel=1e-9)


def test_collapsed_entropies_keep_their_digits():
    """e^H - 1 for H near 1e-9: an e^H rounded first leaves seven digits, and no slope at all below."""
    entropy = np.array([1e-9, 2e-9, 5e-9, 8e-9])
    law = pl.fit(entropy, 0.7 - 1e6 * np.expm1(entropy))
    assert law.a == pytest.approx(1e6, rel=1e-11)
    assert law.ceiling == pytest.approx(0.7, rel=1e-12)


def test_autocorrelation_tells_a_smooth_run_from_scatter():
    entropy = np.linspace(0.05, 1.5, 60)
    smooth = pl.fit(entropy, 0.9 - 0.3 * entropy)
    assert smooth.autocorrelation > 0.9
    scatter = np.random.default_rng(1).standard_normal(60)
    assert abs(pl.fit(entropy, 0.9 - 0.2 * np.exp(entropy) + scatter).autocorrelation) < 0.4


@pytest.mark.parametrize(
    ("name", "curve"),
    [
        ("exponential", lambda h: 0.9 - 0.1 * np.exp(h)),
        ("linear", lambda h: 0.9 - 0.3 * h),
        ("power", lambda h: 0.9 - 0.3 * np.sqrt(h)),
        ("one right answer", lambda h: pl.one_right_answer_performance(h, 30)),
    ],
)
def test_the_true_form_wins(name, curve):
    entropy = np.linspace(0.02, 2.0, 40)
    noise = 1e-3 * np.random.default_rng(5).standard_normal(40)
    ranked = pl.rivals(entropy, curve(entropy) + noise)
    assert ranked[0].name == name
    assert ranked[0].rmse < 2e-3
    assert len(ranked) == 4
    assert [r.aicc for r in ranked] == sorted(r.aicc for r in ranked)
    law = pl.fit(entropy, curve(entropy) + noise)
    exponential = next(r for r in ranked if r.name == "exponential")
    assert (exponential.parameters["a"], exponential.ceiling) == pytest.approx((law.a, law.ceiling))


def test_exact_curve_of_one_right_answer():
    """Against entropies of written-out policies, and back."""
    for n, right in [(2, 0.9), (5, 0.3), (50, 0.99), (4, 0.25)]:
        policy = np.array([right] + [(1 - right) / (n - 1)] * (n - 1))
        expected = special.entr(policy).sum()
        assert pl.one_right_answer_entropy(right, n) == pytest.approx(expected, rel=ROUNDING)
        back = pl.one_right_answer_performance(expected, n)
        # Where R = 1/n the entropy is stationary: half the digits are lost.
        assert back == pytest.approx(right, rel=1e-7)
    np.testing.assert_array_equal(pl.one_right_answer_entropy([0.0, 1.0], 2), [0.0, 0.0])


def test_entropy_range_is_attained():
    """Its ends: one right and one wrong answer; uniform over both kinds. m = 1 ends on the curve."""
    low, high = pl.entropy_range(0.7, 5, 2)
    ends = special.entr([0.7, 0.3]).sum(), special.entr([0.35, 0.35, 0.1, 0.1, 0.1]).sum()
    assert (low, high) == pytest.approx(ends)
    assert pl.entropy_range(0.7, 5, 1)[1] == pytest.approx(pl.one_right_answer_entropy(0.7, 5))
    assert pl.entropy_range(1.0, 5, 5) == pytest.approx((0.0, math.log(5)))


def test_constant_performance_is_a_law_without_slope():
    law = pl.fit(ENTROPY, np.full(7, 0.4))
    assert (law.a, law.ceiling, law.rmse) == pytest.approx((0.0, 0.4, 0.0), abs=1e-15)
    assert math.isnan(law.r_squared)


def test_a_sum_of_probabilities_may_be_off_by_rounding():
    """What the simulator records at the end of a run is 1 + 2e-16 as often as 1."""
    above = np.nextafter(1.0, 2.0)
    assert [float(end) for end in pl.entropy_range(above, 20, 5)] == [0.0, pytest.approx(np.log(5))]
    assert pl.one_right_answer_entropy(above, 20) == 0
