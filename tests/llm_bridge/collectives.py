"""What a rank asks of the others: every collective of torch.distributed, in its order.

DDP's own, which averages gradients in C++, is not among them.
"""

import contextlib
import functools

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

NAMES = (
    "all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter_tensor", "broadcast",
    "gather", "scatter", "reduce", "all_to_all", "all_to_all_single", "barrier",
)


@contextlib.contextmanager
def recorded():
    """A list that grows by one collective after the other: (name, [(dtype, shape) of each tensor])."""
    found = []

    def watched(name, original):
        @functools.wraps(original)
        def call(*arguments, **options):
            found.append((name, [
                (str(tensor.dtype), tuple(tensor.shape))
                for value in (*arguments, *options.values())
                for tensor in (value if isinstance(value, list | tuple) else [value])
                if isinstance(tensor, torch.Tensor)
            ]))
            return original(*arguments, **options)

        return call

    originals = {name: getattr(distributed_c10d, name) for name in NAMES}
    try:
        for name, original in originals.items():
            for module in (dist, distributed_c10d):
                setattr(module, name, watched(name, original))
        yield found
    finally:
        for name, original in originals.items():
            for module in (dist, distributed_c10d):
                setattr(module, name, original)
