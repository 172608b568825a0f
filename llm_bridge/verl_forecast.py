"""Forecasts and measures what optimizer steps under verl do to the mean entropy of their mini-batches.

::

    +actor_rollout_ref.actor.policy_loss.forecast_every=10

verl's engine clips gradients and takes the step in one call. A torch optimizer has hooks around its
step. In the first hook the clipped gradients are at hand and the weights have not moved. There the
engine makes its own forward and backward pass over the mini-batch, with the mean entropy as the
loss. That gradient is multiplied with the step that the optimizer is about to take
(`step_accountant`). In the second hook a forward pass measures what the step did. All this holds
one more gradient in memory.

A rule that holds its target by forecasts (``hold=forecast``) has every step forecast, without the
forward pass after it. A second forward and backward pass takes the gradient of a unit of the rule's
coefficient in the loss (`verl_plugin.unit_loss`). Scaled by the optimizer, that gradient gives the
unit's effect on entropy.

The mean is over the response tokens of a sequence, then over the sequences of all ranks. Those of a
second batch are left out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from accelerate import DistributedType

from entropy_theory.controllers import EntropyForecast
from llm_bridge.accounting.entropy_gradient import EntropyGradient
from llm_bridge.accounting.optimizer_step import OptimizerStep, UnreadableStepError, readable
from llm_bridge.accounting.step_accountant import StepAccountant
from llm_bridge.accounting.step_rows import Slope
from llm_bridge.verl_batches import of_all_ranks
from llm_bridge.verl_columns import ordinary


def check_engine(engine: Any) -> None:
    """Raise ValueError for an engine of verl's whose steps cannot be forecast.

    Forecasts are asked for by ``forecast_every``, or by a rule with ``hold=forecast``.
    """
    lacking, strategy = "", engine.engine_config.strategy
    if strategy != "fsdp2":
        lacking = (f"it reads the step of verl's FSDP2 engine, and strategy={strategy} is another: set "
                   "actor_rollout_ref.actor.strategy=fsdp2")
    elif engine.scaler is not None:
        lacking = ("it cannot follow float16, which scales the loss and may skip a step: set "
                   "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=bf16")
    elif engine.get_data_parallel_size() != torch.distributed.get_world_size():
        lacking = ("it sums over ranks that have sequences of their own: set "
                   "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=1")
    else:
        try:
            readable(engine.optimizer)
        except UnreadableStepError:
            lacking = (f"it cannot read the step of {type(engine.optimizer).__name__} before it is "
                       "taken: set actor_rollout_ref.actor.optim.optimizer_impl=torch.optim and "
                       "optimizer=AdamW, Adam or SGD")
    if lacking:
        raise ValueError(f"no step can be forecast, as forecast_every or hold=forecast asks: {lacking}")


class StepForecast:
    """The forecast and measured change of a mini-batch's mean entropy by an engine's next optimizer
    step.

    A context around that step.

    Args:
        engine: verl's FSDP2 engine.
        data: this rank's part of the mini-batch, as the engine's ``train_batch`` will have it.
        unit: a loss of verl's that holds what a unit of the rule's coefficient adds; None if not
            needed.
        measures: whether to measure the change after the step.
    """

    def __init__(self, engine: Any, data: Any, *, unit: Any = None, measures: bool = True):
        self._engine, self._data, self._unit, self._measures = engine, data, unit, measures
        self._parts: dict[str, float] = {}
        self._per_unit = 0.0
        self._entropy = self._measured = math.nan

    def __enter__(self) -> StepForecast:
        optimizer = self._engine.optimizer
        self._hooks = [optimizer.register_step_pre_hook(lambda *_: self._forecast()),
                       optimizer.register_step_post_hook(lambda *_: self._measure())]
        return self

    def __exit__(self, *_: Any) -> None:
        for hook in self._hooks:
            hook.remove()

    def metrics(self, norm: float) -> dict[str, float]:
        """The log's values of the step, nats; empty where no step was taken, or there are no
        tokens.

        Args:
            norm: the norm of the gradients before verl clipped them.
        """
        if not self._parts:
            return {}
        parts, clip = dict(self._parts), self._clip(norm)
        if 0 < clip < 1:
            clipped = parts["gradient"]
            parts["gradient"] = clipped / clip
            parts["clipping"] = clipped - parts["gradient"]
        found = {"entropy_gradient": math.fsum(parts.values()),
                 **{f"entropy_gradient/{name}": part for name, part in parts.items()},
                 "measured_entropy_change": self._measured}
        return {f"actor/{name}": value for name, value in found.items()}

    def of_coefficient(self, norm: float, coefficient: float) -> EntropyForecast | None:
        """Return the forecast without the coefficient's part, and that of a unit of it.

        Args:
            norm: as `metrics`.
            coefficient: the one that acted.
        """
        if not self._parts:
            return None
        per_unit = self._clip(norm) * self._per_unit
        return EntropyForecast(
            base=np.asarray(math.fsum(self._parts.values()) - coefficient * per_unit),
            per_unit=np.asarray(per_unit))

    def _clip(self, norm: float) -> float:
        """The factor by which verl scaled gradients down: that of torch.nn.utils.clip_grad_norm_."""
        return min(1.0, self._engine.optimizer_config.clip_grad / (norm + 1e-6))

    def _forecast(self) -> None:
        from verl.utils import tensordict_utils
        from verl.utils.device import get_device_id

        ranks, _ = of_all_ranks(
            int(ordinary(self._data).any(1).sum()), self._engine.get_data_parallel_group())
        self._sequences = sum(ranks)
        if not self._sequences:
            return
        self._gradient = EntropyGradient(self._engine.module, _Processes(get_device_id()))
        # A copy: the mini-batch goes on with what its loss reads.
        shown, self._data = self._data, self._data.copy()
        tensordict_utils.assign_non_tensor(
            self._data, calculate_entropy=True, distillation_use_topk=False, distillation_only=False)
        mean = _MeanEntropy(self._sequences, self._engine.get_data_parallel_size())
        slope = self._left_by(mean, self._data)
        self._entropy = mean.of_all_ranks(self._gradient)
        if self._unit is not None:
            self._per_unit = self._along(self._left_by(self._unit, shown), slope)
        self._parts = StepAccountant(
            self._gradient, [], self._engine.optimizer, seen=(self._entropy, slope),
            keeps="slope").forecast_parts

    def _left_by(self, loss: Any, data: Any) -> Slope:
        """Return the gradient of a loss of verl's over a mini-batch."""
        return self._gradient.left_by(
            lambda: self._engine.forward_backward_batch(data, loss, forward_only=False))

    def _along(self, gradient: Slope, slope: Slope) -> float:
        """Return what the optimizer's step by this part of its gradient does to the entropy, nats."""
        step = OptimizerStep(self._engine.optimizer, self._gradient.parameters)
        return -self._gradient.sum_over_ranks([sum(
            self._gradient.products(
                {"": addends.scale * gradient.parts[place][rows]}, slope, place, rows)[""]
            for place, rows, addends in step.addends())])[0]

    def _measure(self) -> None:
        if not self._parts or not self._measures:
            return
        mean = _MeanEntropy(self._sequences, self._engine.get_data_parallel_size())
        with self._gradient.own_passes():
            self._engine.infer_batch(self._data, mean)
        self._measured = mean.of_all_ranks(self._gradient) - self._entropy


class _MeanEntropy:
    """A loss of verl's: this rank's part of the mean entropy, summed over micro-batches in ``value``.

    FSDP averages gradients over ranks, where the mean is a sum over them: it is multiplied by ``ranks``.
    """

    def __init__(self, sequences: int, ranks: int):
        self.value = 0.0
        self._sequences, self._ranks = sequences, ranks

    def __call__(self, model_output: Any, data: Any, dp_group: Any = None) -> Any:
        from verl.workers.utils.padding import no_padding_2_padding

        entropy = no_padding_2_padding(model_output["entropy"], data).double()
        mask = ordinary(data)
        length = mask.sum(1, keepdim=True).clamp(min=1)
        mean = torch.where(mask, entropy / length, 0.0).sum() / self._sequences
        self.value += float(mean.detach())
        return self._ranks * mean, {}

    def of_all_ranks(self, gradient: EntropyGradient) -> float:
        return gradient.sum_over_ranks([self.value])[0]


class _Processes:
    """verl's process group, as what `EntropyGradient` asks accelerate for."""

    distributed_type = DistributedType.FSDP
    mixed_precision = "bf16"
    """The coarsest that a forecast is made in."""

    def __init__(self, device: Any):
        self.device = device
        self.num_processes = torch.distributed.get_world_size()

    def reduce(self, tensor: torch.Tensor, reduction: str) -> torch.Tensor:
        torch.distributed.all_reduce(tensor)
        return tensor
