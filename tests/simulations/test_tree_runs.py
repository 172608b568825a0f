"""Token trees in the engine: three ways to the same step, draws, lengths, and what is recorded."""

import dataclasses

import numpy as np
import pytest

from entropy_theory import policy
from entropy_theory.policy import entropy, log_softmax, softmax
from entropy_theory.tabular import logit_step, response_batch
from entropy_theory.targets import ShorterResponses
from entropy_theory.token_batch import mean_entropy
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules import combine, get
from simulations.engine import Dynamics, Record, Samples, simulate
from simulations.engine.pooled import MOST_LEVELS
from simulations.engine.task import Task
from simulations.engine.tree_runs import TreeRuns
from simulations.problems import Bandit
from simulations.problems.token_trees import TokenProblem

PROBLEM = TokenProblem(n_tokens=3, horizon=3, n_correct=4, placement="every length",
                       accuracies=(0.15, 0.7))
EXPECTED = get("grpo", group_size=4)
POOLED = {
    "reinforce, token mean": get("reinforce", normalization="token-mean"),
    "reinforce, over a length": get("reinforce", normalization="dr-grpo"),
    "reinforce++": get("reinforce", estimator="reinforce++"),
    "grpo, token mean": get("grpo", normalization="token-mean", group_size=4),
    "grpo, dr": get("grpo", normalization="dr-grpo", group_size=4, max_length=5),
    "grpo, overlong": get("grpo", overlong_buffer=2, max_length=3),
    "aepo, positives": get("aepo", normalize="positives"),
    "aepo, shorter": get("aepo", towards=ShorterResponses(per_token=0.5)),
    "combined": combine(get("reinforce"), get("entropy-bonus"), get("aepo")),
}


def a_run(rule, *, samples=None, runs=3, steps_per_batch=1, problem=PROBLEM, reward=None):
    dynamics = Dynamics(rule=rule, samples=samples, seed=5, steps_per_batch=steps_per_batch)
    reward = problem.correct.astype(float) if reward is None else reward
    run = TreeRuns(Task.checked(
        problem.starts(runs, seed=7), reward, dynamics, tree=problem.tree))
    run.draw()
    return run


@pytest.mark.parametrize("name", POOLED)
def test_backward_recursion_is_enumeration(name):
    """One row a (reward, length) and a recursion, against the rule asked about every response."""
    run = a_run(POOLED[name])
    assert run.levels is not None
    by_rows = logit_step(run.logits, run.token_batch(), run.rule)
    # Sums of some hundred products of order 1.
    np.testing.assert_allclose(run.direction(), by_rows, atol=1e-13, rtol=1e-11)
    assert np.abs(by_rows).max() > 1e-3


def test_graded_rewards_of_responses_pool_too():
    rng = np.random.default_rng(0)
    reward = rng.integers(0, 4, size=(3, 2, PROBLEM.tree.n_responses)) / 3
    run = a_run(get("reinforce", estimator="group-centered"), reward=reward)
    assert len(run.levels.rewards) > 4
    by_rows = logit_step(run.logits, run.token_batch(), run.rule)
    np.testing.assert_allclose(run.direction(), by_rows, atol=1e-13)
    p = softmax(run.logits).reshape(3, 2, -1, 3)
    tree = PROBLEM.tree
    # Sequence-mean REINFORCE is the gradient of E[R / |o|], a baseline's included.
    centered = reward - (tree.response_probabilities(p) * reward).sum(-1, keepdims=True)
    slope = tree.expectation_gradient(p, tree.edge_reward(centered / tree.lengths))
    np.testing.assert_allclose(run.direction(), slope.reshape(run.logits.shape) / 2, atol=1e-13)


def test_rewards_without_number_are_listed():
    """Those are more than eight."""
    rng = np.random.default_rng(0)
    few = rng.permuted(np.arange(2 * PROBLEM.tree.n_responses) % MOST_LEVELS).reshape(1, 2, -1)
    assert a_run(get("reinforce"), reward=few).levels is not None
    run = a_run(get("reinforce"), reward=rng.random((1, 2, PROBLEM.tree.n_responses)))
    assert run.levels is None
    assert np.abs(run.direction()).max() > 1e-3


@pytest.mark.parametrize(("rule", "samples", "steps_per_batch"), [
    (get("aepo"), None, 1), (get("aepo"), Samples(group_size=5, tempered=7), 1),
    (get("kl-cov", ratio=0.3), Samples(group_size=5, tempered=7), 3)])
def test_a_tree_of_one_token_is_a_bandit(samples, rule, steps_per_batch):
    """The same draws, rows and records."""
    problem = Bandit(n_actions=6, n_correct=2, accuracies=(0.2, 0.6))
    start = problem.starts(4, seed=1)
    dynamics = Dynamics(rule=rule, steps=24, samples=samples, steps_per_batch=steps_per_batch,
                        record_every=6, seed=3)
    record = Record(forecasts=True, pass_at=(1, 4))
    bandit = simulate(start, problem.correct, dynamics, record=record)
    tree = simulate(start, problem.correct, dynamics, record=record, tree=TokenTree(6, 1))
    for field in dataclasses.fields(bandit):
        one, other = getattr(bandit, field.name), getattr(tree, field.name)
        if field.name == "forecasts":
            one, other = (np.array([getattr(f, k.name) for k in dataclasses.fields(f)])
                          for f in (one, other))
        # Two dozen steps, rounded differently.
        np.testing.assert_allclose(one, other, atol=1e-12, err_msg=field.name)


def test_steps_on_one_batch_move_the_ratios_of_its_tokens():
    """Two steps on one exact batch, by hand: importance ratios token by token, and clips that bind."""
    rule = get("grpo", clip_low=0.01, clip_high=0.01)
    tree, start = PROBLEM.tree, PROBLEM.starts(3, seed=1)
    batch = rule.prepare(response_batch(start, PROBLEM.correct.astype(float), tree=tree))
    logits = start + 0.5 * logit_step(start, batch, rule)
    runs = np.arange(3)[:, None, None]
    moved = batch.replace(log_prob=log_softmax(logits)[runs, batch.state, batch.action])
    logits = logits + 0.5 * logit_step(logits, moved, rule)

    def found(steps_per_batch):
        dynamics = Dynamics(rule=rule, learning_rate=0.5, steps=2, steps_per_batch=steps_per_batch)
        return simulate(start, PROBLEM.correct, dynamics, tree=tree).final_logits

    np.testing.assert_allclose(found(2), logits, atol=1e-13)
    assert np.abs(found(1) - logits).max() > 1e-3


def test_forecast_identities_along_runs():
    """(i) = (ii) at every step, on and off policy, and (iii) is what is measured."""
    rule = get("aepo", base=get("entropy-bonus", coefficient=0.2))
    dynamics = Dynamics(rule=rule, learning_rate=3.0, steps=24, record_every=1, steps_per_batch=2,
                        samples=Samples(group_size=4, tempered=3))
    run = simulate(PROBLEM.starts(3, seed=1), PROBLEM.correct, dynamics, tree=PROBLEM.tree,
                   record=Record(forecasts=True))
    np.testing.assert_allclose(run.forecasts.coefficients, run.forecasts.first_order, atol=1e-13)
    np.testing.assert_allclose(run.forecasts.exact, run.forecasts.measured, atol=1e-13)
    assert np.abs(run.forecasts.exact - run.forecasts.first_order).max() > 1e-3


def test_sequence_mean_weighs_every_response_alike():
    """1/|o|: the exact step is the gradient of E[R/|o|] for REINFORCE; token-mean, of E[R]/E|o|."""
    tree, start = PROBLEM.tree, PROBLEM.starts(1, seed=3)
    p = softmax(start).reshape(1, 2, -1, 3)
    right = PROBLEM.correct.astype(float)
    mean_length = (tree.response_probabilities(p) * tree.lengths).sum(-1).mean()

    def step(normalization):
        rule = get("reinforce", normalization=normalization)
        dynamics = Dynamics(rule=rule, steps=1, learning_rate=1.0)
        found = simulate(start, PROBLEM.correct, dynamics, tree=tree).final_logits - start
        return found.reshape(p.shape)

    for normalization, reward in (("sequence-mean", right / tree.lengths),
                                  ("token-mean", right / mean_length),
                                  ("dr-grpo", right / tree.horizon)):
        expected = tree.expectation_gradient(p, tree.edge_reward(reward)) / 2
        np.testing.assert_allclose(step(normalization), expected, atol=1e-14)


def test_records_are_what_enumeration_says():
    record = Record(logits=True, pass_at=(1, 3), distinct_of=4)
    dynamics = Dynamics(rule=get("grpo", group_size=4), steps=40, record_every=10, learning_rate=2.0)
    tree = PROBLEM.tree
    run = simulate(PROBLEM.starts(2, seed=1), PROBLEM.correct, dynamics, tree=tree, record=record)
    paths, right = tree.paths(), PROBLEM.correct[0].astype(float)
    for k, r in np.ndindex(len(run.step), 2):
        logits = run.logits[k, r].reshape(2, -1, 3)
        log_p = log_softmax(logits)
        chance = np.exp(np.where(paths.mask, log_p[:, paths.state, paths.token], 0).sum(-1))
        h = np.where(paths.mask, entropy(logits)[:, paths.state], 0).sum(-1) / paths.mask.sum(-1)
        p = (chance * right).sum(-1)
        expected = {
            "entropy": (chance * h).sum(-1).mean(), "entropy_by_state": (chance * h).sum(-1),
            "reward": p.mean(), "reward_by_state": p,
            "response_length": (chance * paths.mask.sum(-1)).sum(-1).mean(),
            "pass_at_k": np.array([p.mean(), (1 - (1 - p) ** 3).mean()]),
            "distinct_answers": (right * (1 - (1 - chance) ** 4)).sum(-1).mean(),
            "entropy_within_correct": np.mean([
                entropy(np.log(chance[i][right[i] > 0])) for i in range(2)]),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(run, name)[k, r], value, atol=1e-12, err_msg=name)
    # The batch's own mean entropy, which the controllers of a trainer would read.
    batch = response_batch(run.final_logits, np.zeros((1, 1, tree.n_responses)), tree=tree)
    np.testing.assert_allclose(mean_entropy(batch), run.entropy[-1], atol=1e-13)


def test_a_tree_that_no_memory_holds_is_refused():
    """40^12 prefixes; the message tells how much that is and what to do."""
    with pytest.raises(ValueError, match=r"[\d,]+\.\d GB, more than half .* smaller horizon"):
        TokenProblem(n_tokens=41, horizon=13)


def test_too_many_responses_for_rows_are_refused_and_can_be_sampled(monkeypatch):
    from simulations.problems import bandits

    monkeypatch.setattr(bandits.os, "sysconf", lambda name: 2**7)  # 16 KiB of memory
    start = np.zeros((1, PROBLEM.tree.n_states * 2, 3))
    rule = get("kl-cov")
    with pytest.raises(ValueError, match="'kl-cov' in exact expectation sees all 2 x 15 responses"):
        simulate(start, PROBLEM.correct, Dynamics(rule=rule, steps=1), tree=PROBLEM.tree)
    simulate(start, PROBLEM.correct, Dynamics(rule=get("grpo"), steps=1), tree=PROBLEM.tree)
    simulate(start, PROBLEM.correct, Dynamics(rule=rule, steps=1, samples=Samples()),
             tree=PROBLEM.tree)


def test_a_start_has_the_accuracies_asked_for_and_keeps_the_odds_within():
    drawn = dataclasses.replace(PROBLEM, accuracies=(None, None)).starts(3, seed=4)
    tree, right = PROBLEM.tree, PROBLEM.correct
    before, after = (tree.response_probabilities(softmax(z).reshape(3, 2, -1, 3))
                     for z in (drawn, PROBLEM.starts(3, seed=4)))
    np.testing.assert_allclose((after * right).sum(-1), np.tile((0.15, 0.7), (3, 1)), rtol=1e-12)
    for mask in (right, ~right):
        share = [np.where(mask, p, 0) / np.where(mask, p, 0).sum(-1, keepdims=True)
                 for p in (before, after)]
        np.testing.assert_allclose(share[1], share[0], atol=1e-14)
    np.testing.assert_array_equal(PROBLEM.starts(2, seed=4), PROBLEM.starts(3, seed=4)[:2])
    lengths = [set(tree.lengths[mask]) for mask in right[0]]
    assert lengths == [{1, 2, 3}] * 2
    assert policy.entropy(drawn).min() > 0
