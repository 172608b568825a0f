"""Guards engines.py: which engine a task is given, and what is said where it is not a compiled one."""

import logging

import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, engines
from simulations.engine.block import RefusedError
from simulations.engine.engines import NumpyEngine, engine_for
from simulations.engine.task import Task
from simulations.problems import Bandit

STEP = 4e-4
"""Seconds of NumPy that a step of a small task is taken for."""


def task(steps, engine="auto", runs=1, n_actions=5):
    problem = Bandit(n_actions=n_actions, n_correct=2)
    return Task.checked(problem.starts(runs, seed=0), problem.correct,
                        Dynamics(rule=get("grpo"), steps=steps, engine=engine))


@pytest.fixture
def asked(monkeypatch):
    """The tasks that a compiled engine was asked about; one of 13 runs is refused."""
    found = []

    def made_ready(one):
        found.append(one)
        if one.n_runs == 13:
            raise RefusedError("13 runs")
        return "compiled"

    monkeypatch.setattr(engines.traced_runs, "of", made_ready)
    monkeypatch.setattr(engines, "_said", set())
    return found


def test_numpy_is_taken_where_it_is_asked_for_or_is_done_at_once(asked):
    for one in (task(10**6, "numpy"), task(1), task(int(0.4 / STEP))):
        assert engine_for(one) == NumpyEngine(task=one)
    assert asked == []
    assert not NumpyEngine(task=one).in_parallel


def test_a_compiled_engine_is_taken_where_it_is_asked_for_or_pays(asked):
    for one in (task(1, "compiled"), task(int(0.6 / STEP))):
        assert engine_for(one) == "compiled"
    assert len(asked) == 2


def test_large_steps_count_for_more(asked):
    """A step on 10^5 logits takes three times as long as a small one."""
    assert engine_for(task(500, runs=100, n_actions=1000)) == "compiled"
    assert isinstance(engine_for(task(500)), NumpyEngine)


def test_a_refusal_is_an_error_where_compiled_is_asked_for(asked):
    with pytest.raises(ValueError, match="engine 'compiled' cannot simulate 'grpo' here: 13 runs; use"):
        engine_for(task(1, "compiled", runs=13))
    assert len(asked) == 1


def test_a_long_task_that_is_refused_runs_on_numpy_and_says_so_once(asked, caplog):
    caplog.set_level(logging.WARNING, logger=engines.__name__)
    short, long = (task(int(seconds / STEP), runs=13) for seconds in (4.0, 6.0))
    assert engine_for(short) == NumpyEngine(task=short)
    assert caplog.messages == []
    for _ in range(2):
        assert engine_for(long) == NumpyEngine(task=long)
    assert caplog.messages == ["'grpo' runs on NumPy, not compiled: 13 runs"]
