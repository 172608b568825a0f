"""Guards what every rule makes of a bad batch: the table in the docstring of token_batch.py."""

import dataclasses

import numpy as np
import pytest
import torch

from entropy_theory import advantages, tabular, update_rules
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.rule_batches import converted, random_batch, to_torch
from tests.entropy_theory.test_update_rules import VARIANTS

EVERY_RULE = pytest.mark.parametrize(("name", "options"), VARIANTS)
OF_AEPO = [v for v in VARIANTS if v[0] == "aepo" or "aepo" in v[1].values()]
PER_TOKEN = [v for v in VARIANTS if v == ("reinforce", {}) or v[1].get("base") == "reinforce"]
"""Rules for which rewards may differ by token, and which have no baseline."""
MOVING = [v for v in VARIANTS if v[0] in ("w-reinforce", "repo", "unlikeliness")
          or v[1].get("base") == "w-reinforce"]
"""Rules that move where rewards are equal: without a baseline, or by log-probabilities."""


# ------------------------------------------------------------------ rewards


@EVERY_RULE
def test_rewards_that_vary_within_a_sequence_are_refused_where_one_is_needed(name, options):
    rule = update_rules.get(name, **options)
    batch = random_batch(17)
    reward = batch.reward.copy()
    row = int(np.flatnonzero(batch.mask[:12].sum(1) > 2)[0])
    reward[row, 2] += 0.5
    varied = batch.replace(reward=reward)
    if (name, options) in PER_TOKEN:
        assert (rule.scores(varied) != rule.scores(batch)).sum() == 1
        np.testing.assert_allclose(rule.advantages(varied)[row, 2], reward[row, 2])
    else:
        with pytest.raises(ValueError, match="'reward' varies within a sequence"):
            rule.prepare(to_torch(varied))


def test_an_own_advantage_column_may_differ_by_token_and_so_may_the_reward_beside_it():
    batch = random_batch(18, second_batch=False)
    advantage = np.random.default_rng(0).normal(size=batch.mask.shape)
    batch = batch.replace(reward=advantage, advantage=advantage)
    scores = update_rules.get("grpo").scores(batch)
    assert "groups_without_signal" not in update_rules.get("grpo").metrics(batch)
    assert (np.sign(scores) * np.sign(advantage) >= 0).all()
    assert (scores != 0).any()


@pytest.mark.parametrize(("name", "options"), [v for v in VARIANTS if v not in PER_TOKEN + MOVING])
def test_rewards_that_rounding_tells_apart_are_equal(name, options):
    """As of reward functions added in float32: divided by a deviation of one ulp, last digits would be
    a full step in a random direction. float32 rounding does not go away in a float64 batch."""
    number = VARIANTS.index((name, options))
    scales = (1e-3, 1.0) if options.get("estimator") == "max-likelihood" else (1e-3, 1.0, -100.0)
    scale, dtype = scales[number % len(scales)], (torch.float64, torch.float32)[number % 2]
    rule = update_rules.get(name, **options)
    batch = random_batch(19, group_size=7, second_batch=rule.controller() is not None)
    if "overlong_buffer" in options:
        rule = dataclasses.replace(rule, max_length=99)
    value = np.float32(0.7 * scale)
    rows = np.arange(len(batch.reward))[:, None] % 2
    reward = np.where(rows, value, np.nextafter(value, np.float32(np.inf)))
    reward = np.where(batch.tempered, batch.reward, reward)
    if name == "diverse-bonus":
        batch = batch.replace(old_log_prob=0 * batch.log_prob)
    batch = to_torch(batch.replace(reward=reward, log_prob=batch.old_log_prob,
                                   reference_log_prob=batch.old_log_prob))
    batch = converted(batch, lambda c: c.to(dtype) if c.is_floating_point() else c)
    scores = torch.where(batch.tempered, 0.0, rule.scores(batch))
    assert (scores == 0).all()
    if "groups_without_signal" in rule.metrics(batch):
        assert rule.metrics(batch)["groups_without_signal"] == pytest.approx(1)
    ordinary = batch.is_ordinary
    assert advantages.equal_reward_groups(batch, ordinary) == pytest.approx(1)
    assert (advantages.without_signal(batch, ordinary) == ordinary).all()


@pytest.mark.parametrize("estimator", [e for e in advantages.ESTIMATORS if e not in (
    "reward", "signed", "best-over-second", "pass-at-k")])
@pytest.mark.parametrize("rewards", [(0.1, 0.2), (1.0, 1.00001), (1e-9, 2e-9), (0.0, 1e-12), (-1.0, 1.0)])
def test_rewards_that_differ_are_a_signal_however_small(estimator, rewards):
    """An absolute tolerance would silence small rewards."""
    batch = random_batch(19, group_size=6, second_batch=False)
    rows = np.arange(len(batch.reward))[:, None] % 2
    reward = np.where(rows, *rewards) * np.ones(batch.mask.shape)
    batch = batch.replace(reward=reward)
    if estimator == "max-likelihood" and rewards[0] < 0:
        return
    found = advantages.ESTIMATORS[estimator](batch, batch.mask)
    least = 0.0 if estimator in ("quantile", "best-of-k") else -1.0
    assert (np.sign(found) == np.where(rows, least, 1.0) * np.ones(found.shape))[batch.mask].all()
    assert advantages.equal_reward_groups(batch, batch.mask) == 0


@pytest.mark.parametrize(("name", "options"), OF_AEPO)
@pytest.mark.parametrize("missing", ["right answers", "rows"])
def test_a_second_batch_without_right_answers_or_rows_is_a_step_of_the_base_rule(
    name, options, missing
):
    rule = update_rules.get(name, **options)
    batch = random_batch(20)
    if missing == "rows":
        batch = batch.take_sequences(slice(0, 12))
    batch = batch.replace(reward=np.where(batch.tempered, 0.0, batch.reward))
    metrics = rule.metrics(batch)
    assert metrics["tempered_positive_share"] == 0
    assert metrics["tempered_sequences"] == (0 if missing == "rows" else 12)
    scores = rule.scores(batch)
    assert (scores[12:] == 0).all()
    without = {k: v for k, v in options.items() if k != "base"}
    plain = rule.base
    if name in ("clip-cov", "diverse-bonus", "repo", "sampler-correction"):  # whose base has the second
        plain = update_rules.get(name, **without, base="grpo")
    ordinary = batch.take_sequences(slice(0, 12))
    # Group sums in another order: a few roundings of terms of order 1.
    np.testing.assert_allclose(scores[:12], plain.scores(ordinary), rtol=1e-12)
    assert (scores[:12] != 0).any()
    assert rule.metrics(random_batch(20))["tempered_sequences"] == 12


# ------------------------------------------------------------------ samples in place of a listing


LISTING_ONLY = [
    update_rules.get("natural-gradient"),
    update_rules.get("grpo", group_size=4),
    update_rules.get("aepo", base=update_rules.get("grpo", group_size=4), ablation="advantage"),
    update_rules.get("kl-cov", base=update_rules.get("clip-higher", group_size=4)),
    update_rules.combine(update_rules.get("reinforce"), update_rules.get("gspo", group_size=4)),
]


@pytest.mark.parametrize("rule", LISTING_ONLY, ids=lambda rule: rule.name)
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_rules_that_need_every_answer_take_listings_and_refuse_samples(rule, backend):
    logits = np.log([[[1.0, 2.0, 5.0], [1.0, 1.0, 2.0]], [[3.0, 1.0, 1.0], [1.0, 1.0, 1.0]]])
    reward = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    listed = tabular.exact_batch(logits, reward, temperature=1.3)
    listed = to_torch(listed) if backend == "torch" else listed
    assert rule.needs.listing
    assert bool((rule.scores(listed) != 0).any())
    for rows in ([0, 1, 1, 2, 3, 4, 5], [0, 2, 3, 4, 5], [0, 1, 2]):
        rows = [*rows, *range(6, 12)]
        cut = listed.take_sequences(rows)
        equal = cut.replace(weight=0 * cut.weight + 1 / len(rows))
        for samples in (cut, equal) if len(rows) != 9 else (equal,):
            with pytest.raises(ValueError, match=r"samples|every action of each state"):
                rule.prepare(samples)


def test_sampled_responses_are_refused_and_a_listed_tree_is_not():
    rule = update_rules.get("grpo", group_size=4)
    tree = TokenTree(2, 3)
    logits = np.random.default_rng(0).normal(size=(tree.n_states, 2))
    reward = np.arange(tree.n_responses) % 3 == 0
    for temperature in (None, 0.7):
        rule.prepare(tabular.response_batch(logits, reward, temperature=temperature))
    cut = tabular.response_batch(logits, reward).take_sequences([0, 1, 2, 3, 3, 5, 6, 7])
    with pytest.raises(ValueError, match="Leave group_size None"):
        rule.prepare(cut)


def test_float32_listings_are_listings():
    rng = np.random.default_rng(1)
    logits = (4 * rng.normal(size=(2, 5000))).astype(np.float32)
    batch = tabular.exact_batch(logits, (rng.random((2, 5000)) < 0.5).astype(np.float32))
    for rule in LISTING_ONLY[:2]:
        rule.prepare(batch)


# ------------------------------------------------------------------ metrics and options


def test_equal_names_of_metrics_are_all_shown():
    get, combine = update_rules.get, update_rules.combine
    batch = random_batch(21, second_batch=False)
    narrow, wide = get("grpo", clip_low=0.01, clip_high=0.01), get("grpo")
    shown = combine(narrow, wide, get("clip-cov", ratio=0.5, lower=-9, upper=9)).metrics(batch)
    assert shown["clipped_fraction"] == narrow.metrics(batch)["clipped_fraction"]
    assert shown["2.grpo.clipped_fraction"] == wide.metrics(batch)["clipped_fraction"]
    assert shown["clipped_fraction"] > shown["2.grpo.clipped_fraction"] > 0
    assert "3.clip-cov.clipped_fraction" in shown
    assert shown["selected_fraction"] > 0
    nested = combine(wide, combine(narrow, wide)).metrics(batch)
    assert len([name for name in nested if name.endswith("clipped_fraction")]) == 3
    outer = get("clip-cov", ratio=0.1, lower=-9, base=get("kl-cov", ratio=0.3)).metrics(batch)
    assert outer["kl-cov.selected_fraction"] > outer["selected_fraction"] > 0
