"""Guards the law along a run and its forecasts: what is told and refused, how often intervals hold."""

import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import signal, stats

from entropy_theory import performance_law
from entropy_theory.performance_law import ahead, bootstrap
from entropy_theory.performance_law.command import fit
from entropy_theory.performance_law.forecast import forecast
from entropy_theory.performance_law.report import as_json, as_text
from entropy_theory.performance_law.training_log import LoggedRun, read
from entropy_theory.performance_law.trend import CHANCE, explained, stretches, trend
from entropy_theory.training_logs.logs import MOST_NATS

PUBLIC = Path(__file__).parents[1] / "diagnosis" / "public_runs"
ENTROPY = np.linspace(2.0, 0.05, 60)
UNSEEN = ("deepseek7b-gsm8k-grpo", "deepseek7b-gsm8k-ppo", "gemma-2-2b-gsm8k-ppo",
          "qwen2-7b-gsm8k-gpg-megatron", "qwen2-7b-gsm8k-math-gpg", "qwen2.5-0.5b-gsm8k-ppo-long",
          "qwen2.5-0.5b-gsm8k-ppo")
"""The plain runs in PUBLIC, of which nothing was calibrated."""
SCATTER = 0.01 * np.random.default_rng(0).standard_normal(60)


def law(entropy, a=0.1, b=0.95):
    return b - a * np.exp(entropy)


GOOD = law(ENTROPY) + SCATTER


def correlated(random, count, r):
    return signal.lfilter([1.0], [1.0, -r], random.standard_normal(count + 200))[200:]


# ------------------------------------------------------------------ trends


def test_noise_seldom_has_a_trend_to_go_on_along():
    """One in ten has, by `CHANCE`: 400 differ from that by a standard error of 1.5 %."""
    random = np.random.default_rng(4)
    runs = [correlated(random, 240, 0.6) for _ in range(400)]
    assert np.mean([trend(values).exists for values in runs]) < 0.14
    plain = [stats.kendalltau(np.arange(240), values).pvalue < CHANCE for values in runs]
    assert np.mean(plain) > 0.3
    assert trend(np.arange(600)).exists
    assert trend(np.ones(40)).p == 1


def test_stretches_and_what_they_explain():
    np.testing.assert_array_equal(stretches(np.arange(24.0)), np.arange(12) * 2 + 0.5)
    np.testing.assert_array_equal(stretches([1, 2]), [1, 2])
    assert explained(np.arange(50), 3 - 2 * np.arange(50)) == pytest.approx(1)
    x, y = np.random.default_rng(5).standard_normal((2, 12))
    assert explained(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert explained(np.ones(12), y) == 0


# ------------------------------------------------------------------ the law


def test_a_run_on_the_law_has_its_numbers():
    report = forecast(ENTROPY, GOOD, at=(0.5,), level=0.95)
    assert report.holds
    assert report.verdict.startswith("performance rose as entropy fell: a line in e^H explains 100%")
    assert report.law == performance_law.fit(ENTROPY, GOOD)
    assert report.a_interval[0] < 0.1 < report.a_interval[1]
    assert report.b_interval[0] < 0.95 < report.b_interval[1]
    assert report.ceiling.low < 0.85 < report.ceiling.high
    (middle,) = report.entropies
    assert middle.performance.low < law(0.5) < middle.performance.high
    wider = forecast(ENTROPY, GOOD, level=0.98)
    assert wider.a_interval[1] - wider.a_interval[0] > report.a_interval[1] - report.a_interval[0]
    assert wider.ceiling.high - wider.ceiling.low > report.ceiling.high - report.ceiling.low


def test_a_run_exactly_on_the_law_goes_on_along_it():
    """From the last values, which are on the line, whatever the slope's sign."""
    for a in (0.1, -0.1):
        report = forecast(ENTROPY[:40], law(ENTROPY[:40], a, 0.5), at=(0.6,), best=3)
        assert report.holds
        assert report.entropies[0].performance.value == pytest.approx(law(0.6, a, 0.5))
        assert report.formula == f"0.5 {'-' if a > 0 else '+'} 0.1 e^H"
    assert "a is below 0" in report.verdict


def confounded(random, count=600):
    """Nothing is learned: hard prompts have more entropy and less reward."""
    hard = random.random(count)
    entropy = 0.02 + 0.12 * hard + np.abs(random.normal(0, 0.01, count))
    return entropy, np.clip(1.05 - 0.8 * hard + random.normal(0, 0.15, count), 0, 1)


def test_no_law_is_told_where_nothing_was_learned():
    """Of 100 runs whose points lie on a line (R^2 .65) 5 % of 5 % would be told by chance."""
    found = [forecast(*confounded(np.random.default_rng(seed))) for seed in range(100)]
    assert all(report.law.r_squared > 0.5 for report in found)
    assert sum(report.holds for report in found) <= 3
    refused = next(report for report in found if not report.holds)
    assert "no law: " in refused.verdict
    assert "has no trend along training beyond noise (p = " in refused.verdict
    assert refused.ceiling is None


REFUSED = [
    ("only 8 points, fewer than 15", ENTROPY[::8], GOOD[::8]),
    ("entropy has no trend", 1 + 5 * SCATTER, GOOD),
    ("performance has no trend", ENTROPY, 0.5 + SCATTER[::-1]),
    ("entropy explains", np.r_[np.linspace(2, 0.5, 8), np.linspace(0.5, 0.49, 52)],
     np.linspace(0.2, 0.9, 60)),
]


@pytest.mark.parametrize(("said", "entropy", "performance"), REFUSED, ids=[r[0] for r in REFUSED])
def test_why_no_law_is_told(said, entropy, performance):
    report = forecast(entropy, performance, at=(0.2,))
    assert said in report.verdict
    assert report.ceiling is None
    assert report.entropies[0].performance is None
    assert said in report.entropies[0].why_not


def test_a_performance_far_from_the_run_is_not_told():
    entropy = np.linspace(2.0, 1.9, 60)
    report = forecast(entropy, law(entropy), at=(1.85,))
    assert report.holds
    assert report.entropies[0].performance is not None
    assert report.ceiling is None
    far = forecast(entropy, law(entropy), at=(0.5,)).entropies[0]
    assert re.search(r"is \d+\.\d times as far .* tested up to 3 times", far.why_not)


def test_intervals_of_the_line_hold():
    """Coverage of a for AR(1) scatter, r = 0.6, at 90 %: blocks of one residual would hold about 60 %."""
    random = np.random.default_rng(1)
    entropy, hits, plain, count = np.linspace(2.0, 0.05, 200), 0, 0, 200
    for _ in range(count):
        performance = law(entropy) + 0.01 * correlated(random, 200, 0.6)
        fitted = performance_law.fit(entropy, performance)
        (low, high), _ = bootstrap.intervals(fitted, entropy, performance, 0.9)
        hits += low <= 0.1 <= high
        plain += abs(fitted.a - 0.1) < 1.645 * fitted.a_error
    assert 0.82 < hits / count < 0.96
    assert plain / count < 0.7


def test_blocks_grow_with_correlation():
    assert [bootstrap.block_length(r, 1000) for r in (-0.5, 0.0, math.nan)] == [1, 1, 1]
    assert bootstrap.block_length(0.5, 1000) == math.ceil((math.sqrt(6) * 0.5 / 0.75) ** (2 / 3) * 10)
    assert bootstrap.block_length(0.99, 40) == 10


# ------------------------------------------------------------------ forecasts by steps


def powers(count, k=-0.5):
    time = np.arange(1.0, count + 1)
    return time, 0.9 * time**k


def test_powers_of_the_step_go_on():
    """Both curves are exact, but the mean of the last ten values is 8e-5 of it above their middle."""
    time, entropy = powers(200)
    performance = 1.02 - 0.8 * time**-0.5
    report = forecast(entropy, performance, until=(400, 1000), at=(0.04,))
    for place in report.steps:
        assert place.entropy.value == pytest.approx(0.9 * place.step**-0.5, rel=1e-3)
        assert place.performance.value == pytest.approx(1.02 - 0.8 * place.step**-0.5, abs=1e-3)
        assert place.entropy.stays == pytest.approx(entropy[-10:].mean())
        assert place.entropy.low < place.entropy.value < place.entropy.high
    near, far = (place.entropy.high / place.entropy.low for place in report.steps)
    assert near < far
    (level,) = report.entropies
    expected = (0.9 / 0.04) ** 2
    # Steps are looked for on a grid of 400, each .4 % beyond the last.
    assert level.step == pytest.approx(expected, rel=0.01)
    assert level.earliest < level.step
    assert level.latest is None or level.latest > level.step


def test_what_has_no_trend_stays():
    """Slopes of noise are not followed: here the last two thirds rise by chance."""
    random = np.random.default_rng(7)
    entropy, performance = 0.5 + 0.05 * random.random((2, 60))
    place = forecast(entropy, performance).steps[0]
    for found in (place.entropy, place.performance):
        assert found.value == pytest.approx(found.stays)
        assert found.low < found.value < found.high


def test_a_run_that_rests_still_has_an_interval():
    """Reward that is 1 in the last two thirds may fall: the law's interval is not a point."""
    entropy = np.linspace(1.0, 0.1, 90)
    performance = np.r_[np.linspace(0.2, 1, 30), np.ones(60)]
    ceiling = forecast(entropy, performance).ceiling
    assert ceiling is None or ceiling.low < ceiling.value


def test_steps_may_be_of_any_spacing_and_origin():
    time, entropy = powers(100)
    performance = 1.02 - 0.8 * time**-0.5
    plain = forecast(entropy, performance, until=(150,), at=(0.075,))
    other = forecast(entropy, performance, step=1000 + 10 * time, until=(2500,), at=(0.075,))
    assert other.steps[0].entropy == plain.steps[0].entropy
    assert other.entropies[0].step == pytest.approx(1000 + 10 * plain.entropies[0].step)


def test_a_level_that_is_not_reached_has_no_step():
    _, entropy = powers(100)
    report = forecast(entropy, law(entropy), at=(1e-4, 0.085, 0.035))
    never, soon, late = report.entropies
    assert (never.step, never.earliest, never.latest) == (None, None, None)
    assert soon.earliest < soon.step < soon.latest
    assert (late.step is None) == (0.9 * 500**-0.5 > 0.035)
    text = as_text(a_run(entropy, law(entropy)), report)
    assert "at H = 0.0001, not reached as far as forecasts go" in text
    assert re.search(r"at H = 0.085, reached at step [\d.]+ \([\d.]+ to [\d.]+\)", text)
    assert re.search(r"at H = 0.035, reached later than forecasts go \([\d.]+ or later\)", text)


def test_a_performance_that_is_no_share_needs_its_largest_value():
    time, entropy = powers(100)
    performance = 2 * (1.02 - 0.8 * time**-0.5)
    assert forecast(entropy, performance).steps[0].performance is None
    found = forecast(entropy, performance, best=2).steps[0].performance
    half = forecast(entropy, performance / 2).steps[0].performance
    assert found.value == pytest.approx(2 * half.value)
    assert found.high <= 2


def test_no_forecast_is_of_what_there_cannot_be():
    """Shares lie between 0 and 1, entropies below log 262,144; other rewards have no lower bound."""
    time = np.arange(1.0, 101)
    growing, failing = 6 * time**0.1, np.clip(0.9 * time**-0.5 + np.tile([-.02, .02], 50), 0, 1)
    spans = {}
    for scale in (1, -2):
        report = forecast(growing, scale * failing, at=(10.2,), until=(500,), best=1)
        (place,), (step,) = report.entropies, report.steps
        spans[scale] = place.performance
        assert step.entropy.high == MOST_NATS
        assert step.entropy.value < MOST_NATS
        assert step.performance.high <= 1
        assert (step.performance.low >= 0) == (scale == 1)
    assert (spans[1].low, spans[1].value) == (0, 0)
    assert spans[-2].high > 0


def test_forecasts_of_public_runs_hold_and_beat_no_change():
    """Of seven runs, thinned, each end is forecast from three places."""
    held, errors, stays = [], [], []
    for name in UNSEEN:
        run = read([PUBLIC / f"{name}.csv"])
        ahead_of, place = float(run.step[-10:].mean()), float(np.log(np.exp(run.entropy[-10:]).mean()))
        truth = run.performance[-10:].mean()
        for first in (0.3, 0.5, 0.7):
            report = forecast(run.entropy, run.performance, step=run.step, first=first, at=(place,),
                              until=(ahead_of,))
            assert report.holds
            by_step, by_law = report.steps[0].performance, report.entropies[0].performance
            held += [by_step.low <= truth <= by_step.high, by_law.low <= truth <= by_law.high]
            errors.append([abs(by_step.value - truth), abs(by_law.value - truth)])
            stays.append(abs(by_step.stays - truth))
    assert len(stays) == 21
    assert sum(held) >= 34  # of 42 at 90 %; fewer have a chance of 2 %
    assert (np.mean(errors, axis=0) < 0.8 * np.mean(stays)).all()


@pytest.mark.parametrize("first", [0.3, 0.5, 0.7])
def test_a_run_that_broke_follows_no_law(first):
    run = read([PUBLIC / "qwen2.5-7b-gsm8k-grpo-collapse.csv"])
    assert not forecast(run.entropy, run.performance, step=run.step, first=first).holds


@pytest.mark.deep
def test_the_calibration_is_what_the_benchmark_makes():
    """From the runs of the repository and simulated ones; and it holds on families that are left out."""
    path = Path(__file__).parents[2] / "benchmarks" / "forecasts.py"
    spec = importlib.util.spec_from_file_location("forecasts", path)
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules["forecasts"] = benchmark  # its dataclasses look their module up
    spec.loader.exec_module(benchmark)
    runs = benchmark.measured() | benchmark.simulated()
    tried = [one for name, run in runs.items() for one in benchmark.attempts(name, run)]
    for kind in benchmark.KINDS:
        found = benchmark.quantiles([one for one in tried if one.kind == kind])
        np.testing.assert_allclose(found, ahead.scores(kind), rtol=2e-3, atol=1e-3)
    rows = benchmark.judge(runs, tried)
    assert len(rows) == 6
    for row in rows:
        assert 0.8 < row["coverage"] < 0.96
        assert row["error"] < 0.75 * row["stays"]


def test_quantiles_are_read_at_the_level():
    guess = ahead.Guess(1.0, 2.0)
    table = ahead.scores("law")
    assert len(table) == 101
    assert ahead.ends(guess, "law", 0.9) == pytest.approx((1 + 2 * table[5], 1 + 2 * table[95]))


def test_the_first_points_are_seen_and_the_rest_tries_the_forecast():
    report = forecast(ENTROPY, GOOD, first=0.5)
    assert (report.n_used, report.n_later) == (30, 30)
    assert report.law == performance_law.fit(ENTROPY[:30], GOOD[:30])
    tried = report.tried
    assert tried.origins == (30,)
    assert tried.stays == pytest.approx(abs(GOOD[20:30].mean() - GOOD[-10:].mean()))
    assert tried.law < tried.stays
    assert forecast(ENTROPY, GOOD).tried.origins == (18, 30, 42)
    # 15 % of 20 points is 3, not 4 for a rounding of 0.15.
    assert forecast(ENTROPY[::3], GOOD[::3], first=0.15).n_used == 3


# ------------------------------------------------------------------ words


def a_run(entropy=ENTROPY, performance=GOOD, notes=()):
    return LoggedRun(step=1.0 + np.arange(len(entropy)), entropy=entropy, performance=performance,
                       entropy_name="actor/entropy", performance_name="reward", notes=notes)


def test_the_text_says_what_was_read_found_and_forecast():
    run = a_run(notes=("3 values are not finite",))
    text = as_text(run, forecast(run.entropy, run.performance, at=(0.3, 0.7), first=0.8))
    for expected in ("'actor/entropy'", "'reward'", "48 of 60 points", "steps 1 to 48", "no smoothing",
                     "note: 3 values", "law       performance rose as entropy fell", "R = 0.9",
                     "forecast  at step 96: H = ", "at H = 0, the ceiling: R = ", "if it stays",
                     "at H = 0.3, reached at step ", "at H = 0.7, which the run is below",
                     "tried     from 48 points, R at the last of 12 later points was missed by "):
        assert expected in text, text
    assert "one right answer" not in text
    falls = as_text(a_run(performance=1 - GOOD), forecast(ENTROPY, 1 - GOOD))
    assert "at H = 0: R = " in falls  # the least, no ceiling
    nothing = as_text(a_run(), forecast(ENTROPY, 0.5 + SCATTER[::-1]))
    assert "no law: performance has no trend" in nothing
    assert "e^H" not in nothing
    assert "ceiling" not in nothing
    assert "--best" in as_text(a_run(performance=GOOD * 3), forecast(ENTROPY, GOOD * 3))


def test_the_json_is_plain_even_where_there_is_little(tmp_path):
    run = a_run(ENTROPY[:3], np.full(3, 0.5))
    found = json.loads(json.dumps(as_json(run, forecast(run.entropy, run.performance)), allow_nan=False))
    assert (found["holds"], found["fit"], found["steps"], found["tried"]) == (False, None, [], None)
    whole = json.loads(json.dumps(as_json(a_run(), forecast(ENTROPY, GOOD)), allow_nan=False))
    assert whole["holds"]
    assert whole["fit"]["a"] == performance_law.fit(ENTROPY, GOOD).a


# ------------------------------------------------------------------ the command


def test_fit_reads_a_log_and_writes_json(tmp_path, capsys):
    log, target = tmp_path / "metrics.jsonl", tmp_path / "deep" / "fit.json"
    log.write_text("".join(
        json.dumps({"step": k, "entropy": h, "reward": r}) + "\n"
        for k, (h, r) in enumerate(zip(ENTROPY, GOOD, strict=True))))
    fit((log,), first=0.8, at=(0.2,), until=(80,), json=target)
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(target.read_text())
    report = forecast(ENTROPY, GOOD, step=np.arange(60.0), first=0.8, at=(0.2,), until=(80,))
    assert found["fit"]["a"] == report.law.a
    assert found["entropies"][0]["performance"]["value"] == report.entropies[0].performance.value
    assert found["steps"][0]["entropy"]["low"] == report.steps[0].entropy.low
    assert found["verdict"] == report.verdict
    assert found["provenance"]["config"]["first"] == 0.8
    assert out.strip() == as_text(read([log]), report)
