"""Guards rounding.py: bounds, targets and ties hold up to rounding; of all rules the contract asks it."""

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
from entropy_theory.verification.rule_batches import random_batch


@pytest.mark.parametrize(("dtype", "changes"), [
    (np.float64, ((1e-15, False), (1e-7, False), (1e-5, True))),  # an exact small step is a step
    (np.float32, ((1e-4, False), (9e-4, False), (1.1e-3, True))),
])
def test_kl_cov_s_absolute_penalty_has_no_slope_where_the_policy_may_be_the_same(dtype, changes):
    """It was 1 in a random direction from 1e-16 on."""
    batch = random_batch(0, second_batch=False)
    batch = batch.replace(log_prob=batch.old_log_prob)
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
