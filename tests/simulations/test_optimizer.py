"""Optimizers: torch.optim's, step for step, in every engine."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Samples, simulate
from simulations.engine.optimizer import Adam, AdamW, Sgd
from simulations.problems import Bandit
from simulations.problems.shared_parameters import coupled_features
from simulations.problems.token_trees import TokenProblem
from tests.daily import one_in

RATE, STEPS = 0.05, 200
TORCHS = {
    "sgd": (Sgd(), "SGD", {}),
    "momentum": (Sgd(momentum=0.9, weight_decay=0.02), "SGD", {"momentum": 0.9, "weight_decay": 0.02}),
    "dampened": (Sgd(momentum=0.8, dampening=0.4), "SGD", {"momentum": 0.8, "dampening": 0.4}),
    "nesterov": (Sgd(momentum=0.8, nesterov=True), "SGD", {"momentum": 0.8, "nesterov": True}),
    "decay": (Sgd(weight_decay=0.1), "SGD", {"weight_decay": 0.1}),
    "adam": (Adam(betas=(0.8, 0.95), weight_decay=0.03), "Adam",
             {"betas": (0.8, 0.95), "weight_decay": 0.03}),
    "adamw": (AdamW(), "AdamW", {}),
    "no mean": (AdamW(betas=(0.0, 0.99), eps=1e-3, weight_decay=0.2), "AdamW",
                {"betas": (0.0, 0.99), "eps": 1e-3, "weight_decay": 0.2}),
}


def torch_steps(name, options, start, gradients):
    torch = pytest.importorskip("torch")
    parameters = torch.nn.Parameter(torch.tensor(start))
    optimizer = getattr(torch.optim, name)([parameters], lr=RATE, **options)
    for gradient in gradients:
        parameters.grad = torch.tensor(gradient)
        optimizer.step()
        yield parameters.detach().numpy().copy()


@pytest.mark.parametrize("name", TORCHS)
def test_each_step_is_torchs(name):
    """200 steps in float64, whose gradients span ten orders of magnitude and are 0 now and then."""
    ours, theirs, options = TORCHS[name]
    rng = np.random.default_rng(3)
    start = rng.normal(size=(2, 3, 5))
    gradients = rng.normal(size=(STEPS, 2, 3, 5)) * 10.0 ** rng.integers(-8, 3, size=(2, 3, 5))
    gradients[::7] = 0
    parameters, moments = start, [np.zeros_like(start) for _ in range(ours.n_moments)]
    for taken, (gradient, expected) in enumerate(
            zip(gradients, torch_steps(theirs, options, start, gradients), strict=True)):
        update, moments = ours.update(-gradient, parameters, moments, taken)
        parameters = parameters + RATE * update
        np.testing.assert_allclose(parameters, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["momentum", "nesterov", "adam", "adamw"])
def test_a_run_is_torchs_on_the_gradient_of_the_expected_reward(name):
    """What the simulator trains is the policy that torch trains by automatic differentiation."""
    torch = pytest.importorskip("torch")
    ours, theirs, options = TORCHS[name]
    start, reward = np.random.default_rng(1).normal(size=(3, 2, 4)), np.arange(4.0) / 3
    run = simulate(start, reward, Dynamics(
        rule=get("reinforce"), optimizer=ours, learning_rate=RATE, steps=STEPS, engine="numpy"))
    logits = torch.nn.Parameter(torch.tensor(start))
    optimizer = getattr(torch.optim, theirs)([logits], lr=RATE, **options)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (-(torch.softmax(logits, -1) * torch.tensor(reward)).sum(-1).mean(-1).sum()).backward()
        optimizer.step()
    np.testing.assert_allclose(run.final_logits, logits.detach().numpy(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["momentum", "adamw"])
def test_shared_parameters_are_what_the_optimizer_moves(name):
    """Logits = start + features theta: moments, decay and division are those of theta."""
    torch = pytest.importorskip("torch")
    ours, theirs, options = TORCHS[name]
    start, reward = np.random.default_rng(1).normal(size=(2, 2, 3)), np.array([1.0, 0.0, 0.5])
    features = coupled_features(2, 3, 0.4, rank=2)
    run = simulate(start, reward, Dynamics(
        rule=get("reinforce"), optimizer=ours, learning_rate=RATE, steps=100), features=features)
    theta = torch.nn.Parameter(torch.zeros(2, features.shape[1], dtype=torch.float64))
    optimizer = getattr(torch.optim, theirs)([theta], lr=RATE, **options)
    for _ in range(100):
        optimizer.zero_grad()
        logits = torch.tensor(start) + (theta @ torch.tensor(features).T).reshape(2, 2, 3)
        (-(torch.softmax(logits, -1) * torch.tensor(reward)).sum(-1).mean(-1).sum()).backward()
        optimizer.step()
    np.testing.assert_allclose(run.final_logits, logits_of(start, features, theta), rtol=0, atol=1e-9)


def logits_of(start, features, theta):
    return start + (theta.detach().numpy() @ features.T).reshape(start.shape)


ROUNDING = {"adam": 1e-7, "adamw": 1e-7, "no mean": 1e-10}
"""Adam divides by the root of the mean square plus eps: rounding of 1e-16 in a gradient that is nearly 0
becomes up to RATE 1e-16 / eps a step, 5e-10 with eps 1e-8, over 60 steps. Others keep 1e-10."""


@pytest.mark.parametrize(("rule", "samples"), [
    ("grpo", None), ("aepo", Samples(group_size=6, tempered=4))], ids=["exact", "sampled"])
@pytest.mark.parametrize("name", one_in(2, [*TORCHS][1:]))
def test_the_compiled_engine_takes_numpys_steps(name, rule, samples):
    pytest.importorskip("llvmlite")
    problem = Bandit(n_actions=6, n_correct=2, accuracies=(0.1, 0.5))
    start = problem.starts(5, seed=0)
    dynamics = Dynamics(
        rule=get(rule, **({"target": 0.9} if rule == "aepo" else {})), optimizer=TORCHS[name][0],
        samples=samples, learning_rate=RATE, steps=60, record_every=17, seed=2)
    compiled, numpy = (simulate(start, problem.reward, dataclasses.replace(dynamics, engine=engine))
                       for engine in ("compiled", "numpy"))
    plain = simulate(start, problem.reward, dataclasses.replace(dynamics, optimizer=Sgd()))
    np.testing.assert_allclose(compiled.final_logits, numpy.final_logits, rtol=0,
                               atol=ROUNDING.get(name, 1e-10))
    assert np.abs(plain.final_logits - numpy.final_logits).max() > 0.01


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_blocks_of_runs_keep_moments_of_their_own(engine):
    """Runs that are cut off another simulation go where they went in it."""
    pytest.importorskip("llvmlite")
    problem = Bandit(n_actions=4, n_correct=1)
    start = problem.starts(6, seed=0)
    dynamics = Dynamics(rule=get("grpo"), optimizer=Adam(), samples=Samples(), learning_rate=RATE,
                        steps=40, engine=engine)
    whole = simulate(start, problem.reward, dynamics)
    part = simulate(start[2:5], problem.reward, dynamics.take_runs(6, slice(2, 5)))
    np.testing.assert_allclose(part.final_logits, whole.final_logits[2:5], rtol=0, atol=1e-9)


def test_in_single_precision_moments_are_single_too():
    problem = Bandit(n_actions=6, n_correct=2)
    dynamics = Dynamics(rule=get("grpo"), optimizer=Adam(), learning_rate=RATE, steps=30)
    found, expected = (
        simulate(problem.starts(3, seed=0), problem.reward, dataclasses.replace(
            dynamics, precision=precision)).final_logits for precision in ("float32", "float64"))
    assert 0 < np.abs(found - expected).max() < 1e-3


def test_trees_and_several_steps_on_a_batch_take_optimizers_too():
    problem = TokenProblem(n_tokens=3, horizon=2, n_correct=2, accuracies=(0.3,))
    logits = problem.starts(2, seed=0)
    for samples, steps_per_batch in ((None, 1), (Samples(), 2)):
        dynamics = Dynamics(rule=get("grpo"), optimizer=Sgd(momentum=0.5), samples=samples, steps=2,
                            steps_per_batch=steps_per_batch, learning_rate=0.1)
        moved = [logits] + [
            simulate(logits, problem.correct, dataclasses.replace(dynamics, steps=steps),
                     tree=problem.tree).final_logits for steps in (1, 2)]
        plain = simulate(moved[1], problem.correct, dataclasses.replace(
            dynamics, optimizer=Sgd(), steps=1), tree=problem.tree).final_logits - moved[1]
        if samples is None:  # (A second step on samples has the first one's old policy.)
            np.testing.assert_allclose(
                moved[2] - moved[1], 0.5 * (moved[1] - moved[0]) + plain, rtol=0, atol=1e-14)
        assert np.abs(moved[2] - moved[1]).max() > np.abs(moved[1] - moved[0]).max()


FORECAST = get("entropy-bonus", target=0.9, hold="forecast", coefficient_low=-2.0, coefficient_high=2.0,
               horizon=5.0, feedback_horizon=10.0)


def test_a_coefficient_held_by_forecasts_counts_the_momentum():
    """The forecast of a step with momentum: what the logits will do, not the gradient alone."""
    problem = Bandit(n_actions=6, n_correct=2)
    dynamics = Dynamics(rule=FORECAST, learning_rate=RATE, steps=200, record_every=50)
    for optimizer, rate in ((Sgd(), RATE), (Sgd(momentum=0.8), RATE / 5)):
        run = simulate(problem.starts(4, seed=0), problem.reward, dataclasses.replace(
            dynamics, optimizer=optimizer, learning_rate=rate))
        np.testing.assert_allclose(run.entropy[-1], 0.9, atol=0.02)
