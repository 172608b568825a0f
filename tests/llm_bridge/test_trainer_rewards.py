"""Guards llm_bridge/trainer/entropy_trainer.py where rewards are missing, or say nothing."""

import numpy as np
import pytest
import torch

from entropy_theory import update_rules
from tests.llm_bridge.language_models import low_digit, tabular_trainer
from tests.llm_bridge.recorded_steps import SMALL, Tables, recorded
from tests.tolerances import SAME_STEP

TRAINED = [("aepo", {}, 2), ("aent", {}, 2),
           ("clip-cov", {**SMALL["clip-cov"], "cov_log_prob": "current"}, 1)]
"""Rules with what a generation may leave behind: a second batch, a controller, a preparation."""


def test_a_completion_nobody_can_judge_takes_no_part(tmp_path):
    """A reward function may return None; the row then has no weight."""

    def partly(prompts, completions, **_):
        rewards = low_digit(prompts, completions)
        return [None if i == 0 else r for i, r in enumerate(rewards)]

    records = []
    made = tabular_trainer(
        tmp_path, update_rules.get("grpo"), reward=partly, on_step=records.append
    )
    ((part,),) = recorded(made)
    assert int((~part.batch.mask).sum()) == 1
    assert float(part.batch.weight.sum()) == pytest.approx(1, abs=1e-6)
    assert records[0]["usable_fraction"] == 23 / 24


def no_rewards_at_first(calls):
    """Rewards that are missing for the first ``calls`` batches of completions."""
    asked = []

    def reward(prompts, completions, **_):
        asked.append(1)
        return [None] * len(completions) if len(asked) <= calls else low_digit(None, completions)

    return reward


@pytest.mark.parametrize(("name", "options", "micro_batches"), TRAINED, ids=str)
def test_a_generation_that_nobody_can_judge_is_a_step_that_moves_nothing(
    tmp_path, name, options, micro_batches
):
    """Counted in the log; no controller sees it, and the next generation is trained on as ever."""
    records = []
    made = tabular_trainer(
        tmp_path, update_rules.get(name, **options), reward=no_rewards_at_first(1), steps=4,
        num_iterations=2, micro_batches=micro_batches, on_step=records.append,
    )
    tables = Tables(made)
    made.add_callback(tables)
    made.train()
    assert [record["usable_fraction"] for record in records] == [0, 0, 1, 1]
    assert records[0]["entropy"] is records[0]["reward"] is None
    np.testing.assert_array_equal(tables.found[0], tables.found[2])
    assert np.abs(tables.found[4] - tables.found[2]).max() > 1e-3
    assert records[0]["temperature"] is None  # no second batch
    if made.coefficient_controller is not None:
        assert made.coefficient_controller.observations == 1


def test_a_second_batch_that_nobody_can_judge_is_a_step_without_that_term(tmp_path):
    """The ordinary rows are trained on as if there had been no other."""
    found = []
    for rule, calls in (("grpo", 0), ("aepo", 1)):
        asked = []

        def reward(prompts, completions, asked=asked, **_):
            asked.append(1)
            return low_digit(None, completions) if len(asked) == 1 else [None] * len(completions)

        made = tabular_trainer(tmp_path, update_rules.get(rule), reward=reward)
        made.train()
        assert len(asked) == calls + 1
        found.append(made.model.table.weight.detach())
    torch.testing.assert_close(*found, rtol=0, atol=SAME_STEP)
