"""Two rows a state give the step of all rows: guards pooled.py and `UpdateRule.pools_equal_rewards`.

Every rule of `update_rules.RULES` and every option that promises to pool, exact and sampled, on
several states at once; and the rules that must not be pooled.
"""

import numpy as np
import pytest

from entropy_theory.tabular import logit_step
from entropy_theory.update_rules import RULES, combine, get
from simulations.engine import Dynamics
from simulations.engine.runs import Runs
from simulations.engine.sampling import Samples
from simulations.engine.task import Task
from simulations.problems import Bandit

EXPECTED = get("grpo", group_size=8)
EXACT = {
    "reinforce": get("reinforce"),
    "reinforce group-normalized": get("reinforce", estimator="group-normalized"),
    "grpo, infinite group": get("grpo"),
    "grpo": EXPECTED,
    "grpo, sample deviation": get("grpo", group_size=8, std_ddof=1),
    "grpo, token mean": get("grpo", normalization="token-mean", group_size=4),
    "grpo, dr": get("grpo", normalization="dr-grpo", group_size=4, max_length=3),
    "entropy-bonus": get("entropy-bonus", coefficient=0.3, base=EXPECTED),
    "aepo": get("aepo", alpha=0.7, base=EXPECTED),
    "aepo, positives": get("aepo", normalize="positives", base=EXPECTED),
    "aepo, untempered": get("aepo", ablation="untempered", base=EXPECTED),
    "aepo, advantage": get("aepo", ablation="advantage", base=EXPECTED),
    "aepo on reinforce": get("aepo", base="reinforce"),
    "aepo on a bonus": get("aepo", base=get("entropy-bonus", base=EXPECTED)),
    "combined": combine(get("reinforce"), get("entropy-bonus", base=EXPECTED), get("aepo")),
    "gspo": get("gspo"),
    "clip-higher": get("clip-higher", dynamic_sampling=True),
    "grpo, batch normalized": get("grpo", estimator="reinforce++-baseline"),
    "aent": get("aent", coefficient=0.3, adaptive=False, base=EXPECTED),
    "aent, adaptive": get("aent", coefficient=0.3, base=EXPECTED, warm_up_steps=0,
                          coefficient_low=0.1, coefficient_high=0.5, coefficient_step=0.1),
    "entropy-bonus, adaptive": get("entropy-bonus", coefficient=0.3, target=0.8, base=EXPECTED),
}
SAMPLED = {
    "reinforce": get("reinforce"),
    "reinforce group-normalized": get("reinforce", estimator="group-normalized"),
    "grpo": get("grpo"),
    "entropy-bonus": get("entropy-bonus", coefficient=0.3),
    "aepo": get("aepo", alpha=0.7),
    "aepo, positives": get("aepo", normalize="positives"),
    "aepo, advantage": get("aepo", ablation="advantage"),
    "combined": combine(get("reinforce"), get("aepo")),
    "gspo": get("gspo"),
    "clip-higher": get("clip-higher", dynamic_sampling=True),
    "aent": get("aent", coefficient=0.3, adaptive=False),
}
# They see tokens' probabilities, or every action: each row for itself.
BY_ROWS = {"natural-gradient", "entropy-advantage", "reference-kl", "clip-cov", "kl-cov",
           "diverse-bonus"}
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


@pytest.mark.parametrize(
    ("name", "option"), [("aepo", "alpha"), ("entropy-bonus", "coefficient")]
)
def test_an_option_with_one_value_a_run_is_each_runs_own(name, option):
    """Runs of several alphas or coefficients are advanced together, and do not mix."""
    values = np.linspace(0.1, 2, 9)
    together = a_run(get(name, base=EXPECTED, **{option: values}))
    assert_same_step(together)
    for i, value in enumerate(values):
        alone = a_run(get(name, base=EXPECTED, **{option: float(value)}))
        np.testing.assert_array_equal(together.direction()[i], alone.direction()[i])


def test_every_rule_is_covered():
    for rules in (EXACT, SAMPLED):
        assert set(RULES) == {rule.name for rule in rules.values()} - {"combined"} | BY_ROWS
    for name in BY_ROWS:
        assert not get(name).pools_equal_rewards


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
