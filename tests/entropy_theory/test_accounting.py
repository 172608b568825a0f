"""Guards entropy_theory/accounting.py: parts add up to the change, or it is told."""

import numpy as np
import pytest

from entropy_theory import accounting, entropy_change, policy
from simulations.problems.shared_parameters import coupled_features
from tests.tolerances import FLOAT64, ROUNDING


def shared(n_states=3, n_actions=5, coupling=0.6, seed=0):
    """The mean entropy of softmax(start + features theta), and its gradient by theta."""
    rng = np.random.default_rng(seed)
    features = coupled_features(n_states, n_actions, coupling, seed=seed)
    start, measure = rng.normal(size=(n_states, n_actions)), rng.dirichlet(np.ones(n_states))

    def logits(theta):
        return start + (features @ theta).reshape(start.shape)

    def entropy(theta):
        return float(measure @ policy.entropy(logits(theta)))

    def gradient(theta):
        return features.T @ (measure[:, None] * policy.entropy_gradient(logits(theta))).ravel()

    return logits, entropy, gradient, measure, features, rng


def test_on_shared_parameters_the_parts_add_up_to_the_change():
    _, entropy, gradient, _, features, rng = shared()
    theta = 0.3 * rng.normal(size=features.shape[1])
    parts = {name: 0.4 * rng.normal(size=theta.shape) for name in ("gradient", "momentum", "decay")}
    found = accounting.of_step(entropy, gradient, theta, parts, share=1e-9, most_points=258)
    assert found.converged
    assert found.measured == entropy(theta + sum(parts.values())) - entropy(theta)
    assert abs(found.measured) > 1e-4
    assert found.accounted == pytest.approx(found.measured, rel=1e-9)
    assert found.accounted == pytest.approx(sum(found.parts.values()), rel=ROUNDING)
    assert abs(found.forecast - found.measured) > 1e-3  # first order is not enough here
    # Each part is a line integral, here by 4096 midpoints (error 1 / 4096^2 of the second derivative).
    step = sum(parts.values())
    places = (np.arange(4096) + 0.5) / 4096
    mean = np.mean([gradient(theta + t * step) for t in places], axis=0)
    for name, part in parts.items():
        assert found.parts[name] == pytest.approx(mean @ part, abs=1e-7)
        # The same sum in another order; the result is not small beside its terms (rounding, times 100).
        assert found.forecast_parts[name] == pytest.approx(gradient(theta) @ part, rel=1e-12)


def test_with_independent_logits_the_forecast_is_the_covariance():
    """Coupling 0: the forecast is -Cov(log pi, step) at each state, and with coupling it is not that of
    the step of the coefficients, but that of the step that the features make of it."""
    for coupling in (0.0, 0.6):
        logits, entropy, gradient, measure, features, rng = shared(coupling=coupling)
        theta = np.zeros(features.shape[1])
        coefficients = 0.1 * rng.normal(size=logits(theta).shape)
        moved = (features @ features.T @ coefficients.ravel()).reshape(coefficients.shape)
        found = accounting.of_step(
            entropy, gradient, theta, {"gradient": features.T @ coefficients.ravel()})
        network = measure @ entropy_change.first_order(logits(theta), moved)
        tabular = measure @ entropy_change.first_order(logits(theta), coefficients)
        assert found.forecast == pytest.approx(network, abs=64 * FLOAT64)
        assert (abs(found.forecast - tabular) < 64 * FLOAT64) == (coupling == 0)


def sums_of(slope, start):
    """The first arguments of `along_path`, for slopes that are numbers."""
    return start, lambda total, t: slope(t) + (0.0 if total is None else total)


ONES = sums_of(lambda t: 1.0, 1.0)[1]


@pytest.mark.parametrize(
    ("power", "places"),
    [(1, [0, 2 / 3]), (3, [0, 2 / 3]), (4, [0, 1 / 2, 2 / 3, 1]),
     (5, [0, 1 / 4, 1 / 2, 2 / 3, 3 / 4, 1]),
     (7, [0, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 2 / 3, 3 / 4, 7 / 8, 1])],
)
def test_no_more_points_than_needed(power, places):
    """x^power from 0 to 1: Radau's rule is exact for slopes of degree 2, Simpson's for 3; and the mean
    slope is the one whose projection is returned."""
    seen = [0]

    def slope(t):
        seen.append(t)
        return power * t ** (power - 1) if power > 1 else 1.0

    found = accounting.along_path(
        *sums_of(slope, start=1.0 if power == 1 else 0.0), lambda s: s, 1.0, share=0.003)
    assert (found.points, found.converged) == (len(places), True)
    assert sorted(set(seen)) == pytest.approx(places)
    # Nothing but the slope at 0, which the forecast holds, is taken twice.
    assert len(seen) == len(places) + (len(places) > 2)
    assert found.slope == pytest.approx(found.change, rel=ROUNDING)
    assert found.change == pytest.approx(1.0, rel=ROUNDING if power <= 4 else 0.003)


def test_a_path_without_points_between_its_ends():
    """The trapezoid of slopes 1 and 3: 2, whatever lies between."""
    seen = []

    def slope(t):
        seen.append(t)
        return 2 * t + 1

    found = accounting.along_path(*sums_of(slope, start=1.0), float, 2.0, ends_only=True)
    assert seen == [1]
    assert (found.points, found.converged, found.change) == (2, True, 2.0)
    assert not accounting.along_path(*sums_of(slope, start=1.0), float, 1.9, ends_only=True).converged


@pytest.mark.parametrize(("power", "most"), [(3, 1), (7, 2)])
def test_no_more_sums_are_held_than_said(power, most):
    """Each is as large as a model: one while Radau's rule is enough, two while halving refines."""
    alive: set[int] = set()
    largest = 0

    class Sum:
        def __init__(self, value):
            nonlocal largest
            self.value = value
            alive.add(id(self))
            largest = max(largest, len(alive))

        def __del__(self):
            alive.remove(id(self))

        def __iadd__(self, other):
            self.value += other.value
            return self

        def __imul__(self, factor):
            self.value *= factor
            return self

    def add(total, t):
        slope = power * t ** (power - 1)
        if total is None:
            return Sum(slope)
        total.value += slope
        return total

    found = accounting.along_path(Sum(0.0), add, lambda total: total.value, 1.0, share=0.003)
    assert found.converged
    assert found.slope.value == pytest.approx(1.0, rel=0.003)  # the share that was asked for
    assert largest == most


def test_a_change_that_is_not_met_is_told():
    """A slope that is not that of the measured change, at every limit of points."""
    for most, points in ((2, 2), (3, 2), (4, 4), (5, 4), (6, 6), (10, 10), (17, 10), (18, 18)):
        found = accounting.along_path(1.0, ONES, lambda s: s, 2.0, most_points=most)
        assert (found.points, found.converged, found.change) == (points, False, pytest.approx(1.0))
    near = accounting.along_path(1.0, ONES, lambda s: s, 0.9, rounding=0.09)
    assert near.converged
