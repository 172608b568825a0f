"""Guards rounding.py: no rule's step hangs on the last digit of a log-probability, a reward or a sum."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from entropy_theory import rounding, update_rules
from entropy_theory.controllers import (
    AdaptiveCoefficient,
    TargetEntropyCoefficient,
    TemperatureSwitch,
)
from entropy_theory.token_batch import TokenBatch
from entropy_theory.verification.rule_batches import converted, to_torch

OPTIONS = {
    "reinforce": [{"estimator": "reinforce++"}], "grpo": [
        {}, {"clip_low": 0.0, "clip_high": 0.0}, {"dual_clip": 1.5}, {"dynamic_sampling": True},
        {"estimator": "leave-one-out"}],
    "gspo": [{}, {"clip_low": 0.0, "clip_high": 0.0}],
    "reference-kl": [{}, {"estimator": "k1", "placement": "reward"}],
    "clip-cov": [{"ratio": 0.2, "lower": lower, "upper": 9.0, "covariance": kind}
                 for lower, kind in ((-9.0, "tabular"), (0.0, "network"), (0.1, "tabular"))],
    "kl-cov": [{"ratio": 0.1, "covariance": "network"}, {"ratio": 0.45, "base": "entropy-bonus"}],
    "aepo": [{}, {"base": "clip-cov"}],
}
CASES = [(name, options) for name in update_rules.RULES if name != "natural-gradient"
         for options in OPTIONS.get(name, [{}])]
ROWS, WIDTH = 24, 6


def drawn(seed, *, ties, edge=0.0):
    """On-policy rows of three prompts, or at a clip's edge; some rewards are their prompt's mean.

    Args:
        seed: of the draws.
        ties: whether log-probabilities are a few numbers that many tokens share.
        edge: log-ratio of the tokens that are not on-policy.
    """
    rng = np.random.default_rng(seed)
    shape = (ROWS, WIDTH)
    mask = np.arange(WIDTH) < rng.integers(1, WIDTH + 1, ROWS)[:, None]
    old = -rng.integers(1, 4, shape) / 3 if ties else -rng.exponential(1.0, shape)

    def column(values):
        return np.broadcast_to(np.asarray(values)[:, None], shape).copy()

    return TokenBatch(
        log_prob=old + edge * rng.integers(-1, 2, shape), old_log_prob=old, mask=mask,
        weight=mask / mask.sum(), reward=column(rng.integers(0, 8, ROWS) / 7),
        group=column(np.repeat(np.arange(3), 8)), sequence=column(np.arange(ROWS)),
        entropy=1.0 - old, clamped_entropy=0.5 - old / 2, reference_log_prob=old,
        entropy_effect=np.round(rng.normal(size=shape), 1), sampling_temperature=np.ones(shape))


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_and_the_order_of_rows_move_no_step_by_more_than_rounding(name, options, dtype):
    """Ratios of 1 and of exactly 1.2, tokens that tie, rewards that are the mean or equal."""
    rule = update_rules.get(name, **options)
    # 1e-12 is some 5,000 roundings of float64; in float32 two, which a kernel moves.
    size = {np.float64: 1e-12, np.float32: 2.0**-22}[dtype]
    for seed in range(6):
        batch = drawn(seed, ties=seed % 2 == 0, edge=np.log([1.0, 1.2, 1.5][seed % 3]))
        if seed == 3:
            batch = batch.replace(reward=0 * batch.reward + 0.7)
        batch = converted(batch, lambda c: c.astype(dtype) if c.dtype == float else c)
        rng = np.random.default_rng(seed)
        moved = batch.replace(**{
            name: getattr(batch, name) + dtype(size) * rng.choice([-1, 1], batch.mask.shape).astype(dtype)
            for name in ("log_prob", "old_log_prob", "reference_log_prob", "entropy", "entropy_effect")})
        order = rng.permutation(ROWS)
        expected = rule.scores(batch)
        shuffled = rule.scores(batch.take_sequences(order))[np.argsort(order)]
        allowed = 1e3 * size * max(1.0, abs(expected).max())
        assert abs(rule.scores(moved) - expected).max() <= allowed, seed
        assert abs(shuffled - expected).max() <= allowed, seed
        on_torch = np.asarray(rule.scores(to_torch(moved)))
        assert abs(on_torch - expected).max() <= allowed, seed


@pytest.mark.parametrize(("dtype", "changes"), [
    (np.float64, ((1e-15, False), (1e-7, False), (1e-5, True))),  # an exact small step is a step
    (np.float32, ((1e-4, False), (9e-4, False), (1.1e-3, True))),
])
def test_kl_cov_s_absolute_penalty_has_no_slope_where_the_policy_may_be_the_same(dtype, changes):
    """It was 1 in a random direction from 1e-16 on."""
    batch = drawn(0, ties=False)
    batch = batch.replace(**{name: column.astype(dtype) for name, column in batch._columns()
                             if column.dtype == np.float64})
    rule = update_rules.get("kl-cov", ratio=0.2)
    expected = rule.scores(batch)
    for change, acts in changes:
        found = rule.scores(batch.replace(log_prob=batch.old_log_prob + dtype(change)))
        assert (abs(found - expected).max() > 0.5) == acts, change


def test_ties_at_the_cut_go_by_identity_whatever_rounding_says():
    """Five tokens of equal covariance, three of which are selected: those of the first sequences."""
    rows = 10
    shape = (rows, 1)
    reward = np.repeat([1.0, 0.0], 5)[:, None]
    columns = {"reward": reward, "mask": np.ones(shape, bool), "weight": np.full(shape, 0.1),
               "sequence": np.arange(rows)[:, None]}
    rule = update_rules.get("kl-cov", ratio=0.3)
    for seed in range(20):
        noise = 1e-12 * np.random.default_rng(seed).normal(size=shape)
        old = np.where(reward > 0, -1.0, -2.0) + noise
        batch = TokenBatch(log_prob=old, old_log_prob=old, **columns)
        selected = rule.prepare(batch).prepared["kl-cov.selected"][:, 0]
        assert np.flatnonzero(selected).tolist() == [0, 1, 2]


def test_bounds_hold_up_to_rounding_in_every_format():
    for convert in (np.float32, np.float64, torch.tensor):
        ours = [rounding.at_least(convert(value), 1.0) for value in (0.7 + 0.2 + 0.1, 1 - 2e-6, 1.0)]
        assert [bool(v) for v in ours] == [True, False, True]
    assert bool(rounding.at_most(np.float16(1.004), 1.0))
    assert bool(rounding.at_least(np.array(-5e-17), 0.0))
    assert not bool(rounding.at_least(np.array(1e300), np.inf))
    assert rounding.at_least(np.array([0.5, np.inf]), np.array([0.5, np.inf])).all()
    assert bool(rounding.near(np.array(1 + 1e-7), 1.0))
    assert not bool(rounding.near(np.array(1.001), 1.0))


def test_controllers_are_at_their_target_where_entropy_is_up_to_rounding():
    target = float(np.log(3))
    for error in (-1e-12, 0.0, 1e-12):
        entropy = np.array(target + error)
        assert float(TemperatureSwitch(target=target).observe(entropy)) == 0.8
        coefficient = TargetEntropyCoefficient(target=target, coefficient=0.1, step=0.05)
        assert float(coefficient.observe(entropy)) == pytest.approx(0.15)
        band = AdaptiveCoefficient(entropy_low=target, entropy_high=target, low=0.0)
        # One step is rate = 0.002 times the distance from the band, which is 1e-12.
        assert float(band.observe(entropy)) == pytest.approx(0.002, rel=0, abs=2.1e-15)
