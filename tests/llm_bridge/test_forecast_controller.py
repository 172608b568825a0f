"""Guards llm_bridge/trainer: a rule that holds its target by forecasts is shown each step's."""

import numpy as np
import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.schedules import Points
from llm_bridge.accounting.accountant import Accountant
from tests.llm_bridge.language_models import tabular_trainer

RULE = update_rules.get(
    "diverse-bonus", target=2.0, hold="forecast", coefficient=0.1, coefficient_low=-3.0,
    coefficient_high=3.0, smoothing=0.5)


def holding_trainer(folder, rule=RULE, **options):
    records = []
    trainer = tabular_trainer(folder, rule, on_step=records.append, **options)
    return trainer, records


SCHEDULE = Points(points=((0, 2.5), (4, 1.5)))


def test_forecasts_of_the_steps_themselves_reach_the_controller(tmp_path):
    """Base and bonus add up to the change that is then measured, up to second order in the step."""
    trainer, records = holding_trainer(tmp_path, steps=4, learning_rate=1e-3)
    trainer.add_callback(Accountant(trainer, every=1))
    forecasts, seen = trainer.entropy_forecast, []
    trainer.entropy_forecast = lambda: seen.append(forecasts()) or seen[-1]
    trainer.train()
    assert seen[0] is None
    # The same arithmetic on the same numbers, by the controller alone.
    loop = RULE.coefficient_controller()
    assert [record["coefficient"] for record in records] == pytest.approx([
        float(loop.observe(np.asarray(record["entropy"]), found))
        for record, found in zip(records, seen, strict=True)], rel=1e-12)
    for record, found in zip(records, seen[1:], strict=False):
        assert float(found.per_unit) > 0
        announced = float(found.base) + record["coefficient"] * float(found.per_unit)
        assert announced == pytest.approx(record["measured_entropy_change"], rel=1e-2)
    assert trainer.entropy_forecast() is not None
    assert trainer.entropy_forecast() is None  # asked twice, no step between


@pytest.mark.parametrize("rule", ["aepo", "entropy-bonus", "diverse-bonus"])
def test_targets_move_with_optimizer_steps(tmp_path, rule):
    """Two steps a generation share its target; the next generation has that of step 2."""
    records = []
    options = {} if rule == "aepo" else {"coefficient": 0.1}
    trainer = tabular_trainer(
        tmp_path, update_rules.get(rule, target_schedule=SCHEDULE, **options),
        on_step=records.append, steps=4, num_iterations=2)
    trainer.train()
    assert [record["target"] for record in records] == [2.5, 2.5, 2.0, 2.0]


@pytest.mark.filterwarnings("ignore:All reward functions returned None")
def test_a_dead_batch_moves_no_controller(tmp_path):
    """All completions are unusable: nothing is observed, and the coefficient is what it was."""
    trainer, records = holding_trainer(
        tmp_path, steps=3, reward=lambda completions, **_: [None] * len(completions))
    trainer.train()
    assert [record["usable_fraction"] for record in records] == [0.0] * 3
    assert trainer.coefficient_controller.entropy is None
    assert float(trainer.coefficient_controller.coefficient) == 0.1


def test_a_batch_without_signal_is_still_held(tmp_path):
    """Equal rewards: the rule moves nothing by itself, the bonus on right answers everything."""
    trainer, records = holding_trainer(
        tmp_path, steps=4, reward=lambda completions, **_: [1.0] * len(completions))
    trainer.train()
    assert records[-1]["groups_without_signal"] == 1.0
    # The base is what is left of the whole forecast without the bonus: rounding of float64 sums.
    assert abs(records[-1]["forecast_base"]) < 1e-9
    assert records[-1]["forecast_per_unit"] > 1e-6


def test_a_frozen_model_cannot_hold_a_target(tmp_path):
    trainer, _ = holding_trainer(tmp_path)
    trainer.model.requires_grad_(False)
    with pytest.raises(ValueError, match=r"no trainable parameter.*unfreeze some"):
        trainer.train()


def test_an_optimizer_whose_step_cannot_be_read_is_refused_before_the_step(tmp_path):
    trainer, records = holding_trainer(tmp_path)
    trainer.optimizer = torch.optim.Adagrad(trainer.model.parameters())
    with pytest.raises(ValueError, match=r"step of Adagrad cannot be read.*use torch's SGD"):
        trainer.train()
    assert records == []
