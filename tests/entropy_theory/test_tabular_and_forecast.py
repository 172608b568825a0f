"""Guards tabular.py, forecast.py and token_batch.mean_entropy on exact listings."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from entropy_theory import entropy_change, forecast, policy, tabular, token_batch, update_rules
from entropy_theory.token_tree import TokenTree
from tests.rules_by_hand import OPTIONS
from tests.tolerances import FLOAT64, SAME_STEP

RULES = [
    update_rules.get("reinforce"),
    update_rules.get("grpo"),
    update_rules.get("grpo", group_size=8),
    update_rules.get("aepo", alpha=0.7),
    update_rules.get("entropy-bonus", coefficient=0.3),
    update_rules.combine(update_rules.get("grpo"), update_rules.get("entropy-bonus")),
]


def problem(seed=0, runs=4, states=3, actions=5):
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(runs, states, actions))
    reward = (rng.random(logits.shape) < 0.4).astype(float)
    reward[..., 0] = 1.0
    return logits, reward


def batch_for(rule, logits, reward):
    temperature = None if rule.controller() is None else np.linspace(0.8, 1.5, len(logits))
    return tabular.exact_batch(logits, reward, temperature=temperature)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: repr(rule)[:40])
def test_step_is_the_gradient_of_the_objective_by_autograd(rule):
    """The listing's objective, written from the formula and differentiated by torch."""
    logits, reward = problem()
    batch = rule.prepare(batch_for(rule, logits, reward))
    parameter = torch.tensor(logits, requires_grad=True)
    log_prob = torch.log_softmax(parameter, -1)
    runs = np.arange(len(logits))[:, None, None]
    taken = log_prob[runs, batch.state, batch.action]
    objective = (torch.tensor(batch.weight * rule.scores(batch)) * taken).sum()
    for coefficient in rule.state_terms(batch).values():
        entropy = -(log_prob.exp() * log_prob).sum(-1)
        term = torch.tensor(batch.weight * coefficient) * entropy[runs, batch.state]
        objective = objective + term.sum()
    objective.backward()
    step = tabular.logit_step(logits, batch, rule)
    np.testing.assert_allclose(step, parameter.grad.numpy(), atol=SAME_STEP, rtol=0)


def test_sampled_batch_scatters_like_the_listing():
    """A sample drawn in the listing's proportions gives the listing's step."""
    logits = np.log(np.array([[[1.0, 2.0, 5.0]]]))
    reward = np.array([[[1.0, 0.0, 1.0]]])
    listed = tabular.listing(logits, reward)
    rows = np.array([0, 1, 1, 2, 2, 2, 2, 2])
    sampled = listed.take_sequences(rows)
    sampled = sampled.replace(weight=np.full(sampled.mask.shape, 1 / 8))
    for rule in (update_rules.get("reinforce"), update_rules.get("grpo")):
        np.testing.assert_allclose(
            tabular.logit_step(logits, sampled, rule),
            tabular.logit_step(logits, listed, rule),
            atol=16 * FLOAT64,
            rtol=0,
        )


def test_listing_of_a_deterministic_policy_is_finite():
    """An action of probability 0 has log-probability -inf and must not spread NaN."""
    logits = np.array([[0.0, 1.0, -math.inf]])
    reward = np.array([[1.0, 0.0, 1.0]])
    for rule in RULES:
        temperature = None if rule.controller() is None else 1.2
        batch = tabular.exact_batch(logits, reward, temperature=temperature)
        step = tabular.logit_step(logits, batch, rule)
        assert np.isfinite(step).all()
        assert step[0, 2] == 0


# A tree's responses are rows of several tokens: the natural gradient is defined on bandits only.
@pytest.mark.parametrize(
    ("world", "name"),
    [(world, name) for world in ("bandits", "tree") for name in update_rules.RULES
     if world == "bandits" or not update_rules.get(name).needs.listing],
)
@settings(max_examples=4, derandomize=True, deadline=None, database=None)
@given(data=st.data())
def test_every_rules_forecast_is_the_measured_change_to_first_order(world, name, data):
    """Halving the learning rate quarters the error of forecast (i): order 2."""
    rule = update_rules.get(name, **OPTIONS.get(name, {}))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    actions = data.draw(st.integers(3, 5), label="actions")
    if world == "tree":
        depth = data.draw(st.integers(2, 3), label="depth") if actions == 3 else 2
        logits = rng.normal(size=(sum(actions**k for k in range(depth)), actions))
        reward = (rng.random(actions**depth) < 0.3).astype(float)
        make = tabular.response_batch
    else:
        logits = rng.normal(size=(data.draw(st.integers(1, 4), label="states"), actions))
        reward = (rng.random(logits.shape) < 0.4).astype(float)
        make = tabular.listing
    # At least one right and one wrong answer: without, no rule of the reward has a step.
    reward.flat[:2] = 1, 0
    columns = {"reference_logits": rng.normal(size=logits.shape),
               "removed_fraction": rule.needs.removed_fraction}
    batch = make(logits, reward, **columns)
    if rule.controller() is not None:
        temperature = data.draw(st.floats(0.6, 1.6), label="temperature")
        batch = token_batch.concatenate(
            [batch, make(logits, reward, temperature=temperature, **columns)])
    batch = rule.prepare(batch)
    statistics = forecast.state_statistics(
        policy.log_softmax(logits)[batch.state], batch.action,
        removed_fraction=rule.needs.removed_fraction)
    tokens = forecast.token_contributions(
        batch, rule.scores(batch), rule.state_terms(batch), statistics)
    announced = np.bincount(batch.state.ravel(), tokens.ravel(), minlength=len(logits))
    step = tabular.logit_step(logits, batch, rule)
    largest = np.abs(step).max()
    assert largest > 1e-3
    moves = np.array([2e-3, 1e-3])  # by so much the logits move, at most
    errors = [np.abs(entropy_change.exact(logits, eta * step) - eta * announced).max()
              for eta in moves / largest]
    # With errors a x^2 + b x^3 this is b x^3 / 2, and 6 b, a third derivative of the entropy of a few
    # actions along a direction of length 1, is below 24. An error c x of the forecast would give c x.
    assert abs(errors[0] - 4 * errors[1]) < 2 * moves[0] ** 3


def test_responses_of_a_tree_are_listed_with_their_probabilities():
    """REINFORCE's exact step on the listing is the gradient of the value, per token of the horizon."""
    rng = np.random.default_rng(6)
    logits, reward = rng.normal(size=(2, 7, 2)), rng.random((2, 8))
    batch = tabular.response_batch(logits, reward)
    assert batch.weight.sum(axis=(-2, -1)) == pytest.approx(1)
    tree = TokenTree.of(logits)
    expected = tree.expectation_gradient(policy.softmax(logits), tree.edge_reward(reward)) / 3
    step = tabular.logit_step(logits, batch, update_rules.get("reinforce"))
    np.testing.assert_allclose(step, expected, atol=SAME_STEP)
    hot = tabular.response_batch(logits, reward, temperature=2.0)
    chances = tree.response_probabilities(policy.softmax(logits, 2.0))
    np.testing.assert_allclose(hot.weight.sum(-1), chances, rtol=1e-13)
    on_torch = tabular.response_batch(torch.tensor(logits), torch.tensor(reward))
    np.testing.assert_allclose(on_torch.weight.numpy(), batch.weight, rtol=1e-13)
