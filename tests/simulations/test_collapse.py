"""Guards what experiment collapse says of REINFORCE without a baseline."""

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.problems import Bandit

pytestmark = pytest.mark.usefixtures("compiled_early")


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
