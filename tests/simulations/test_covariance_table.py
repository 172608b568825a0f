"""Guards experiment covariance_table: the table by hand, and the accuracies of its prompts."""

import math

import numpy as np
import pytest

from simulations.experiments import covariance_table as experiment


def test_the_table_is_that_of_a_loop():
    """Groups, dropped prompts, centering and ranks, token by token."""
    config = experiment.Config(lengths=(2,), sharpness=(2.0,), n_tokens=960, repeats=1)
    cell = (config, 3, 2, 2.0, 0)
    log_prob, reward = experiment.responses(cell)
    tokens = []
    for prompt in range(len(reward)):
        rewards = [float(r) for r in reward[prompt, :, 0]]
        mean = sum(rewards) / 8
        deviation = math.sqrt(sum((r - mean) ** 2 for r in rewards) / 8)
        if deviation == 0:
            continue
        for i, r in enumerate(rewards):
            tokens += [(float(x), (r - mean) / deviation) for x in log_prob[prompt, i]]
    mean_log = sum(x for x, _ in tokens) / len(tokens)
    mean_advantage = sum(a for _, a in tokens) / len(tokens)
    covariance = sorted(((x - mean_log) * (a - mean_advantage) for x, a in tokens), reverse=True)
    found = experiment._batch(cell, lambda steps: None).covariance.isel(advantage=0)
    for share, value in zip(experiment.SHARES, found.values, strict=True):
        top = covariance[: max(int(share * len(covariance)), 1)]
        assert value == pytest.approx(sum(top) / len(top), rel=1e-10, abs=1e-12)


def test_prompts_have_the_accuracies_they_should():
    config = experiment.Config(lengths=(1,), sharpness=(4.0,), n_tokens=2**16, repeats=1)
    cell = (config, 0, 1, 4.0, 0)
    _, reward = experiment.responses(cell)
    by_kind = [reward[k::3].mean() for k in range(3)]
    # 2,730 prompts of eight: a standard error of at most 0.0034.
    np.testing.assert_allclose(by_kind, [0.125, 0.5, 0.875], atol=0.015)
