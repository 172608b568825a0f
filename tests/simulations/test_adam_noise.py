"""Checks what docs/why_entropy_grows.md has on Adam's noise: its limits, and its stationary level."""

import numpy as np
import pytest

from entropy_theory import entropy_change, policy
from simulations.engine.optimizer import Adam

STEPS, RUNS = 400, 3000


def adam_noise(logits, eps):
    """Covariance of a step of Adam whose mean squares have settled, up to a factor: [..., n, n]."""
    covariance = entropy_change.score_covariance(logits)
    root = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1)) + eps
    return covariance / (root[..., :, None] * root[..., None, :])


def sign_noise(logits):
    """Covariance of the sign of one sample's gradient, up to a factor and what shifts all logits."""
    return policy.softmax(logits)[..., None] * np.eye(logits.shape[-1])


def centered(covariance):
    """The covariance of centered logits, which the policy depends on, with trace 1."""
    away = np.eye(len(covariance)) - 1 / len(covariance)
    covariance = away @ covariance @ away
    return covariance / np.trace(covariance)


@pytest.mark.parametrize(("betas", "eps", "expected"), [
    ((0.9, 0.999), 1e-8, lambda z: adam_noise(z, 0.0)),
    ((0.0, 0.999), 1e-8, lambda z: adam_noise(z, 0.0)),
    ((0.9, 0.999), 1e3, entropy_change.score_covariance),  # that of SGD
    ((0.0, 0.0), 1e-8, sign_noise),
])
def test_adams_limits(betas, eps, expected):
    """beta1, which spreads a gradient over steps; beta2 near 1 and 0; a large eps."""
    logits = np.array([2.0, 0.5, 0.0, -1.0])
    rng, optimizer = np.random.default_rng(0), Adam(betas=betas, eps=eps)
    pi = policy.softmax(logits)
    moved, moments = 0.0, [np.zeros((RUNS, 4)), np.tile(pi * (1 - pi), (RUNS, 1))]
    for taken in range(STEPS):
        score = np.eye(4)[rng.choice(4, size=RUNS, p=pi)] - pi
        # Long since begun: the mean squares have settled.
        update, moments = optimizer.update(
            rng.choice([-1.0, 1.0], size=(RUNS, 1)) * score, logits, moments, taken + 100_000)
        moved = moved + update
    found = centered(moved.T @ moved / RUNS)
    # An entry of a covariance S of trace 1 has the standard error sqrt((S_aa S_bb + S_ab^2) / RUNS), here
    # .008 to .014, less what the division by the trace takes. Over four seeds the largest gap was .012.
    # The limits have entries that are a tenth of the trace apart, and isotropic noise .08 from Adam's.
    np.testing.assert_allclose(found, centered(expected(logits)), atol=0.02)


@pytest.mark.parametrize("n", [2, 3, 5, 9, 33])
@pytest.mark.parametrize("eps", [0.0, 1e-3, 0.01, 0.1, 1.0, "sign"])
def test_entropy_has_one_stationary_level_under_adams_noise(n, eps):
    """One action ahead of n - 1 equal ones: entropy falls up to one gap, and grows beyond it."""
    gaps = np.arange(0.01, 30, 0.01)
    logits = np.zeros((len(gaps), n))
    logits[:, 0] = gaps
    noise = sign_noise(logits) if eps == "sign" else adam_noise(logits, eps)
    signs = np.sign(entropy_change.of_noise(logits, noise))
    (turn,) = np.flatnonzero(np.diff(signs))
    assert (signs[0], signs[-1]) == (-1, 1)
    isotropic, sgd = (gaps[np.flatnonzero(np.sign(one) > 0)[0]] for one in (
        entropy_change.of_isotropic_noise(logits),
        entropy_change.of_noise(logits, entropy_change.score_covariance(logits))))
    low, high = (sgd, 30) if eps == "sign" else (isotropic, sgd)
    assert low <= gaps[turn + 1] <= high


def in_closed_form(gap, others, eps):
    """The second order of ``adam_noise`` with one action ahead, up to a factor above 0."""
    e = np.exp(-gap)
    fill = 1 + others * e
    ratio = (np.sqrt(others * e) / fill + eps) / (np.sqrt(e * (fill - e)) / fill + eps)
    ahead = gap * (2 - fill) - fill
    apart = gap * (fill * (fill - e) - 2 * e) - fill * (fill * (fill - e) - e)
    return (others + 2 * ratio) * ahead + ratio**2 * apart


@pytest.mark.parametrize("eps", [0.0, 1e-6, 1e-3, 0.01, 0.1, 10.0])
def test_the_level_is_one_among_up_to_a_million_actions(eps):
    """The closed form is the noise's, up to the factor, and changes its sign once."""
    few = np.linspace(0.05, 6, 40)
    logits = np.stack([few, *4 * [0 * few]], axis=-1)
    noise = adam_noise(logits, eps)
    factor = noise[:, 0, 0] / (policy.softmax(logits) * (1 - policy.softmax(logits)))[:, 0]
    p, q = policy.softmax(logits)[:, 0], policy.softmax(logits)[:, 1]
    # Terms are rounded at 1e-16 of their size, and at the turn their sum may be a millionth of that.
    np.testing.assert_allclose(entropy_change.of_noise(logits, noise),
                               factor * 2 * q**2 * p**3 * in_closed_form(few, 4, eps), rtol=1e-8)
    gaps = np.arange(0.001, 40, 0.001)
    for others in np.geomspace(1, 1e6, 31):
        signs = np.sign(in_closed_form(gaps, others, eps))
        assert (signs[0], signs[-1], np.count_nonzero(np.diff(signs))) == (-1, 1, 1)
