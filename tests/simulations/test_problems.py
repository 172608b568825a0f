"""Problem families: what they draw, and that impossible problems are refused with a reason."""

import numpy as np
import pytest

from entropy_theory.policy import softmax
from simulations.problems import Bandit, check_problem


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


def test_ties_are_ties():
    logits = Bandit(family="ties", scale=0.7).starts(6, seed=0)
    assert all(len(np.unique(row)) < 20 for row in logits[:, 0])


def test_given_logits_are_every_start():
    problem = Bandit(n_actions=3, family="given", logits=(0.0, 1.0, 2.0))
    np.testing.assert_array_equal(problem.starts(2, seed=0), [[[0, 1, 2]], [[0, 1, 2]]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_actions": 1}, "at least 2 actions, got n_actions 1"),
        ({"n_correct": 0}, "without a right answer"),
        ({"n_correct": 21}, "between 1 and the 20 actions, got 21"),
        ({"family": "gausian"}, "unknown family 'gausian'"),
        ({"scale": float("nan")}, "scale must be finite"),
        ({"family": "given"}, "give logits"),
        ({"family": "given", "logits": (0.0, 1.0)}, "2 logits given for 20 actions"),
        ({"accuracies": ()}, "accuracies is empty"),
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
    with pytest.raises(ValueError, match="at least 2 actions, got 1"):
        check_problem(np.zeros((2, 1, 1)), np.ones((1, 1, 1)))
    with pytest.raises(ValueError, match=r"does not fit logits \(2, 1, 3\)"):
        check_problem(logits, np.ones((1, 1, 4)))
    with pytest.raises(ValueError, match=r"\[runs, states, actions\], got shape \(3,\)"):
        check_problem(np.zeros(3), reward)
