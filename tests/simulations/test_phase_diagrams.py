"""Guards experiment phase_diagrams: the lines that theory draws."""

import dataclasses

import numpy as np
import pytest

from entropy_theory import tabular
from entropy_theory.policy import entropy
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.experiments import phase_diagrams as experiment
from simulations.problems import Bandit


@pytest.mark.parametrize("n_correct", [1, 3])
@pytest.mark.parametrize("coefficient", [0.2, 0.5, 1.5])
def test_the_fixed_point_of_a_bonus_is_one(n_correct, coefficient):
    """There the exact step of GRPO with the bonus vanishes; at a tenth more of the bonus it does not."""
    accuracy, entropy = experiment.bonus_fixed_point(coefficient, 10, n_correct, 8)
    right = np.arange(10) < n_correct
    probabilities = np.where(right, accuracy / n_correct, (1 - accuracy) / (10 - n_correct))
    assert entropy == pytest.approx(-np.sum(probabilities * np.log(probabilities)), abs=1e-9)
    sizes = []
    for factor in (1.0, 1.1):
        rule = get("entropy-bonus", coefficient=factor * coefficient, base=get("grpo", group_size=8))
        logits = np.log(probabilities)[None, None]
        batch = tabular.exact_batch(logits, right.astype(float))
        sizes.append(np.abs(tabular.logit_step(logits, batch, rule)).max())
    assert 1e4 * sizes[0] < sizes[1]


def test_at_the_explosion_line_the_fixed_point_has_a_tenth_wrong():
    line = experiment.explosion_coefficient(20, 4, 8)
    assert experiment.bonus_fixed_point(line, 20, 4, 8)[0] == pytest.approx(0.9, abs=1e-9)
    collapse = experiment.collapse_coefficient(20, 8)
    assert experiment.bonus_fixed_point(collapse, 20, 1, 8)[1] == pytest.approx(0.05, abs=1e-9)


def test_chatter_is_that_of_a_switch_between_two_moves():
    """A number that moves up by u below 0 and down by d above it fills [-d, u) evenly."""
    up, down = np.sqrt(2) / 10, 0.2 / np.sqrt(3)
    x, visited = 0.03, []
    for _ in range(20000):
        x += up if x < 0 else -down
        visited.append(x)
    expected = float(experiment.chatter(np.asarray(up), np.asarray(down)))
    # 20,000 points of an irrational rotation: equidistributed to about 1e-3.
    assert np.sqrt(np.mean(np.square(visited))) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("n_correct", [2, 8])
def test_predicted_chatter_is_that_of_a_run_on_the_solved_face(n_correct):
    """All answers right, the start heated to the target: the second batch is alone."""
    config = dataclasses.replace(
        experiment.PROFILES["smoke"], right_answers=(n_correct,), temperatures=(1.2,), alphas=(0.5,),
        n_starts=1, steps=20)
    dataset = experiment._aepo_plane(config, 0, lambda steps: None)
    logits = Bandit(n_actions=config.n_actions, n_correct=n_correct).starts(1, 0)[..., :n_correct]
    target = experiment.TARGET * np.log(n_correct)
    heats = np.exp(np.linspace(-8, 8, 4001))
    heat = heats[abs(entropy(logits[0], heats[:, None]) - target).argmin()]
    run = simulate(logits / heat, np.ones(n_correct, dtype=bool), Dynamics(
        rule=get("aepo", alpha=0.5, target=target), learning_rate=1.0, steps=600, record_every=1))
    deviation = np.sqrt(np.mean((run.entropy[100:] - target) ** 2)) / np.log(n_correct)
    # The policy is not merely heated as it goes, which moves its speeds by some percent.
    assert dataset.aepo_predicted_deviation.item() == pytest.approx(deviation, rel=0.15)


def test_revival_line_is_no_more_than_is_needed():
    """Two right answers 6 nats apart: at the line's alpha N steps at T have not closed the gap."""
    gap, temperature, rate, steps = 6.0, 1.6, 0.5, 200
    for factor, revived in ((1.0, False), (4.0, True)):
        alpha = factor * experiment.revival_alpha(np.asarray(gap), temperature, rate, steps)
        left = gap
        for _ in range(steps):
            left -= rate * alpha * (np.tanh(left / 2) - np.tanh(left / 2 / temperature))
        assert (left < 1.0) == revived
