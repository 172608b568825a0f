"""Guards the forecast controller in the simulator: targets are held, followed, or said to be out of
reach.

Learning rate times coefficient stays below 10 at targets that are held and below 4 where they move:
larger steps of a bonus are not first order any more (``extension.entropy-bonus``).
"""


import numpy as np
import pytest

from entropy_theory import policy
from entropy_theory.controllers import EntropyForecast
from entropy_theory.schedules import Points, Sine
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.engines import NumpyEngine
from simulations.engine.task import Task
from simulations.problems import Bandit
from simulations.problems.shared_parameters import coupled_features
from simulations.problems.token_trees import TokenProblem

BANDIT = Bandit(n_actions=20, n_correct=8)
CEILING = np.log(8)
ACTUATORS = {"diverse-bonus": {}, "entropy-bonus": {},
             "aent": {"adaptive": False, "removed_fraction": 0.4}}
BELOW = np.array([0.2, 0.4, 0.7, 1.0])
"""Targets, so many nats below the ceiling: one a run."""
HELD = 1e-4
"""Nats. What forecasts miss, some 0.01 nats at first, is learned to e^(-500/50) of it."""
HORIZON = 10


def rule(name, **options):
    return get(name, target=0.5, hold="forecast", **{
        "coefficient_low": -2.0, "coefficient_high": 2.0, "horizon": float(HORIZON),
        "feedback_horizon": 50.0, **ACTUATORS[name], **options})


def held(name, *, targets=None, schedule=None, start=None, bound=2.0, **changes):
    dynamics = Dynamics(**{
        "rule": rule(name, coefficient_low=-bound, coefficient_high=bound), "steps": 600,
        "record_every": 20, "tail": 100, "learning_rate": 2.0, "engine": "numpy",
        "targets": targets, "target_schedule": schedule, **changes})
    return simulate(BANDIT.starts(4, seed=1) if start is None else start, BANDIT.reward, dynamics)


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name == "entropy-bonus" else pytest.mark.deep) for name in ACTUATORS])
def test_targets_below_the_ceiling_are_held(name):
    """At every one of the last 100 steps, and the reward is earned meanwhile."""
    targets = CEILING - BELOW
    run = held(name, targets=tuple(targets), bound=5.0)
    assert np.abs(run.tail_entropy - targets).max() < HELD
    assert run.tail_spread.max() < HELD
    assert run.reward[-1].min() > 0.999
    assert run.held.max() == 0
    assert run.saturated.max() < 10


def test_the_schedule_of_a_rule_is_that_of_the_dynamics():
    """Where both are given it is the dynamics' that counts, as with targets."""
    schedule, other = Points(points=((200, 1.9), (500, 1.7))), Points(points=((0, 1.2),))
    of_rule = get("diverse-bonus", target_schedule=schedule, hold="forecast")
    ruled = held("diverse-bonus", rule=of_rule, steps=60)
    given = held("diverse-bonus", rule=get("diverse-bonus", target=0.1, hold="forecast"),
                 schedule=schedule, steps=60)
    both = held("diverse-bonus", rule=get("diverse-bonus", target_schedule=other, hold="forecast"),
                schedule=schedule, steps=60)
    np.testing.assert_array_equal(ruled.entropy, given.entropy)
    np.testing.assert_array_equal(ruled.entropy, both.entropy)


def test_the_schedule_of_an_integral_rule_moves_in_compiled_code_as_in_numpy():
    """Its target once stood still there, at NaN."""
    options = {"coefficient_step": 0.02, "coefficient_low": -1.0}
    moving = get("entropy-bonus", target_schedule=Sine(middle=1.0, amplitude=0.4, period=80.0), **options)
    numpy, compiled = (held("entropy-bonus", rule=moving, engine=engine, steps=200)
                       for engine in ("numpy", "compiled"))
    still = held("entropy-bonus", rule=get("entropy-bonus", target=1.0, **options), steps=200)
    assert np.abs(numpy.entropy - still.entropy).max() > 0.05
    np.testing.assert_allclose(compiled.entropy, numpy.entropy, atol=1e-9)


@pytest.mark.deep
def test_a_target_out_of_reach_is_reported():
    """Above the ceiling every right answer is as likely as the others, and that is too little."""
    run = held("diverse-bonus", targets=(CEILING - 0.2, CEILING + 0.05, CEILING + 0.2, CEILING + 0.5))
    assert run.saturated[0] + run.held[0] == 0
    assert (run.saturated[1:] + run.held[1:] > 400).all()
    assert (run.saturated[1:] > 50).all()
    assert (run.tail_entropy[1:] < CEILING + 0.01).all()
    np.testing.assert_array_equal(run.coefficient[-1, 1:], 2.0)


OFFSETS = (0.3, 0.1, -0.1, -0.3)
PROMPTS = Bandit(n_actions=10, n_correct=6, accuracies=(0.5, 0.5, 0.6, 0.6))


def of_prompts(name, gain, hold=None, **changes):
    """Entropies of four prompts, [runs, prompts], after training; the mean target is 1.1 nats."""
    start = PROMPTS.starts(2, seed=4)
    dynamics = Dynamics(**{
        "rule": get(name, target=1.1, prompt_gain=gain, coefficient_low=-5.0, coefficient_high=5.0,
                    **{"hold": "forecast", **ACTUATORS[name], **(hold or {})}),
        "steps": 500, "learning_rate": 2.0, "engine": "numpy",
        "target_offsets": OFFSETS if gain else None, **changes})
    found = simulate(start, PROMPTS.reward, dynamics)
    return policy.entropy(found.final_logits)


@pytest.mark.deep
def test_each_prompt_is_held_at_a_target_of_its_own():
    """What is left of a distance falls with the gain. With one coefficient prompts go their own ways."""
    wanted = 1.1 + np.array(OFFSETS)
    one, some, more = (
        np.abs(of_prompts("diverse-bonus", gain) - wanted).max() for gain in (0.0, 1.0, 4.0))
    assert one > 0.5
    assert some < 0.1
    assert more < 0.6 * some


def test_a_compiled_engine_holds_each_prompt_as_numpy_does():
    found, expected = (
        of_prompts("diverse-bonus", 4.0, {"hold": "integral", "coefficient_step": 0.02}, engine=engine)
        for engine in ("compiled", "numpy"))
    assert np.abs(expected - 1.1 - np.array(OFFSETS)).max() < 0.05
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


# ------------------------------------------------------------------ the forecast itself


WORLDS = {"bandit": (Bandit(n_actions=6, n_correct=3), None),
          "shared parameters": (Bandit(n_actions=6, n_correct=3, accuracies=(0.2, 0.5)), 0.5),
          "tree": (TokenProblem(n_tokens=3, horizon=3, n_correct=4, accuracies=(0.3, 0.6)), None)}


def told_and_measured(world, name, coefficient, rate):
    """One step's forecast and its measured change, the visits of states kept: [runs]."""
    problem, coupling = WORLDS[world]
    start = problem.starts(2, seed=3)
    features = None if coupling is None else coupled_features(*start.shape[1:], coupling, rank=3)
    reward = problem.reward if isinstance(problem, Bandit) else problem.correct
    dynamics = Dynamics(rule=rule(name, coefficient=coefficient), learning_rate=rate, steps=1)
    task = Task.checked(start, reward, dynamics, tree=getattr(problem, "tree", None), features=features)
    block = NumpyEngine(task=task).block(slice(0, 2))
    shares = block.token_shares().reshape(2, -1).copy() / block.n_prompts
    before = (shares * block.entropy).sum(axis=-1)
    block.advance(1, measured=False)
    told: EntropyForecast = block.forecast
    block.evaluate()
    return told.base + coefficient * told.per_unit, (shares * block.entropy).sum(axis=-1) - before


@pytest.mark.parametrize(("name", "coefficient"), list(
    zip(ACTUATORS, (0.4, -0.8, 0.0), strict=True)))
@pytest.mark.parametrize("world", WORLDS)
def test_the_forecast_is_the_change_to_first_order(world, name, coefficient):
    """Halving the step takes the error down to a quarter."""
    errors = []
    for rate in (2e-3, 1e-3):
        told, measured = told_and_measured(world, name, coefficient, rate)
        assert np.abs(measured).max() > 20 * np.abs(told - measured).max()
        errors.append(np.abs(told - measured))
    np.testing.assert_allclose(errors[1], errors[0] / 4, rtol=0.05)
