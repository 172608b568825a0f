"""Run by test_collectives: each kind of collective once, on two ranks, as it is recorded."""

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.distributed import _functional_collectives as functional
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

from tests.llm_bridge import collectives


def stepped(model: torch.nn.Module) -> None:
    model(torch.ones(2, 4)).sum().backward()


def exchanged(tensor: torch.Tensor) -> None:
    """From rank 0 to rank 1."""
    if dist.get_rank():
        dist.recv(tensor, src=0)
    else:
        dist.send(tensor, dst=1)


def kinds() -> dict[str, Callable[[], Any]]:
    """What makes a collective; whatever it needs is ready."""
    four, mesh = torch.ones(4), init_device_mesh("cpu", (2,))
    halves = [torch.empty(4), torch.empty(4)]
    averaged = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    sharded = fully_shard(torch.nn.Linear(4, 4))
    cut = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])
    accelerator = Accelerator(cpu=True)
    return {
        "gradients of data parallelism": lambda: stepped(averaged),
        "FSDP2": lambda: stepped(sharded),
        "DTensor": lambda: cut.redistribute(mesh, [Replicate()]),
        "DTensor's norm": lambda: torch.linalg.vector_norm(cut).full_tensor(),
        "functional": lambda: functional.all_reduce(four, "sum", dist.group.WORLD) + 1,
        "accelerate": lambda: accelerator.gather(four),
        "all_reduce": lambda: dist.all_reduce(four),
        "all_gather": lambda: dist.all_gather(halves, four),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(torch.empty(8), four),
        "reduce_scatter": lambda: dist.reduce_scatter(torch.empty(2), [torch.ones(2), torch.ones(2)]),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(torch.empty(2), four),
        "broadcast": lambda: dist.broadcast(four, src=0),
        "broadcast of several": lambda: dist._broadcast_coalesced(dist.group.WORLD, [four], 1000, 0),
        "reduce": lambda: dist.reduce(four, dst=0),
        "all_to_all_single": lambda: dist.all_to_all_single(torch.empty(4), four),
        "objects of all": lambda: dist.all_gather_object([None, None], 3),
        "objects of one": lambda: dist.broadcast_object_list([3]),
        "barrier": dist.barrier,
        "send and receive": lambda: exchanged(four),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore", FutureWarning)  # some have newer names too
    dist.init_process_group("gloo")
    told = {}
    for kind, make in kinds().items():
        with collectives.recorded() as found:
            make()
        told[kind] = found
    four = torch.ones(4)
    dist.all_reduce(four)  # nobody records this
    told["after all"] = [("all_reduce", four.tolist())]
    Path(sys.argv[1], f"collectives-{os.environ['RANK']}.json").write_text(json.dumps(told))
    dist.barrier()
