"""A verl (0.9) worker that gives rules the whole mini-batch and the entropies.

``actor_rollout_ref.model.external_lib=llm_bridge.verl_worker`` imports this module in every worker
process before its actor is made. The import names `RuleTrainingWorker` as the actor's class; it acts
only where ``policy_loss.loss_mode`` is one of `verl_plugin`'s.
"""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Any

import numpy as np
from verl.single_controller.base.decorator import (
    Dispatch,
    make_nd_compute_dataproto_dispatch_fn,
    register,
)
from verl.utils import tensordict_utils
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker
from verl.workers.utils.losses import ppo_loss

from entropy_theory.controllers import EntropyForecast
from entropy_theory.support import results
from llm_bridge import verl_coefficient, verl_columns, verl_forecast
from llm_bridge.trainer import controllers
from llm_bridge.verl_plugin import rule_loss, unit_loss
from llm_bridge.verl_rules import PREFIX, TEMPERED, WORKER, check_actor, rule_of


class RuleTrainingWorker(TrainingWorker):
    """verl's TrainingWorker with `rule_loss` for its ``ppo_loss``, and the rule's columns before it.

    It counts optimizer steps, which verl does not. It runs the controller of a rule that adapts its
    coefficient, with the forecasts by which the rule may hold a target. All of this state is kept
    in verl's checkpoints. Every ``policy_loss.forecast_every``-th step it forecasts and measures
    the step's entropy change (`verl_forecast`).
    """

    loss_fn: Any
    _on_policy = False
    _steps_taken: int | None = 0
    """Steps taken by this run, those before its checkpoint included; None if that does not say."""
    _controller: Any = None
    """The controller of the rule's coefficient; None if it is a constant."""
    _coefficient: float | None = None
    """The coefficient that the controller chose for the present batch."""
    _forecast_every = 0
    """The distance between steps that are forecast; 0: none is."""
    _forecasts: tuple[float, float] | None = None
    """Two sums over the steps since the controller last chose: forecasts without the coefficient's
    part, and forecasts per unit of the coefficient. None before the first."""
    _batch_metrics: dict[str, float] | None = None
    """Metrics of the present batch that its mini-batches do not have."""

    @property
    def _holds_by_forecasts(self) -> bool:
        return self._controller is not None and self._controller.forecasts

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def set_loss_fn(self, loss_fn: Any) -> None:
        """Set the loss as verl does; one that would look up one of our rules becomes `rule_loss`.

        Raises ValueError as `verl_rules.check_actor` and `verl_forecast.check_engine`.
        """
        config = getattr(loss_fn, "keywords", {}).get("config")
        if config is not None and config.policy_loss.loss_mode.startswith(PREFIX):
            if loss_fn.func is not ppo_loss:
                raise ValueError(
                    f"loss_mode={config.policy_loss.loss_mode} and distillation do not go "
                    "together: leave distillation off, or use a loss of verl's"
                )
            check_actor(config, rule_of(config.policy_loss))
            self._controller = rule_of(config.policy_loss).coefficient_controller()
            self._forecast_every = config.policy_loss.get("forecast_every") or 0
            if self._forecast_every or self._holds_by_forecasts:
                verl_forecast.check_engine(self.engine)
            loss_fn = functools.partial(rule_loss, config=config)
        TrainingWorker.set_loss_fn(self, loss_fn)

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="train"), blocking=False)
    def train_mini_batch(self, data: Any) -> Any:
        """Train on a batch as verl does, in mini-batches; a coefficient is adapted before the first.

        With a second batch there are as many as there would be without it, each with its share of it.
        """
        size = tensordict_utils.get(data, key="mini_batch_size", default=None)
        count = tensordict_utils.get(data, key="num_mini_batch", default=None)
        if count is None and size is not None:
            has_second = TEMPERED in verl_columns.names_of(data)
            rows = int((~data[TEMPERED].bool()).sum()) if has_second else len(data)
            count = rows * self.engine.get_data_parallel_size() // size
            if rows < len(data):
                tensordict_utils.pop(data, key="mini_batch_size")
                tensordict_utils.assign_non_tensor(data, num_mini_batch=count)
        steps = count * tensordict_utils.get(data, key="epochs", default=1)
        self._on_policy = steps == 1
        if self._config is not None:
            self._batch_metrics = verl_columns.add_batch_columns(
                data, self._config, step=self._steps_taken, group=self.engine.get_data_parallel_group())
        if self._controller is not None:
            self._adapt(data, steps)
        return TrainingWorker.train_mini_batch(self, data)

    @property
    def _config(self) -> Any:
        """The actor's configuration, where its loss is a rule's."""
        is_ours = getattr(self.loss_fn, "func", None) is rule_loss
        return self.loss_fn.keywords["config"] if is_ours else None

    def _adapt(self, data: Any, steps: int) -> None:
        """Let the controller choose the coefficient for the next ``steps`` optimizer steps."""
        rule = rule_of(self._config.policy_loss)
        assert self._steps_taken is not None  # a checkpoint without it has no controller's state either
        if self._controller.reads == "clamped_entropy":
            means = self._clamped_entropies(data, rule)
        else:
            means = verl_coefficient.entropies(data, rule)
        found, self._forecasts = self._forecasts, None
        forecast = None if found is None else EntropyForecast(
            base=np.asarray(found[0]), per_unit=np.asarray(found[1]))
        self._coefficient = verl_coefficient.chosen(
            self._controller, means, forecast, step=self._steps_taken, ahead=steps,
            group=self.engine.get_data_parallel_group(),
        )

    def _clamped_entropies(self, data: Any, rule: Any) -> list[float]:
        """Each sequence's mean, from a forward pass with the logits, in verl's own micro-batches."""
        scored, own, reader = data.copy(), self.loss_fn, verl_coefficient.ClampedEntropies(rule)
        tensordict_utils.assign_non_tensor(
            scored, compute_loss=True, calculate_entropy=False, distillation_use_topk=True)
        self.loss_fn = reader
        try:
            TrainingWorker.infer_batch(self, scored)
        finally:
            self.loss_fn = own
        return reader.means

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="train"), blocking=False)
    def train_batch(self, data: Any) -> Any:
        """Train on a batch as verl does, with the rule's columns added to it, and a forecast if due."""
        config, shown = self._config, dict(self._batch_metrics or {})
        if config is not None:
            shown |= verl_columns.add_columns(
                data, config, step=self._steps_taken, coefficient=self._coefficient,
                group=self.engine.get_data_parallel_group(), on_policy=self._on_policy,
            )
        forecast, is_due = None, self._is_forecast_due()
        if is_due or self._holds_by_forecasts:
            unit = functools.partial(unit_loss, config=config) if self._holds_by_forecasts else None
            forecast = verl_forecast.StepForecast(self.engine, data, unit=unit, measures=is_due)
        with forecast or contextlib.nullcontext():
            found = TrainingWorker.train_batch(self, data)
        metrics = {} if found is None else tensordict_utils.get(found, "metrics")
        if is_due and forecast is not None:
            metrics.update(forecast.metrics(metrics["grad_norm"]))
        if self._holds_by_forecasts and forecast is not None and self._coefficient is not None:
            self._remember(forecast.of_coefficient(metrics["grad_norm"], self._coefficient))
        if self._controller is not None:
            shown |= {f"actor/{name}": number
                      for name, number in controllers.report(self._controller).items()}
        metrics.update(shown)
        if self._steps_taken is not None:
            self._steps_taken += 1
        return found

    def _remember(self, forecast: EntropyForecast | None) -> None:
        """Add a step's forecast to the sums; one that was not taken is forecast to do nothing."""
        base, per_unit = self._forecasts or (0.0, 0.0)
        if forecast is not None:
            base, per_unit = base + float(forecast.base), per_unit + float(forecast.per_unit)
        self._forecasts = base, per_unit

    def _is_forecast_due(self) -> bool:
        if not self._forecast_every:
            return False
        if self._steps_taken is None:
            raise ValueError(
                f"forecast_every={self._forecast_every} counts optimizer steps, but the "
                "checkpoint does not have their number: continue from one that was written with "
                f"{WORKER}, or set forecast_every=0"
            )
        return self._steps_taken % self._forecast_every == 0

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_checkpoint(self, local_path: str, *arguments: Any, **options: Any) -> Any:
        """Save a checkpoint as verl does, and what this worker keeps beside this rank's shards."""
        found = TrainingWorker.save_checkpoint(self, local_path, *arguments, **options)
        state = None if self._controller is None else self._controller.state_dict()
        results.write_json(
            self._count_file(local_path),
            {"optimizer_steps": self._steps_taken, "coefficient": state, "forecasts": self._forecasts})
        return found

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_checkpoint(self, local_path: str, *arguments: Any, **options: Any) -> Any:
        """Load a checkpoint as verl does, with the number of optimizer steps and the controller's state.

        Without that number, rules that read it are refused.

        Raises:
            ValueError: a rule that adapts its coefficient, and a checkpoint without the state of that.
        """
        path = self._count_file(local_path)
        kept = results.read_json(path) if path.exists() else {}
        self._steps_taken = kept.get("optimizer_steps")
        if self._controller is not None:
            if kept.get("coefficient") is None:
                raise ValueError(
                    f"{path} has no state of the adapted coefficient: continue from a checkpoint that "
                    f"was written with {WORKER} and the same rule, or start a new run"
                )
            self._controller.load_state_dict(kept["coefficient"])
            sums = kept.get("forecasts")
            self._forecasts = None if sums is None else (sums[0], sums[1])
        return TrainingWorker.load_checkpoint(self, local_path, *arguments, **options)

    def _count_file(self, folder: str) -> Path:
        return Path(folder) / f"optimizer_steps_rank_{self.rank}.json"


ActorRolloutRefWorker.actor_worker_cls = RuleTrainingWorker
