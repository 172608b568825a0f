"""Every rule and controller, each on a kind of problem: runs do not depend on the block they stand in."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Record, Samples, simulate
from simulations.problems import Bandit, graded_prompts
from simulations.problems.shared_parameters import coupled_features
from simulations.problems.token_trees import TokenProblem
from tests.active_rules import ACTIVE

TREE = TokenProblem(n_tokens=3, horizon=3, n_correct=4, accuracies=(0.2, 0.6))
KINDS = {
    "bandit": Bandit(n_actions=6, n_correct=2),
    "graded rewards": Bandit(n_actions=6, rewards=(1.0, 0.7, 0.3, 0.1)),
    "prompts": graded_prompts(1, n_actions=6, n_correct=2),
    "tree": TREE,
    "complete tree": dataclasses.replace(TREE, end_token=False),
    "shared parameters": graded_prompts(1, n_actions=6, n_correct=2),
    "shared parameters on a tree": TREE,
}
DIAGONAL = [(name, "bandit" if name == "natural-gradient" else list(KINDS)[place % 7])
            for place, name in enumerate(ACTIVE)]
RECORD = Record(logits=True, forecasts=True, pass_at=(1, 8))


def arguments(kind):
    problem = KINDS[kind]
    reward = problem.reward if isinstance(problem, Bandit) else problem.correct
    start = problem.starts(3, seed=2)
    tree = getattr(problem, "tree", None)
    features = None
    if "shared" in kind:
        features = coupled_features(*start.shape[1:], 0.4, rank=3)
    return start, reward, {"tree": tree, "features": features}


@pytest.mark.parametrize(("name", "kind"), DIAGONAL)
def test_sampled_runs_learn_and_do_not_depend_on_their_block(name, kind, monkeypatch):
    """One block, and a block for each run: the same to rounding; reward rises."""
    steps_per_batch = 1 + list(ACTIVE).index(name) % 2
    rule = get(name, **ACTIVE[name])
    start, reward, world = arguments(kind)
    options = {"rule": rule, "learning_rate": (0.9, 1.0, 1.1), "steps": 8, "record_every": 4, "seed": 4,
               "steps_per_batch": steps_per_batch}
    if not rule.needs.listing:
        options["samples"] = Samples(group_size=8, tempered=6)
    whole = simulate(start, reward, Dynamics(**options), record=RECORD, **world)
    monkeypatch.setattr("simulations.engine.simulation.BLOCK", 1)
    cut = simulate(start, reward, Dynamics(**options), record=RECORD, **world)
    for one, other in ((cut, whole), (cut.forecasts, whole.forecasts)):
        for field in dataclasses.fields(other):
            if field.name != "forecasts":
                np.testing.assert_allclose(getattr(one, field.name), getattr(other, field.name),
                                           atol=1e-11, err_msg=field.name)
    assert whole.reward[-1].mean() > whole.reward[0].mean() + 0.02
    last = simulate(start[2:], reward, Dynamics(**options).take_runs(3, slice(2, 3)), **world)
    np.testing.assert_allclose(last.final_logits[0], whole.final_logits[2], atol=1e-11)
