"""AEPO over many steps, its objective and its ablations: verdicts, and numbers from independent code."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from entropy_theory.claims.aepo import (
    ablation_2,
    ablation_3,
    length_factors,
    negatives_cancel,
    objective_gradient,
    revival_time,
    tracking,
    untempered_variance,
)
from entropy_theory.claims.aepo.ablations import advantage_step, plain_step
from entropy_theory.claims.aepo.response_length import (
    lengths,
    policy_update,
    rewards,
    running,
)
from entropy_theory.claims.aepo.tempered_reinforce import rate, unit_step
from entropy_theory.claims.extensions import solved_face, transient_collapse
from entropy_theory.claims.extensions.entropy_ceiling import aepo_step
from entropy_theory.claims.extensions.long_runs import constant, entropies, steps_to, switch
from entropy_theory.policy import entropy, softmax
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.certify import check_instance, precision
from entropy_theory.verification.instances import as_balls


def right_answers(n, *chosen):
    return [a in chosen for a in range(1, n + 1)]


@pytest.mark.parametrize(
    ("statement", "instance"),
    [
        # A wrong favorite: plain REINFORCE raises entropy at first.
        (ablation_2.ablation_2.statement,
         {"weights": [1, 2], "correct": right_answers(2, 1), "learning_rate": 1, "grpo_weight": 1}),
        # At T = 1 negative samples do the same as positive ones.
        (negatives_cancel.negatives_cancel.statement,
         {"weights": [1, 2], "correct": right_answers(2, 1), "temperature": 1}),
        # A higher temperature has the larger variance.
        (untempered_variance.untempered_variance.statement,
         {"weights": [1, 2], "correct": right_answers(2, 2), "temperature": 2}),
        # Responses of one length 2: grad J is twice the printed gradient.
        (objective_gradient.objective_gradient.statement,
         {"weights": [[1, 1], [1, 1], [1, 1]], "reward": [[0, 0], [0, 0], [1, 0]]}),
        (length_factors.length_factors.statement,
         {"weights": [[1, 1], [1, 1], [1, 1]], "reward": [[1, 0], [0, 0], [0, 1]], "temperature": 1}),
    ],
)
def test_known_counterexamples_are_certified(statement, instance):
    assert check_instance(statement, instance).status == "violated"


def test_entropy_cannot_jump():
    claim = tracking.tracking
    instance = {"weights": [1, 1], "correct": right_answers(2, 1), "temperature": 1, "target_gap": 2,
                "learning_rate": 0.01, "grpo_weight": 1, "drift": 0.1}
    assert check_instance(claim.statement, instance).status == "violated"
    # ... but it may move that far in eight steps of size 1.
    assert check_instance(claim.statement, {**instance, "learning_rate": 1}).status == "holds"


@pytest.mark.parametrize(("gap", "steps"), [(4.0, 59), (6.0, 252), (8.0, 1043)])
def test_revival_times(gap, steps):
    """Floats and another recursion than the experiment's; 1043 is the first step with H >= 0.35."""
    d, k = gap, 0
    while entropy(np.array([d, 0.0])) < 0.35:
        d -= 0.5 * (np.tanh(d / 2) - np.tanh(d / 2.5))
        k += 1
    assert k == steps
    assert steps_to(entropies((gap, 0.0), (1, 1), constant(1.25), steps=steps), 0.35) == steps


def test_speed_is_the_step_of_two_answers():
    logits = np.array([[2.5, 0.0], [9.0, 1.0], [0.3, 0.2]])
    for temperature in (0.5, 0.8, 1.25, 3.0):
        t = np.full(3, temperature)
        step = solved_face.face_step(logits, t)
        np.testing.assert_allclose(step[:, 0] - step[:, 1],
                                   -solved_face.speed(logits[:, 0] - logits[:, 1], t), atol=1e-14)


def test_top_gap_law_but_not_for_every_pair():
    """At (1, 2, 16) and T = 2 the top comes down to both, while the two lower answers draw apart."""
    z = np.log([[1.0, 2.0, 16.0]])
    step = solved_face.face_step(z, np.array([2.0]))[0]
    assert step[2] < step[0]
    assert step[2] < step[1]
    assert step[1] > step[0]


def test_two_tied_answers_cannot_be_told_apart():
    path = entropies(np.log([2.0, 2.0, 1.0]), (1, 1, 1), constant(0.5), learning_rate=2.0, steps=300)
    assert min(path) >= np.log(2)
    assert path[-1] < 0.72


def test_sign_of_the_rate_survives_saturation():
    """Exactly at gap 60, where naive sums give zero."""
    z = np.array([[0.0, 60.0], [0.0, 60.0]])
    found = solved_face.face_rate(z, np.array([1.25, 0.8]))
    assert found[0] > 0 > found[1]


def test_conditional_functions_match_the_policy_on_the_right_answers():
    rng = np.random.default_rng(0)
    z, mask = 2 * rng.standard_normal((5, 6)), np.array([1, 1, 0, 1, 0, 0], bool)
    z[:, ~mask] += 30
    kept = z[:, mask]
    t = np.full(5, 1.7)
    masks = np.broadcast_to(mask, z.shape)
    np.testing.assert_allclose(solved_face.conditional_entropy(z, masks), entropy(kept), rtol=1e-12)
    np.testing.assert_allclose(solved_face.conditional_rate(z, masks, t),
                               rate(kept, np.ones_like(kept, bool), t), rtol=1e-10)


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


def test_at_one_all_three_are_the_same_direction():
    logits, correct = np.log([[1.0, 2.0, 4.0, 5.0]]), np.array([[True, False, True, False]])
    np.testing.assert_allclose(plain_step(logits, correct), unit_step(logits, correct), atol=1e-16)


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


def test_grpo_collapse_is_a_transient():
    """GRPO sharpens the right answers first; high temperature revives them later."""
    start, two = (0.0, 2.0, 3.0, 0.0, 0.0, 0.0), (1, 1, 0, 0, 0, 0)
    path = entropies(start, two, switch(0.35), learning_rate=1.0, steps=400, grpo=True)
    assert min(path) < 0.05
    assert path[-1] == pytest.approx(0.35, abs=0.03)


def test_constant_heat_brings_grpo_back_to_the_uniform_policy():
    start, two = (0.0, 2.0, 3.0, 0.0, 0.0, 0.0), (1, 1, 0, 0, 0, 0)
    path = entropies(start, two, constant(1.25), learning_rate=2.0, steps=600, grpo=True)
    assert min(path) < 0.1
    assert path[-1] == pytest.approx(np.log(2), abs=0.01)


def test_gain_of_the_weakest_right_answer():
    """q^T_b - q_b >= (e^{-R/T} - e^{-R})/m^2: at any spread R."""
    rng = np.random.default_rng(4)
    for scale in (0.1, 1.0, 8.0):
        z = scale * rng.standard_normal((50, 4))
        for temperature in (1.05, 1.25, 4.0):
            spread, b = np.ptp(z, axis=-1), np.argmin(z, axis=-1)[:, None]
            gain = np.take_along_axis(softmax(z, temperature) - softmax(z), b, axis=-1)[:, 0]
            assert np.all(gain >= (np.exp(-spread / temperature) - np.exp(-spread)) / 16)


def test_range_change_in_floats_is_that_of_the_step():
    rng = np.random.default_rng(3)
    z, mask = 2 * rng.standard_normal((30, 5)), np.tile([True, False, True, True, False], (30, 1))
    i = SimpleNamespace(logits=z, correct=mask, temperature=np.full(30, 1.4),
                        learning_rate=np.full(30, 0.5), grpo_weight=np.full(30, 2.0))
    moved = z + 0.5 * aepo_step(z, mask, i.temperature, i.grpo_weight)
    expected = np.ptp(moved[:, mask[0]], axis=-1) - np.ptp(z[:, mask[0]], axis=-1)
    np.testing.assert_allclose(transient_collapse.range_change(i), expected, atol=1e-14)


def test_effects_add_up_to_the_rate_of_the_whole_step():
    rng = np.random.default_rng(1)
    z, mask = rng.standard_normal((20, 4)), np.tile([True, False, True, False], (20, 1))
    t = np.full(20, 1.6)
    both = np.add(*negatives_cancel.effects(SimpleNamespace(logits=z, correct=mask, temperature=t)))
    step = advantage_step(z, mask, t)
    h = 1e-6
    numeric = (entropy(z + h * step) - entropy(z - h * step)) / (2 * h)
    np.testing.assert_allclose(both, numeric, atol=1e-9)
    hot = softmax(z, 1.6)
    change = -hot[mask].reshape(20, -1).sum(axis=-1) * solved_face.face_rate(z, t)
    np.testing.assert_allclose(both - rate(z, mask, t), change, atol=1e-14)


def test_variance_by_listing_the_samples():
    z, mask = np.log([[1.0, 2.0, 5.0]]), np.array([[True, False, True]])
    pi, hot = softmax(z[0]), softmax(z[0], 1.5)
    samples = [float(r) * (np.eye(3)[a] - pi) for a, r in enumerate(mask[0])]
    mean = sum(w * g for w, g in zip(hot, samples, strict=True))
    listed = sum(w * np.sum((g - mean) ** 2) for w, g in zip(hot, samples, strict=True))
    assert untempered_variance.variance(z, mask, np.array([1.5]))[0] == pytest.approx(listed, abs=1e-15)
    face = np.ones_like(mask)
    found = untempered_variance.variance(z, face, np.array([1.5]))[0]
    assert found == pytest.approx(1 - np.sum(hot**2), abs=1e-15)


def test_responses_of_a_small_tree():
    z = np.zeros((1, 7, 2))
    assert lengths(z).tolist() == [[1, 1, 1, 1, 2, 2, 3, 3]]
    assert running(z).tolist() == [[True, False, True, False, False, False, True]]
    # A number for each token; only those that end a response are read.
    reward = np.arange(1.0, 15).reshape(1, 7, 2)
    assert rewards(z, reward).tolist() == [[1, 1, 1, 1, 5, 5, 13, 14]]


@pytest.mark.parametrize("with_length", [False, True])
def test_policy_update_is_a_gradient(with_length):
    """Central differences of E[R] and E[|o| R] against the score-function form."""
    tree, rng = TokenTree(2, 3), np.random.default_rng(2)
    z, reward = rng.standard_normal((1, 7, 2)), rng.integers(0, 2, (1, 7, 2)).astype(float)
    factor = rewards(z, reward) * (lengths(z) if with_length else 1)

    def value(logits):
        return float(np.sum(tree.response_probabilities(softmax(logits)) * factor))

    numeric, h = np.zeros_like(z), 1e-4
    for state, token in itertools.product(range(7), range(2)):
        moved = np.zeros_like(z)
        moved[0, state, token] = h
        numeric[0, state, token] = (value(z + moved) - value(z - moved)) / (2 * h)
    # E is at most 3; the third derivative of a softmax's entry is at most 1/8, and eight are rounded.
    truncation, rounding = h**2 / 6 * 3 / 8, 8 * 3 * np.finfo(float).eps / h
    np.testing.assert_allclose(policy_update(z, factor), numeric, rtol=0, atol=truncation + rounding)


def test_tempered_update_gives_padding_no_gradient():
    z = np.array([[[0.3, -0.2], [1.0, -1.0], [0.5, 0.1]]])
    update = policy_update(z, np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([2.0]))
    # State 2 (index 1) comes after a stop; state 3 is only seen by responses with factor 0.
    assert np.all(update[0, 1:] == 0)
    hot, pi = softmax(z[0, 0], 2.0), softmax(z[0, 0])
    # A product and a difference of numbers below 1, their softmaxes a few roundings of 1.1e-16 each.
    np.testing.assert_allclose(update[0, 0], hot[0] * (np.array([1.0, 0.0]) - pi), atol=1e-15)


def test_ablation_mutants_are_the_claims_point():
    """Rewards instead of advantages raise the entropy on the right answers at T > 1."""
    claim = ablation_3.ablation_3
    wrong = next(m for m in claim.mutants if m.name == "rewards instead of advantages")
    instance = {"weights": [1, 3, 1], "correct": right_answers(3, 1, 2), "temperature": 2,
                "learning_rate": 1, "grpo_weight": 0.01, "advantage_weight": 1}
    assert check_instance(wrong.statement, instance).status == "violated"
    with precision(256):
        _, (margins,) = claim.statement.evaluate(as_balls(instance))
        fall, *pairs, growth = margins
        assert fall > 0
        assert growth > 0
        for (a, b), margin in zip(itertools.product(range(3), repeat=2), pairs, strict=True):
            if a != b:
                assert margin >= 0
            else:
                # An answer and itself: exactly zero, which balls enclose but cannot decide.
                assert margin.contains(0)
                assert margin.rad() < 1e-70
        # Answers 1 and 2, the right ones, move strictly apart.
        assert pairs[1] > 0


def test_revival_bound_is_tight_for_two_answers():
    """At large gaps a step takes 2 eta e^{-D/T} off the gap, to first order.

    Beside e^{-D/T} = e^{-20} stands e^{-D} = e^{-30}, and e^{-40} is less than the rounding: both the
    fall and its bound are differences of numbers near 1.
    """
    rounding = 2 * np.finfo(float).eps
    z, temperature = np.array([[30.0, 0.0]]), np.array([1.5])
    top, other = solved_face.face_step(z, temperature)[0]
    fall, most = other - top, 2 * revival_time.others_weight(z, temperature)[0]
    assert fall <= most
    assert fall == pytest.approx(2 * np.exp(-20.0) * (1 - np.exp(-10.0)), abs=rounding)
    assert most == pytest.approx(2 * np.exp(-20.0), abs=rounding)
