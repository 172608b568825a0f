"""Guards simulation.py, block.py and recorder.py: blocks, threads, progress and what is counted."""

import os

import numpy as np
import pytest

from entropy_theory.policy import log_softmax
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Samples, simulate, simulation
from simulations.engine.engines import NumpyEngine
from simulations.engine.runs import Runs
from simulations.engine.simulation import BLOCK, blocks, threads
from simulations.engine.task import Task
from simulations.problems import Bandit

GRPO = get("grpo", group_size=8)
PROBLEM = Bandit(n_actions=5, n_correct=2)


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
    (True, 3, 90, [3]), (True, 1, 90, []), (True, 3, 20, []), (False, 3, 90, []),
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


def test_a_tail_without_change_has_no_spread():
    solved = simulate(np.array([[[400.0, 0.0]]]), [[1.0, 0.0]], Dynamics(rule=GRPO, steps=30, tail=20))
    assert solved.tail_spread.tolist() == [0.0]


def test_a_coefficient_at_its_end_is_counted():
    rule = get("entropy-bonus", target=9.0, coefficient_high=0.01)
    run = simulate(PROBLEM.starts(2, seed=0), PROBLEM.correct, Dynamics(rule=rule, steps=20))
    assert run.saturated.tolist() == [21, 21]


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


def test_nothing_is_saturated_or_held_where_no_controller_says_so():
    run = simulate(PROBLEM.starts(3, seed=0), PROBLEM.correct, Dynamics(rule=GRPO, steps=4))
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
