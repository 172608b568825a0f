"""What rules are told of the run: the optimizer step about to be taken, from 0, and the run's seed.

In every path of the simulator. A rule that fades over 100 steps must not fade over 100 batches, nor keep
its strength where rows are summed; the paths once told 0, 1, or the batch's number from 1.
"""


import numpy as np
import pytest

from entropy_theory.update_rules.reinforce import Reinforce
from entropy_theory.update_rules.rule import Needs, update_rule
from simulations.engine import Dynamics, Samples, engines, simulate
from simulations.problems import Bandit
from simulations.problems.shared_parameters import coupled_features
from simulations.problems.token_trees import TokenProblem
from tests.adversarial_rules import Fading

SEED, STEPS = 7, 6
TOLD: list[tuple[int, int]] = []


@update_rule("spy")
class Spy(Reinforce):
    """REINFORCE that notes what it is told each time that it is asked for scores."""

    pools: bool = False

    @property
    def _needs(self) -> Needs:
        return Needs(reads=set() if self.pools else {"step", "seed"})

    def _scores(self, batch):
        TOLD.append((batch.step, batch.seed))
        return Reinforce._scores(self, batch)


def told(problem, **options):
    TOLD.clear()
    reward = problem.reward if isinstance(problem, Bandit) else problem.correct
    start = problem.starts(3, seed=0)
    features = coupled_features(*start.shape[1:], 0.4, rank=2) if options.pop("shared", False) else None
    simulate(start, reward, Dynamics(steps=STEPS, seed=SEED, record_every=2, engine="numpy", **options),
             tree=getattr(problem, "tree", None), features=features)
    return TOLD


@pytest.fixture(autouse=True)
def spies_are_trusted(monkeypatch):
    """The question whether a rule is what it declares is asked of batches of its own."""
    monkeypatch.setattr(engines, "confirm", lambda rule, n_runs: None)


PROBLEMS = {"bandit": Bandit(n_actions=4), "prompts": Bandit(n_actions=4, accuracies=(0.2, 0.6)),
            "tree": TokenProblem(n_tokens=2, horizon=2, n_correct=1, accuracies=(0.3,))}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("samples", [None, Samples(group_size=3)])
@pytest.mark.parametrize("steps_per_batch", [1, 2])
@pytest.mark.parametrize("pools", [False, True], ids=["by rows", "summed"])
def test_every_path_tells_the_step_and_the_seed(kind, samples, steps_per_batch, pools):
    found = told(PROBLEMS[kind], rule=Spy(pools=pools), samples=samples, steps_per_batch=steps_per_batch)
    assert found == [(step, SEED) for step in range(STEPS)]


def test_shared_parameters_and_blocks_of_runs_do_too(monkeypatch):
    assert told(PROBLEMS["bandit"], rule=Spy(), shared=True) == [(step, SEED) for step in range(STEPS)]
    monkeypatch.setattr("simulations.engine.simulation.BLOCK", 1)
    assert told(PROBLEMS["bandit"], rule=Spy()) == [(step, SEED) for step in range(STEPS)] * 3


@pytest.mark.parametrize("samples", [None, Samples()])
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_what_fades_over_some_steps_stands_still_after_them(samples, engine):
    """Whichever engine: with 20 steps to fade over, the policy after 20 steps is the last one."""
    problem = Bandit(n_actions=6, n_correct=2)
    start = problem.starts(4, seed=0)
    ends = [simulate(start, problem.correct, Dynamics(
        rule=Fading(steps=20), steps=steps, samples=samples,
        engine=engine)).final_logits for steps in (19, 20, 60)]
    np.testing.assert_array_equal(ends[1], ends[2])
    assert np.abs(ends[0] - ends[1]).max() > 0


