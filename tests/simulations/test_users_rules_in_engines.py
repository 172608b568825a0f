"""Users' rules that a compiled engine could take for another rule: equal to NumPy's runs, or refused."""

from dataclasses import field
from typing import Any

import numpy as np
import pytest

from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.update_rules.rule import Needs, UpdateRule, per_run, update_rule
from simulations.engine import Dynamics, Samples, simulate
from simulations.engine.task import Task

pytest.importorskip("llvmlite")

from simulations.engine.block import RefusedError
from simulations.engine.traced import traced_runs

N_RUNS, N_ACTIONS = 6, 5
FACTOR = {"factor": 1.0}
REWARD = np.arange(N_ACTIONS) < 2


def rounding(steps):
    """What the engines may differ by: they add in another order.

    A step rounds some ten numbers of the size of a logit, up to 8, by half a unit in the last place each.
    """
    return 10 * steps * 8 * np.finfo(float).eps / 2


def starts(n_states=1):
    return np.random.default_rng(3).normal(size=(N_RUNS, n_states, N_ACTIONS))


def final(rule, engine, start=None, **dynamics):
    dynamics = Dynamics(rule=rule, engine=engine, **{"steps": 60, "learning_rate": 0.5} | dynamics)
    return simulate(starts() if start is None else start, REWARD, dynamics).final_logits


@update_rule("scaled")
class Scaled(UpdateRule):
    """Times an option that does not count for equality, and times a constant of its module."""

    _needs = Needs(reads=NOTHING)
    scale: float = field(default=1.0, compare=False)

    def _scores(self, batch):
        return batch.reward * self.scale * FACTOR["factor"]


@update_rule("until-solved")
class UntilSolved(UpdateRule):
    """Stops where the mean reward of the batch is above a threshold."""

    _needs = Needs(reads=NOTHING)
    threshold: Any = 0.9

    def _scores(self, batch):
        xp = namespace(batch.log_prob)
        total = xp.sum(batch.weight, axis=(-2, -1), keepdims=True)
        mean = xp.sum(batch.weight * batch.reward, axis=(-2, -1), keepdims=True) / total
        return xp.where(mean < per_run(self.threshold, mean), batch.reward, 0 * batch.reward)


@update_rule("users")
class Users(UpdateRule):
    """A rule of one function, which declares nothing."""

    function: Any = None

    def _scores(self, batch):
        return self.function(batch)


def test_no_trace_is_kept_of_what_may_have_changed(monkeypatch):
    """Rules that compare equal, and code that reads a global: the first rule's steps were taken again."""
    first = final(Scaled(), "compiled")
    for scale, factor in ((3.0, 1.0), (1.0, 2.0)):
        monkeypatch.setitem(FACTOR, "factor", factor)
        rule = Scaled(scale=scale)
        expected = final(rule, "numpy")
        np.testing.assert_allclose(final(rule, "compiled"), expected, rtol=0, atol=rounding(60))
        assert np.abs(expected - first).max() > 0.1


def test_options_by_run_of_a_users_rule_are_not_taken_for_scales():
    """Only 29 right answers of 40 tell the runs apart: all were given one run's scores."""
    rule = UntilSolved(threshold=tuple(np.linspace(0.71, 0.74, N_RUNS)))
    options = {"samples": Samples(group_size=40), "steps": 200}
    found = final(rule, "compiled", **options)
    np.testing.assert_allclose(found, final(rule, "numpy", **options), rtol=0, atol=rounding(200))


def asks_for_the_type(batch):
    return batch.reward if isinstance(batch.log_prob, np.ndarray) else -batch.reward


def catches(batch):
    try:
        level = np.quantile(batch.log_prob, 0.3, axis=(-2, -1), keepdims=True)
    except Exception:
        level = -1.0
    return np.where(batch.log_prob < level, 0 * batch.reward, batch.reward)


@pytest.mark.parametrize("function", [asks_for_the_type, catches])
def test_a_rule_that_tells_arrays_apart_is_not_traced(function):
    """It was compiled as what it does with arrays that are not NumPy's."""
    with pytest.raises(RefusedError, match="not NumPy's"):
        traced_runs.of(Task.checked(starts(), REWARD, Dynamics(rule=Users(function=function))))


def fades_if_an_integer(batch):
    return batch.reward * (1 / (1 + batch.step) if isinstance(batch.step, int) else 1.0)


def by_a_part(batch):
    xp = namespace(batch.log_prob)
    large = xp.exp(-200 * batch.log_prob)  # infinite below probabilities of 3 %
    if xp.all(xp.isfinite(large[:, :1])):
        return xp.where(xp.isfinite(large), batch.reward, -batch.reward)
    return batch.reward


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("function", [fades_if_an_integer, by_a_part])
def test_conditions_of_a_trace_are_those_of_numpy(function):
    """The step is an int to those who ask; that a part of a column is finite says nothing of the rest."""
    rule = Users(function=function)
    start = 0.3 * starts()[:1]  # (A condition on one run: NumPy's is on all of a block.)
    found = final(rule, "compiled", start, steps=200)
    np.testing.assert_allclose(found, final(rule, "numpy", start, steps=200), rtol=0, atol=1e-9)
