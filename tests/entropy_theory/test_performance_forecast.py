"""Guards performance_forecast.py, performance_report.py, the command `fit`: what is told and doubted."""

import json
import math

import numpy as np
import pytest
from scipy import signal, stats

from entropy_theory import performance_law
from entropy_theory.performance_law.command import fit
from entropy_theory.performance_law.forecast import _at, _bend, _turn, effective_points, forecast
from entropy_theory.performance_law.report import as_json, as_text
from entropy_theory.performance_law.training_log import LoggedRun, read

ENTROPY = np.linspace(2.0, 0.05, 60)
"""Evenly, so that the curves of the rival forms differ."""
SCATTER = 0.01 * np.random.default_rng(0).standard_normal(60)


def law(entropy, a=0.1, b=0.95):
    return b - a * np.exp(entropy)


GOOD = law(ENTROPY) + SCATTER


def test_a_run_on_the_law_has_its_numbers_and_no_doubt():
    report = forecast(ENTROPY, GOOD, at=(0.5,))
    assert report.doubts == ()
    fitted = performance_law.fit(ENTROPY, GOOD)
    assert report.law == fitted
    assert report.ceiling.performance == pytest.approx(fitted.ceiling)
    assert report.ceiling.low < 0.85 < report.ceiling.high
    (middle,) = report.forecasts
    assert middle.low < law(0.5) < middle.high
    points = effective_points(fitted)
    widened = stats.t.ppf(0.975, points - 2) * math.sqrt(60 / points)
    assert report.a_interval == pytest.approx(
        (fitted.a - widened * fitted.a_error, fitted.a + widened * fitted.a_error), rel=1e-6)
    assert report.ceiling.high - report.ceiling.performance == pytest.approx(
        widened * fitted.ceiling_error, rel=1e-6)
    wider = forecast(ENTROPY, GOOD, level=0.99)
    assert wider.b_interval[1] - wider.b_interval[0] > report.b_interval[1] - report.b_interval[0]


def test_correlated_residuals_widen_what_is_told():
    """Coverage of the ceiling's interval for AR(1) scatter of r = 0.6: 72 % if it is not widened."""
    rng = np.random.default_rng(1)
    runs, hits, plain = 1000, 0, 0
    for _ in range(runs):
        noise = signal.lfilter([1.0], [1.0, -0.6], rng.standard_normal(260))
        fitted = performance_law.fit(ENTROPY, law(ENTROPY) + 0.01 * noise[200:])
        ceiling = _at(fitted, 0.0, 0.95)
        hits += ceiling.low <= 0.85 <= ceiling.high
        low, high = fitted.interval(0.0, of_mean=True)
        plain += bool(low <= 0.85 <= high)
    # Residuals of a fit are less correlated than the scatter: a little is left to be wanted of 95 %.
    assert 0.87 < hits / runs < 0.97
    assert plain / runs < 0.8


def bent(entropy):
    return 0.6 - 0.3 * (entropy - 1) ** 2


DOUBTS = [
    ("only 8 points", ENTROPY[::8], GOOD[::8]),
    ("hardly moved", 1 + ENTROPY / 20, law(1 + ENTROPY / 20)),
    ("has fallen as entropy fell", ENTROPY, 1 - GOOD),
    ("not clearly risen", ENTROPY, 0.5 + SCATTER),
    ("turns near 1", ENTROPY, bent(ENTROPY) + SCATTER),
    ("falls and then rises again", np.r_[ENTROPY, ENTROPY[::-1]], np.r_[GOOD, GOOD[::-1]]),
    ("rises and then falls again", np.r_[ENTROPY[::-1], ENTROPY], np.r_[GOOD[::-1], GOOD]),
    ("are correlated", ENTROPY, GOOD + 0.03 * np.sin(np.arange(60) / 4)),
    ("'linear' fits better", ENTROPY, 0.9 - 0.3 * ENTROPY + SCATTER),
    ("'one right answer' fits better", ENTROPY,
     performance_law.one_right_answer_performance(ENTROPY, 30) + SCATTER),
    ("'power' fits as well", ENTROPY[:25], GOOD[:25]),
    ("is above 1", ENTROPY[:40], law(ENTROPY[:40], b=1.12)),
    ("interval of the ceiling is wide", ENTROPY[:12], law(ENTROPY[:12]) + 3 * SCATTER[:12]),
    ("H = 0 is far from what was seen", ENTROPY[:12], law(ENTROPY[:12])),
]


@pytest.mark.parametrize(("said", "entropy", "performance"), DOUBTS, ids=[d[0] for d in DOUBTS])
def test_every_reason_to_doubt_is_told(said, entropy, performance):
    report = forecast(entropy, performance)
    assert any(said in doubt for doubt in report.doubts), report.doubts


def test_an_entropy_far_from_the_run_is_doubted_on_either_side():
    assert forecast(ENTROPY, GOOD, at=(2.2,)).doubts == ()
    (doubt,) = forecast(ENTROPY, GOOD, at=(3.0,)).doubts
    assert "H = 3 is far" in doubt
    assert "2.0 times" in doubt  # (e^3 - e^2) / (e^2 - e^0.05)


def test_the_first_points_are_fitted_and_the_rest_is_tried():
    report = forecast(ENTROPY, GOOD, first=0.5)
    assert (report.n_used, report.n_later) == (30, 30)
    assert report.law == performance_law.fit(ENTROPY[:30], GOOD[:30])
    missed = GOOD[30:] - report.law.predict(ENTROPY[30:])
    assert report.later_rmse == pytest.approx(math.sqrt((missed**2).mean()))
    assert report.later_bias == pytest.approx(missed.mean())
    assert not any("do not follow" in doubt for doubt in report.doubts)
    broken = GOOD.copy()
    broken[30:] -= 0.2
    doubts = forecast(ENTROPY, broken, first=0.5).doubts
    assert any("do not follow: 100% of 30" in doubt and "below" in doubt for doubt in doubts)
    # 15 % of 20 points is 3, not 4 for a rounding of 0.15.
    assert forecast(ENTROPY[::3], GOOD[::3], first=0.15).n_used == 3


def test_noise_is_no_turn_and_no_bend():
    """Scatter of entropy as large as logs have: a doubt in a few per cent of 200 draws at most."""
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        entropy = np.abs(ENTROPY + 0.05 * rng.standard_normal(60))
        performance = law(entropy) + 0.01 * rng.standard_normal(60)
        bend = _bend(np.expm1(entropy), performance)
        found += _turn(entropy) is not None or bend is not None
    assert found <= 4


def a_run(entropy=ENTROPY, performance=GOOD, notes=()):
    return LoggedRun(step=1.0 + np.arange(len(entropy)), entropy=entropy, performance=performance,
                       entropy_name="actor/entropy", performance_name="reward", notes=notes)


def test_the_text_says_what_was_read_fitted_forecast_and_doubted():
    run = a_run(notes=("3 values are not finite",))
    text = as_text(run, forecast(run.entropy, run.performance, at=(0.3,), first=0.8))
    for expected in ("'actor/entropy'", "'reward'", "48 of 60 points", "steps 1 to 48", "no smoothing",
                     "note: 3 values", "R = 0.9", "95% confidence", "at H = 0, the ceiling",
                     "at H = 0.3", "12 later points", "one right answer"):
        assert expected in text
    assert "no doubt" in as_text(a_run(), forecast(ENTROPY, GOOD))
    assert "doubt: performance has fallen" in as_text(a_run(), forecast(ENTROPY, -GOOD))


def test_the_json_is_plain_even_where_numbers_are_not_finite():
    """Three points: no criterion has enough of them, and R^2 of a constant is undefined."""
    run = a_run(ENTROPY[:3], np.full(3, 0.5))
    found = json.loads(json.dumps(as_json(run, forecast(run.entropy, run.performance)), allow_nan=False))
    assert found["fit"]["r_squared"] is None
    assert {rival["aicc"] for rival in found["rivals"] if rival["name"] == "power"} == {None}
    assert found["trusted"] is False
    assert as_json(a_run(), forecast(ENTROPY, GOOD))["trusted"] is True


# ------------------------------------------------------------------ the command


def test_fit_reads_a_log_and_writes_json(tmp_path, capsys):
    log, target = tmp_path / "metrics.jsonl", tmp_path / "deep" / "fit.json"
    log.write_text("".join(
        json.dumps({"step": k, "entropy": h, "reward": r}) + "\n"
        for k, (h, r) in enumerate(zip(ENTROPY, GOOD, strict=True))))
    fit((log,), first=0.8, at=(0.2,), json=target)
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(target.read_text())
    report = forecast(ENTROPY, GOOD, first=0.8, at=(0.2,))
    assert found["fit"]["a"] == report.law.a
    assert found["forecasts"][0]["performance"] == report.forecasts[0].performance
    assert found["doubts"] == list(report.doubts)
    assert found["provenance"]["config"]["first"] == 0.8
    assert out.strip() == as_text(read([log]), report)
