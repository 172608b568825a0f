"""Every rule and controller on every kind of problem, exact and sampled, against the rule itself.

A first step is compared with what the plainest code gives: the batch written out, the rule asked about
it, and (for shared parameters) the chain rule.
"""

import dataclasses

import numpy as np
import pytest

from entropy_theory.tabular import exact_batch, logit_step, response_batch
from entropy_theory.token_batch import concatenate
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
UNDEFINED = {("natural-gradient", kind) for kind in KINDS if "tree" in kind or "shared" in kind}
CASES = [(name, kind) for name in ACTIVE for kind in ("prompts", "tree", "shared parameters")
         if (name, kind) not in UNDEFINED]
DIAGONAL = [(name, "bandit" if name == "natural-gradient" else list(KINDS)[place % 7])
            for place, name in enumerate(ACTIVE)]


def arguments(kind):
    problem = KINDS[kind]
    reward = problem.reward if isinstance(problem, Bandit) else problem.correct
    start = problem.starts(3, seed=2)
    tree = getattr(problem, "tree", None)
    features = None
    if "shared" in kind:
        features = coupled_features(*start.shape[1:], 0.4, rank=3)
    return start, reward, {"tree": tree, "features": features}


def by_hand(rule, start, reward, tree, features):
    """The first step per unit learning rate."""
    controller, coefficients = rule.controller(), rule.coefficient_controller()
    columns = {"removed_fraction": rule.needs.removed_fraction}
    if "reference_log_prob" in rule.needs.columns:
        columns["reference_logits"] = start
    ask = simulate(start, reward, Dynamics(rule=get("reinforce"), steps=1), tree=tree)
    temperature = None if controller is None else controller.observe(ask.entropy[0])
    if tree is None:
        batch = exact_batch(start, np.broadcast_to(reward, start.shape).astype(float),
                            temperature=temperature, **columns)
    else:
        batch = response_batch(start, reward.astype(float), tree=tree, **columns)
        if temperature is not None:
            batch = concatenate([batch, response_batch(
                start, reward.astype(float), tree=tree, temperature=temperature, **columns)])
    batch = batch.replace(listed=True)
    if coefficients is not None:
        seen = ask.entropy[0]
        if coefficients.reads == "clamped_entropy":
            rows = batch.is_ordinary
            length = rows.sum(axis=-1, keepdims=True)
            share = np.where(rows, batch.weight, 0) / length
            seen = (share * batch.clamped_entropy).sum((-2, -1)) / share.sum((-2, -1))
        value = coefficients.observe(seen)
        batch = batch.replace(coefficient=np.broadcast_to(value[:, None, None], batch.mask.shape))
    # Rules that choose at random are keyed by step and sequence; the first step is number 0.
    n_rows = batch.mask.shape[-2]
    sequence = np.arange(3)[:, None, None] * n_rows + np.arange(n_rows)[:, None]
    batch = batch.replace(sequence=np.broadcast_to(sequence, batch.mask.shape), step=0, seed=4)
    step = logit_step(start, rule.prepare(batch), rule)
    if features is not None:
        step = (step.reshape(3, -1) @ (features @ features.T)).reshape(step.shape)
    return step


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_an_exact_step_is_the_rules_own(name, kind):
    rule = get(name, **ACTIVE[name])
    start, reward, world = arguments(kind)
    run = simulate(start, reward, Dynamics(rule=rule, steps=1, learning_rate=0.3, seed=4), **world)
    expected = by_hand(rule, start, reward, **world)
    # Some hundred products of order 1, summed in another order.
    np.testing.assert_allclose(run.final_logits - start, 0.3 * expected, atol=1e-13, rtol=1e-11)
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize(("name", "kind"), DIAGONAL)
def test_sampled_runs_learn_and_do_not_depend_on_their_block(name, kind, monkeypatch):
    """One block, and a block for each run: the same to rounding; reward rises."""
    steps_per_batch = 1 + list(ACTIVE).index(name) % 2
    rule = get(name, **ACTIVE[name])
    start, reward, world = arguments(kind)
    options = {"rule": rule, "learning_rate": 1.0, "steps": 8, "record_every": 4, "seed": 4,
               "steps_per_batch": steps_per_batch}
    if not rule.needs.listing:
        options["samples"] = Samples(group_size=8, tempered=6)
    whole = simulate(start, reward, Dynamics(**options), record=Record(logits=True), **world)
    monkeypatch.setattr("simulations.engine.simulation.BLOCK", 1)
    cut = simulate(start, reward, Dynamics(**options), record=Record(logits=True), **world)
    for field in dataclasses.fields(whole):
        if field.name != "forecasts":
            np.testing.assert_allclose(getattr(cut, field.name), getattr(whole, field.name),
                                       atol=1e-11, err_msg=field.name)
    assert whole.reward[-1].mean() > whole.reward[0].mean() + 0.02
    last = simulate(start[2:], reward, Dynamics(**options, first_run=2), **world)
    np.testing.assert_allclose(last.final_logits[0], whole.final_logits[2], atol=1e-11)


@pytest.mark.parametrize(("name", "kind"), sorted(UNDEFINED))
def test_what_is_not_defined_is_refused_with_a_reason(name, kind):
    start, reward, world = arguments(kind)
    with pytest.raises(ValueError, match=r"'natural-gradient' is defined.*use 'reinforce'"):
        simulate(start, reward, Dynamics(rule=get(name), steps=1), **world)
