"""Settles four sentences about entropy-shaping losses at one softmax state, to first order and exactly.

Each is stated by a paper of 2025 or 2026 whose rule is in update_rules/, and is held here against the
rule's own step in a listing of all actions (`tabular.logit_step`) with exact arithmetic as the oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

from entropy_theory import policy, tabular, update_rules

POLICY = np.array([0.5, 0.3, 0.15, 0.05])
REWARD = np.array([1.0, 0.0, 1.0, 0.0])
ROUNDING = 1e-14
"""A dozen operations on numbers of order 1."""


def entropy(p):
    return -(p * np.log(p)).sum()


def entropy_change(p, step):
    """d H along a step of the logits."""
    return -(p * (np.log(p) + entropy(p)) * (step - (p * step).sum())).sum()


def exact_step(rule, p=POLICY, reward=REWARD):
    """The rule's step of the logits, with every action listed by its probability."""
    logits = np.log(p)[None]
    return tabular.logit_step(logits, tabular.exact_batch(logits, np.asarray(reward)[None]), rule)[0]


def grpo(**options):
    return update_rules.get("grpo", normalization="token-mean", **options)


def test_a_baseline_does_not_change_an_exact_gradient():
    """QAE (arXiv 2509.22611, Prop. 4.2) has dH = -eta Cov(log pi, pi (r - b)), which rises with b. The
    gradient of expected reward has no b in it, and neither has the entropy's change along it."""
    reinforce = update_rules.get("reinforce", normalization="token-mean")
    printed, true = [], []
    for baseline in (0.0, 0.25, 0.5, 1.0):
        step = exact_step(reinforce, reward=REWARD - baseline)
        true.append(entropy_change(POLICY, step))
        weighted, surprise = POLICY * (REWARD - baseline), np.log(POLICY)
        printed.append(-((POLICY * surprise * weighted).sum()
                         - (POLICY * surprise).sum() * (POLICY * weighted).sum()))
    np.testing.assert_allclose(true, true[0], rtol=1e-13)
    assert true[0] == pytest.approx(-0.03997000733, rel=1e-9)
    np.testing.assert_allclose(printed, [-0.0945, -0.0735, -0.0525, -0.0105], atol=2e-3)
    # K = .2 and .9 give baselines 0 and 1 at p = .65, and one direction.
    low, high = (exact_step(grpo(estimator="quantile", estimator_parameter=k)) for k in (0.2, 0.9))
    np.testing.assert_allclose(low, high, atol=ROUNDING)
    # With GRPO's own mean it is the same again.
    np.testing.assert_allclose(low, exact_step(grpo()), atol=ROUNDING)


def test_the_sign_of_steers_estimate_is_wrong_for_one_token_in_fifteen():
    """Omega moves the token's own logit. The gradient of log pi(k) moves all: d H is -p_k-weighted
    difference of S_k = log p_k + H at k and over the policy."""
    rng = np.random.default_rng(0)
    wrong, drawn = 0, 20_000
    for _ in range(drawn):
        p = policy.softmax(2 * rng.normal(size=rng.integers(3, 13)))
        k = rng.choice(len(p), p=p)
        score = np.eye(len(p))[k] - p
        true, surplus = entropy_change(p, score), np.log(p) + entropy(p)
        assert true == pytest.approx(-p[k] * surplus[k] + (p**2 * surplus).sum(), abs=1e-12)
        wrong += true * -p[k] * (1 - p[k]) * surplus[k] < 0
    assert wrong / drawn == pytest.approx(0.067, abs=0.006)  # 3 standard deviations of a share of 20,000


@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_repo_is_the_entropy_bonus_in_expectation(beta):
    repo = exact_step(update_rules.get("repo", beta=beta, base=grpo()))
    bonus = exact_step(grpo()) - beta * POLICY * (np.log(POLICY) + entropy(POLICY))
    np.testing.assert_allclose(repo, bonus, atol=ROUNDING)
    batch = tabular.exact_batch(np.log(POLICY)[None], REWARD[None])
    rule = update_rules.get("entropy-bonus", coefficient=beta, base=grpo(), normalization="token-mean")
    np.testing.assert_allclose(tabular.logit_step(np.log(POLICY)[None], batch, rule)[0], bonus,
                               atol=ROUNDING)


def test_the_lever_of_entropic_does_nothing_to_an_exact_step_of_signed_rewards():
    """(1 + alpha) d+ + (1 - alpha) d- = d+ + d- + alpha (d+ - d-), and |A| = 1 has gradient 0."""
    base = update_rules.get("reinforce", estimator="signed", normalization="token-mean")
    steps = [exact_step(update_rules.get(
        "entropic", coefficient=alpha, target=None, threshold=0.0, base=base)) for alpha in (-1, 0, 0.7)]
    np.testing.assert_allclose(steps, [steps[1]] * 3, atol=ROUNDING)
    assert np.abs(steps[1]).max() > 0.1
    # A threshold, a group's mean in the baseline or prompts of other accuracy bring the lever back.
    chosen = update_rules.get("entropic", coefficient=0.7, target=None, threshold=0.4, base=base)
    assert np.abs(exact_step(chosen) - steps[1]).max() > 0.1
    held, plain = (exact_step(update_rules.get(
        "entropic", coefficient=alpha, target=None, threshold=0.0, base=grpo())) for alpha in (0.7, 0))
    assert np.abs(held - plain).max() > 0.01
