"""The exact runs that claims show in experiments, beside recursions and steps that share no code."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from entropy_theory.claims.aepo.ablations import advantage_step
from entropy_theory.claims.extensions import solved_face
from entropy_theory.claims.extensions.entropy_ceiling import aepo_step
from entropy_theory.claims.extensions.long_runs import constant, entropies, steps_to
from entropy_theory.policy import entropy, softmax


@pytest.mark.parametrize(("gap", "steps"), [(4.0, 59), (6.0, 252), (8.0, 1043)])
def test_revival_times(gap, steps):
    """Floats and another recursion than the experiment's; 1043 is the first step with H >= 0.35."""
    d, k = gap, 0
    while entropy(np.array([d, 0.0])) < 0.35:
        d -= 0.5 * (np.tanh(d / 2) - np.tanh(d / 2.5))
        k += 1
    assert k == steps
    assert steps_to(entropies((gap, 0.0), (1, 1), constant(1.25), steps=steps), 0.35) == steps


def test_sign_of_the_rate_survives_saturation():
    """Exactly at gap 60, where naive sums give zero."""
    z = np.array([[0.0, 60.0], [0.0, 60.0]])
    found = solved_face.face_rate(z, np.array([1.25, 0.8]))
    assert found[0] > 0 > found[1]


def expected_group_update(logits, correct, temperature, size):
    """E over groups of (1/G) sum A_i (e_{a_i} - pi), A normalized by the population deviation."""
    n, pi, hot = len(logits), softmax(logits), softmax(logits, temperature)
    total = np.zeros(n)
    for group in itertools.product(range(n), repeat=size):
        rewards = correct[list(group)].astype(float)
        if rewards.std() == 0:
            continue
        advantages = (rewards - rewards.mean()) / rewards.std()
        update = sum(a * (np.eye(n)[k] - pi) for a, k in zip(advantages, group, strict=True)) / size
        total += np.prod(hot[list(group)]) * update
    return total


@pytest.mark.parametrize("temperature", [1.0, 1.25, 0.5])
def test_group_normalized_advantages_leave_pi_out(temperature):
    """Ablation (3)'s expected step by listing all groups: a multiple of pi^T (1_{A*} - P_T)."""
    logits, correct = np.log([1.0, 2.0, 4.0]), np.array([True, False, True])
    listed = expected_group_update(logits, correct, temperature, 4)
    shape = advantage_step(logits[None], correct[None], np.array([temperature]))[0]
    factors = listed / shape
    np.testing.assert_allclose(factors, factors[0], rtol=1e-12)
    assert 2 * 3 / 4 <= factors[0] <= np.sqrt(3) + 1e-12


def test_long_runs_take_the_claims_step():
    z, mask = np.log([[5.0, 2.0, 1.0]]), np.array([[True, True, False]])
    path = entropies(z[0], (1, 1, 0), constant(1.25), learning_rate=0.7, steps=1)
    moved = z + 0.7 * aepo_step(z, mask, np.array([1.25]), np.array([0.0]))
    assert path[1] == pytest.approx(entropy(moved[0]), abs=1e-14)
    ablated = entropies(z[0], (1, 1, 0), constant(1.25), learning_rate=0.7, steps=1, advantage=True)
    moved = z + 0.7 * advantage_step(z, mask, np.array([1.25]))
    assert ablated[1] == pytest.approx(entropy(moved[0]), abs=1e-14)


def test_long_runs_take_the_exact_grpo_step():
    logits, correct = np.log([4.0, 2.0]), np.array([True, False])
    listed = expected_group_update(logits, correct, 1.0, 8)
    path = entropies(logits, (1, 0), constant(1.0), learning_rate=0.7, steps=1, grpo=True, tempered=False)
    assert path[1] == pytest.approx(entropy(logits + 0.7 * listed), abs=1e-13)
