"""Problem families: what they draw, and that impossible problems are refused with a reason."""

import numpy as np
import pytest

from entropy_theory.policy import softmax
from simulations.problems import Bandit, graded_prompts
from simulations.problems.bandits import VOCABULARY, shuffled


def test_starts_have_the_accuracies_asked_for():
    problem = Bandit(n_correct=3, accuracies=(0.1, 0.5, 0.999))
    logits = problem.starts(5, seed=1)
    right = np.where(problem.correct, softmax(logits), 0.0).sum(axis=-1)
    np.testing.assert_allclose(right, np.tile((0.1, 0.5, 0.999), (5, 1)), rtol=1e-12)


def test_setting_the_accuracy_keeps_the_policy_among_right_and_among_wrong_answers():
    drawn = Bandit(n_correct=3).starts(4, seed=2)
    set_to = Bandit(n_correct=3, accuracies=(0.3,)).starts(4, seed=2)
    for part in (slice(0, 3), slice(3, None)):
        np.testing.assert_allclose(
            softmax(set_to[..., part]), softmax(drawn[..., part]), rtol=1e-12
        )


def test_a_start_does_not_depend_on_how_many_there_are_nor_on_the_right_answers():
    few = Bandit(n_correct=1).starts(2, seed=3)
    many = Bandit(n_correct=8).starts(7, seed=3)
    np.testing.assert_array_equal(few, many[:2])
    assert not np.array_equal(few, Bandit().starts(2, seed=4))


def test_graded_rewards_stand_in_their_order_and_the_largest_is_right():
    problem = Bandit(n_actions=5, rewards=(0.5, 1.0, 0.0, 1.0), accuracies=(0.3, None))
    np.testing.assert_array_equal(problem.reward, np.tile([0.5, 1, 0, 1, 0], (1, 2, 1)))
    np.testing.assert_array_equal(problem.correct, problem.reward == 1)
    assert problem.ceiling == np.log(2)
    p = softmax(problem.starts(3, seed=0))[:, 0]
    np.testing.assert_allclose(p[:, [1, 3]].sum(-1), 0.3, rtol=1e-12)


@pytest.mark.parametrize("concentration", [0.05, 1.0, 5.0])
def test_dirichlet_policies_have_the_moments_of_their_law(concentration):
    """Mean 1/n and variance (n - 1)/(n^2 (n c + 1)), within 5 standard errors of 4000 x 4."""
    problem = Bandit(n_actions=4, family="dirichlet", concentration=concentration)
    p = softmax(problem.starts(4000, seed=1))[:, 0]
    variance = 3 / 16 / (4 * concentration + 1)
    assert np.abs(p.mean(0) - 0.25).max() < 5 * np.sqrt(variance / 4000)
    square = (p - 0.25) ** 2
    assert np.abs(square.mean(0) - variance).max() < 5 * square.std() / np.sqrt(4000)


def test_saturated_policies_have_one_action_ahead_by_the_gap():
    problem = Bandit(n_actions=6, family="saturated", gap=7.0, accuracies=(None,) * 3)
    logits = problem.starts(40, seed=0)
    ordered = np.sort(logits, axis=-1)
    np.testing.assert_allclose(ordered[..., -1] - ordered[..., -2], 7, rtol=1e-12)
    assert len(np.unique(logits.argmax(-1))) == 6


def test_shuffled_answers_keep_their_accuracy():
    problem = Bandit(n_correct=5, accuracies=(0.01, 0.9))
    logits, correct = shuffled(problem, 60, 0, 1)
    right = np.where(correct, softmax(logits), 0.0).sum(axis=-1)
    np.testing.assert_allclose(right, np.broadcast_to([0.01, 0.9], right.shape), atol=1e-12)
    assert (correct.sum(axis=-1) == 5).all()
    assert len(np.unique(correct.reshape(-1, 20), axis=0)) > 50


def test_graded_prompts_are_a_set_of_each_difficulty():
    problem = graded_prompts(2, n_actions=8, n_correct=2)
    logits = problem.starts(2, seed=0)
    right = np.where(problem.correct, softmax(logits), 0.0).sum(axis=-1)
    np.testing.assert_allclose(right, np.tile((0.125, 0.5, 0.875), (2, 2)), rtol=1e-12)


def test_more_starts_than_memory_holds_are_refused_with_their_size():
    with pytest.raises(ValueError, match=r"1000000 starts of 1 x 151,936 actions: 1,215\.5 GB"):
        Bandit(n_actions=VOCABULARY).starts(10**6, seed=0)


def test_ties_are_ties():
    logits = Bandit(family="ties", scale=0.7).starts(6, seed=0)
    assert all(len(np.unique(row)) < 20 for row in logits[:, 0])


def test_problems_that_no_memory_holds_are_refused():
    with pytest.raises(ValueError, match=r"actions: 8,000\.0 GB, .*use fewer of either"):
        Bandit(n_actions=10**12)
