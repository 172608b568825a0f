"""Problem families: what they draw, and that impossible problems are refused with a reason."""

import numpy as np
import pytest

from entropy_theory.policy import softmax
from simulations.problems import Bandit, graded_prompts
from simulations.problems.bandits import VOCABULARY, check_problem, shuffled
from simulations.problems.token_trees import TokenProblem


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
    with pytest.raises(ValueError, match="per_group must be at least 1, got 0"):
        graded_prompts(0)


def test_more_starts_than_memory_holds_are_refused_with_their_size():
    with pytest.raises(ValueError, match=r"1000000 starts of 1 x 151,936 actions: 1,215\.5 GB"):
        Bandit(n_actions=VOCABULARY).starts(10**6, seed=0)


def test_ties_are_ties():
    logits = Bandit(family="ties", scale=0.7).starts(6, seed=0)
    assert all(len(np.unique(row)) < 20 for row in logits[:, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_actions": 1}, "at least 2 actions, got n_actions 1"),
        ({"n_actions": 10.5}, "n_actions must be a whole number, got 10.5"),
        ({"n_correct": 0}, "without a right answer"),
        ({"n_correct": 21}, "between 1 and the 20 actions, got 21"),
        ({"family": "gausian"}, "unknown family 'gausian'"),
        ({"scale": float("nan")}, "scale must be finite"),
        ({"family": "given"}, "give logits"),
        ({"family": "given", "logits": (0.0, 1.0)}, "2 logits given for 20 actions"),
        ({"family": "given", "n_actions": 2, "logits": (0.0, float("nan"))}, "logits must be finite"),
        ({"n_actions": 10**12}, r"1 x 1,000,000,000,000 actions: 8,000\.0 GB, .*use fewer of either"),
        ({"accuracies": ()}, "accuracies is empty"),
        ({"family": "dirichlet", "concentration": 0.0}, "concentration must be finite and above 0"),
        ({"family": "saturated", "gap": -1.0}, "gap must be finite and at least 0, got -1.0"),
        ({"rewards": (0.5,) * 21}, "21 rewards given for 20 actions"),
        ({"rewards": (0.0, -1.0)}, "no right answer: the largest of the rewards must be above 0"),
        ({"rewards": (1.0, float("nan"))}, "rewards must be finite"),
        ({"accuracies": (1.0,)}, "strictly between 0 and 1, got 1.0"),
        ({"n_correct": 20, "accuracies": (0.5,)}, "every answer is right"),
    ],
)
def test_impossible_families_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Bandit(**options)


def test_impossible_problems_are_refused_naming_the_place():
    logits, reward = np.zeros((2, 1, 3)), np.array([[[1.0, 0.0, 0.0]]])
    check_problem(logits, reward)
    with pytest.raises(ValueError, match=r"reward is nan at \(run, state, action\) \(0, 0, 1\)"):
        check_problem(logits, np.array([[[1.0, np.nan, 0.0]]]))
    with pytest.raises(ValueError, match=r"no right answer .* \(run, state\) \(1, 0\)"):
        check_problem(logits, np.array([[[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]]))
    with pytest.raises(ValueError, match=r"found inf at \(run, state, action\) \(1, 0, 2\)"):
        check_problem(np.array([[[0, 0, 0]], [[0, 0, np.inf]]]), reward)
    with pytest.raises(ValueError, match=r"no run or no state in logits of shape \(0, 1, 3\)"):
        check_problem(logits[:0], reward)
    with pytest.raises(ValueError, match="at least 2 actions, got 1"):
        check_problem(np.zeros((2, 1, 1)), np.ones((1, 1, 1)))
    with pytest.raises(ValueError, match=r"does not fit logits \(2, 1, 3\)"):
        check_problem(logits, np.ones((1, 1, 4)))
    with pytest.raises(ValueError, match=r"\[runs, states, actions\], got shape \(3,\)"):
        check_problem(np.zeros(3), reward)


@pytest.mark.parametrize("problem", [Bandit(), TokenProblem()], ids=["bandit", "tokens"])
@pytest.mark.parametrize(("n_starts", "seed", "message"), [
    (0, 0, "n_starts must be at least 1, got 0"), (1.5, 0, "n_starts must be a whole number, got 1.5"),
    (1, -1, "seed must be at least 0, got -1"),
])
def test_impossible_starts_are_refused(problem, n_starts, seed, message):
    with pytest.raises(ValueError, match=message):
        problem.starts(n_starts, seed)
