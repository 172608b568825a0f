"""Two rows a state give the step of all rows: guards pooled.py and `Needs.pools`.

Options that promise to pool, exact and sampled, on several states at once; of every rule as it is by
default the golden runs of `test_engines_agree` say it.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

from entropy_theory.tabular import logit_step
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import combine, get
from entropy_theory.update_rules.reinforce import Reinforce
from simulations.engine import Dynamics
from simulations.engine.pooled import Levels, Rows, coefficients
from simulations.engine.runs import Runs
from simulations.engine.sampling import ORDINARY, TEMPERED, Samples
from simulations.engine.task import Task
from simulations.problems import Bandit

EXPECTED = get("grpo", group_size=8)
EXACT = {
    "reinforce group-normalized": get("reinforce", estimator="group-normalized"),
    "grpo, sample deviation": get("grpo", group_size=8, std_ddof=1),
    "grpo, token mean": get("grpo", normalization="token-mean", group_size=4),
    "grpo, dr": get("grpo", normalization="dr-grpo", group_size=4, max_length=3),
    "aepo, positives": get("aepo", normalize="positives", base=EXPECTED),
    "aepo, untempered": get("aepo", ablation="untempered", base=EXPECTED),
    "aepo, advantage": get("aepo", ablation="advantage", base=EXPECTED),
    "combined": combine(get("reinforce"), get("entropy-bonus", base=EXPECTED), get("aepo")),
    "grpo, batch normalized": get("grpo", estimator="reinforce++-baseline"),
}
SAMPLED = {
    "reinforce group-normalized": get("reinforce", estimator="group-normalized"),
    "aepo, positives": get("aepo", normalize="positives"),
    "combined": combine(get("reinforce"), get("aepo")),
}
PROBLEM = Bandit(n_actions=7, n_correct=2, accuracies=(0.02, None, 0.6, 0.97))


def a_run(rule, samples=None, temperature=None, runs=9):
    """A run of several states, its rows drawn."""
    dynamics = Dynamics(rule=rule, samples=samples, temperature=temperature, seed=5)
    run = Runs(Task.checked(PROBLEM.starts(runs, seed=7), PROBLEM.correct, dynamics))
    run.draw()
    return run


def assert_same_step(run):
    assert run.levels is not None
    by_rows = logit_step(run.logits, run.token_batch(), run.rule)
    # Both sum a few dozen products of order 1: rounding is some 1e-15.
    np.testing.assert_allclose(run.direction(), by_rows, atol=1e-13, rtol=1e-12)
    assert np.abs(by_rows).max() > 1e-3, "a comparison of zeros shows nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Spy(Reinforce):
    """Keeps the batches that it is asked about."""

    seen: list[TokenBatch] = field(default_factory=list, compare=False)

    def scores(self, batch):
        self.seen.append(batch)
        return batch.reward


def test_levels_are_the_rewards_from_the_largest_on():
    graded = np.array([[[0.25, 1.0, -2.0, 1.0], [1.0, 1.0, 1.0, 0.25]]])
    levels = Levels.of(graded, False)
    assert levels.values == (1.0, 0.25, -2.0)
    share = np.array([[[0.5, 0.25, 0.125, 0.125], [0.0, 0.5, 0.25, 0.25]]])
    np.testing.assert_array_equal(levels.sums(share), [[[0.375, 0.5, 0.125], [0.75, 0.25, 0.0]]])
    scores = np.array([[[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]])
    np.testing.assert_array_equal(
        levels.at_actions(scores), [[[2.0, 1.0, 4.0, 1.0], [8.0, 8.0, 8.0, 16.0]]])
    two = Levels.of(graded > 0.5, False)
    assert two.values == (True, False)
    np.testing.assert_array_equal(
        two.at_actions(scores[..., :2]), [[[2.0, 1.0, 2.0, 1.0], [8.0, 8.0, 8.0, 16.0]]])


def test_more_than_eight_rewards_are_not_summed():
    assert len(Levels.of(np.arange(8.0)[None, None], False).values) == 8
    assert Levels.of(np.arange(9.0)[None, None], False) is None


def test_the_rule_is_asked_about_one_row_for_each_reward_of_a_state():
    """What a row says of itself: its reward, state and temperature, and the step's number."""
    spy, heat = Spy(), np.array([1.5, 0.75])
    by_level = np.array([[[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]] * 2)
    rows = Rows(share=by_level, by_level=by_level, exact=True)
    levels = Levels(values=(3.0, -1.0), masks=())
    coefficients(spy, levels, {ORDINARY: rows})
    coefficients(spy, levels, {ORDINARY: rows, TEMPERED: rows}, np.array([0.1, 0.2]), heat, 7, 9)
    plain, both = spy.seen
    assert (plain.step, plain.seed, plain.listed) == (0, 0, True)
    assert (both.step, both.seed) == (7, 9)
    np.testing.assert_array_equal(plain.sampling_temperature, np.ones((2, 6, 1)))
    for run in range(2):
        assert plain.reward[run, :, 0].tolist() == [3.0, -1.0] * 3
        assert plain.group[run, :, 0].tolist() == [0, 0, 1, 1, 2, 2]
        assert both.group[run, :, 0].tolist() == [0, 0, 1, 1, 2, 2] * 2
        assert both.is_tempered[run, :, 0].tolist() == [False] * 6 + [True] * 6
        assert both.sampling_temperature[run, :, 0].tolist() == [1.0] * 6 + [heat[run]] * 6
        assert both.coefficient[run, :, 0].tolist() == [0.1 * (run + 1)] * 12
        np.testing.assert_array_equal(plain.weight[run, :, 0], by_level[run].ravel() / 3)
        np.testing.assert_array_equal(both.weight[run, :, 0], [*by_level[run].ravel() / 3] * 2)
    one = Rows(share=by_level[:, :1], by_level=by_level[:, :1], exact=False)
    coefficients(spy, levels, {TEMPERED: one}, temperature=heat)
    assert spy.seen[-1].group is None
    assert not spy.seen[-1].listed
    assert spy.seen[-1].is_tempered.all()


def test_an_option_with_one_value_a_run_is_each_runs_own():
    """Runs of several alphas are advanced together, and do not mix."""
    values = np.linspace(0.1, 2, 9)
    together = a_run(get("aepo", base=EXPECTED, alpha=values))
    assert_same_step(together)
    for i, value in enumerate(values):
        alone = a_run(get("aepo", base=EXPECTED, alpha=float(value)))
        np.testing.assert_array_equal(together.direction()[i], alone.direction()[i])


@pytest.mark.parametrize("name", EXACT)
def test_exact_step_is_the_rules_step(name):
    assert_same_step(a_run(EXACT[name]))


@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_step_is_the_rules_step(name):
    assert_same_step(a_run(SAMPLED[name], Samples(group_size=5, tempered=11)))


@pytest.mark.parametrize("samples", [None, Samples(tempered=6)])
def test_tempered_rows_alone(samples):
    assert_same_step(a_run(get("reinforce"), samples, temperature=1.7))


def test_rules_that_count_rows_are_given_every_row():
    for rule, samples in (
        (get("grpo", std_ddof=1), Samples(group_size=4)),
        (get("reinforce", estimator="leave-one-out"), Samples(group_size=4)),
    ):
        run = a_run(rule, samples)
        assert run.levels is None
        expected = logit_step(run.logits, run.token_batch(), rule)
        # The engine has its own probabilities, rounded in another order.
        np.testing.assert_allclose(run.direction(), expected, atol=1e-16, rtol=1e-14)
        assert np.abs(expected).max() > 1e-3


def test_an_exact_step_keeps_its_digits_at_collapse():
    """REINFORCE where all but w = e^-60 + e^-59 is right: p_a (R_a - p), p - 1 taken apart."""
    problem = Bandit(n_actions=3, family="given", logits=(60.0, 0.0, 1.0))
    run = Runs(Task.checked(
        problem.starts(1, seed=0), problem.reward, Dynamics(rule=get("reinforce"))))
    run.draw()
    wrong = np.exp([-60.0, -59.0])
    expected = [wrong.sum(), *-wrong]  # times p, which is 1 to rounding
    np.testing.assert_allclose(run.direction()[0, 0], expected, rtol=1e-14)


def test_solved_and_hopeless_groups_give_no_signal():
    """Groups whose sampled rewards are all equal: zero, not the rounding of 0/0."""
    solved = Bandit(n_actions=4, n_correct=2, accuracies=(1 - 1e-9,))
    hopeless = Bandit(n_actions=4, n_correct=2, accuracies=(1e-9,))
    for problem in (solved, hopeless):
        # 7 does not divide its counts evenly: shares such as 3/7 + 4/7 must still make 1.
        dynamics = Dynamics(rule=get("grpo"), samples=Samples(group_size=7))
        run = Runs(Task.checked(problem.starts(50, seed=0), problem.correct, dynamics))
        run.draw()
        assert np.all(run.direction() == 0)
