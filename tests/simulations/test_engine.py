"""The engine: exact against sampled, reproducible, honest about entropy, and what theory proves."""

import dataclasses
import math

import numpy as np
import pytest

from entropy_theory import policy, tabular
from entropy_theory.policy import entropy
from entropy_theory.tabular import exact_batch, logit_step
from entropy_theory.targets import Nucleus
from entropy_theory.update_rules import combine, get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record
from simulations.problems import Bandit

GRPO = get("grpo", group_size=8)
AEPO = get("aepo", target=0.7, base=GRPO)

pytestmark = pytest.mark.usefixtures("compiled_early")


def test_the_trajectory_is_the_rule_applied_step_by_step():
    """Against the plainest loop there is: list the rows, ask the rule, add."""
    problem = Bandit(n_actions=6, n_correct=2, accuracies=(0.2, 0.7))
    start = problem.starts(8, seed=0)
    dynamics = Dynamics(rule=AEPO, learning_rate=0.3, steps=40, record_every=1)
    run = simulate(start, problem.correct, dynamics, record=Record(logits=True))
    logits, switch = start, AEPO.controller()
    for step in range(40):
        np.testing.assert_allclose(run.logits[step], logits, atol=1e-12)
        temperature = switch.observe(entropy(logits).mean(axis=-1))
        np.testing.assert_array_equal(run.temperature[step], temperature)
        batch = exact_batch(logits, problem.correct.astype(float), temperature=temperature)
        logits = logits + 0.3 * logit_step(logits, batch, AEPO)
    np.testing.assert_allclose(run.final_logits, logits, atol=1e-12)


def test_runs_do_not_touch_each_other_whatever_the_memory_order():
    """A run alone (row-major) and the same run among many (runs contiguous) are the same run."""
    problem = Bandit(n_correct=4)
    start = problem.starts(30, seed=1)
    targets = tuple(np.linspace(0.1, 2.5, 30).tolist())
    dynamics = Dynamics(rule=AEPO, steps=300, targets=targets)
    together = simulate(start, problem.correct, dynamics)
    for i in (0, 17, 29):
        alone = simulate(
            start[i : i + 1], problem.correct, dataclasses.replace(dynamics, targets=targets[i:][:1])
        )
        # A step is at most 1 x eta; sums in another order differ by 1e-16 a step.
        np.testing.assert_allclose(alone.final_logits[0], together.final_logits[i], atol=1e-11)
        np.testing.assert_allclose(alone.entropy[:, 0], together.entropy[:, i], atol=1e-11)


def test_the_starts_are_left_as_they_are():
    problem = Bandit()
    start = problem.starts(3, seed=0)
    before = start.copy()
    simulate(start, problem.correct, Dynamics(rule=GRPO, steps=5))
    np.testing.assert_array_equal(start, before)


def test_same_seed_same_result_other_seed_other_result():
    problem = Bandit(n_correct=3)
    start = problem.starts(4, seed=0)

    def final(seed):
        dynamics = Dynamics(rule=get("aepo"), steps=50, samples=Samples(), seed=seed)
        return simulate(start, problem.correct, dynamics).final_logits

    np.testing.assert_array_equal(final(3), final(3))
    assert not np.array_equal(final(3), final(4))


def test_runs_of_one_call_draw_independently():
    problem = Bandit(n_correct=3)
    start = np.repeat(problem.starts(1, seed=0), 6, axis=0)
    run = simulate(start, problem.correct, Dynamics(rule=get("grpo"), steps=3, samples=Samples()))
    assert len(np.unique(run.final_logits[:, 0, 0])) > 1


@pytest.mark.parametrize(
    ("exact_rule", "sampled_rule"),
    [
        (GRPO, get("grpo")),
        (get("grpo", group_size=8, std_ddof=1), get("grpo", std_ddof=1)),
        (get("aepo", alpha=2.0, base=GRPO), get("aepo", alpha=2.0)),
        (get("entropy-bonus", coefficient=0.4, base=GRPO), get("entropy-bonus", coefficient=0.4)),
        (get("reinforce"), get("reinforce")),
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


@pytest.mark.parametrize("samples", [None, Samples(group_size=4, tempered=9)])
@pytest.mark.parametrize("name", ["grpo", "aepo", "entropy-bonus", "reinforce"])
def test_forecast_identities_along_runs(name, samples):
    """(i) = (ii): tabular logits are independent. (iii) = measured. Both to 1e-10, at any step."""
    base = GRPO if samples is None else get("grpo")
    rule = {
        "grpo": base,
        "aepo": get("aepo", base=base),
        "entropy-bonus": get("entropy-bonus", coefficient=0.2, base=base),
        "reinforce": get("reinforce"),
    }[name]
    problem = Bandit(n_actions=12, n_correct=3, accuracies=(0.1, 0.5, 0.9))
    dynamics = Dynamics(
        rule=rule,
        learning_rate=tuple([0.1] * 5 + [3.0] * 5),
        steps=60,
        samples=samples,
        record_every=3,
        temperature=1.3 if name == "reinforce" else None,
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
    every = dataclasses.replace(dynamics, record_every=1)
    fine = simulate(problem.starts(3, seed=0), problem.correct, every)
    np.testing.assert_allclose(run.tail_entropy, fine.entropy[20:25].mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(run.tail_reward, fine.reward[20:25].mean(axis=0), atol=1e-13)
    # E[H^2] - E[H]^2 loses digits near 0: the square root of 1e-16 bounds it.
    np.testing.assert_allclose(run.tail_spread, fine.entropy[20:25].std(axis=0), atol=1e-7)


def test_switches_are_counted():
    problem = Bandit(n_correct=8)
    dynamics = Dynamics(rule=AEPO, steps=400, record_every=1, tail=150)
    run = simulate(problem.starts(4, seed=0), problem.correct, dynamics)
    changed = run.temperature[250:400] != run.temperature[251:401]
    np.testing.assert_array_equal(run.tail_switches, changed.sum(axis=0))
    assert run.tail_switches.max() > 0


# Theory along runs


def test_theorem_s_under_any_schedule():
    """Phi = mean_{A*} z - max_{wrong} z never falls, hence p -> 1 at the proved rate (Theorem S).

    For random starts, alphas and step sizes, GRPO on and off, T anywhere in [T_low, T_high]: wrong
    answers only ever lose to the mean of the right ones.
    """
    generator = np.random.default_rng(0)
    low, high = 0.5, 4.0
    for trial in range(6):
        n, m = 10, int(generator.integers(1, 10))
        eta, alpha = (float(x) for x in generator.uniform(0.1, 2.0, size=2))
        base = GRPO if trial % 2 else get("grpo", group_size=2)
        rule = get("aepo", alpha=alpha, temperature_high=high, temperature_low=low, base=base)
        targets = tuple(generator.uniform(0, 3, size=6).tolist())
        problem = Bandit(n_actions=n, n_correct=m, scale=2.0)
        dynamics = Dynamics(
            rule=rule, learning_rate=eta, steps=300, record_every=1, targets=targets
        )
        start = problem.starts(6, seed=trial)
        run = simulate(start, problem.correct, dynamics, record=Record(logits=True))
        logits = run.logits[:, :, 0]
        margin = logits[..., :m].mean(axis=-1) - logits[..., m:].max(axis=-1)
        # Logits stay below some 30, whose rounding is 4e-15 an addition, 10 of them a mean.
        assert np.diff(margin, axis=0).min() >= -1e-13
        wrong = 1 - run.reward
        odds = (n - m) / m
        assert np.all(wrong <= odds * np.exp(-margin) + 1e-13)
        # The number of steps spent with wrong answers above e is bounded from the start.
        e = 0.05
        for i in range(6):
            least = min(1 / (1 + odds * math.exp(-margin[0, i] / t)) for t in (low, high))
            bound = 1 + m * max(math.log(odds / e) - margin[0, i], 0) / (eta * alpha * least * e)
            assert (wrong[:, i] >= e).sum() <= bound
        # What is left of entropy is at most log m once wrong answers are rare.
        rest = wrong[-1]
        within = -(rest * np.log(rest) + (1 - rest) * np.log1p(-rest))
        ceiling = math.log(m) + within + rest * math.log(max((n - m) / m, 1))
        assert np.all(run.entropy[-1] <= ceiling + 1e-12)


def switched(n_correct, targets, *, alpha=1.0, steps=2000, starts=6, seed=0):
    """AEPO at 1.25 / 0.8 for every target from every start: tail of 500 steps, all recorded."""
    problem = Bandit(n_correct=n_correct)
    logits = np.repeat(problem.starts(starts, seed=seed), len(targets), axis=0)
    rule = get("aepo", alpha=alpha, temperature_high=1.25, temperature_low=0.8, base=GRPO)
    dynamics = Dynamics(
        rule=rule, steps=steps, record_every=steps // 40, tail=500, targets=tuple(targets) * starts
    )
    run = simulate(logits, problem.correct, dynamics)
    # The tail once more at every step, for the largest change that one step makes.
    last = dataclasses.replace(dynamics, steps=200, record_every=1)
    closer = simulate(run.final_logits, problem.correct, last)
    chatter = np.abs(np.diff(closer.entropy, axis=0)).max(axis=0)
    shape = (starts, len(targets))
    return run, run.tail_entropy.reshape(shape), chatter.reshape(shape)


def test_targets_that_several_right_answers_sustain():
    """m = 8: targets .52 and 1.04 are held from every start.

    A two-point switch brackets its target: entropy above it falls, below it rises, so every value
    lies within one step's change of the target, and so does the mean. The change is measured, and
    must be small beside the distance of the targets for that to say anything.
    """
    targets = (0.52, 1.04)
    run, tail, chatter = switched(8, targets)
    assert chatter.max() < (targets[1] - targets[0]) / 5
    assert np.all(np.abs(tail - targets) <= chatter)
    assert run.tail_switches.min() > 100
    assert run.tail_reward.min() > 0.99


def test_no_target_above_the_log_of_right_answers_is_sustained():
    """m = 4: at a target of 2.0 the temperature stays high and entropy stays under log 4.

    After k steps at least 1 - p <= 1/(eta alpha k) or so is left for wrong answers; the exact bound
    with the run's own 1 - p is used.
    """
    run, tail, _ = switched(4, (2.0,))
    wrong = 1 - run.tail_reward
    within = -(wrong * np.log(wrong) + (1 - wrong) * np.log1p(-wrong))
    assert np.all(tail.ravel() <= math.log(4) + within + wrong * math.log(16 / 4))
    assert np.all(tail < 2.0 - 0.5)
    assert run.tail_switches.max() == 0
    assert np.all(run.temperature[-1] == 1.25)


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


def test_one_right_answer_collapses_whatever_the_target():
    run, tail, _ = switched(1, (0.1, 0.5, 1.0, 2.0))
    assert tail.max() < 0.01
    assert run.tail_reward.min() > 0.999


def test_a_weak_second_batch_does_not_hold():
    """alpha = .1 is below the threshold kappa |F(1)| / F(T_high): GRPO collapses m = 4 anyway."""
    _, tail, _ = switched(4, (0.347, 0.693, 1.248), alpha=0.1)
    assert tail.max() < 0.05


def test_grpo_alone_and_untempered_aepo_collapse():
    """AEPO, Table 3, Eq. (2): at T = 1 the second batch does not hold entropy."""
    problem = Bandit(n_correct=4)
    for rule in (GRPO, get("aepo", ablation="untempered", base=GRPO)):
        run = simulate(problem.starts(4, seed=0), problem.correct, Dynamics(rule=rule, steps=1500))
        assert run.tail_entropy.max() < 0.1


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"record_every": 0}, "record_every must be at least 1"),
        ({"tail": -1}, "tail must be at least 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"steps": 2.5}, "steps must be a whole number, got 2.5"),
        ({"rule": "grpo"}, r"rule is an update rule, such as update_rules.get\('grpo'\), got 'grpo'"),
        ({"learning_rate": math.nan}, "learning_rate must be finite, got nan"),
        ({"rule": GRPO, "targets": (0.5,)}, "'grpo' has no controller"),
        ({"rule": GRPO, "temperature": 0.0}, "temperature must be above 0"),
        ({"temperature": 1.2}, "'aepo' chooses the temperature"),
        ({"samples": Samples()}, "'aepo' takes an exact expectation and cannot be sampled"),
    ],
)
def test_impossible_dynamics_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Dynamics(**{"rule": AEPO, **options})


def test_graded_rewards_are_learned_in_their_order():
    """Only the best answer survives; pooled by level and listed row by row are the same run."""
    problem = Bandit(n_actions=6, rewards=(1.0, 0.6, 0.2))
    start = problem.starts(4, seed=0)
    dynamics = Dynamics(rule=get("reinforce"), steps=400, learning_rate=2.0)
    run = simulate(start, problem.reward, dynamics)
    assert run.reward[-1].min() > 0.95
    p = policy.softmax(run.logits if run.logits.size else run.final_logits)[:, 0]
    np.testing.assert_allclose(run.reward[-1], p @ problem.reward[0, 0], atol=1e-13)
    np.testing.assert_allclose(run.pass_at_k[-1, :, 0], p[:, 0], atol=1e-13)
    one_step = Dynamics(rule=get("reinforce"), steps=1, learning_rate=1.0)
    expected = tabular.logit_step(
        start, exact_batch(start, problem.reward), get("reinforce"))
    found = simulate(start, problem.reward, one_step).final_logits - start
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_rewards_of_zero_and_one_are_right_answers_in_any_dtype():
    problem = Bandit(n_actions=5, n_correct=2)
    start = problem.starts(2, seed=0)
    dynamics = Dynamics(rule=AEPO, steps=30)
    runs = [simulate(start, problem.correct.astype(dtype), dynamics).final_logits
            for dtype in (bool, float, int)]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


@pytest.mark.parametrize("rule", [
    AEPO, get("aepo", control="proportional", base=GRPO),
    get("entropy-bonus", coefficient=0.2, target=0.5, base=GRPO),
], ids=["switch", "proportional", "bonus"])
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
    with pytest.raises(ValueError, match="both given"):
        Dynamics(rule=AEPO, targets=(1.0,), target_schedule=lambda step: 1.0)


@pytest.mark.parametrize("samples", [None, Samples()])
def test_results_do_not_depend_on_the_blocks_of_runs(samples, monkeypatch):
    """Any blocks, options with one value a run included; and a simulation cut in two by hand."""
    problem = Bandit(n_actions=7, n_correct=2, accuracies=(0.2, 0.5))
    start = problem.starts(9, seed=0)
    base = GRPO if samples is None else get("grpo")
    dynamics = Dynamics(
        rule=get("aepo", alpha=np.linspace(0.2, 2, 9), base=base),
        learning_rate=tuple(np.linspace(0.1, 1, 9).tolist()), steps=50, samples=samples,
        targets=tuple(np.linspace(0.1, 1.5, 9).tolist()), record_every=7)
    record = Record(logits=True, forecasts=True, pass_at=(1, 8))
    steps = []
    whole = simulate(start, problem.correct, dynamics, record=record, progress=steps.append)
    assert sum(steps) == 50
    for block in (1, 4 * 14):
        monkeypatch.setattr("simulations.engine.simulation.BLOCK", block)
        steps = []
        cut = simulate(start, problem.correct, dynamics, record=record, progress=steps.append)
        assert sum(steps) == 50
        for field in dataclasses.fields(whole):
            one, other = getattr(whole, field.name), getattr(cut, field.name)
            if field.name == "forecasts":
                one, other = (np.array([getattr(f, k.name) for k in dataclasses.fields(f)])
                              for f in (one, other))
            # Sums over actions in another memory order.
            np.testing.assert_allclose(one, other, atol=1e-12, err_msg=field.name)
    part = slice(4, 9)
    last = simulate(start[part], problem.correct, dynamics.take_runs(9, part))
    np.testing.assert_allclose(last.final_logits, whole.final_logits[part], atol=1e-12)
    taken = whole.take_runs(np.arange(4, 9))
    np.testing.assert_array_equal(taken.pass_at_k, whole.pass_at_k[:, 4:])


def test_pass_at_k_and_distinct_answers_are_what_sampling_finds():
    """Against 20,000 groups of 4 draws: within 5 standard errors."""
    problem = Bandit(n_actions=6, n_correct=3, accuracies=(0.3,))
    start = problem.starts(1, seed=0)
    run = simulate(start, problem.correct, Dynamics(rule=GRPO, steps=1),
                   record=Record(pass_at=(1, 4), distinct_of=4))
    p = policy.softmax(start)[0, 0]
    drawn = np.random.default_rng(1).choice(6, size=(20_000, 4), p=p)
    passed = (drawn < 3).any(axis=1)
    distinct = np.array([(drawn == a).any(axis=1) for a in range(3)]).sum(axis=0)
    for values, expected in ((passed, run.pass_at_k[0, 0, 1]), (distinct, run.distinct_answers[0, 0])):
        assert abs(values.mean() - expected) < 5 * values.std() / math.sqrt(20_000)
    assert run.pass_at_k[0, 0, 0] == pytest.approx(0.3)


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


@pytest.mark.parametrize("options", [{"pass_at": (0,)}, {"distinct_of": 0}, {"pass_at": (1.5,)}])
def test_impossible_records_are_refused(options):
    with pytest.raises(ValueError, match="must be whole numbers of at least 1"):
        Record(**options)


@pytest.mark.parametrize("samples", [None, Samples(group_size=4, tempered=4)])
@pytest.mark.parametrize("wrap", [
    lambda rule: rule, lambda rule: get("entropy-bonus", base=rule),
    lambda rule: combine(get("reinforce"), rule),
])
def test_a_target_that_the_simulator_does_not_sample_is_refused(wrap, samples):
    """Top-p would silently be pi^T here."""
    problem = Bandit()
    rule = wrap(get("aepo", towards=Nucleus(top_p=0.3)))
    with pytest.raises(ValueError, match=r"samples with top_p=0.3, .*ShorterResponses"):
        simulate(problem.starts(1, seed=0), problem.correct, Dynamics(rule=rule, samples=samples))


def test_diverging_logits_are_named_with_their_step():
    problem = Bandit(family="given", n_actions=2, logits=(0.0, 1.0))
    dynamics = Dynamics(rule=get("entropy-bonus", coefficient=1e200), learning_rate=1e200)
    with pytest.raises(ValueError, match="diverged in step 1: lower the learning rate"):
        simulate(problem.starts(1, seed=0), problem.correct, dynamics)


def test_mismatched_runs_and_masks_are_refused():
    problem = Bandit()
    start = problem.starts(2, seed=0)
    alphas = get("aepo", alpha=np.ones(3))
    with pytest.raises(ValueError, match="option alpha of 'aepo' has 3 values for 2 runs"):
        simulate(start, problem.correct, Dynamics(rule=alphas, steps=1))
    with pytest.raises(ValueError, match="targets has 3 values for 2 runs"):
        simulate(start, problem.correct, Dynamics(rule=AEPO, steps=1, targets=(1.0, 2.0, 3.0)))
    with pytest.raises(ValueError, match="a boolean mask or numbers, got dtype <U5"):
        simulate(start, problem.correct.astype(str), Dynamics(rule=AEPO, steps=1))
    with pytest.raises(ValueError, match="no right answer"):
        simulate(start, np.zeros((1, 1, 20), dtype=bool), Dynamics(rule=AEPO, steps=1))
    with pytest.raises(ValueError, match="group_size must be at least 1, got 0"):
        Samples(group_size=0)


def one_run(rule, *, steps, steps_per_batch=1, samples=None, runs=4, **options):
    problem = Bandit(n_actions=6, n_correct=2, accuracies=(0.2, 0.6))
    dynamics = Dynamics(rule=rule, steps=steps, steps_per_batch=steps_per_batch, samples=samples,
                        record_every=steps, seed=3, **options)
    return simulate(problem.starts(runs, seed=1), problem.correct, dynamics)


def test_steps_on_one_batch_keep_its_samples_and_move_its_ratios():
    """Two steps on one exact batch, by hand: importance ratios against the policy that sampled."""
    problem = Bandit(n_actions=6, n_correct=2, accuracies=(0.2, 0.6))
    rule = get("grpo", clip_low=0.01, clip_high=0.01)
    start = problem.starts(4, seed=1)
    reward = np.broadcast_to(problem.correct.astype(float), start.shape)
    batch = rule.prepare(tabular.exact_batch(start, reward))
    logits = start + 0.5 * tabular.logit_step(start, batch, rule)
    runs = np.arange(4)[:, None, None]
    moved = policy.log_softmax(logits)[runs, batch.state, batch.action]
    logits = logits + 0.5 * tabular.logit_step(logits, batch.replace(log_prob=moved), rule)
    found = one_run(rule, steps=2, steps_per_batch=2)
    np.testing.assert_allclose(found.final_logits, logits, atol=1e-13)
    on_policy = one_run(rule, steps=2)
    assert np.abs(on_policy.final_logits - logits).max() > 1e-2


@pytest.mark.parametrize("rule", [
    AEPO,
    get("aent", adaptive=True, warm_up_steps=0, entropy_low=0.5, entropy_high=0.6, coefficient=0.05,
        coefficient_low=0.0, coefficient_high=1.0, coefficient_step=0.05),
], ids=lambda rule: rule.name)
def test_controllers_wait_for_the_next_batch(rule):
    """What they chose stays for the batch, though entropy crosses the target within it."""
    problem = Bandit(n_actions=6, n_correct=3)
    dynamics = Dynamics(rule=rule, steps=60, steps_per_batch=4, learning_rate=1.0, record_every=1)
    run = simulate(problem.starts(5, seed=1), problem.correct, dynamics)
    chosen = run.temperature if rule is AEPO else run.coefficient
    by_batch = chosen[:60].reshape(15, 4, 5)
    np.testing.assert_array_equal(by_batch, np.repeat(by_batch[:, :1], 4, axis=1))
    assert (np.diff(by_batch[:, 0], axis=0) != 0).any()
    above = (run.entropy[:60] > 0.7).reshape(15, 4, 5)
    assert (above != above[:, :1]).any()


def test_kl_cov_acts_off_policy_only():
    kl_cov, base = get("kl-cov", ratio=0.2), get("kl-cov").base
    samples = Samples(group_size=8)
    on = [one_run(rule, steps=8, samples=samples).final_logits for rule in (kl_cov, base)]
    # Summed over pooled rows and over all rows.
    np.testing.assert_allclose(*on, atol=1e-13)
    off = [one_run(rule, steps=8, steps_per_batch=4, samples=samples).final_logits
           for rule in (kl_cov, base)]
    assert np.abs(off[0] - off[1]).max() > 1e-3


@pytest.mark.parametrize("steps_per_batch", [1, 3])
def test_a_reference_kl_keeps_the_policy_near_its_start(steps_per_batch):
    weak, strong = (
        one_run(get("reference-kl", coefficient=c, base="reinforce"), steps=300,
                steps_per_batch=steps_per_batch)
        for c in (0.0, 1.0)
    )
    problem = Bandit(n_actions=6, n_correct=2, accuracies=(0.2, 0.6))
    start = policy.log_softmax(problem.starts(4, seed=1))

    def divergence(run):
        now = policy.log_softmax(run.final_logits)
        return (np.exp(now) * (now - start)).sum(-1)

    assert (divergence(strong) < divergence(weak)).all()
    # At the optimum of reward - KL(pi || pi_ref), a right answer's odds grow by exactly e.
    odds = policy.softmax(strong.final_logits)[..., :2] / np.exp(start)[..., :2]
    assert odds.max() < np.e


def test_aents_coefficient_is_in_the_loop():
    options = {"adaptive": True, "warm_up_steps": 0, "coefficient": 0.02, "entropy_low": 0.5,
               "entropy_high": 0.6, "coefficient_low": 0.0, "coefficient_high": 1.0,
               "coefficient_step": 0.05, "removed_fraction": 0.34}
    adaptive = one_run(get("aent", **options), steps=1000)
    constant = one_run(get("aent", **{**options, "adaptive": False}), steps=1000)
    assert constant.tail_entropy.max() < 0.3
    assert adaptive.tail_entropy.min() > constant.tail_entropy.max()


def test_aents_coefficient_is_what_its_loop_makes_of_the_clamped_entropy():
    rule = get("aent", adaptive=True, warm_up_steps=0, coefficient=0.3, entropy_low=0.6, entropy_high=0.9,
               coefficient_low=0.0, coefficient_high=1.0, coefficient_step=0.05, removed_fraction=0.5)
    problem = Bandit(n_actions=6, n_correct=2)
    dynamics = Dynamics(rule=rule, steps=30, record_every=1)
    run = simulate(problem.starts(4, seed=1), problem.correct, dynamics, record=Record(logits=True))
    clamped, whole = (rule.coefficient_controller() for _ in range(2))
    others = []
    for logits, found in zip(run.logits, run.coefficient, strict=True):
        np.testing.assert_array_equal(
            clamped.observe(policy.clamped_entropy(logits, 0.5).mean(axis=-1)), found)
        others.append(whole.observe(entropy(logits).mean(axis=-1)))
    assert (np.array(others) != run.coefficient).any()


def test_selection_has_a_key_of_its_own_in_every_batch():
    """Clip-Cov picks other tokens in the next batch, and the same ones in the same run again."""
    rule = get("clip-cov", ratio=0.3, lower=-9, upper=9, base=get("grpo", group_size=None))
    first, again = (one_run(rule, steps=5, samples=Samples(group_size=8)) for _ in range(2))
    np.testing.assert_array_equal(first.final_logits, again.final_logits)
