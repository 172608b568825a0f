"""Guards docs/departures.md: where a step is not TRL's or verl's, by how much, and why ours is right.

A size that changes fails here: TRL has moved, or the bridge has.
"""

import numpy as np
import pytest

from entropy_theory import policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from tests.llm_bridge.trl_steps import CUT, ROWS, both, difference
from tests.tolerances import FLOAT64, SAME_STEP


def unit_rewards(completion_ids, **_):
    return [(sum(ids[:3]) % 7) / 7 for ids in completion_ids]


def judged_in_part(completion_ids, **_):
    """No reward for every fifth completion."""
    return [1e4 * (sum(ids[:3]) % 7) / 7 if place % 5 else None
            for place, ids in enumerate(completion_ids)]


@pytest.mark.parametrize(("options", "reward", "low", "high"), [
    pytest.param({}, unit_rewards, 1e-4, 1e-3, id="1e-4 beside the standard deviation"),
    pytest.param({"mask_truncated_completions": True}, None, 0.1, 0.3, id="masked rows, token mean"),
    pytest.param({"mask_truncated_completions": True, "loss_type": "grpo"}, None, 0.3, 0.7,
                 id="masked rows, sequence mean"),
    pytest.param({"loss_type": "bnpo", **CUT}, None, 0.03, 0.1, id="bnpo in micro-batches"),
    pytest.param({"entropy_coef": 2.0, **CUT}, None, 0.01, 0.04, id="bonus in micro-batches"),
    pytest.param({"top_entropy_quantile": 0.2, **CUT}, None, 0.3, 0.45, id="quantile of micro-batches"),
])
def test_departures_from_trl_have_their_size(tmp_path, options, reward, low, high):
    found, expected, _ = both(tmp_path, options, *([] if reward is None else [reward]))
    assert low < difference(found[0], expected[0]) < high


@pytest.mark.filterwarnings("ignore:All reward functions returned None")
def test_completions_without_a_reward_leave_the_mean(tmp_path):
    """TRL counts them in the denominator: its step shrinks by the share that nobody could judge."""
    found, expected, _ = both(tmp_path, {"loss_type": "grpo"}, judged_in_part)
    judged = sum(place % 5 > 0 for place in range(ROWS))
    scaled = {name: change * ROWS / judged for name, change in expected[0].items()}
    assert difference(found[0], scaled) < 1e-5
    assert difference(found[0], expected[0]) > 0.2


def listing(logits, reward, mask) -> TokenBatch:
    """All answers of one prompt by their probabilities, some of them masked."""
    batch = tabular.exact_batch(logits, reward)
    return batch.replace(mask=batch.mask & mask[:, None])


def test_rows_that_are_cut_off_and_masked_are_left_alone():
    """Right, wrong, and cut off. Where the last has no part in the baseline, the step does not touch its
    logit, and is P(finished) times the gradient of E[reward | finished]: exactly what a mask is for. A
    baseline with the rewards of masked rows (TRL, verl) makes being cut off rarer, or likelier."""
    logits, reward = np.array([[0.3, -0.4, 0.5]]), np.array([[1.0, 0.0, 0.0]])
    finished = np.array([True, True, False])
    rule = update_rules.get("reinforce", estimator="group-centered")
    step = tabular.logit_step(logits, listing(logits, reward, finished), rule)[0]
    p = policy.softmax(logits)[0]
    inside = p * finished / p[finished].sum()
    value = (inside * reward[0]).sum()
    expected = p[finished].sum() * inside * (reward[0] - value)
    np.testing.assert_allclose(step / step[0], expected / expected[0], rtol=0, atol=SAME_STEP)
    assert step[2] == pytest.approx(0, abs=64 * FLOAT64)
    theirs = p * finished * (reward[0] - (p * reward[0]).sum())  # before the softmax's own term
    assert abs((theirs - p * theirs.sum())[2]) > 0.01
