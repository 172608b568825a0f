"""Guards simulation.py, block.py and recorder.py: blocks, threads, progress and what is counted."""

import os

import numpy as np
import pytest

from entropy_theory import entropy_change
from entropy_theory.policy import clamped_entropy, log_softmax
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Record, Samples, simulate, simulation
from simulations.engine.block import pass_at, power
from simulations.engine.engines import NumpyEngine
from simulations.engine.runs import Runs
from simulations.engine.simulation import BLOCK, blocks, threads
from simulations.engine.task import Task
from simulations.engine.tree_runs import TreeRuns
from simulations.problems import Bandit
from simulations.problems.token_trees import TokenProblem

GRPO = get("grpo", group_size=8)
PROBLEM = Bandit(n_actions=5, n_correct=2)
TREE = TokenProblem(n_tokens=2, horizon=2, n_correct=1)


def cuts(*arguments):
    parts = list(blocks(*arguments))
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert parts[0].start == 0
    return [part.stop - part.start for part in parts]


def test_blocks_fill_the_cache_and_hold_a_run_at_least():
    assert cuts(10, BLOCK // 4, False) == [4, 4, 2]
    assert cuts(10, BLOCK // 4 + 1, False) == [3, 3, 3, 1]
    assert cuts(3, BLOCK, False) == cuts(3, BLOCK + 1, False) == cuts(3, 9 * BLOCK, False) == [1, 1, 1]
    assert cuts(5, 1, False) == [5]


def test_parallel_blocks_are_at_least_four_of_at_least_32_runs():
    assert cuts(200, 1, True) == [50] * 4
    assert cuts(201, 1, True) == [51, 51, 51, 48]
    assert cuts(100, 1, True) == [32, 32, 32, 4]
    assert cuts(20, 1, True) == [20]
    assert cuts(200, BLOCK // 8, True) == [8] * 25


def test_threads_are_those_asked_for_or_one_a_processor(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0: {3, 5, 6}}[pid], raising=False)
    for asked, found in (("2", 2), ("1", 1), ("0", 3), ("", 3), ("many", 3), ("-4", 3)):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert threads() == found
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert threads() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert threads() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads() == 1


@pytest.mark.parametrize(("in_parallel", "asked", "runs", "pools"), [
    (True, 3, 90, [3]), (True, 2, 90, [2]), (True, 1, 90, []), (True, 3, 20, []), (False, 3, 90, []),
])
def test_threads_share_blocks_where_the_engine_gains_by_it(monkeypatch, in_parallel, asked, runs, pools):
    """Not for one block, nor for one thread; the result is that of one after another."""
    start = PROBLEM.starts(runs, seed=0)
    dynamics = Dynamics(rule=GRPO, steps=7, record_every=3)
    expected = simulate(start, PROBLEM.correct, dynamics)
    made = []

    class Pool(simulation.ThreadPoolExecutor):
        def __init__(self, workers):
            made.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(simulation, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(simulation, "engine_for",
                        lambda task: NumpyEngine(task=task, in_parallel=in_parallel))
    monkeypatch.setenv("OMP_NUM_THREADS", str(asked))
    steps = []
    found = simulate(start, PROBLEM.correct, dynamics, progress=steps.append)
    assert made == pools
    assert sum(steps) == 7
    # Blocks of other sizes lie otherwise in memory: sums over five actions, seven times.
    np.testing.assert_allclose(found.final_logits, expected.final_logits, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.entropy, expected.entropy, rtol=0, atol=1e-13)


def test_progress_is_told_in_whole_steps_of_all_runs():
    """Not before all runs have taken one, and each once."""
    told = []
    report = simulation._Report(4, told.append)
    for steps in (3, 1, 3, 2, 15):
        report(steps)
    assert told == [1, 1, 4]
    simulation._Report(4, None)(40)


@pytest.mark.parametrize("n", range(1, 18))
def test_powers_are_products(n):
    np.testing.assert_allclose(power(np.array([0.3, 1.0, 0.0, -2.0]), n),
                               np.prod([[0.3, 1.0, 0.0, -2.0]] * n, axis=0), rtol=1e-14)


def test_pass_at_k_is_the_mean_over_prompts_of_each_k():
    wrong = np.array([[0.5, 0.25], [1.0, 0.0], [0.75, 0.5]])
    np.testing.assert_array_equal(
        pass_at(wrong, (1, 2)), [[0.625, 0.84375], [0.5, 0.5], [0.375, 0.59375]])
    assert pass_at(wrong, ()).shape == (3, 0)
    run = simulate(PROBLEM.starts(2, seed=0), PROBLEM.correct, Dynamics(rule=GRPO, steps=1),
                   record=Record(pass_at=()))
    assert run.pass_at_k.shape == (2, 2, 0)


def test_the_tail_is_a_sixth_of_the_steps_unless_it_is_said():
    start = PROBLEM.starts(3, seed=1)
    tails = [simulate(start, PROBLEM.correct, Dynamics(rule=GRPO, steps=60, tail=tail)).tail_entropy
             for tail in (0, 10, 12)]
    np.testing.assert_array_equal(tails[0], tails[1])
    assert (tails[0] != tails[2]).all()


def test_a_tail_without_change_has_no_spread():
    solved = simulate(np.array([[[400.0, 0.0]]]), [[1.0, 0.0]], Dynamics(rule=GRPO, steps=30, tail=20))
    assert solved.tail_spread.tolist() == [0.0]


def test_a_coefficient_at_its_end_is_counted():
    rule = get("entropy-bonus", target=9.0, coefficient_high=0.01)
    run = simulate(PROBLEM.starts(2, seed=0), PROBLEM.correct, Dynamics(rule=rule, steps=20))
    assert run.saturated.tolist() == [21, 21]


def test_the_coefficients_announce_the_change_of_the_mean_over_prompts():
    problem = Bandit(n_actions=5, n_correct=2, accuracies=(0.3, 0.6))
    dynamics = Dynamics(rule=GRPO, steps=1, learning_rate=1e-3)
    run = simulate(problem.starts(3, seed=0), problem.correct, dynamics, record=Record(forecasts=True))
    # Changes of 1e-6 and more, read off entropies of 1.
    np.testing.assert_allclose(run.forecasts.measured, np.diff(run.entropy, axis=0), rtol=1e-8)
    # The first order takes the step as a difference of logits up to 3.5, each rounded by at most 2.2e-16:
    # twice that is 1e-10 of changes of 4.4e-6, the smallest here.
    np.testing.assert_allclose(run.forecasts.coefficients, run.forecasts.first_order, rtol=1e-10)


def test_runs_begin_with_any_step():
    """Their policies are evaluated, at the first step as at others."""
    for step in (0, 1, 2):
        task = Task.checked(PROBLEM.starts(2, seed=0), PROBLEM.correct, Dynamics(rule=GRPO))
        run = Runs(task, step)
        assert run.batch_number == step + 1
        tree_task = Task.checked(
            TREE.starts(2, seed=0), TREE.correct, Dynamics(rule=GRPO), tree=TREE.tree)
        np.testing.assert_array_equal(
            TreeRuns(tree_task, step).token_shares(), TreeRuns(tree_task).token_shares())
        np.testing.assert_allclose(run.entropy, Runs(task).entropy, rtol=0, atol=0)


AIMED = {"temperature": get("aepo", base=GRPO),
         "coefficient": get("entropy-bonus", target=9.0, base=GRPO)}


@pytest.mark.parametrize("name", AIMED)
def test_controllers_aim_at_the_runs_own_targets(name):
    """One above and one below the entropy at the start; a schedule is asked for each batch."""
    start = np.zeros((2, 1, 5))  # the entropy is log 5 = 1.6
    def made(step, **options):
        run = Runs(Task.checked(
            start, PROBLEM.correct, Dynamics(rule=AIMED[name], steps_per_batch=2, **options)), step)
        return run, getattr(run, name)

    fixed, chosen = made(0, targets=(1.0, 2.0))
    assert fixed.target(0).tolist() == fixed.target(40).tolist() == [1.0, 2.0]
    assert not fixed.targets_move
    assert chosen[0] != chosen[1]
    moving, above = made(40, target_schedule=lambda step: np.array([1.0, 2.0 * (step < 60)]))
    assert moving.targets_move
    assert moving.target(59).tolist() == [1.0, 2.0]
    assert moving.target(60).tolist() == [1.0, 0.0]
    assert above[0] != above[1]
    _, below = made(60, target_schedule=lambda step: np.array([1.0, 2.0 * (step < 60)]))
    assert below[0] == below[1]
    one, _ = made(0, target_schedule=lambda step: 0.25 * step)
    assert one.target(3).tolist() == [0.75, 0.75]


@pytest.mark.parametrize("name", ["diverse-bonus", "entropy-bonus"])
def test_forecasts_of_the_steps_on_one_batch_add_up(name):
    """Each is first order in that step's own change, and a new batch begins with nothing."""
    rule = get(name, target=0.5, hold="forecast", coefficient=0.3)
    run = Runs(Task.checked(np.random.default_rng(3).normal(size=(2, 3, 5)), PROBLEM.correct,
                            Dynamics(rule=rule, steps_per_batch=3, learning_rate=0.2)))
    chosen, total = [], np.zeros(2)
    for step in range(6):
        before = run.logits.copy()
        run.advance(1, measured=False)
        total = total * (step % 3 > 0)
        total += entropy_change.first_order(before, run.logits - before).mean(axis=-1)
        told = run.forecast.base + run.coefficient * run.forecast.per_unit
        # Changes of some 0.01 are read off logits of order 1, which are stored to 1e-16: 1e-14 of them;
        # covariances cancel some hundredfold.
        np.testing.assert_allclose(told, total, rtol=1e-11)
        chosen.append(run.coefficient.tolist())
    assert chosen[0] == chosen[1] == chosen[2] != chosen[3] == chosen[4] == chosen[5]


def test_a_selection_by_the_current_policy_is_made_at_every_step_on_a_batch():
    """One by the policy that sampled is made once."""
    start = np.random.default_rng(3).normal(size=(4, 2, 5))
    changed = {}
    for seen in ("old", "current"):
        rule = get("clip-cov", ratio=0.3, lower=0.02, upper=9.0, cov_log_prob=seen)
        run = Runs(Task.checked(start, PROBLEM.correct, Dynamics(
            rule=rule, steps_per_batch=3, samples=Samples(), learning_rate=6.0, seed=2)))
        run.draw()
        first = run.kept
        run.advance(1, measured=False)
        run.evaluate()
        rows = run.rows()
        own = np.arange(4)[:, None, None]
        now = log_softmax(run.logits)[own, first.state, first.action]
        np.testing.assert_allclose(rows.log_prob, now, rtol=1e-13)
        np.testing.assert_array_equal(rows.old_log_prob, first.log_prob)
        assert rows.step == 1
        selected = first.prepared["clip-cov.selected"]
        if seen == "current":
            selected = rule.prepare(rows.replace(prepared={})).prepared["clip-cov.selected"]
        np.testing.assert_array_equal(rows.prepared["clip-cov.selected"], selected)
        changed[seen] = (selected != first.prepared["clip-cov.selected"]).any()
    assert changed == {"old": False, "current": True}


@pytest.mark.parametrize("column", ["start", "steps"])
def test_logits_that_are_not_finite_are_found_before_and_after_a_step(column):
    """By whoever evaluates a policy, too, and not by the engine's loop alone."""
    run = Runs(Task.checked(np.zeros((1, 1, 5)), PROBLEM.correct, Dynamics(rule=GRPO)))
    if column == "start":
        run.logits[0, 0, 2], run.step = np.inf, 4
        with pytest.raises(ValueError, match="diverged in step 4"):
            run.evaluate()
        return
    run.learning_rate[...] = 1e308
    run.logits[0, 0, 0] = 1.7e308
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"diverged in step [12]"):
        run.advance(2, measured=True)


def test_without_a_controller_there_is_no_target():
    run = Runs(Task.checked(np.zeros((2, 1, 5)), PROBLEM.correct, Dynamics(rule=GRPO)))
    assert np.isnan(run.target(0)).tolist() == [True, True]
    assert run.temperature is None
    assert run.coefficient is None


def test_a_controller_reads_the_entropy_that_its_rule_names():
    """AEnt's the clamped one, others' the whole; averaged over prompts."""
    start = np.random.default_rng(2).normal(size=(3, 2, 5))
    for rule, fraction in ((get("aent", removed_fraction=0.4, warm_up_steps=0), 0.4),
                           (get("entropy-bonus", target=0.9), 0.0)):
        run = Runs(Task.checked(start, PROBLEM.correct, Dynamics(rule=rule)))
        seen = clamped_entropy(start, fraction).mean(axis=-1)
        np.testing.assert_allclose(
            run.coefficient, rule.coefficient_controller().observe(seen), rtol=1e-14)


@pytest.mark.parametrize("rule", [GRPO, get("entropy-bonus", target=0.5, base=GRPO)])
def test_nothing_is_saturated_or_held_where_no_controller_says_so(rule):
    run = simulate(PROBLEM.starts(3, seed=0), PROBLEM.correct, Dynamics(rule=rule, steps=4))
    assert run.saturated.tolist() == run.held.tolist() == [0, 0, 0]


def test_a_tail_is_the_last_sixth_unless_it_is_given():
    """At least one step, and at most all."""
    start = PROBLEM.starts(2, seed=0)
    every = simulate(start, PROBLEM.correct, Dynamics(rule=GRPO, steps=13, record_every=1))
    for steps, tail, length in ((13, 0, 2), (5, 0, 1), (13, 4, 4), (13, 99, 13)):
        run = simulate(start, PROBLEM.correct, Dynamics(rule=GRPO, steps=steps, tail=tail))
        last = every.entropy[steps - length : steps]
        np.testing.assert_allclose(run.tail_entropy, last.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(
            run.tail_reward, every.reward[steps - length : steps].mean(axis=0), rtol=1e-13)
        # The square of a spread is a difference of squares about the first value.
        np.testing.assert_allclose(run.tail_spread, last.std(axis=0), rtol=0, atol=1e-12)


def test_switches_of_the_tail_are_counted_a_run():
    """From the temperature of its first step to that of the step after its last."""
    rule = get("aepo", base=GRPO, temperature_high=2.0, temperature_low=0.5, alpha=3.0)
    run = simulate(
        PROBLEM.starts(5, seed=0), PROBLEM.correct, Dynamics(
            rule=rule, steps=60, record_every=1, tail=40, learning_rate=2.0,
            targets=(0.2, 0.4, 0.5, 0.6, 1.6)))
    changes = (run.temperature[20:60] != run.temperature[21:61]).sum(axis=0)
    assert run.tail_switches.tolist() == changes.tolist()
    assert len(set(changes.tolist())) > 2


def test_steps_are_reported_to_the_last_one_and_records_at_both_ends():
    told = []
    run = simulate(PROBLEM.starts(3, seed=0), PROBLEM.correct,
                   Dynamics(rule=GRPO, steps=450, record_every=1000), progress=told.append)
    assert run.step.tolist() == [0, 450]
    assert sum(told) == 450
    assert max(told) <= 200, "progress is told every 200 steps at least"


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_logits_too_far_apart_for_numbers_are_refused(engine):
    """Each is finite, and their differences are not: entropy was NaN."""
    if engine == "compiled":
        pytest.importorskip("llvmlite")
    dynamics = Dynamics(rule=get("reinforce"), steps=1, engine=engine)
    with pytest.raises(ValueError, match="the logits at the start differ by more than numbers hold"):
        simulate(np.array([[[-1e308, 0.0, 1e308]]]), [[1.0, 1.0, 0.0]], dynamics)
