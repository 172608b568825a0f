"""Guards what llm_bridge/verl_forecast.py refuses and leaves alone; its numbers: test_two_ranks."""

from types import SimpleNamespace

import pytest

pytest.importorskip("verl")

import torch

from llm_bridge import verl_forecast
from tests.verl.test_configuration import ACTOR, configured
from tests.verl.verl_batches import engine_data, hook, ours, random_batch

OURS = (ACTOR + "policy_loss.loss_mode=entropy-theory/grpo",
        ACTOR + "policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config")
EVERY = "+" + ACTOR + "policy_loss.forecast_every="


def engine(**options):
    """What of verl's engine is asked before a step."""
    weights = torch.nn.Parameter(torch.ones(3))
    return SimpleNamespace(**{
        "engine_config": SimpleNamespace(strategy="fsdp2"), "scaler": None,
        "optimizer": torch.optim.SGD([weights], lr=0.1),
        "optimizer_config": SimpleNamespace(clip_grad=1.0),
        "get_data_parallel_size": lambda: 1, "get_data_parallel_group": lambda: None, **options})


def test_the_distance_arrives_from_the_command_line():
    assert configured(*OURS, EVERY + "10").policy_loss.forecast_every == 10
    assert configured(*OURS).policy_loss.forecast_every == 0


@pytest.mark.parametrize("value", ["-1", "2.5", "true", "often"])
def test_a_distance_that_is_none_is_refused(value):
    with pytest.raises(Exception, match="forecast_every must be a whole number of at least 0"):
        configured(*OURS, EVERY + value)


def test_who_would_not_read_the_distance_says_so():
    """Neither verl's own losses nor the hook without the worker forecast: they must not just log none."""
    with pytest.raises(Exception, match=r"forecast_every=10 is for this package's rules.*loss_mode"):
        configured(*OURS[1:], EVERY + "10")
    with pytest.raises(ValueError, match=r"forecast_every is read by the worker.*external_lib"):
        hook(random_batch(), ours("grpo", forecast_every=10))


@pytest.mark.parametrize(("options", "message"), [
    ({"engine_config": SimpleNamespace(strategy="megatron")}, r"strategy=megatron.*strategy=fsdp2"),
    ({"engine_config": SimpleNamespace(strategy="fsdp")}, r"strategy=fsdp is another.*strategy=fsdp2"),
    ({"optimizer": torch.optim.RMSprop([torch.ones(3)])}, r"step of RMSprop.*optimizer=AdamW"),
    ({"scaler": object()}, r"float16.*param_dtype=bf16"),
    ({"get_data_parallel_size": lambda: 4}, "ulysses_sequence_parallel_size=1"),
])
def test_engines_whose_steps_cannot_be_forecast(options, message, group):
    verl_forecast.check_engine(engine())
    with pytest.raises(ValueError, match=message):
        verl_forecast.check_engine(engine(**options))


def test_a_step_that_is_not_taken_or_has_no_token_logs_nothing():
    """Gradients that are not finite, which verl leaves out; and rejected samples."""
    made, batch = engine(), random_batch()
    (weights,) = made.optimizer.param_groups[0]["params"]
    with verl_forecast.StepForecast(made, engine_data(batch)) as skipped:
        pass
    assert skipped.metrics(float("nan")) == {}
    data = engine_data(batch)
    data["response_mask"] = data["response_mask"] * 0
    weights.grad = torch.ones(3)
    with verl_forecast.StepForecast(made, data) as empty:
        made.optimizer.step()
    assert empty.metrics(1.0) == {}
    assert weights.tolist() == pytest.approx([0.9] * 3)
    assert not made.optimizer._optimizer_step_pre_hooks
    assert not made.optimizer._optimizer_step_post_hooks
