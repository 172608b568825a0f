"""Run by test_two_ranks: the two workers of worker_ranks as a RayWorkerGroup of verl's, under Ray.

    python -m tests.verl.ray_ranks FOLDER

Ray is started on this machine for this process alone, and ends with it. On a machine too busy it does not
start: its raylet ends where the dashboard's agent takes more than 15 seconds to write its ports
(NodeManager::WaitForDashboardAgentPorts), which no setting changes.
"""

import signal
import sys
from pathlib import Path

import ray
import torch
from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup

from tests.verl.cpu_worker import CpuWorker
from tests.verl.worker_ranks import LIMIT, RANKS, configuration, on_workers


def main(folder: Path) -> None:
    signal.alarm(LIMIT)
    model = folder / "model"
    ray.init(num_cpus=RANKS, include_dashboard=False, object_store_memory=80 * 2**20)
    workers = RayWorkerGroup(
        resource_pool=RayResourcePool([RANKS], use_gpu=False, max_colocate_count=1),
        ray_cls_with_init=RayClassWithInitArgs(
            ray.remote(CpuWorker), config=configuration(model, "grpo").actor_rollout_ref,
            role="actor"),
        device_name="cpu")
    workers.init_model()
    torch.save(on_workers(workers, model), folder / "found.pt")
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
