"""Guards forecast.py: statistics of a state, forecasts in words of single terms, comparisons by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropy_theory import forecast, policy, tabular
from tests.tolerances import FLOAT64, ROUNDING

LOGITS = np.array([[0.3, -1.0, 1.2, -math.inf], [0.0, 0.0, 2.0, -0.5]])


def test_statistics_are_the_sums_of_their_names():
    """An action never taken adds nothing to any of them; 0 x -inf would be NaN."""
    log_p = policy.log_softmax(LOGITS)[None]
    action = np.array([[0, 2]])
    found = forecast.state_statistics(log_p, action)
    for s in range(2):
        p, log = np.exp(log_p[0, s]), np.where(np.isfinite(log_p[0, s]), log_p[0, s], 0)
        for name, expected in (
            ("log_prob", log_p[0, s, action[0, s]]), ("entropy", -(p * log).sum()),
            ("sum_squared_prob", (p**2).sum()), ("sum_squared_prob_log_prob", (p**2 * log).sum()),
            ("sum_squared_prob_squared_log_prob", (p**2 * log**2).sum()),
        ):
            assert getattr(found, name)[0, s] == pytest.approx(expected, rel=ROUNDING), name
    assert found.clamped_alignment is None
    clamped = forecast.state_statistics(log_p, action, removed_fraction=0.5).clamped_alignment
    full, kept = policy.entropy_gradient(LOGITS), policy.entropy_gradient(
        policy.clamped_logits(LOGITS, 0.5))
    np.testing.assert_allclose(clamped[0], (full * kept).sum(-1), rtol=ROUNDING)


def contributions(scores, terms, log_prob=None, **statistics):
    """Of one row with weight 1/2; a second one is padding, whose numbers are not."""
    batch = tabular.listing(np.zeros((1, 2)), np.array([[1.0, 0.0]]))
    batch = batch.replace(mask=np.array([[True], [False]]), weight=np.array([[0.5], [np.nan]]))
    ones = np.ones((2, 1))
    made = {"entropy": 0.7, "sum_squared_prob": 0.4, "sum_squared_prob_log_prob": -0.3,
            "sum_squared_prob_squared_log_prob": 0.9, **statistics}
    found = forecast.token_contributions(
        batch, scores * ones, {name: value * ones for name, value in terms.items()},
        forecast.StateStatistics(
            log_prob=(math.log(0.25) if log_prob is None else log_prob) * ones,
            **{name: value * ones for name, value in made.items()}))
    assert found[1] == 0
    return float(found[0, 0])


def test_each_term_of_a_tokens_forecast():
    """-w s (S_a - E S) with S_a = p (log p + H); w c sum S^2 for the entropy; its own for the clamped."""
    tilt, mean = 0.25 * (math.log(0.25) + 0.7), -0.3 + 0.7 * 0.4
    squared = 0.9 + 2 * 0.7 * -0.3 + 0.7**2 * 0.4
    assert contributions(2.0, {}) == pytest.approx(-0.5 * 2 * (tilt - mean), rel=ROUNDING)
    assert contributions(0.0, {"entropy": 3.0}) == pytest.approx(0.5 * 3 * squared, rel=ROUNDING)
    assert contributions(0.0, {"clamped_entropy": 3.0}, clamped_alignment=0.2) == pytest.approx(
        0.5 * 3 * 0.2, rel=ROUNDING)
    both = contributions(0.0, {"clamped_entropy": 3.0, "entropy": 1.0}, clamped_alignment=0.2)
    assert both == pytest.approx(0.5 * (3 * 0.2 + squared), rel=ROUNDING)
    # A token of no probability moves nothing but the mean.
    assert contributions(2.0, {}, log_prob=-math.inf) == pytest.approx(0.5 * 2 * mean, rel=ROUNDING)


@pytest.mark.parametrize("name", ["clamped_entropy", "reference_kl"])
def test_a_term_without_a_forecast_is_named(name):
    with pytest.raises(ValueError, match=f"no entropy forecast is known for the state term '{name}'"):
        contributions(0.0, {name: 1.0})


def test_tokens_move_the_rows_that_share_their_state_in_their_own_run():
    """State 4 is in three rows of the first run; ids are any integers, and another run's are its own."""
    state = np.array([[[4], [9], [4], [4]], [[9], [9], [4], [-2]]])
    moved = np.array([[[1.0], [10.0], [0.5], [0.25]], [[3.0], [4.0], [5.0], [6.0]]])
    measure = np.array([[[0.5], [0.25], [0.25], [0.0]], [[0.5], [0.0], [0.25], [0.25]]])
    found = forecast.mean_entropy_forecast(state, moved, measure)
    first = 0.75 * 1.75 + 0.25 * 10
    second = 0.5 * 7 + 0.25 * 5 + 0.25 * 6
    np.testing.assert_allclose(found, [first, second], rtol=4 * FLOAT64)
    alone = forecast.mean_entropy_forecast(state[0], moved[0], measure[0])
    assert alone.shape == ()
    assert alone == pytest.approx(first, rel=4 * FLOAT64)


def test_a_comparison_by_hand():
    """Measured 2, 4, 6; the coefficients' forecast is half of it, the others are off by 1 and 0.5."""
    measured = np.array([2.0, 4.0, 6.0])
    report = forecast.compare(
        measured / 2, np.array([3.0, 3.0, 7.0]), np.array([2.0, 4.5, 5.75]), measured,
        nothing=np.zeros(3), still=np.ones(3), mirrored=-measured)
    assert report.steps == 3
    assert report.slope == pytest.approx({
        "coefficients": 2.0, "first_order": (6 + 12 + 42) / (9 + 9 + 49),
        "exact": (4 + 18 + 34.5) / (4 + 20.25 + 33.0625), "nothing": 0.0, "still": 4.0,
        "mirrored": -1.0})
    assert report.correlation["coefficients"] == pytest.approx(1.0)
    assert report.correlation["mirrored"] == pytest.approx(-1.0)
    # (3, 3, 7) has deviations (-4/3, -4/3, 8/3), the measured (-2, 0, 2).
    assert report.correlation["first_order"] == pytest.approx(8 / math.sqrt(8 * 96 / 9))
    assert report.correlation["nothing"] == report.correlation["still"] == 0.0
    assert report.tabular_error == pytest.approx(1.0)
    assert report.first_order_error == pytest.approx(math.sqrt((1 + 1.5**2 + 1.25**2) / 3))
    assert report.identity_error == pytest.approx(0.5)
    assert report.dominant == "first order"
    flat = forecast.compare(measured, measured, measured, np.ones(3))
    assert set(flat.correlation.values()) == {0.0}
