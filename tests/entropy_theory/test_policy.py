"""Guards policy.py: one entropy, accurate where the usual formulas lose every digit."""

import math

import flint
import mpmath
import numpy as np
import pytest
import torch

from entropy_theory import policy
from tests.tolerances import FLOAT32, FLOAT64, ROUNDING


def arb_entropy(logits, temperature=1.0):
    """Entropy in 1200-bit ball arithmetic (a gap of 300 cancels 433 bits), by the textbook formula."""
    precision, flint.ctx.prec = flint.ctx.prec, 1200
    try:
        z = [flint.arb(float(v)) / flint.arb(float(temperature)) for v in logits if v > -math.inf]
        total = sum(v.exp() for v in z)
        return float(total.log() - sum(v * v.exp() for v in z) / total)
    finally:
        flint.ctx.prec = precision


@pytest.mark.parametrize("gap", [0.0, 1.0, 50.0, 300.0])
@pytest.mark.parametrize("n_actions", [2, 1000])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_entropy_at_collapse_matches_arb_in_float64(gap, n_actions, offset):
    """logsumexp - sum(p z) is 100 % off at gap 50; the rounding of the shifted logits is all we allow."""
    logits = np.full(n_actions, offset)
    logits[0] += gap
    expected = arb_entropy(logits)
    assert policy.entropy(logits) == pytest.approx(expected, rel=ROUNDING, abs=0)


@pytest.mark.parametrize(("gap", "n_actions"), [(10.0, 151_936), (30.0, 10), (30.0, 151_936)])
def test_entropy_at_collapse_matches_arb_in_float32(gap, n_actions):
    """The float32 of LLM training: relative error stays near rounding for a vocabulary-sized state."""
    logits = np.zeros(n_actions, dtype=np.float32)
    logits[0] = gap
    result = policy.entropy(torch.tensor(logits))
    others = math.exp(-gap) * (n_actions - 1)
    expected = math.log1p(others) + gap * others / (1 + others)
    # exp of a float32 argument near -gap carries gap x eps / 2; pairwise sums add a few eps.
    assert float(result) == pytest.approx(expected, rel=(gap + 16) * FLOAT32, abs=0)


def test_actions_never_taken_do_not_poison_entropy_or_its_gradient():
    """-inf logits give NaN in TRL's and verl's formulas."""
    logits = torch.tensor([0.5, -math.inf, 1.0], dtype=torch.float64, requires_grad=True)
    value = policy.entropy(logits)
    value.backward()
    expected = policy.entropy(np.array([0.5, 1.0]))
    assert value.item() == pytest.approx(float(expected), rel=ROUNDING)
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[1] == 0


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_numpy_and_torch_agree_to_rounding(temperature):
    logits = np.random.default_rng(1).normal(size=(4, 7)) * 5
    for function in (policy.log_softmax, policy.softmax, policy.entropy):
        other = function(torch.tensor(logits), temperature)
        np.testing.assert_allclose(function(logits, temperature), other.numpy(), rtol=1e-13)


def test_clamped_entropy_removes_by_count_and_the_higher_index_among_ties():
    """floor(p V + 1e-9) actions go: 0.3 of 10 is 3, although 0.3 * 10 rounds below it."""
    logits = np.array([1.0, 0.0, 0.0, 0.0, 2.0])
    kept = policy.kept_actions(logits, 0.4)
    assert kept.tolist() == [True, True, False, False, True]
    assert policy.clamped_entropy(logits, 0.4) == pytest.approx(
        float(policy.entropy(np.array([1.0, 0.0, 2.0]))), rel=ROUNDING
    )
    assert policy.kept_actions(np.arange(10.0), 0.3).sum() == 7
    assert policy.clamped_entropy(logits, 0.0) == policy.entropy(logits)


@pytest.mark.parametrize("logits", [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [3.0, 1.0, 3.0]])
def test_torch_gradients_are_right_at_ties(logits):
    """Every tabular model starts uniform; torch's max spreads its gradient over ties."""
    z = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    jacobian = torch.autograd.functional.jacobian(policy.log_softmax, z)
    pi, log_pi = policy.softmax(np.array(logits)), policy.log_softmax(np.array(logits))
    np.testing.assert_allclose(jacobian, np.eye(3) - pi, atol=8 * FLOAT64, rtol=0)
    (gradient,) = torch.autograd.grad(policy.entropy(z), z)
    expected = -pi * (log_pi + policy.entropy(np.array(logits)))
    np.testing.assert_allclose(gradient, expected, atol=8 * FLOAT64, rtol=0)


@mpmath.workdps(40)
def test_entropy_of_ties_keeps_its_digits_at_collapse():
    """log of a sum that begins with 1 is 2.6 % off at a gap of 38 nats, and 0 beyond 40."""
    for gap, counts in ((38.0, (1.0, 1.0)), (38.0, (1.0, 5.0)), (60.0, (1.0, 3.0)), (1.0, (4.0, 2.0))):
        rest = counts[1] * mpmath.exp(-gap)
        expected = mpmath.log(counts[0] + rest) + gap * rest / (counts[0] + rest)
        found = policy.tied_entropy(np.array([0.0, -gap]), np.array(counts))
        # A handful of roundings in exp, log1p, two products and a sum.
        assert float(found) == pytest.approx(float(expected), rel=8 * FLOAT64)
    logits, counts = np.array([0.3, -0.4, 0.1]), np.array([2, 1, 3])
    assert float(policy.tied_entropy(logits, counts)) == pytest.approx(
        float(policy.entropy(np.repeat(logits, counts))), rel=8 * FLOAT64)


@mpmath.workdps(40)
def test_the_tilt_keeps_its_digits_at_collapse():
    """log pi + H of the likely action is pi_2 (z_1 - z_2), which two numbers near it would round away."""
    for gap in (5.0, 38.0, 300.0):
        logits = np.array([0.0, -gap, -np.inf])
        q = mpmath.exp(-gap) / (1 + mpmath.exp(-gap))
        found = policy.tilt(logits)
        np.testing.assert_allclose(
            found, [float(q * gap), float((q - 1) * gap), 0.0], rtol=8 * FLOAT64)
        np.testing.assert_allclose(
            policy.entropy_gradient(logits), [float(-q * (1 - q) * gap), float(q * (1 - q) * gap), 0.0],
            rtol=8 * FLOAT64)


def test_each_state_has_its_own_temperature_floor_and_one_number_serves_all():
    """A number is the same as an array of it; one that underflows is greedy in its state alone."""
    logits = np.float32([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]])
    both = policy.softmax(logits, np.array([1e-50, 2.0]))
    np.testing.assert_array_equal(both[0], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(both[1], policy.softmax(logits[1], 2.0))
    np.testing.assert_array_equal(policy.softmax(logits, 0.7), policy.softmax(logits, np.array(0.7)))
    np.testing.assert_array_equal(policy.softmax(logits, 1), policy.softmax(logits))
    hot = policy.softmax(np.array([0.0, 5.0, -math.inf]), math.inf)
    np.testing.assert_array_equal(hot, [0.5, 0.5, 0.0])


def test_unseen_logits_are_shifted_the_same_and_bad_states_are_nan_alone():
    logits = np.array([[0.3, 1.0, -2.0], [0.0, -math.inf, 0.0]])
    for temperature in (1.0, 0.6):
        seen = policy.shift_logits(logits, temperature)
        for found, expected in zip(policy.shift_logits_unseen(logits, temperature), seen, strict=True):
            np.testing.assert_array_equal(found, expected)
    cold = policy.shift_logits_unseen(logits, 0.0)  # counts as the smallest number, as in each state
    np.testing.assert_array_equal(cold.exponentials, [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    bad = torch.tensor([[0.0, math.nan], [0.0, 1.0], [-math.inf, -math.inf]])
    normalizer = policy.shift_logits_unseen(bad).log_normalizer
    assert torch.isnan(normalizer)[:, 0].tolist() == [True, False, True]


def test_arrays_of_any_kind_become_floating_point_of_their_own_kind():
    assert policy.as_float_array([1, 2]).dtype == np.float64
    assert policy.as_float_array(np.float32([1, 2])).dtype == np.float32
    assert policy.as_float_array(torch.tensor([1, 2])).dtype == torch.float64
    half = torch.tensor([1.0], dtype=torch.float16)
    assert policy.as_float_array(half) is half
    assert policy.namespace([1.0], 2.0) is policy.namespace(np.zeros(2))
    assert policy.namespace(torch.zeros(1)) is not policy.namespace(np.zeros(1))
    like = policy.array_like([1, 2], torch.zeros(1, dtype=torch.float32))
    assert like.dtype == torch.float32
    tracked = torch.tensor([1.0, 2.0], requires_grad=True) * 2
    assert policy.to_numpy(tracked).tolist() == [2.0, 4.0]


def test_every_number_of_actions_up_to_all_but_one_can_be_removed():
    logits = np.array([3.0, 1.0, 2.0])
    assert [int(policy.kept_actions(logits, share).sum()) for share in (0, 1 / 3, 2 / 3, 0.99)] == [
        3, 2, 1, 1]
    stacked = policy.kept_actions(np.stack([logits, -logits]), 1 / 3)
    assert stacked.tolist() == [[True, False, True], [False, True, True]]
    clamped = policy.clamped_logits(np.stack([logits, -logits]), 1 / 3)
    assert clamped.tolist() == [[3.0, -math.inf, 2.0], [-math.inf, -1.0, -2.0]]


def test_covariance_is_of_each_state_with_its_own_means():
    p = np.array([[0.25, 0.75], [0.5, 0.5]])
    x, y = np.array([[1.0, 3.0], [0.0, 4.0]]), np.array([[2.0, 6.0], [10.0, 4.0]])
    np.testing.assert_allclose(policy.covariance(p, x, y), [0.1875 * 2 * 4, 0.25 * 4 * -6])
    never = np.array([0.25, 0.75, 0.0])  # an action of probability 0 is ignored
    assert policy.covariance(never, np.array([1.0, 2.0, -math.inf]), np.array([0.0, 4.0, math.nan])) == (
        pytest.approx(0.1875 * 1 * 4))


def test_covariance_keeps_its_digits_beside_large_means():
    """Both are centered: sum p x (y - mean y) is zero times 1e8 in exact arithmetic alone."""
    p = np.array([0.1, 0.2, 0.7])
    x, y = np.array([3.0, -1.0, 2.0]), np.array([0.0, 5.0, -4.0])
    # Means are off by at most 2e-8 (an ulp at 1e8 is 1.5e-8), and the covariance by their product, 4e-16;
    # terms of at most 10 are rounded a few times.
    assert policy.covariance(p, 1e8 + x, 1e8 + y) == pytest.approx(
        float((p * x * y).sum() - (p * x).sum() * (p * y).sum()), abs=10 * 4 * FLOAT64)
