"""Guards the load-balancing loss of mixtures of experts: it acts as in TRL, with a part of its own."""

import functools
import math

import pytest
import transformers
import trl

from llm_bridge import diagnostics
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.accounting.step_accounts import StepAccounts
from llm_bridge.trainer import EntropyTrainer, from_trl
from tests.llm_bridge.llama_steps import experts
from tests.llm_bridge.test_translation import SAME
from tests.llm_bridge.trl_steps import CUT, difference, trained

SHORT = 1e-4
"""A rate at which no token goes to another expert, where entropy jumps without a gradient."""
FEW = {"learning_rate": 0.01, "loss_type": "grpo"}


@pytest.mark.parametrize("family", [
    "Qwen3Moe", pytest.param("Mixtral", marks=pytest.mark.deep),
    pytest.param("GptOss", marks=pytest.mark.deep)])
def test_steps_with_a_router_s_loss_are_trl_s(tmp_path, family):
    """On uneven rows, in two micro-batches, each of which has a loss of its own tokens."""
    make = functools.partial(experts, family)
    expected, theirs = trained(tmp_path, trl.GRPOTrainer, {**FEW, **CUT}, make=make)
    found, ours = trained(tmp_path, EntropyTrainer, {**FEW, **CUT}, make=make, rule=from_trl)
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME
    logs, evaluated = ([kind(made) for made in (ours, theirs)] for kind in (
        lambda made: made.state.log_history[0]["aux_loss"],
        lambda made: made.evaluate(made.train_dataset)["eval_loss"]))
    assert logs[0] == pytest.approx(logs[1], rel=SAME)
    assert evaluated[0] == pytest.approx(evaluated[1], rel=SAME)
    without, _ = trained(tmp_path, EntropyTrainer, {**FEW, **CUT, "router_aux_loss_coef": 0.0},
                         make=make, rule=from_trl)
    assert difference(found[0], without[0]) > 1e-3


def accounts(folder, kind, coefficient, **more):
    """The accounts of two clipped steps of a mixture in two micro-batches, as their log has them."""
    records = []

    def watch(made):
        if kind is EntropyTrainer:
            made.add_callback(Accountant(made))
        else:
            diagnostics.attach(made, account_every=1, account_tokens=True)
        made.add_callback(Records(made, records))

    trained(folder, kind, {**FEW, **CUT, "router_aux_loss_coef": coefficient, "max_grad_norm": 0.5,
                           "learning_rate": SHORT},
            prepare=watch, make=experts, **more)
    return records


class Records(transformers.TrainerCallback):
    def __init__(self, made, records):
        self.made, self.records = made, records

    def on_step_end(self, *_, **__):
        if isinstance(self.made, EntropyTrainer):
            self.records.append(self.made.entropy_account)
        else:
            (found,) = [callback for callback in self.made.callback_handler.callbacks
                        if isinstance(callback, StepAccounts)]
            self.records.append(found.current)


@pytest.mark.parametrize("kind", [EntropyTrainer, trl.GRPOTrainer])
def test_a_router_s_loss_is_a_part_of_its_own(tmp_path, kind):
    """Beside it, a step's tokens do what they do without it, and all parts are the measured change."""
    rule = {"rule": from_trl} if kind is EntropyTrainer else {}
    steps = accounts(tmp_path, kind, 0.5, **rule)
    (plain, _) = accounts(tmp_path, kind, 0.0, **rule)
    assert "load_balancing" not in plain.forecast_parts
    own, other = (step.forecast_parts["gradient"] for step in (steps[0], plain))
    assert own == pytest.approx(other, rel=1e-5)
    for step in steps:
        assert abs(step.forecast_parts["load_balancing"]) > 0.01 * abs(step.forecast)
        assert math.fsum(step.account.parts.values()) == pytest.approx(step.account.measured, rel=0.01)
        assert step.tokens.gap < 1e-5
