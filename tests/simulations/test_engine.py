"""The engine: exact against sampled, honest about entropy, moving targets, and what is recorded."""

import dataclasses
import math

import numpy as np
import pytest

from entropy_theory import policy
from entropy_theory.policy import entropy
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record
from simulations.problems import Bandit

GRPO = get("grpo", group_size=8)
AEPO = get("aepo", target=0.7, base=GRPO)

pytestmark = pytest.mark.usefixtures("compiled_early")


def test_the_starts_are_left_as_they_are():
    problem = Bandit()
    start = problem.starts(3, seed=0)
    before = start.copy()
    simulate(start, problem.correct, Dynamics(rule=GRPO, steps=5))
    np.testing.assert_array_equal(start, before)


@pytest.mark.parametrize(
    ("exact_rule", "sampled_rule"),
    [
        (get("grpo", group_size=8, std_ddof=1), get("grpo", std_ddof=1)),
        (get("aepo", alpha=2.0, base=GRPO), get("aepo", alpha=2.0)),
    ],
    ids=lambda rule: rule.name,
)
def test_sampled_steps_average_to_the_exact_step(exact_rule, sampled_rule):
    """Law of large numbers: N independent steps from one policy, within 6 standard errors.

    Each component of a step is bounded by 1 + alpha, and N is large, so that the mean is normal:
    beyond 6 standard errors lie 2e-9 of its mass, for each of the 16 components. A seed is fixed, so
    the test is deterministic; leaving out kappa or 1/G moves the mean by tens of standard errors.
    """
    n_samples = 20_000
    problem = Bandit(n_actions=8, n_correct=3, accuracies=(0.15, 0.7))
    start = problem.starts(1, seed=11)
    sampled = simulate(
        np.repeat(start, n_samples, axis=0),
        problem.correct,
        Dynamics(rule=sampled_rule, learning_rate=1.0, steps=1, seed=12,
                 samples=Samples(group_size=8, tempered=16)),
    )
    exact = simulate(start, problem.correct, Dynamics(rule=exact_rule, learning_rate=1.0, steps=1))
    steps = sampled.final_logits - start
    expected = (exact.final_logits - start)[0]
    error = np.abs(steps.mean(axis=0) - expected)
    standard_error = steps.std(axis=0) / math.sqrt(n_samples)
    assert np.all(error <= 6 * standard_error + 1e-12)
    # The bound is worth something only if it is small beside the step itself.
    assert np.abs(expected).max() > 12 * standard_error.max()


@pytest.mark.parametrize(("rule", "samples", "temperature"), [
    (get("aepo"), Samples(group_size=4, tempered=9), None), (get("reinforce"), None, 1.3)])
def test_forecast_identities_along_runs(rule, samples, temperature):
    """(i) = (ii): tabular logits are independent. (iii) = measured. Both to 1e-10, at any step."""
    problem = Bandit(n_actions=12, n_correct=3, accuracies=(0.1, 0.5, 0.9))
    dynamics = Dynamics(
        rule=rule,
        learning_rate=tuple([0.1] * 5 + [3.0] * 5),
        steps=60,
        samples=samples,
        record_every=3,
        temperature=temperature,
    )
    run = simulate(problem.starts(10, seed=2), problem.correct, dynamics, record=Record(forecasts=True))
    f = run.forecasts
    assert f.measured.shape == (20, 10)
    np.testing.assert_allclose(f.exact, f.measured, atol=1e-10, rtol=0)
    np.testing.assert_allclose(f.coefficients, f.first_order, atol=1e-10, rtol=0)
    assert np.abs(f.first_order - f.exact)[:, 5:].max() > 1e-4, "large steps must show an error"


def test_recorded_entropy_keeps_its_digits_at_collapse():
    """The engine reads the project's one entropy: relative accuracy at a logit gap of 60."""
    problem = Bandit(n_actions=3, family="given", logits=(60.0, 0.0, 1.0))
    run = simulate(problem.starts(1, seed=0), problem.correct, Dynamics(rule=GRPO, steps=1))
    assert run.entropy[0, 0] < 1e-20
    expected = entropy(problem.starts(1, seed=0))[0, 0]
    np.testing.assert_allclose(run.entropy[0, 0], expected, rtol=1e-13)


def test_records_follow_the_schedule_and_describe_the_policy():
    problem = Bandit(n_correct=4)
    dynamics = Dynamics(rule=GRPO, steps=25, record_every=10, tail=5)
    run = simulate(problem.starts(3, seed=0), problem.correct, dynamics, record=Record(logits=True))
    assert run.step.tolist() == [0, 10, 20, 25]
    np.testing.assert_allclose(run.entropy, entropy(run.logits)[..., 0], atol=1e-13)
    np.testing.assert_allclose(
        run.entropy_within_correct, entropy(run.logits[..., :4])[..., 0], atol=1e-13
    )
    shares = np.exp(run.logits - np.logaddexp.reduce(run.logits, axis=-1, keepdims=True))
    np.testing.assert_allclose(run.reward, shares[..., :4].sum(axis=-1)[..., 0], atol=1e-13)
    assert np.isnan(run.temperature).all()


def test_entropy_rests_on_the_log_of_the_right_answers_that_are_left():
    """A plateau at log k: the right answer that starts e^-24 behind is not revived in 1500 steps.

    With w outside the three equal right answers, log 3 (1 - w) <= H <= log 3 + h(w) + w log 17.
    """
    given = (4.0, 4.0, 4.0, -20.0) + (0.0,) * 16
    problem = Bandit(n_correct=4, family="given", logits=given)
    rule = get("aepo", temperature_high=1.25, base=GRPO)
    dynamics = Dynamics(rule=rule, steps=1500, targets=(1.2,))
    run = simulate(problem.starts(1, seed=0), problem.correct, dynamics)
    probabilities = np.exp(run.final_logits - np.logaddexp.reduce(run.final_logits, axis=-1))[0, 0]
    outside = probabilities[3:].sum()
    assert outside < 0.01
    rest = -(outside * math.log(outside) + (1 - outside) * math.log1p(-outside))
    end = run.entropy[-1, 0]
    assert math.log(3) * (1 - outside) <= end <= math.log(3) + rest + outside * math.log(17)
    assert end < 1.2, "a target below log 4 that this start does not sustain"
    assert run.temperature[-1, 0] == 1.25


@pytest.mark.parametrize("rule", [
    AEPO, get("entropy-bonus", coefficient=0.2, target=0.5, base=GRPO)], ids=["switch", "bonus"])
def test_a_target_that_moves_is_read_at_every_batch(rule, monkeypatch):
    """A constant schedule is the constant; a step of it acts from its step on; one value a run."""
    problem = Bandit(n_correct=8)
    start = problem.starts(4, seed=0)
    targets = (0.3, 0.5, 0.9, 1.4)
    dynamics = Dynamics(rule=rule, steps=120, record_every=1)

    def run(**options):
        return simulate(start, problem.correct, dataclasses.replace(dynamics, **options))

    fixed = run(targets=targets)
    constant = run(target_schedule=lambda step: np.array(targets))
    np.testing.assert_array_equal(fixed.final_logits, constant.final_logits)
    jump = run(target_schedule=lambda step: np.array(targets) * (step < 60))
    np.testing.assert_array_equal(jump.entropy[:61], fixed.entropy[:61])
    assert (jump.entropy[-1] < fixed.entropy[-1]).any()
    with pytest.raises(ValueError, match="target_schedule has 3 values for 4 runs"):
        run(target_schedule=lambda step: (1.0, 2.0, 3.0))
    with monkeypatch.context() as patch:  # blocks of three runs take three targets for their own
        patch.setattr("simulations.engine.simulation.BLOCK", 60)
        with pytest.raises(ValueError, match="target_schedule has 3 values for 4 runs"):
            run(target_schedule=lambda step: (1.0, 2.0, 3.0))
    with pytest.raises(ValueError, match="target entropy must be at least 0 nats, got -1"):
        run(target_schedule=lambda step: -1.0)


def test_columns_are_the_sums_that_define_them_where_prompts_differ_in_right_answers():
    """One run and prompt at a time, in plain Python."""
    start = np.random.default_rng(3).normal(size=(3, 2, 5))
    correct = np.zeros((1, 2, 5), dtype=bool)
    correct[0, 0, 1], correct[0, 1, [0, 3]] = True, True
    run = simulate(start, correct, Dynamics(rule=get("reinforce"), steps=1),
                   record=Record(pass_at=(3,), distinct_of=4))

    expected: list = [[{}, {}] for _ in range(3)]

    def mean(values):
        return float(p @ values)

    for i, s in np.ndindex(3, 2):
        p, right = policy.softmax(start[i, s]), correct[0, s]
        log_p, advantage = np.log(p), right - p[right].sum()
        within = p[right] / p[right].sum()
        expected[i][s] = {
            "covariance": mean(log_p * advantage) - mean(log_p) * mean(advantage),
            "covariance_pg": mean(log_p * p * advantage) - mean(log_p) * mean(p * advantage),
            "distinct_answers": (1 - (1 - p[right]) ** 4).sum(),
            "entropy_within_correct": -(within * np.log(within)).sum(),
            "pass_at_k": 1 - (1 - p[right].sum()) ** 3,
            "entropy": -mean(log_p), "reward": p[right].sum(),
        }
    for name in expected[0][0]:
        by_state = np.array([[one[name] for one in prompts] for prompts in expected])
        found = getattr(run, name)[0]
        np.testing.assert_allclose(
            found[:, 0] if name == "pass_at_k" else found, by_state.mean(-1), atol=1e-14)
        if hasattr(run, f"{name}_by_state"):
            np.testing.assert_allclose(getattr(run, f"{name}_by_state")[0], by_state, atol=1e-14)
