"""The Entropy Mechanism's lemmas and theorems: their verdicts, and what a plausible bug would break."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropy_theory.claims.entropy_mechanism import action_sequence_covariance as sequences
from entropy_theory.claims.entropy_mechanism import lemma_1, matched_exactly, theorem_1
from entropy_theory.claims.entropy_mechanism import proposition_1 as gradient
from entropy_theory.claims.entropy_mechanism import tree_rates as rates
from entropy_theory.claims.extensions import natural_flow
from entropy_theory.claims.extensions import response_entropy_expansion as expansion
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.certify import check_instance
from entropy_theory.verification.instances import as_batch, as_floats

# Reward 1 iff the first token is 0; behind it 9 : 1, elsewhere even.
TREE = {"weights": [[1, 1], [9, 1], [1, 1]], "reward": [1, 1, 0, 0]}


def floats(instance):
    return as_floats(as_batch(instance))


@pytest.fixture
def random_trees():
    generator = np.random.default_rng(3)
    logits = generator.standard_normal((6, 13, 3))
    return logits, generator.standard_normal(logits.shape), generator.random((6, 27))


def test_the_printed_rate_is_silent_where_entropy_falls():
    """Known by hand: every covariance is 0, the entropy rate is -(log 2 - h(1/10))/8 = -0.046008."""
    i = floats(TREE)
    h = -0.1 * math.log(0.1) - 0.9 * math.log(0.9)
    step = rates.policy_gradient(i.logits, i.reward)
    assert rates.entropy_rate(i.logits, step)[0] == pytest.approx(-(math.log(2) - h) / 8, abs=1e-15)
    assert rates.action_covariance(i.logits, step)[0] == pytest.approx(0, abs=1e-15)


def test_covariance_of_responses_where_those_of_actions_vanish():
    i = floats(TREE)
    assert sequences.of_actions(i)[0] == pytest.approx(0, abs=1e-15)
    assert sequences.of_responses(i)[0] == pytest.approx(0.0501, abs=1e-4)


@pytest.mark.parametrize(
    ("claim", "instance"),
    [
        (lemma_1.lemma_1_visitation, {"weights": [[1, 1], [1, 1], [1, 2]],
                                      "step": [[1, 0], [0, 0], [0, 0]]}),
        (gradient.proposition_1, {"weights": [[1, 1], [1, 1], [1, 1]], "reward": [0, 0, 0, 1]}),
        (theorem_1.theorem_1, {"weights": [[1, 1], [1, 1], [1, 2]], "reward": [0, 1, 0, 1],
                               "learning_rate": 1}),
        (sequences.action_sequence_covariance, TREE),
        (matched_exactly.matched_exactly, {"weights": [1, 1], "correct": [True, False],
                                           "learning_rate": 1}),
    ],
)
def test_known_counterexamples_are_certified_and_repaired(claim, instance):
    assert check_instance(claim.statement, instance).status == "violated"
    assert check_instance(claim.repair, instance).status == "holds"


def test_responses_of_one_token_are_as_printed():
    """For responses of one token the printed equalities hold: the repairs change nothing there."""
    one_token = {"weights": [[2, 3, 7]], "step": [[1, 0, -1]], "reward": [0, 1, 1],
                 "learning_rate": 1}
    for claim in (lemma_1.lemma_1_visitation, gradient.proposition_1, theorem_1.theorem_1,
                  sequences.action_sequence_covariance):
        assert check_instance(claim.statement, one_token).status == "holds"


def test_entropy_rate_is_the_derivative(random_trees):
    logits, step, _ = random_trees
    h = 1e-5
    numeric = (ar.response_entropy(logits + h * step)
               - ar.response_entropy(logits - h * step)) / (2 * h)
    np.testing.assert_allclose(rates.entropy_rate(logits, step), numeric, atol=1e-8)


def test_theorem_1_needs_the_visits():
    """Behind the second token, visited half of the time, entropy moves at half the printed rate."""
    i = floats({"weights": [[1, 1], [1, 1], [1, 2]], "reward": [0, 1, 0, 1]})
    step, h = rates.policy_gradient(i.logits, i.reward), 1e-5
    slope = (ar.entropy(i.logits + h * step) - ar.entropy(i.logits - h * step))[0] / (2 * h)
    # pi A = (-2/9, 2/9) at pi = (1/3, 2/3): the covariance with log pi is (4/9)(2/9) log 2.
    printed = -(4 / 9) * (2 / 9) * math.log(2)
    assert slope == pytest.approx([0, 0, printed / 2], abs=1e-9)


def test_policy_gradient_is_the_derivative_of_expected_reward(random_trees):
    logits, step, reward = random_trees

    def value(z):
        return np.sum(TokenTree.of(z).response_probabilities(ar.softmax(z)) * reward, axis=-1)

    h = 1e-5
    numeric = (value(logits + h * step) - value(logits - h * step)) / (2 * h)
    along = np.sum(rates.policy_gradient(logits, reward) * step, axis=(-2, -1))
    np.testing.assert_allclose(along, numeric, atol=1e-8)


def test_natural_gradient_is_the_advantage(random_trees):
    """Theorem 2's step against the pseudo-inverse of the Fisher matrix, summed over responses."""
    logits, _, reward = (array[:1] for array in random_trees)
    tree, p = TokenTree.of(logits), ar.softmax(logits)
    fisher = np.zeros((p[0].size, p[0].size))
    for response, probability in enumerate(tree.response_probabilities(p)[0]):
        score = np.zeros(p[0].shape)
        for state, token in tree.path(response):
            score[state] -= p[0, state]
            score[state, token] += 1
        fisher += probability * np.outer(score, score)
    slope = rates.policy_gradient(logits, reward)[0].reshape(-1)
    step = (np.linalg.pinv(fisher, rcond=1e-12) @ slope).reshape(p[0].shape)
    expected = rates.advantage(logits, reward)[0]
    differences = step - expected
    np.testing.assert_allclose(differences, differences[:, :1] * np.ones(3), atol=1e-9)


def test_the_remainder_bound_is_lemma_1s_for_one_token():
    step = np.array([[[1.0, -2.0, 0.5]]])
    expected = (1 + math.log(3)) * 5.25 / 4
    np.testing.assert_allclose(expansion.response_remainder_bound(step), [expected])


@pytest.mark.parametrize("horizon", [2, 3])
def test_the_remainder_bound_of_longer_responses(horizon):
    """By hand; D is the largest step of a state, not the sum."""
    step = np.zeros((1, TokenTree(2, horizon).n_states, 2))
    step[0, 0], step[0, 1] = (1.0, 0.0), (0.0, 2.0)
    most = horizon * (1 + math.log(horizon) + horizon * math.log(2))
    np.testing.assert_allclose(expansion.response_remainder_bound(step), [most * 4 / 4])


def test_the_natural_flow_follows_the_natural_gradient(random_trees):
    """Behind the closed form: small steps of A from the start give the same responses."""
    logits, _, reward = random_trees
    exact = np.log(natural_flow.tilted_probabilities(logits, reward, np.full(len(logits), 2.0)))

    def error(many):
        moved = logits
        for _ in range(many):
            moved = moved + 2.0 / many * rates.advantage(moved, reward)
        return np.log(rates.response_probabilities(moved)) - exact

    coarse, fine = error(125), error(250)
    # Euler's error is a multiple of the step up to its square, which is what the extrapolation leaves.
    assert np.abs(coarse).max() < 0.01
    assert np.abs(2 * fine - coarse).max() < np.abs(coarse).max() ** 2


def test_the_mismatch_is_of_second_order():
    """At the uniform policy the covariance is 0 and entropy falls by KL(pi' || uniform)."""
    i = floats({"weights": [1, 1], "correct": [True, False], "learning_rate": 1})
    after = 1 / (1 + math.exp(-0.5))
    entropy = -after * math.log(after) - (1 - after) * math.log(1 - after)
    margin = matched_exactly.matched_exactly.statement.margin(i)[0]
    assert margin == pytest.approx(entropy - math.log(2), abs=1e-15)
