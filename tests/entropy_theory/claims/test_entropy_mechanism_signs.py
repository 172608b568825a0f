"""Sign statements of Cui et al. and of clip-low/high: verdicts, known counterexamples and limits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from entropy_theory.claims.entropy_mechanism import clip_cov as clip
from entropy_theory.claims.entropy_mechanism import covariance_agreement as agreement
from entropy_theory.claims.entropy_mechanism import covariance_positive as positive
from entropy_theory.claims.entropy_mechanism import difficulty as accuracy
from entropy_theory.claims.entropy_mechanism import kl_cov as kl
from entropy_theory.claims.entropy_mechanism import selected_tokens as tokens
from entropy_theory.claims.entropy_mechanism.sign_rules import (
    natural_covariance,
    plain_covariance,
)
from entropy_theory.claims.later_work import clip_low_high as ratio
from entropy_theory.policy import covariance, entropy, log_softmax, softmax
from entropy_theory.verification.certify import check_instance
from entropy_theory.verification.instances import as_batch, as_floats

PLAIN = positive.covariance_positive.statement
NATURAL = positive.covariance_positive_npg.statement
AGREE = agreement.covariance_agreement.statement


@pytest.mark.parametrize(
    ("refuted", "weights", "reward"),
    [
        (PLAIN, (1, 2), (1, 0)),
        # p = 3/5 with two right answers.
        (PLAIN, (1, 2, 2), (1, 1, 0)),
        (NATURAL, (1, 2, 2), (1, 1, 0)),
        # The strictly likeliest action is right.
        (PLAIN, (2, 2, 4, 5), (1, 1, 0, 1)),
        # Right answers all below e^{-H}.
        (PLAIN, (1, 1, 6), (1, 1, 0)),
        (NATURAL, (1, 1, 6), (1, 1, 0)),
        (AGREE, (1, 4, 5), (0, 1, 0)),
        (AGREE, (1, 1, 2, 3), (0, 0, 1, 0)),
        (AGREE, (1, 2, 4), (0, 1, Fraction(1, 2))),
    ],
)
def test_known_counterexamples_are_certified(refuted, weights, reward):
    instance = {"weights": list(weights), "reward": list(reward)}
    assert check_instance(refuted, instance).status == "violated"


@pytest.mark.parametrize("claim", [positive.covariance_positive, positive.covariance_positive_npg])
@pytest.mark.parametrize(
    ("weights", "reward"),
    [((1, 2), (0, 1)), ((1, 4, 5), (0, 0, 1)), ((1, 1, 2, 3), (0, 0, 1, 1)), ((1, 2, 4), (0, 1, 3))],
)
def test_rewards_in_the_order_of_the_policy_have_a_positive_covariance(claim, weights, reward):
    instance = {"weights": list(weights), "reward": list(reward)}
    certificate = check_instance(claim.repair, instance)
    assert (certificate.status, certificate.met) == ("holds", True)


def test_covariances_are_those_of_the_theorems():
    """Against the package's own covariance, with A = r - E r written out."""
    generator = np.random.default_rng(0)
    logits, reward = generator.normal(size=(50, 6)), generator.random((50, 6))
    probabilities, log_probabilities = softmax(logits), log_softmax(logits)
    advantage = reward - np.sum(probabilities * reward, axis=-1, keepdims=True)
    np.testing.assert_allclose(
        plain_covariance(logits, reward),
        covariance(probabilities, log_probabilities, probabilities * advantage), atol=1e-14)
    np.testing.assert_allclose(
        natural_covariance(logits, reward),
        covariance(probabilities, log_probabilities, advantage), atol=1e-14)


def test_minus_the_covariance_is_the_slope_of_entropy():
    logits, reward = np.log([1.0, 4.0, 5.0]), np.array([0.0, 1.0, 0.0])
    advantage = reward - softmax(logits) @ reward
    for step, kind in ((softmax(logits) * advantage, plain_covariance),
                       (advantage, natural_covariance)):
        h = 1e-5
        slope = (entropy(logits + h * step) - entropy(logits - h * step)) / (2 * h)
        assert slope == pytest.approx(-kind(logits, reward), rel=1e-6)
    assert plain_covariance(logits, reward) == pytest.approx(-0.01699, abs=5e-6)
    assert natural_covariance(logits, reward) == pytest.approx(0.01082, abs=5e-6)


# ---------------------------------------------------------------- difficulty


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.9])
def test_covariance_of_one_right_answer_in_closed_form(n, p):
    gap = np.log(p * (n - 1) / (1 - p))
    logits = np.array([gap, *np.zeros(n - 1)])
    reward = np.arange(n) == 0
    expected = n / (n - 1) * (p * (1 - p)) ** 2 * gap
    assert plain_covariance(logits, reward * 1.0) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("n", [2, 3, 50, 150_000])
def test_the_covariance_peaks_between_one_half_and_three_quarters(n):
    p = np.linspace(1e-4, 1 - 1e-4, 20_001)
    values = (p * (1 - p)) ** 2 * np.log(p * (n - 1) / (1 - p))
    peak = p[np.argmax(values)]
    assert 0.5 < peak < 0.75
    assert (2 * peak - 1) * np.log(peak * (n - 1) / (1 - peak)) == pytest.approx(0.5, abs=2e-3)
    assert (values[p < 1 / n - 1e-9] < 0).all()
    # The middle and the easiest group of the figure, accuracies 1/2 and 7/8.
    middle, easiest = np.interp([0.5, 0.875], p, values)
    assert (middle > easiest) == (n >= 3)


@pytest.mark.parametrize(
    ("weights", "shift", "status"),
    [
        # Past the peak, and below chance, an easier prompt has a smaller covariance ...
        ((2, 1, 1), 2, "violated"),
        ((3, 1), 1, "violated"),
        ((1, 5), 1, "violated"),
        # ... from chance to the peak a larger one.
        ((1, 1, 1), Fraction(1, 2), "holds"),
        ((1, 1), 1, "holds"),
    ],
)
def test_easier_prompts_have_larger_covariances_only_between_chance_and_peak(weights, shift, status):
    instance = {"weights": list(weights), "shift": shift}
    assert check_instance(accuracy.difficulty.statement, instance).status == status


# ---------------------------------------------------------------- Clip-Cov and KL-Cov


def slope_of_entropy(logits, step, h=1e-5):
    return (entropy(logits + h * step) - entropy(logits - h * step)) / (2 * h)


def test_clip_cov_lowers_entropy_with_the_bounds_of_the_paper():
    """By differences of entropies, without any formula for contributions; one action is selected."""
    witness = clip.clip_cov.witnesses[0]
    assert witness["lower"] == 1
    assert check_instance(clip.clip_cov.statement, witness).status == "violated"
    logits = np.log(np.array(witness["weights"], dtype=float))
    reward = np.array(witness["reward"], dtype=float)
    probabilities, log_probabilities = softmax(logits), log_softmax(logits)
    advantage = reward - probabilities @ reward
    products = (log_probabilities - probabilities @ log_probabilities) * advantage
    selected = (products > 1) & (products < 5)
    assert np.flatnonzero(selected).tolist() == [12]
    weighted = probabilities * advantage
    base = weighted
    masked = np.where(selected, 0, weighted)
    masked = masked - masked.sum() * probabilities
    assert slope_of_entropy(logits, masked) < slope_of_entropy(logits, base) - 1e-3


def test_clip_cov_is_idle_where_the_band_is_empty():
    i = as_floats(as_batch({"weights": [1, 2, 3], "reward": [0, 1, 0], "lower": 50}))
    assert clip._gain(i).tolist() == [0.0]


def test_kl_cov_gain_is_the_difference_of_two_steps():
    """The gradient of |log r| by differences, on the actions that are selected."""
    case = {"weights": [1, 2, 3, 5], "drift": [1, 0, -1, 0], "reward": [0, 1, 0, 1], "lower": 0.01}
    i = as_floats(as_batch(case))
    logits, old = i.logits[0], i.logits[0] - i.drift[0]
    selected, weight = kl._selected(i)[0], softmax(old)
    assert selected.any()

    def penalty(z):
        return np.sum(np.where(selected, weight * np.abs(log_softmax(z) - log_softmax(old)), 0))

    h, unit = 1e-6, np.eye(4)
    gradient = [(penalty(logits + h * e) - penalty(logits - h * e)) / (2 * h) for e in unit]
    expected = slope_of_entropy(logits, -np.array(gradient))
    assert kl._gain(i)[0] == pytest.approx(expected, abs=1e-7)


# ---------------------------------------------------------------- selected tokens


def test_no_confident_token_is_selected_in_a_batch_like_the_paper():
    """Mean surprisal 0.36 and groups of eight: every selected token is rare and has A < 0."""
    generator = np.random.default_rng(1)
    surprisal = generator.standard_gamma(0.3, (200, 4000))
    surprisal *= 0.36 / surprisal.mean(axis=-1, keepdims=True)
    right = generator.binomial(8, 0.5, (200, 500)).clip(1, 7).repeat(8, axis=-1) / 8
    reward = generator.random((200, 4000)) < right
    advantage = (reward - right) / np.sqrt(right * (1 - right))
    products = ((surprisal.mean(-1, keepdims=True) - surprisal)
                * (advantage - advantage.mean(-1, keepdims=True)))
    selected = products >= 1
    assert selected.sum() > 1000
    assert (advantage[selected] < 0).all()
    assert (surprisal[selected] > 0.36).all()


@pytest.mark.parametrize(
    ("lower", "status"),
    [
        # Below the bound (mean surprisal 1, largest deviation 1/2) the hypothesis fails, above it holds;
        # above the largest product, 9/2, nothing is selected.
        (Fraction(1, 4), "outside"),
        (Fraction(3, 4), "holds"),
        (5, "outside"),
    ],
)
def test_selection_of_one_rare_token(lower, status):
    """Three sure tokens with A = 1, K = 1/2, and a rare one with A = -1, K = 9/2."""
    case = {"surprisal": [0, 0, 0, 4], "advantage": [1, 1, 1, -1], "lower": lower}
    assert check_instance(tokens.selected_tokens.repair, case).status == status


# ---------------------------------------------------------------- clip-low and clip-high


@pytest.mark.parametrize(
    ("drift", "low_raises", "high_lowers"),
    [
        # Sharpening: the likelier action leaves the band above, the rarer one below.
        ((0, 1), True, False),
        # Flattening: the other way round.
        ((1, 0), False, True),
    ],
)
def test_each_half_of_clip_low_high_fails_on_its_side(drift, low_raises, high_lowers):
    i = as_floats(as_batch({"weights": [1, 2], "drift": list(drift), "epsilon": 0.2}))
    assert (ratio._effect_of_clip_low(i)[0] > 0) == low_raises
    assert (ratio._effect_of_clip_high(i)[0] < 0) == high_lowers


def test_random_rewards_without_clipping_have_no_expected_step():
    i = as_floats(as_batch({"weights": [1, 2, 5], "drift": [1, -1, 0], "epsilon": 0.2}))
    assert np.abs(ratio._expected_step(i, clip_low=False, clip_high=False)).max() == 0
    both = ratio._expected_step(i, clip_low=True, clip_high=True)
    each = (ratio._expected_step(i, clip_low=True, clip_high=False)
            + ratio._expected_step(i, clip_low=False, clip_high=True))
    np.testing.assert_allclose(both, each, atol=1e-16)
