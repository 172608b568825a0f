"""Guards llm_bridge/verl_plugin.py: where a rule is meant to be verl's loss, it is, to rounding.

Gradients by the tokens' log-probabilities are compared. Each is a product of a handful of factors
(ratio, advantage, one over a count), so that a relative error of 64 units in the last place is ample;
a token on the other side of a clip or a selection would differ by its whole size.
"""

import pytest

pytest.importorskip("verl")

import torch

from entropy_theory.update_rules import selection
from llm_bridge import verl_plugin
from tests.verl.verl_batches import actor_config, hook, ours, random_batch

MODES = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean",
         "seq-mean-token-sum-norm")
UNITS = 64


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert expected.abs().max() > 1e-3  # two zeros would agree on anything
    torch.testing.assert_close(
        found, expected, rtol=UNITS * torch.finfo(expected.dtype).eps, atol=0)


CASES = {
    "grpo is vanilla": (
        {}, actor_config("vanilla", clip_ratio_high=0.28),
        ours("grpo", {"clip_high": 0.28, "dual_clip": 3.0})),
    "clip-higher is vanilla": (
        {}, actor_config("vanilla", clip_ratio_high=0.28, clip_ratio_c=1e9), ours("clip-higher")),
    "gspo": (
        {"drift": 1e-3}, actor_config("gspo", clip_ratio_low=3e-4, clip_ratio_high=4e-4),
        ours("gspo")),
    "reinforce is gpg": ({}, actor_config("gpg"), ours("reinforce")),
    "clip-cov, all candidates": (
        {}, actor_config("clip_cov", clip_cov_ratio=1.0, clip_cov_lb=0.3, clip_cov_ub=2.0),
        ours("clip-cov", {"ratio": 1.0, "lower": 0.3, "upper": 2.0, "cov_log_prob": "current"})),
    "kl-cov": (
        {}, actor_config("kl_cov", kl_cov_ratio=0.2, ppo_kl_coef=0.5),
        ours("kl-cov", {"ratio": 0.2, "coefficient": 0.5, "cov_log_prob": "current"})),
    "kl-cov, at least one": (
        {}, actor_config("kl_cov", kl_cov_ratio=2e-4, ppo_kl_coef=0.5),
        ours("kl-cov", {"ratio": 2e-4, "coefficient": 0.5, "cov_log_prob": "current",
                        "at_least_one": True})),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_a_rule_is_verl_s_loss(case, mode, dtype):
    """Every aggregation, both precisions, with verl's correction weights, on several batches."""
    options, theirs, mine = CASES[case]
    for seed in range(5):
        batch = random_batch(seed, **options).to(dtype)
        weights = torch.rand(batch.mask.shape, dtype=dtype,
                             generator=torch.Generator().manual_seed(seed))
        expected = hook(batch, theirs, mode=mode, weights=weights)[0]
        assert_close(hook(batch, mine, mode=mode, weights=weights)[0], expected)


@pytest.mark.parametrize("mode", MODES)
def test_a_part_of_a_larger_batch_is_normalized_by_the_larger(mode):
    """What gradient accumulation and data parallelism rest on: verl's global_batch_info is used."""
    batch = random_batch()
    info = {"dp_size": 4, "batch_num_tokens": 1000, "global_batch_size": 96, "loss_scale_factor": 50}
    options = {"clip_high": 0.28, "dual_clip": 3.0}
    expected = hook(batch, actor_config("vanilla", clip_ratio_high=0.28), mode=mode, info=info)[0]
    assert_close(hook(batch, ours("grpo", options), mode=mode, info=info)[0], expected)
    if mode != "token-sum":
        assert not torch.allclose(expected, hook(batch, ours("grpo", options), mode=mode)[0])


def test_where_nothing_is_clipped_the_loss_has_verl_s_value():
    """Gradients decide; the logged loss is minus the mean score, verl's wherever no clip binds."""
    batch = random_batch(drift=0.01)
    value, expected = (hook(batch, c)[1] for c in (ours("grpo"), actor_config("vanilla")))
    # A sum of terms of both signs: rounding is relative to the sum of their sizes.
    size = batch.advantages.abs().sum() / batch.mask.sum()
    assert abs(value - expected) <= UNITS * torch.finfo(torch.float64).eps * size


def test_metrics_mean_what_verl_s_mean():
    batch = random_batch()
    _, _, found = hook(batch, ours("clip-higher"))
    _, _, expected = hook(batch, actor_config("vanilla", clip_ratio_high=0.28, clip_ratio_c=1e9))
    assert found["actor/ppo_kl"] == pytest.approx(expected["actor/ppo_kl"], rel=1e-6)
    assert found["actor/clipped_fraction"] == pytest.approx(expected["actor/pg_clipfrac"], rel=1e-6)


def test_clip_cov_draws_as_many_tokens_as_verl_does():
    """Which of the candidates is chance in both; how many is not."""
    options = {"ratio": 0.1, "lower": 0.3, "upper": 2.0, "cov_log_prob": "current"}
    theirs = actor_config("clip_cov", clip_cov_ratio=0.1, clip_cov_lb=0.3, clip_cov_ub=2.0)
    for seed in range(5):
        batch = random_batch(seed)
        expected = hook(batch, theirs)[2]["actor/pg_clipfrac"]
        found = hook(batch, ours("clip-cov", options))[2]["actor/selected_fraction"]
        assert found == pytest.approx(expected, rel=1e-6)
        assert expected > 0


def test_tokens_without_advantage_use_up_verl_s_quota_only():
    """They have no gradient to take away; in verl they are candidates nevertheless."""
    batch = random_batch(1)
    batch.advantages[: len(batch.mask) // 2] = 0.0
    theirs = actor_config("clip_cov", clip_cov_ratio=1.0, clip_cov_lb=0.05, clip_cov_ub=9.0)
    mine = ours("clip-cov", {"ratio": 1.0, "lower": 0.05, "upper": 9.0, "cov_log_prob": "current"})
    gradient, _, found = hook(batch, mine)
    expected, _, counted = hook(batch, theirs)
    assert_close(gradient, expected)
    assert found["actor/selected_fraction"] < counted["actor/pg_clipfrac"]


def test_kl_cov_selects_by_the_sampling_policy_unless_asked():
    """verl ranks by the current log-probabilities; the default here, by those of the samples."""
    batch = random_batch(2, drift=1.0)
    mine = hook(batch, ours("kl-cov", {"ratio": 0.2}))[0]
    columns = verl_plugin.token_batch(
        batch.old_log_prob, batch.old_log_prob, batch.advantages, batch.mask, seed=0)
    covariance = selection.token_covariance(columns, batch.old_log_prob, batch.advantages)
    count = int(0.2 * batch.mask.sum())
    chosen = covariance[batch.mask].sort(descending=True).values[count - 1] <= covariance
    change = batch.log_prob - batch.old_log_prob
    score = change.exp() * batch.advantages - torch.where(chosen & batch.mask, change.sign(), 0.0)
    assert_close(mine, torch.where(batch.mask, -score / batch.mask.sum(), 0.0))


def test_ratios_beyond_e_20_differ_by_design():
    """verl's clamp of the log-ratio takes the gradient away there; a rule keeps PPO's."""
    batch = random_batch(0, drift=0.0)
    batch.advantages[:] = -1.0
    batch.log_prob[0, 0] = batch.old_log_prob[0, 0] + 25
    theirs = actor_config("vanilla", clip_ratio_c=1e30)
    assert hook(batch, theirs)[0][0, 0] == 0
    assert hook(batch, ours("grpo"))[0][0, 0] > 0
