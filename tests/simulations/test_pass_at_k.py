"""Guards experiment pass_at_k: RLOO as it is run there."""

import numpy as np

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.experiments import pass_at_k as experiment
from simulations.problems.bandits import Bandit, shuffled


def test_leave_one_out_is_the_centered_reward_times_g_over_g_minus_one():
    config = experiment.Config()
    logits, correct = shuffled(
        Bandit(n_actions=config.n_actions, n_correct=4, accuracies=(0.01, 0.1, 0.7)), 4, 0, 4)
    ends = [
        simulate(logits, correct,
                 Dynamics(rule=get("reinforce", estimator=estimator), learning_rate=rate, steps=20,
                          samples=Samples(group_size=8), seed=3)).final_logits
        for estimator, rate in (("leave-one-out", 7.0), ("group-centered", 8.0))
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
