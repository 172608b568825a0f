"""Guards experiment pass_at_k: who overtakes whom, and that sharing is what the docstring says."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.experiments import pass_at_k as experiment


@pytest.fixture(scope="module")
def dataset():
    config = dataclasses.replace(
        experiment.PROFILES["default"], sharing=(0.0, 0.5), right_answers=(4,), steps=150)
    return experiment.compute(config, 0, lambda steps: None)


def test_independent_logits_lose_no_prompt_to_rules_centered_in_the_group(dataset):
    own = dataset.sel(sharing=0)
    for rule in ("GRPO", "RLOO"):
        gain = own.pass_at_k.sel(rule=rule).isel(step=-1) - own.pass_at_k.sel(rule=rule).isel(step=0)
        assert (gain >= 0).all()


def test_shared_parameters_let_the_base_overtake_and_a_bonus_puts_it_off(dataset):
    shared = dataset.sel(sharing=0.5).isel(right_answers=0)
    mean = shared.pass_at_k.mean("start")
    for rule in ("GRPO", "RLOO", "REINFORCE++", "AEPO"):
        one = mean.sel(rule=rule)
        assert one.isel(step=-1).sel(k=1) > 2 * one.isel(step=0).sel(k=1)
        assert one.isel(step=-1).sel(k=1024) < one.isel(step=0).sel(k=1024)
    end = mean.isel(step=-1).sel(k=1024)
    assert end.sel(rule="entropy bonus") > end.sel(rule="GRPO")


def test_shared_features_have_the_gram_matrix_that_sharing_names():
    features = experiment.shared_features(3, 4, 0.3)
    gram = (features @ features.T).reshape(3, 4, 3, 4)
    expected = 0.7 * np.einsum("st,ab->satb", np.eye(3), np.eye(4)) + 0.3 * np.eye(4)[:, None]
    np.testing.assert_allclose(gram, np.broadcast_to(expected, gram.shape), atol=1e-15)
    assert experiment.shared_features(3, 4, 0.0) is None


def test_every_prompt_has_its_own_right_answers_at_the_accuracy_asked():
    config = experiment.Config(n_prompts=6)
    logits, correct = experiment.prompts(config, 4, seed=1)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    accuracy = np.where(correct, probabilities, 0).sum(axis=-1)
    np.testing.assert_allclose(
        accuracy, np.broadcast_to(np.geomspace(3e-4, 0.7, 6), accuracy.shape), rtol=1e-12)
    assert len(np.unique(correct[0], axis=0)) > 1


def test_leave_one_out_is_the_centered_reward_times_g_over_g_minus_one():
    config = experiment.Config(n_prompts=3)
    logits, correct = experiment.prompts(config, 4, seed=0)
    ends = [
        simulate(logits, correct,
                 Dynamics(rule=get("reinforce", estimator=estimator), learning_rate=rate, steps=20,
                          samples=Samples(group_size=8), seed=3)).final_logits
        for estimator, rate in (("leave-one-out", 7.0), ("group-centered", 8.0))
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
