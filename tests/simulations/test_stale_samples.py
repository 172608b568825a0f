"""Guards docs/holding_an_entropy_measured.md#samples-that-are-late."""

import numpy as np
import pytest

from simulations.engine.simulation import simulate
from tests.simulations import stale_runs


@pytest.mark.parametrize("name", stale_runs.RULES)
def test_without_delay_they_are_the_simulator_s_runs(name):
    """A past policy that is one step off, or rows that are not those of the draws."""
    steps = 30
    block = stale_runs.block(name, delay=0, late_entropy=True, steps=steps)
    task = block.task
    found = block.advance(steps, measured=True)
    expected = simulate(task.logits, task.reward, stale_runs.recorded(task.dynamics))
    # Sums of 32 rows in another order, 30 steps long, with logits of order 1.
    np.testing.assert_allclose(found.entropy, expected.entropy[:steps], rtol=0, atol=1e-11)


def test_a_late_policy_draws_and_is_divided_by():
    block = stale_runs.block("integral, entropy bonus", delay=3, late_entropy=True, steps=9)
    policies, seen = [], []
    for _ in range(9):
        block.evaluate()
        policies.append(block.log_probabilities())
        seen.append(block.coefficient_controller.entropy)
        block.draw()
        rows = block.token_batch()
        run = np.arange(block.n_runs)[:, None, None]
        late = policies[max(0, len(policies) - 4)]
        np.testing.assert_array_equal(rows.old_log_prob, late[run, rows.state, rows.action])
        np.testing.assert_array_equal(rows.log_prob, policies[-1][run, rows.state, rows.action])
        entropy = -(np.exp(late) * late).sum(-1).mean(-1)
        np.testing.assert_allclose(seen[-1], entropy, rtol=1e-12)
        block.advance(1, measured=False)


@pytest.mark.deep
def test_late_entropies_swing_a_fixed_step_and_not_a_forecast():
    """Eight steps late, at learning rate 1: 0.17 nats of swing where 0.004 were, and 0.015 for 0.009."""
    integral, forecast = "two-sided integral, diverse bonus", "forecast, entropy bonus"
    swing = {(name, delay): stale_runs.held(name, delay=delay, late_entropy=True)["swing"][0]
             for name in (integral, forecast) for delay in (0, 8)}
    assert swing[integral, 8] > 10 * swing[integral, 0]
    assert swing[forecast, 8] < 3 * swing[forecast, 0]
