"""Guards what is told from noise: trends under autocorrelation, and where series turn."""

import numpy as np
import pytest
from scipy import stats

from diagnosis.phases import phases
from entropy_theory.performance_law.trend import CLEAR, correlation_time, trend
from entropy_theory.training_logs.logs import Series
from tests.diagnosis.runs import healthy, late, noise, run


@pytest.mark.parametrize(("rho", "most"), [(0.0, 0.01), (0.5, 0.015), (0.8, 0.03), (0.9, 0.03)])
def test_noise_is_seldom_a_trend(rho, most):
    """Of 1,000 such series .5, 1.1, 1.7 and 1.9 % were."""
    generator = np.random.default_rng(1)
    found = sum(trend(noise(generator, 200, rho)).direction != 0 for _ in range(400))
    assert found <= stats.binom.ppf(0.999, 400, most)


def test_plain_ranks_take_noise_for_a_trend():
    """What the correlation time is for."""
    generator = np.random.default_rng(1)
    found = [stats.kendalltau(range(200), noise(generator, 200, 0.9)).pvalue for _ in range(100)]
    assert sum(p < CLEAR for p in found) > 30


@pytest.mark.parametrize("shape", [np.arange(200) / 50, 4 - 4 * np.exp(-np.arange(200) / 40)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_trend_of_any_shape_is_found(shape, sign):
    generator = np.random.default_rng(2)
    found = [trend(sign * (shape + noise(generator, 200, 0.5))) for _ in range(50)]
    assert sum(one.direction == sign for one in found) >= 45
    # Levels are means of ten values at either end: the curved shape loses .45 of its 4 so. The median of
    # 50 changes of this noise has a standard error of .13.
    assert np.median([one.change for one in found]) == pytest.approx(4 * sign, abs=0.8)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_correlation_time_of_an_autoregression(rho):
    generator = np.random.default_rng(3)
    found = np.median([correlation_time(noise(generator, 4000, rho)) for _ in range(30)])
    # Of 4,000 values at rho = .9 one estimate is off by 7 %; the larger of two leans by about as much.
    assert found == pytest.approx((1 + rho) / (1 - rho), rel=0.15)


@pytest.mark.parametrize("value", [[], [1.0], [1.0, 2.0], [3.0] * 50])
def test_too_little_and_constants_have_no_trend(value):
    assert trend(np.array(value)).direction == 0


@pytest.mark.parametrize(("n", "rho", "most"), [
    (60, 0.0, 0.02), (60, 0.5, 0.08), (200, 0.5, 0.02), (1000, 0.9, 0.05)])
def test_noise_is_seldom_cut(n, rho, most):
    """Of 100 runs of six series 0, 4, 0 and 0 were; 200 steps at a correlation of .9 are cut in 18."""
    generator = np.random.default_rng(4)
    names = ("entropy", "length", "gradient_norm", "reward", "truncated", "clipped")
    cut = sum(len(phases({name: Series(name, np.arange(float(n)), np.exp(0.2 * noise(generator, n, rho)))
                          for name in names})) > 1 for _ in range(40))
    assert cut <= stats.binom.ppf(0.999, 40, most)


@pytest.mark.parametrize("seed", range(6))
def test_a_turn_is_dated_within_its_uncertainty(seed):
    """The jump is at step 121: its phase begins there, or the interval that is given holds it."""
    series = healthy(seed)
    series["length"] = np.where(np.arange(200) < 120, series["length"], 2.5 * series["length"])
    found = phases(run(series).series)
    (at,) = [one for one in found if one.begin_low <= 121 <= one.begin_high]
    assert abs(at.begin - 121) <= 1
    assert at.begin_high - at.begin_low <= 4


def test_two_turns_close_together_are_two():
    level = 200 * np.exp(0.02 * noise(np.random.default_rng(0), 300))
    found = phases(run({"length": late(late(level, 3, 0.4), 1 / 3, 0.6)}).series)
    assert any(120 <= one.begin <= 150 for one in found)
    assert any(180 <= one.begin <= 210 for one in found)
