"""Vectors along the actions of a run, of long states and of few runs: the same runs as NumPy's."""

import dataclasses
import math

import numpy as np
import pytest

from entropy_theory.policy import entropy
from entropy_theory.update_rules import combine, get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.problems import Bandit
from tests.tolerances import FLOAT64

pytest.importorskip("llvmlite")

from simulations.engine.traced import traced_runs

GRPO = get("grpo")
RULES = {
    "reinforce": get("reinforce"),
    "grpo": GRPO,
    "bonus": get("aepo", target=3.0, base=get("entropy-bonus", coefficient=0.05, base=GRPO)),
    "sum": combine(get("reinforce"), get("aepo", base=GRPO)),
    "kl": get("reference-kl", coefficient=0.1, base=GRPO),
    "shaped": get("entropy-advantage", base=GRPO),
}
CASES = [(3, 1, 2, "grpo"), (1, 1, 8, "bonus"), (3, 2, 60, "sum"), (37, 1, 65, "reinforce"),
         (5, 1, 512, "kl"), (4, 2, 513, "bonus"), (1, 1, 3001, "shaped"), (2, 1, 4096, "grpo")]
"""Runs, states, actions: about the lengths where sums, draws and vectors are written another way."""
COLUMNS = ("final_logits", "entropy", "reward", "temperature", "coefficient", "tail_entropy",
           "tail_reward", "tail_spread", "tail_switches")


def both(start, reward, dynamics):
    return [simulate(start, reward, dataclasses.replace(dynamics, engine=engine))
            for engine in ("numpy", "compiled")]


def assert_same(numpys, found, atol=1e-10):
    for name in COLUMNS:
        np.testing.assert_allclose(
            getattr(found, name), getattr(numpys, name), rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize(("place", "n_runs", "n_states", "n_actions", "rule"), [
    (place, *case) for place, case in enumerate(CASES)])
def test_runs_are_numpys(place, n_runs, n_states, n_actions, rule):
    """Rounding is 1e-16 a step. Learning rates are one a run; right answers come first, then anywhere."""
    generator = np.random.default_rng(n_actions)
    start = generator.normal(size=(n_runs, n_states, n_actions))
    for right in (np.arange(n_actions) < max(2, n_actions // 5), generator.random(n_actions) < 0.3):
        dynamics = Dynamics(
            rule=RULES[rule], steps=60, record_every=25, tail=20, seed=5,
            samples=Samples(group_size=5, tempered=9) if place % 2 else None,
            learning_rate=tuple(np.linspace(0.3, 2.0, n_runs).tolist()))
        assert_same(*both(start, right, dynamics))


@pytest.mark.parametrize("samples", [None, Samples(group_size=4, tempered=3)], ids=["exact", "sampled"])
def test_graded_rewards_of_each_run_from_any_start(samples):
    """Ties at the start, and gaps of tens of nats."""
    shape = (2, 2, 70)
    generator = np.random.default_rng(8)
    for scale in (0.0, 1.0, 8.0):
        start = generator.normal(scale=scale, size=shape)
        reward = generator.integers(0, 3, size=shape) / 2
        dynamics = Dynamics(rule=RULES["bonus"], steps=60, record_every=50, samples=samples)
        found, compiled = both(start, reward, dynamics)
        # Of the rarest reward, of probability q = e^-gap, a normed group's scores are 1 / sqrt(q). As
        # 1 - p it is known to 1e-16 only: a step is off by that over sqrt(q) (27 nats: 1.6e-10).
        gap = float(np.ptp(found.final_logits, axis=-1).max())
        assert_same(found, compiled, max(1e-10, 60 * 0.5 * FLOAT64 * math.exp(gap / 2)))


@pytest.mark.parametrize("n_actions", [12, 1200])
def test_entropy_keeps_its_digits_at_collapse(n_actions):
    """A gap of 700 nats leaves an entropy of 1e-301."""
    start = np.zeros((3, 1, n_actions))
    start[:, 0, 5] = 1.0, 100.0, 700.0
    run = simulate(start, np.arange(n_actions) < 3, Dynamics(
        rule=get("reinforce"), learning_rate=1e-300, steps=1, tail=1, engine="compiled"))
    np.testing.assert_allclose(run.tail_entropy, entropy(start)[:, 0], rtol=4e-15)


def test_the_largest_logit_may_change_hands():
    """A wrong answer far ahead, and steps so large that right ones overtake it within a few."""
    start = np.zeros((3, 1, 600))
    start[:, 0, 150] = [2.0, 5.0, 6.0]
    assert_same(*both(start, np.arange(600) < 2, Dynamics(rule=GRPO, learning_rate=8.0, steps=60)))


@pytest.mark.parametrize("n_actions", [10, 700])
def test_float32_logits_are_float32_and_near_the_others(n_actions):
    """200 steps of at most 1/2, each rounded at 2^-24 of logits below 8."""
    problem = Bandit(n_actions=n_actions, n_correct=3)
    dynamics = Dynamics(rule=GRPO, steps=200, engine="compiled", precision="float32")
    start = problem.starts(3, seed=0)
    found = simulate(start, problem.correct, dynamics).final_logits
    np.testing.assert_array_equal(found, found.astype(np.float32))
    expected = simulate(
        start, problem.correct, dataclasses.replace(dynamics, precision="float64")).final_logits
    np.testing.assert_allclose(found, expected, atol=200 * 8 * 2.0**-24)
    assert not np.array_equal(found, expected)


# ------------------------------------------------------------------------------- what makes it fast


def test_code_is_kept_for_the_same_task_alone(monkeypatch):
    """A second call does not trace; another option, reward, seed or rule of a user's is traced."""
    traced = []
    plain = traced_runs.traced_step
    monkeypatch.setattr(
        traced_runs, "traced_step", lambda *a, **k: traced.append(1) or plain(*a, **k))
    monkeypatch.setattr(traced_runs, "_KEPT", {})
    start, right = np.zeros((2, 1, 5)), np.arange(5) < 2
    dynamics = Dynamics(rule=get("aepo", alpha=0.5), steps=5, engine="compiled", samples=Samples())
    changes = [({}, right), ({"steps": 9, "record_every": 3}, right), ({"seed": 2}, right),
               ({"rule": get("aepo", alpha=0.6)}, right), ({}, ~right), ({"first_run": 1}, right)]
    for i, (change, reward) in enumerate(changes):
        given = dataclasses.replace(dynamics, **change)
        found, expected = (simulate(start + i, reward, dataclasses.replace(given, engine=engine))
                           for engine in ("compiled", "numpy"))
        assert_same(expected, found)
    assert len(traced) == 5


def test_code_is_not_kept_for_another_reference(monkeypatch):
    """The policy at the start, which is the reference, is a constant of the code."""
    monkeypatch.setattr(traced_runs, "_KEPT", {})
    dynamics = Dynamics(rule=RULES["kl"], steps=20)
    for scale in (1.0, 3.0):
        start = scale * np.random.default_rng(5).normal(size=(2, 1, 5))
        assert_same(*both(start, np.arange(5) < 2, dynamics))
