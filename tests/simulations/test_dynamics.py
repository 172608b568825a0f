"""Guards dynamics.py and task.py: defaults, what is refused, and which values a block of runs takes."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules import combine, get
from entropy_theory.update_rules.rule import components
from simulations.engine import Dynamics, Samples, simulate
from simulations.engine.dynamics import cut_options
from simulations.engine.task import Task, check_features_rule, check_tree_dynamics
from simulations.problems import Bandit
from simulations.problems.token_trees import TokenProblem

GRPO = get("grpo", group_size=8)


START = np.random.default_rng(0).normal(size=(3, 2, 4))
CORRECT = np.array([[[True, False, False, False], [False, True, True, False]]])
TREE = TokenProblem(n_tokens=3, horizon=3, n_correct=4, accuracies=(0.2, 0.6))


def test_defaults_are_those_that_papers_runs_are_said_to_have():
    """A seed or a schedule that slips would make every figure another run."""
    assert Dynamics(rule=GRPO) == Dynamics(
        rule=GRPO, learning_rate=0.5, steps=6000, temperature=None, targets=None, target_schedule=None,
        samples=None, steps_per_batch=1, record_every=20, tail=0, seed=0, engine="auto",
        precision="float64", first_run=0)


def test_rows_are_summed_for_rules_that_promise_it_and_one_step_a_batch():
    assert task().pools
    assert not task(steps_per_batch=2).pools
    assert not task(get("kl-cov")).pools


def test_a_block_takes_its_runs_own_values():
    """Numbers stay, values one a run are cut, schedules too; runs keep their numbers."""
    rule = get("aepo", alpha=np.array([1.0, 2.0, 3.0]), base=GRPO)
    whole = Dynamics(rule=rule, learning_rate=(0.1, 0.2, 0.3), first_run=10,
                     target_schedule=lambda step: np.array([step, 2.0, 3.0]))
    part = whole.take_runs(3, slice(1, 3))
    assert part.learning_rate == (0.2, 0.3)
    assert part.first_run == 11
    assert part.rule.alpha.tolist() == [2.0, 3.0]
    assert part.rule.base == GRPO
    assert part.target_schedule(7).tolist() == [2.0, 3.0]
    assert whole.take_runs(3, slice(0, 2)).target_schedule(7).tolist() == [7.0, 2.0]
    one = dataclasses.replace(whole, learning_rate=0.4, target_schedule=lambda step: 0.5 * step)
    assert one.take_runs(3, slice(1, 3)).learning_rate == 0.4
    assert one.take_runs(3, slice(1, 3)).target_schedule(3) == 1.5
    targets = dataclasses.replace(whole, target_schedule=None, targets=(0.5, 0.6, 0.7))
    assert targets.take_runs(3, slice(2, 3)).targets == (0.7,)
    assert targets.take_runs(3, slice(2, 3)).target_schedule is None
    hot = Dynamics(rule=get("reinforce"), temperature=(0.8, 1.0, 1.2))
    assert hot.take_runs(3, slice(0, 1)).temperature == (0.8,)


def test_options_of_every_part_are_cut_and_text_is_none():
    rule = combine(get("aepo", alpha=np.array([1.0, 2.0, 3.0])), get("grpo", normalization="token-mean"))
    cut = cut_options(rule, 3, slice(1, 2))
    alphas = [part.alpha for _, part in components(cut) if hasattr(part, "alpha")]
    assert [alpha.tolist() for alpha in alphas] == [[2.0]]
    names = [part.normalization for _, part in components(cut) if hasattr(part, "normalization")]
    assert "token-mean" in names


def task(rule=GRPO, *, tree=None, reward=CORRECT, start=START, features=None, **dynamics):
    return Task.checked(start, reward, Dynamics(rule=rule, **dynamics), tree=tree, features=features)


def test_a_task_says_how_many_tokens_its_rows_have():
    """The measure by which runs are cut into blocks: draws, or listed responses, times the horizon."""
    start, correct, tree = TREE.starts(3, seed=0), TREE.correct, TREE.tree
    samples = Samples(group_size=5, tempered=7)
    of_tree = {"tree": tree, "start": start, "reward": correct}
    assert task().row_tokens == 0
    assert task(get("kl-cov")).row_tokens == 0
    assert task(get("grpo"), samples=samples).row_tokens == 2 * (5 + 7)
    assert task(**of_tree).row_tokens == 0
    assert task(get("grpo"), samples=samples, **of_tree).row_tokens == 2 * 3 * (5 + 7)
    assert task(get("kl-cov"), **of_tree).row_tokens == 2 * 3 * tree.n_responses
    assert (task().n_runs, task().n_prompts) == (3, 2)
    assert (task(**of_tree).n_runs, task(**of_tree).n_prompts) == (3, 2)


def test_listed_responses_are_refused_by_the_bytes_of_their_rows(monkeypatch):
    """Thirty numbers of eight bytes for each token of two prompts' responses."""
    asked = []
    monkeypatch.setattr("simulations.engine.task.check_memory", lambda *told: asked.append(told[0]))
    assert task(get("kl-cov"), tree=TREE.tree, start=TREE.starts(3, seed=0), reward=TREE.correct)
    assert asked == [8 * 30 * 2 * 3 * TREE.tree.n_responses]
    task(tree=TREE.tree, start=TREE.starts(3, seed=0), reward=TREE.correct)
    task(get("kl-cov"), tree=TREE.tree, start=TREE.starts(3, seed=0), reward=TREE.correct,
         samples=Samples())
    assert len(asked) == 1


def test_a_block_of_a_task_has_its_runs_arrays():
    own = np.random.default_rng(1).random((3, 2, 4))
    for reward in (CORRECT, own):
        whole = task(reward=reward, learning_rate=(0.1, 0.2, 0.3))
        assert whole.take_runs(slice(0, 3)) is whole
        part = whole.take_runs(slice(1, 2))
        np.testing.assert_array_equal(part.logits, START[1:2])
        np.testing.assert_array_equal(part.reward, reward[1:2] if reward is own else reward)
        assert part.dynamics.learning_rate == (0.2,)
        assert part.dynamics.first_run == 1


def test_rewards_become_numbers_with_all_axes():
    assert task().reward.dtype == bool
    for reward in (CORRECT[0], CORRECT[0].astype(int)):
        found = task(reward=reward).reward
        assert found.shape == (1, 2, 4)
        assert found.dtype == (bool if reward.dtype == bool else np.float64)
    np.testing.assert_array_equal(task(reward=np.arange(4)).reward, [[[0.0, 1.0, 2.0, 3.0]]])


def test_features_and_trees_are_taken_by_the_rules_that_are_defined_on_them():
    assert task(features=np.ones((8, 2))).features.shape == (1, 8, 2)
    check_features_rule(get("reinforce"))
    natural = get("natural-gradient")
    one_token = TokenTree(4, 1, end_token=False)
    assert task(natural, tree=one_token).tree is one_token
    two_tokens = TokenTree(2, 2, end_token=False)
    with pytest.raises(ValueError, match="defined on answers of one token"):
        check_tree_dynamics(two_tokens, (3, two_tokens.n_states, 2), Dynamics(rule=natural), False)


OFFSETS = (0.3, 0.1, -0.1, -0.3)
PROMPTS = Bandit(n_actions=6, n_correct=3, accuracies=(0.3, 0.4, 0.5, 0.6))


def of_prompts(rule, **changes):
    """Final logits of four prompts."""
    return simulate(PROMPTS.starts(2, seed=4), PROMPTS.reward, Dynamics(
        rule=rule, steps=60, learning_rate=0.5, engine="numpy", **changes)).final_logits


BONUS = {"target": 1.1, "prompt_gain": 2.0, "coefficient_low": -5.0, "coefficient_high": 5.0}


@pytest.mark.parametrize("rule", [
    get("entropy-bonus", hold="forecast", **BONUS),
    get("aepo", target=1.4, control="proportional", base=get("entropy-bonus", prompt_gain=2.0)),
], ids=["forecast", "temperature"])
def test_offsets_of_the_mean_move_the_target(rule):
    """Offsets of .2 at all prompts are a target .2 higher."""
    shifted = of_prompts(rule, target_offsets=tuple(o + 0.2 for o in OFFSETS))
    higher = of_prompts(rule, target_offsets=OFFSETS, targets=(rule.target + 0.2,) * 2)
    # Sums of four offsets, rounded in another order, over 60 steps.
    np.testing.assert_allclose(shifted, higher, rtol=0, atol=1e-9)
    assert np.abs(of_prompts(rule, target_offsets=OFFSETS) - higher).max() > 1e-3
