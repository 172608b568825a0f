"""Guards experiment collapse: the exponents, the speeds, and what is left among right answers."""

import dataclasses
import math

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.experiments import collapse as experiment
from simulations.problems import Bandit

EXACT = ("PG", "GRPO", "GRPO, infinite group", "REINFORCE++, infinite batch")

pytestmark = pytest.mark.usefixtures("compiled_early")


@pytest.fixture(scope="module")
def dataset():
    config = dataclasses.replace(
        experiment.PROFILES["default"], n_starts=3, stages=((20, 1), (180, 10), (800, 20)))
    return experiment.compute(config, 0, lambda steps: None)


def test_exponents_are_those_predicted(dataset):
    """A missing kappa, or one that does not tend to sqrt(G - 1), changes exponent or speed."""
    one = dataset.sel(right_answers=1, algorithm=list(EXACT))
    # Of order log(t)/t: the start and the unequal wrong answers are not yet forgotten.
    assert (abs(one.exponent - one.predicted_exponent) < 0.03).all()
    grpo = dataset.speed.sel(right_answers=1, algorithm="GRPO")
    np.testing.assert_allclose(grpo, math.sqrt(7), rtol=0.01)


def test_natural_gradient_falls_exponentially_and_keeps_the_odds_of_right_answers(dataset):
    np.testing.assert_allclose(dataset.natural_rate, 1.0, rtol=1e-9)
    natural = dataset.within_right.sel(right_answers=4, algorithm="NPG").dropna("step")
    np.testing.assert_allclose(natural, natural.isel(step=[0] * natural.sizes["step"]).values,
                               rtol=1e-12)
    others = dataset.within_right.sel(right_answers=4).drop_sel(algorithm="NPG")
    assert (others.isel(step=-1) < 0.2 * others.isel(step=0)).all()


def test_sampled_algorithms_have_the_speed_of_their_expectation(dataset):
    """Three starts scatter; sqrt(31), sqrt(7) and 1 are far enough apart."""
    speed = dataset.speed.sel(right_answers=1).mean("start")
    predicted = dataset.predicted_speed
    for name in ("REINFORCE, sampled", "RLOO, sampled", "GRPO, sampled", "REINFORCE++, sampled"):
        ratio = float(speed.sel(algorithm=name) / predicted.sel(algorithm=name))
        assert 0.6 < ratio < 1.6, name
    exponent = dataset.exponent.sel(right_answers=1).mean("start")
    sampled = exponent.sel(algorithm=[n for n in exponent.algorithm.values if "sampled" in n])
    assert (abs(sampled + 1) < 0.3).all()


def test_a_baseline_keeps_more_of_several_right_answers(dataset):
    within = dataset.within_right.sel(right_answers=4).isel(step=-1).mean("start")
    assert within.sel(algorithm="RLOO, sampled") > 1.5 * within.sel(algorithm="REINFORCE, sampled")


@pytest.mark.parametrize(("estimator", "moves"), [("reward", True), ("leave-one-out", False)])
def test_noise_alone_sharpens_a_solved_prompt_without_a_baseline(estimator, moves):
    problem = Bandit(n_actions=4, n_correct=4)
    run = simulate(
        problem.starts(20, seed=0), problem.correct,
        Dynamics(rule=get("reinforce", estimator=estimator), learning_rate=1.0, steps=200,
                 samples=Samples(group_size=8)),
    )
    lost = run.entropy[0] - run.entropy[-1]
    assert (lost.mean() > 0.3) if moves else np.all(lost == 0)
