r"""The law R = -a e^H + b between policy entropy and performance: fit, predict, doubt, compare.

.. math::

    R = b - a\, e^H

From "The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models", where it is read
off training runs; nothing derives it. R is affine in e^H (the perplexity), so least squares has a closed
form. In the variable e^H - 1 the intercept is the ceiling b - a, the performance that the law forecasts
at zero entropy::

    law = fit(entropy, performance)
    law.a, law.b, law.ceiling, law.rmse
    low, high = law.interval(0.2)

Standard errors take the residuals as independent. Residuals of a training run are not, and
``autocorrelation`` measures it. A policy with one right answer and equal wrong answers lies on an exact
curve, which does not have the law's form and is among the `rivals`:

.. math::

    H = h(R) + (1 - R) \log(n - 1), \quad h(R) = -R \log R - (1 - R) \log(1 - R).

Entropies are in nats, performance is any number (a share of right answers where n is mentioned).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGEST_ENTROPY = 300.0
"""The largest entropy accepted, nats: beyond it squares of e^H overflow.

No policy's mean token entropy is so large, but a sum over tokens may be.
"""
LARGEST_PERFORMANCE = 1e100
"""The largest magnitude of a performance accepted: squares, and products with e^H, stay finite."""
LEAST_SPREAD = 1e-50
"""Entropies within so many nats count as constant: the squares of smaller differences vanish."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PerformanceLaw:
    """A fitted law R = -a e^H + b.

    Attributes:
        a: performance lost per unit of e^H.
        b: constant; :math:`b - a` is the ceiling.
        a_error: standard error of a.
        b_error: standard error of b.
        residual_error: square root of the residual sum of squares over N - 2.
        rmse: square root of the mean squared residual.
        r_squared: share of the variance explained; nan where the performance is constant.
        autocorrelation: lag-1 correlation of the residuals in the order given; nan where all are 0.
        n_points: number of points fitted, N.
    """

    a: float
    b: float
    a_error: float
    b_error: float
    residual_error: float
    rmse: float
    r_squared: float
    autocorrelation: float
    n_points: int
    _centre: float  # mean of e^H - 1
    _at_centre: float  # mean performance

    @property
    def ceiling(self) -> float:
        """The performance b - a at zero entropy (an extrapolation, unless entropy was near 0)."""
        return float(self._at_centre + self.a * self._centre)

    def predict(self, entropy: Any) -> np.ndarray:
        """Performance at ``entropy`` (nats, any shape); same shape."""
        return self._at_centre - self.a * (np.expm1(_entropies(entropy)) - self._centre)

    def interval(self, entropy: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """The interval in which a further observation lies with probability ``level``.

        It is that of Student's t with N - 2 degrees of freedom.

        Args:
            entropy: nats, any shape.
            level: between 0 and 1.

        Returns:
            (low, high), each of the shape of ``entropy``.
        """
        from scipy import special  # slow to import, and the claims need none of it

        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level}")
        offset = np.expm1(_entropies(entropy)) - self._centre
        error = np.sqrt(
            self.residual_error**2 + self.residual_error**2 / self.n_points
            + (self.a_error * offset) ** 2)
        reach = special.stdtrit(self.n_points - 2, (1 + level) / 2) * error
        middle = self.predict(entropy)
        return middle - reach, middle + reach


def fit(entropy: Any, performance: Any) -> PerformanceLaw:
    """Least squares of ``performance`` on e^entropy, in closed form.

    Args:
        entropy: [N] nats, at least 0, not all equal; N at least 3.
        performance: [N].

    Raises:
        ValueError: not N paired finite numbers, N < 3, a negative or constant entropy, an entropy above
            `LARGEST_ENTROPY` or a performance beyond `LARGEST_PERFORMANCE`.
    """
    entropy, performance = _checked(entropy, performance)
    x = np.expm1(entropy)
    line = _line(x, performance)
    n, spread = len(x), float(np.sum((x - x.mean()) ** 2))
    squares = float(np.sum(line.residuals**2))
    total = float(np.sum((performance - performance.mean()) ** 2))
    residual_error = math.sqrt(squares / (n - 2))
    a = -line.slope
    lagged = float(np.sum(line.residuals[1:] * line.residuals[:-1]))

    return PerformanceLaw(
        a=a,
        b=float(performance.mean() + a * (x.mean() + 1)),
        a_error=residual_error / math.sqrt(spread),
        b_error=residual_error * math.sqrt(1 / n + (-1 - x.mean()) ** 2 / spread),
        residual_error=residual_error,
        rmse=math.sqrt(squares / n),
        r_squared=1 - squares / total if np.ptp(performance) > 0 and total > 0 else math.nan,
        autocorrelation=lagged / squares if squares > 0 else math.nan,
        n_points=n,
        _centre=float(x.mean()),
        _at_centre=float(performance.mean()),
    )


# ------------------------------------------------------------------ rivals


@dataclass(frozen=True, kw_only=True, slots=True)
class Rival:
    """One form of the relation, fitted.

    Attributes:
        name: "exponential" (the law), "linear", "power" or "one right answer".
        formula: the formula with the fitted numbers in it.
        parameters: the fitted numbers, by name.
        ceiling: performance at zero entropy.
        rmse: square root of the mean squared residual.
        aicc: corrected Akaike criterion, the scatter counted as a parameter; the smallest wins and
            a lead below 2 means little. inf where there are too few points.
    """

    name: str
    formula: str
    parameters: dict[str, float]
    ceiling: float
    rmse: float
    aicc: float


def rivals(entropy: Any, performance: Any) -> list[Rival]:
    r"""Fit the law and the forms that could be mistaken for it, and return them best first.

    - ``exponential``: :math:`R = b - a e^H`
    - ``linear``: :math:`R = c - a H`
    - ``power``: :math:`R = c - a H^k`
    - ``one right answer``: the exact curve :math:`H = h(R) + (1 - R) \log(n - 1)`, performance as a
      share. The fitted n is any real number from e^max(H) on.

    Args, raises: as `fit`.
    """
    entropy, performance = _checked(entropy, performance)
    found = [
        _exponential(entropy, performance),
        _linear(entropy, performance),
        _power(entropy, performance),
        _one_right_answer(entropy, performance),
    ]
    return sorted(found, key=lambda rival: rival.aicc)


def _exponential(entropy: np.ndarray, performance: np.ndarray) -> Rival:
    line = _line(np.expm1(entropy), performance)
    a, ceiling = -line.slope, line.intercept
    return _rival("exponential", formula(a, ceiling + a), {"a": a, "b": ceiling + a},
                  ceiling, line.residuals)


def _linear(entropy: np.ndarray, performance: np.ndarray) -> Rival:
    line = _line(entropy, performance)
    return _rival("linear", formula(-line.slope, line.intercept, "H"),
                  {"a": -line.slope, "c": line.intercept}, line.intercept, line.residuals)


def _power(entropy: np.ndarray, performance: np.ndarray) -> Rival:
    scale = float(entropy.max())  # H / scale is in [0, 1], where no power overflows

    def line_at(log_k: float) -> _Line:
        return _line((entropy / scale) ** math.exp(log_k), performance)

    log_k = _argmin(lambda u: float(np.sum(line_at(u).residuals ** 2)), -3.0, 3.0)
    line, k = line_at(log_k), math.exp(log_k)
    a = -line.slope / scale**k
    return _rival("power", formula(a, line.intercept, f"H^{k:.3g}"),
                  {"a": a, "c": line.intercept, "k": k}, line.intercept, line.residuals)


def _one_right_answer(entropy: np.ndarray, performance: np.ndarray) -> Rival:
    least = max(float(entropy.max()), math.log(2))

    def residuals_at(log_n: float) -> np.ndarray:
        return performance - one_right_answer_performance(entropy, math.exp(log_n))

    highest = min(least + 12.0, LARGEST_ENTROPY + 1)
    log_n = _argmin(lambda u: float(np.sum(residuals_at(u) ** 2)), least, highest)
    n = math.exp(log_n)
    return _rival("one right answer", f"H = h(R) + (1 - R) log({n:.4g} - 1)", {"n": n}, 1.0,
                  residuals_at(log_n))


def _rival(
    name: str, formula: str, parameters: dict[str, float], ceiling: float, residuals: np.ndarray
) -> Rival:
    n, k = len(residuals), len(parameters) + 1
    # Exact data would give -inf to every form that fits it: stop at the rounding of a number near 1.
    variance = max(float(np.mean(residuals**2)), np.finfo(float).eps ** 2)
    small_sample = 2 * k * (k + 1) / (n - k - 1) if n > k + 1 else math.inf
    return Rival(name=name, formula=formula, parameters=parameters, ceiling=float(ceiling),
                 rmse=float(np.sqrt(np.mean(residuals**2))),
                 aicc=n * math.log(variance) + 2 * k + small_sample)


# ------------------------------------------------------------------ exact relations


def binary_entropy(p: Any) -> np.ndarray:
    r"""Return :math:`h(p) = -p \log p - (1 - p) \log(1 - p)` in nats; p in [0, 1], any shape."""
    from scipy import special

    p = np.asarray(p, dtype=float)
    return -special.xlogy(p, p) - special.xlog1py(1 - p, -p)


def one_right_answer_entropy(performance: Any, n_actions: Any) -> np.ndarray:
    r"""Return :math:`h(R) + (1 - R) \log(n - 1)`, the entropy with one right answer of n and equal
    wrong ones.

    Exact; no policy with one right answer and this R has more entropy.

    Args:
        performance: probability of the right answer, in [0, 1], any shape.
        n_actions: n, finite and above 1; it broadcasts. It is a whole number unless it was fitted.

    Raises:
        ValueError: an argument out of its range.
    """
    performance, n_actions = _probabilities(performance), _numbers_of_actions(n_actions)
    return binary_entropy(performance) + (1 - performance) * np.log(n_actions - 1)


def one_right_answer_performance(entropy: Any, n_actions: float) -> np.ndarray:
    """Return the R in [1/n, 1] at which `one_right_answer_entropy` is H.

    H lies between 0 and log n and has any shape.

    Below 1/n there is a second R with the same H: a policy that has settled on wrong answers.

    Raises:
        ValueError: an argument out of its range.
    """
    entropy = _entropies(entropy)
    highest = math.log(float(_numbers_of_actions(n_actions)))
    if np.any(entropy > highest * (1 + 1e-12)):
        raise ValueError(f"entropy must be at most log(n_actions) = {highest:.4g}, got {entropy.max()}")
    low, high = np.full(entropy.shape, 1 / n_actions), np.ones(entropy.shape)
    for _ in range(60):  # H decreases in R on [1/n, 1]
        middle = (low + high) / 2
        is_above = one_right_answer_entropy(middle, n_actions) > entropy
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return (low + high) / 2


def entropy_range(
    performance: Any, n_actions: int, n_correct: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the least and largest entropy at a given performance.

    They are h(R) and :math:`h(R) + R \log m + (1 - R) \log(n - m)`, exact and tight by the chain rule.
    At the low end one right and one wrong answer are in play. The high end is uniform over right
    answers and over wrong ones.

    Args:
        performance: R, probability of a right answer, in [0, 1], any shape.
        n_actions: n, the number of actions.
        n_correct: m, from 1 to n; where m = n, R must be 1.
    """
    performance = _probabilities(performance)
    if not 1 <= n_correct <= n_actions:
        raise ValueError(f"n_correct must be from 1 to n_actions = {n_actions}, got {n_correct}")
    if n_correct == n_actions and np.any(performance < 1):
        raise ValueError("performance must be 1 where every action is correct")
    wrong = math.log(n_actions - n_correct) if n_correct < n_actions else 0.0
    low = binary_entropy(performance)
    return low, low + performance * math.log(n_correct) + (1 - performance) * wrong


# ------------------------------------------------------------------ helpers


@dataclass(frozen=True, slots=True)
class _Line:
    intercept: float
    slope: float
    residuals: np.ndarray


def _line(x: np.ndarray, y: np.ndarray) -> _Line:
    """Least-squares line, centred; the intercept is at x = 0."""
    offset = x - x.mean()
    slope = float(np.sum(offset * (y - y.mean())) / np.sum(offset**2))
    return _Line(float(y.mean() - slope * x.mean()), slope, y - y.mean() - slope * offset)


def _argmin(objective: Callable[[float], float], low: float, high: float) -> float:
    """Minimum of a function of one variable: the best of a grid, refined between its neighbors."""
    from scipy.optimize import minimize_scalar  # slow to import, and needed for rivals alone

    grid = np.linspace(low, high, 41)
    best = int(np.argmin([objective(u) for u in grid]))
    result = minimize_scalar(objective, method="bounded", options={"xatol": 1e-10},
                             bounds=(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]))
    return float(min((result.x, grid[best]), key=objective))


def formula(a: float, b: float, function: str = "e^H") -> str:
    """Write b - a f(H) with its signs."""
    return f"{b:.4g} {'+' if a < 0 else '-'} {abs(a):.4g} {function}"


def _entropies(values: Any) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    bad = array[~((array >= 0) & (array <= LARGEST_ENTROPY))]
    if bad.size:
        raise ValueError(
            f"entropy must be from 0 to {LARGEST_ENTROPY:.0f} nats, got {bad.flat[0]}: log the mean "
            "entropy per token"
        )
    return array


def _numbers_of_actions(values: Any) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if not np.all((array > 1) & (array < math.inf)):
        raise ValueError(f"n_actions must be above 1 and finite, got {values}")
    return array


def _probabilities(values: Any) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    # A sum of probabilities may be off by rounding.
    bad = array[~((array >= -1e-12) & (array <= 1 + 1e-12))]
    if bad.size:
        raise ValueError(f"performance must be a probability, from 0 to 1, got {bad.flat[0]}")
    return np.clip(array, 0.0, 1.0)


def _checked(entropy: Any, performance: Any) -> tuple[np.ndarray, np.ndarray]:
    entropy = np.asarray(entropy, dtype=float)
    performance = np.asarray(performance, dtype=float)
    if entropy.ndim != 1 or entropy.shape != performance.shape:
        raise ValueError(
            "entropy and performance must be two lists of one length, got shapes "
            f"{entropy.shape} and {performance.shape}"
        )
    if len(entropy) < 3:
        raise ValueError(f"a line with its errors needs at least 3 points, got {len(entropy)}")
    entropy = _entropies(entropy)
    bad = ~(np.abs(performance) <= LARGEST_PERFORMANCE)
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"performance must be finite, got {performance[where]} at point {where} (at most "
            f"{LARGEST_PERFORMANCE:g} in magnitude)")
    x = np.expm1(entropy)
    if np.ptp(x) <= max(16 * np.finfo(float).eps * x.max(), LEAST_SPREAD):
        raise ValueError(f"entropy is constant at {entropy[0]:.6g}: nothing can be fitted")
    return entropy, performance
