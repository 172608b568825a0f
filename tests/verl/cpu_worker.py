"""verl's worker of an actor, without an accelerator."""

import functools
from typing import Any

from verl.single_controller.base.decorator import Dispatch, register
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.distributed import initialize_global_process_group_ray
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.utils.losses import ppo_loss


class CpuWorker(ActorRolloutRefWorker):
    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        # verl's own "cpu:gloo,<device>:<backend>" names a device twice where it is the CPU.
        initialize_global_process_group_ray(backend="gloo")

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def start_again(self, actor: Any) -> str:
        """The initial weights and a loss of another configuration; returns the actor's class."""
        self.actor.reset()
        self.actor._steps_taken, self.actor._coefficient, self.actor._forecasts = 0, None, None
        self.actor.set_loss_fn(functools.partial(ppo_loss, config=omega_conf_to_dataclass(actor)))
        return f"{type(self.actor).__module__}.{type(self.actor).__name__}"

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def weights(self) -> dict[str, Any]:
        """All weights, put together from the shards of all ranks."""
        return {name: weight.full_tensor().detach().clone()
                for name, weight in self.actor.engine.module.named_parameters()}

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)
    async def update_weights(self, global_steps: int | None = None, mode: str = "auto") -> None:
        """There are no servers to hand weights to."""
