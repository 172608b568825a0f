"""A verl (0.9) worker whose rules see the whole mini-batch and the entropies.

``actor_rollout_ref.model.external_lib=llm_bridge.verl_worker`` imports this module in every worker
process before its actor is made. The import names `RuleTrainingWorker` as the actor's class; it acts
only where ``policy_loss.loss_mode`` is one of `verl_plugin`'s.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from verl.single_controller.base.decorator import (
    Dispatch,
    make_nd_compute_dataproto_dispatch_fn,
    register,
)
from verl.utils import tensordict_utils
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker
from verl.workers.utils.losses import ppo_loss

from entropy_theory.support import results
from llm_bridge.verl_plugin import PREFIX, add_columns, check_actor, rule_loss, rule_of


class RuleTrainingWorker(TrainingWorker):
    """verl's TrainingWorker with `rule_loss` for its ``ppo_loss``, and the rule's columns before it.

    It counts optimizer steps, which verl does not, and keeps the count in verl's checkpoints.
    """

    _on_policy = False
    _steps_taken: int | None = 0
    """Steps taken by this run, those before its checkpoint included; None if that does not say."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def set_loss_fn(self, loss_fn: Any) -> None:
        """Set the loss as verl does; one that would look up one of our rules becomes `rule_loss`.

        Raises ValueError as `verl_plugin.check_actor`.
        """
        config = getattr(loss_fn, "keywords", {}).get("config")
        if config is not None and config.policy_loss.loss_mode.startswith(PREFIX):
            if loss_fn.func is not ppo_loss:
                raise ValueError(
                    f"loss_mode={config.policy_loss.loss_mode} and distillation do not go together"
                )
            check_actor(config, rule_of(config.policy_loss))
            loss_fn = functools.partial(rule_loss, config=config)
        TrainingWorker.set_loss_fn(self, loss_fn)

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="train"), blocking=False)
    def train_mini_batch(self, data: Any) -> Any:
        """Train on a mini-batch as verl does."""
        size = tensordict_utils.get(data, key="mini_batch_size", default=None)
        count = tensordict_utils.get(data, key="num_mini_batch", default=None)
        if count is None and size is not None:
            count = len(data) * self.engine.get_data_parallel_size() // size
        self._on_policy = count * tensordict_utils.get(data, key="epochs", default=1) == 1
        return TrainingWorker.train_mini_batch(self, data)

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="train"), blocking=False)
    def train_batch(self, data: Any) -> Any:
        """Train on a batch as verl does, with the rule's columns added to it."""
        if getattr(self.loss_fn, "func", None) is rule_loss:
            add_columns(
                data, self.loss_fn.keywords["config"], step=self._steps_taken,
                group=self.engine.get_data_parallel_group(), on_policy=self._on_policy,
            )
        found = TrainingWorker.train_batch(self, data)
        if self._steps_taken is not None:
            self._steps_taken += 1
        return found

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_checkpoint(self, local_path: str, *arguments: Any, **options: Any) -> Any:
        """Save a checkpoint as verl does, with the number of steps beside this rank's shards."""
        found = TrainingWorker.save_checkpoint(self, local_path, *arguments, **options)
        results.write_json(self._count_file(local_path), {"optimizer_steps": self._steps_taken})
        return found

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_checkpoint(self, local_path: str, *arguments: Any, **options: Any) -> Any:
        """Load a checkpoint as verl does, with the number of optimizer steps.

        Without that number, rules that read it are refused.
        """
        path = self._count_file(local_path)
        self._steps_taken = results.read_json(path)["optimizer_steps"] if path.exists() else None
        return TrainingWorker.load_checkpoint(self, local_path, *arguments, **options)

    def _count_file(self, folder: str) -> Path:
        return Path(folder) / f"optimizer_steps_rank_{self.rank}.json"


ActorRolloutRefWorker.actor_worker_cls = RuleTrainingWorker
