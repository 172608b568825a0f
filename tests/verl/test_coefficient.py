"""Guards llm_bridge/verl_coefficient.py: a coefficient adapts under verl as it does in TRL training."""

import dataclasses

import pytest

pytest.importorskip("verl")

import torch
from verl.utils import tensordict_utils

import llm_bridge.verl_worker  # noqa: F401, as actor_rollout_ref.model.external_lib does
from llm_bridge import verl_coefficient, verl_forecast, verl_plugin
from llm_bridge.trainer import controllers
from tests.verl.test_mini_batches import CLOSE, accumulate, make_worker
from tests.verl.verl_batches import ROWS, engine_data, jagged, ours, random_batch

HOLDING = {"target": 0.8, "coefficient": 0.3, "coefficient_step": 0.1}
BATCHES = 3


def holding(**options):
    return ours("entropy-bonus", {**HOLDING, **options}, calculate_entropy=True)


def batches():
    """As many as a run may have, their entropies below the target and above it."""
    return [dataclasses.replace(batch, entropy=factor * batch.entropy)
            for seed, factor in zip(range(BATCHES), (0.7, 0.9, 2.0), strict=True)
            for batch in [random_batch(seed)]]


def trained(worker, batch, *, mini_batch: int = 6, **columns):
    """A batch of verl's trainer through the worker, with the entropies that it has scored."""
    data = engine_data(batch, reference=True)
    data["entropy"] = jagged(batch.entropy, batch.mask)
    tensordict_utils.assign_non_tensor(
        data, mini_batch_size=mini_batch, epochs=1, micro_batch_size_per_gpu=3, **columns)
    return tensordict_utils.get(worker.train_mini_batch(data), "metrics")


def in_trl(rule) -> list[float]:
    """The coefficients that the trainer of TRL runs would choose, with an optimizer step a batch."""
    controller = rule.coefficient_controller()
    return [controllers.observe(
        controller, verl_plugin.token_batch(
            batch.old_log_prob, batch.log_prob, batch.advantages, batch.mask,
            entropy=batch.entropy, seed=0), step=number, ahead=1)
        for number, batch in enumerate(batches())]


@pytest.mark.parametrize("options", [
    {}, {"target": None, "target_schedule": {"points": [[0, 0.1], [1, 3.0], [2, 0.1]]}},
    {"coefficient": -0.15, "coefficient_low": -1.0}], ids=["target", "schedule", "two-sided"])
def test_the_coefficients_are_those_of_trl_training(options, group):
    """And steps those of the rule with that coefficient as a constant: it is what acts, on all rows."""
    config = holding(**options)
    expected = in_trl(verl_plugin.rule_of(config.policy_loss))
    assert len(set(expected)) > 1
    worker = make_worker(batches()[0], config, group)
    for batch, coefficient in zip(batches(), expected, strict=True):
        worker.engine.log_prob, worker.engine.entropy = (
            column.clone().requires_grad_() for column in (batch.log_prob, batch.entropy))
        metrics = trained(worker, batch, mini_batch=ROWS)
        assert metrics["actor/coefficient"] == [pytest.approx(coefficient, abs=CLOSE)]
        constant = ours("entropy-bonus", {"coefficient": coefficient}, calculate_entropy=True)
        wanted = accumulate(batch, constant, verl_plugin.rule_loss)
        assert wanted[1].abs().max() > 1e-3 or coefficient == 0
        torch.testing.assert_close(worker.engine.log_prob.grad, wanted[0], rtol=0, atol=CLOSE)
        torch.testing.assert_close(worker.engine.entropy.grad, wanted[1], rtol=0, atol=CLOSE)


def test_a_resumed_run_goes_on_with_the_controller_s_state(group, tmp_path):
    """Two batches, a checkpoint, a third: as if nothing had happened. Where a checkpoint has no such
    state (another rule wrote it) nothing is trained: the coefficient would start again."""
    config = holding()
    expected = in_trl(verl_plugin.rule_of(config.policy_loss))
    worker = make_worker(batches()[0], config, group)
    for batch in batches()[:2]:
        trained(worker, batch)
    worker.save_checkpoint(str(tmp_path), None, 2, None)
    resumed = make_worker(batches()[0], config, group)
    resumed.load_checkpoint(str(tmp_path), None, False)
    found = trained(resumed, batches()[2])["actor/coefficient"]
    assert found == [pytest.approx(expected[2], abs=CLOSE)] * 2
    constant = make_worker(batches()[0], ours("grpo"), group)
    constant.save_checkpoint(str(tmp_path / "constant"), None, 2, None)
    for folder in ("constant", "none"):
        with pytest.raises(ValueError, match=r"no state of the adapted coefficient.*start a new run"):
            make_worker(batches()[0], config, group).load_checkpoint(
                str(tmp_path / folder), None, False)


def test_forecasts_of_the_steps_before_a_checkpoint_reach_the_batch_after_it(
        group, tmp_path, monkeypatch):
    """A resumed run shows its controller what the uninterrupted one would."""
    monkeypatch.setattr(verl_forecast, "check_engine", lambda engine: None)
    config = ours("entropy-bonus", {"target": 0.8, "coefficient": 0.3, "hold": "forecast"},
                  calculate_entropy=True)
    worker, resumed = (make_worker(batches()[0], config, group) for _ in range(2))
    worker._forecasts = (-0.01, 0.05)
    worker.save_checkpoint(str(tmp_path), None, 2, None)
    resumed.load_checkpoint(str(tmp_path), None, False)
    assert resumed._forecasts == (-0.01, 0.05)
    data = engine_data(batches()[0])
    data["entropy"] = jagged(batches()[0].entropy, batches()[0].mask)
    for one in (worker, resumed):
        one._adapt(data.copy(), 1)
        assert one._forecasts is None
    assert worker._coefficient == resumed._coefficient != 0.3


def test_sequences_without_a_response_token_are_not_observed(group):
    """verl fills batches up with such rows; where nothing else is left nothing is observed."""
    column = torch.tensor([[1.0, 3.0], [5.0, float("nan")], [7.0, 7.0]])
    mask = torch.tensor([[1, 1], [1, 0], [0, 0]])
    assert verl_coefficient.sequence_means(column, mask) == [2.0, 5.0]
    controller = verl_plugin.rule_of(holding().policy_loss).coefficient_controller()
    assert verl_coefficient.chosen(controller, [], step=0, ahead=1, group=group) == 0
    assert controller.entropy is None


def test_what_the_worker_cannot_observe_is_named(group):
    batch, config = random_batch(), holding()
    worker = make_worker(batch, config, group)
    data = engine_data(batch)
    tensordict_utils.assign_non_tensor(data, mini_batch_size=ROWS, epochs=1)
    with pytest.raises(ValueError, match=r"has none: set trainer.use_v1=true.*bypass_mode"):
        worker.train_mini_batch(data)
    with pytest.raises(ValueError, match=r"has not been observed.*train by train_mini_batch"):
        make_worker(batch, config, group).train_batch(engine_data(batch))
    with pytest.raises(ValueError, match=r"has not been observed"):
        accumulate(batch, config, verl_plugin.rule_loss, add=False)
