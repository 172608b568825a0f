"""What a rank asks of the others: every collective of torch.distributed, in its order.

They are recorded where torch hands them to its backends, as operators of the namespace ``c10d``: whoever
makes them (`torch.distributed`, functional collectives, DTensor, the C++ of data parallelism, DeepSpeed),
in whatever thread.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

Collective = tuple[str, list[tuple[str, tuple[int, ...]]]]
PREFIX = "c10d::"


@contextlib.contextmanager
def recorded() -> Iterator[list[Collective]]:
    """A list that grows by one collective after the other: (name, [(dtype, shape) of each tensor])."""
    found: list[Collective] = []
    backend = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def call(name: str, operator: Any, *arguments: Any) -> Any:
        found.append((name, [
            (str(tensor.dtype), tuple(tensor.shape))
            for tensor in tree_leaves(arguments) if isinstance(tensor, torch.Tensor)]))
        return operator.redispatch(backend, *arguments)

    names = {full.removeprefix(PREFIX) for full in torch._C._dispatch_get_all_op_names()
             if full.startswith(PREFIX)}
    # A key that comes before every backend's, that these operators do not use, and that neither no_grad
    # nor inference_mode switches off.
    with torch.library._scoped_library("c10d", "IMPL") as library:
        for name in sorted(names):
            operator = getattr(torch.ops.c10d, name).default
            library.impl(name, functools.partial(call, name, operator), "BackendSelect")
        yield found
