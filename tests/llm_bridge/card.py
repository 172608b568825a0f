"""A second device that needs no hardware: its tensors hold numbers, and mix with no others."""

from __future__ import annotations

import weakref
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.device("meta")
"""The device that its tensors report, one that every build of torch has."""
COPIES = (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default)


class OnCard(torch.Tensor):
    """A tensor on the card."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, device=DEVICE)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(f"{func} outside the card")


class Card(TorchDispatchMode):
    """Inside, tensors can lie on the card. One of main memory beside them is an error, unless copied.

    Attributes:
        most: the largest number of bytes that lay on the card after an operation.
    """

    def __init__(self):
        super().__init__()
        self.most, self._held = 0, dict[int, weakref.ref]()
        asks = torch.is_autocast_enabled
        self._without_autocast = mock.patch.object(  # of which this device knows nothing
            torch, "is_autocast_enabled", lambda *kind: kind != (DEVICE.type,) and asks(*kind))

    def __enter__(self):
        self._without_autocast.start()
        return super().__enter__()

    def __exit__(self, *error):
        self._without_autocast.stop()
        return super().__exit__(*error)

    def put(self, tensor):
        """Return a tensor with the same numbers on the card."""
        found = OnCard(tensor)
        key = id(found)
        self._held[key] = weakref.ref(found, lambda _: self._held.pop(key, None))
        return found

    def bytes(self):
        """Return the bytes of all that lies on the card now."""
        storages = [one.inner.untyped_storage() for ref in list(self._held.values())
                    if (one := ref()) is not None]
        return sum({one.data_ptr(): one.nbytes() for one in storages}.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        on_card = any(isinstance(one, OnCard) for one in tensors)
        device = kwargs.get("device")
        if not on_card and device != DEVICE:
            return func(*args, **kwargs)
        if func not in COPIES and any(not isinstance(one, OnCard) and one.ndim for one in tensors):
            raise RuntimeError(f"{func}: tensors on two devices")
        if device is not None:
            kwargs["device"] = torch.device("cpu")
        found = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
        if func._schema.is_mutable:
            return args[0]
        if device is not None and device != DEVICE:
            return found
        found = tree_map(lambda one: self.put(one) if isinstance(one, torch.Tensor) else one, found)
        self.most = max(self.most, self.bytes())
        return found


def _inner(one):
    return one.inner if isinstance(one, OnCard) else one
