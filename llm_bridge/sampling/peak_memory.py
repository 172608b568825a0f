"""Computes the peak memory of drawing and scoring from a model's configuration alone.

The same calls are made as with data, on torch's fake tensors over its meta device. These have a
shape, a number format and a device, but no data. The sizes of all tensors alive at once are added
up.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from llm_bridge.data import models
from llm_bridge.data.models import cache_argument
from llm_bridge.head import per_token
from llm_bridge.sampling.samplers import static_cache
from llm_bridge.sampling.scorer import Scorer, rows_of_pass


class Alive(TorchDispatchMode):
    """Adds up the tensors that are alive, each storage once, without the weights of a model.

    Attributes:
        now: bytes alive, of those made within and those given to ``add``.
        peak: their largest number so far.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._seen = {tensor.untyped_storage()._cdata
                      for tensor in (*model.parameters(), *model.buffers())}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count what an operation returns."""
        found = function(*args, **(kwargs or {}))
        self.add(found)
        return found

    def add(self, tensors: Any) -> None:
        """Count the tensors of a structure from now on until they are freed."""
        for tensor in tree_leaves(tensors):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key, size = storage._cdata, storage.nbytes()
            if key in self._seen:
                continue
            self._seen.add(key)
            self.now += size
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._freed, key, size)

    def _freed(self, key: int, size: int) -> None:
        self._seen.discard(key)
        self.now -= size


def shape_of(name: str) -> Any:
    """Return the configuration of a model, or None where none is on this machine; nothing is fetched."""
    if name in models.BUNDLED and name != "small-sums" and not (models.cache_folder() / name).is_dir():
        return None
    try:
        return transformers.AutoConfig.from_pretrained(models.locate(name), local_files_only=True)
    except OSError:
        return None


def meta_model(shape: Any, dtype: torch.dtype) -> Any:
    """Return the model of a configuration, its weights on the meta device."""
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(shape, dtype=dtype)


def weights(model: Any) -> int:
    """Return the bytes of a model's weights, tied ones once."""
    return sum(tensor.numel() * tensor.element_size() for tensor in model.parameters())


def scoring(
    shape: Any, dtype: torch.dtype, *, rows: int, prompt: int, new: int, device: str = "cpu"
) -> int:
    """Return the bytes that `Scorer.score` takes for a pass of ``rows``, beside the model's weights.

    It is taken for granted that the head is one whose statistics need no logits (`fused_forward.tried`).

    Args:
        shape: the model's configuration.
        dtype: the number format of its weights.
        rows: how many sequences are scored at once, at most (`scorer.rows_of_pass`).
        prompt: tokens of the longest prompt.
        new: tokens of the longest completion.
        device: "cpu" or "cuda", which need not be here.
    """
    rows = rows_of_pass(rows, prompt + new)
    with _without_data(shape, dtype) as model, Alive(model) as alive:
        prompts = tuple(make(rows, prompt, dtype=torch.long) for make in (torch.zeros, torch.ones))
        ids = torch.zeros(rows, new, dtype=torch.long)
        mask = torch.ones(rows, new, dtype=torch.bool)
        scorer = Scorer(model)
        scorer.statistics(scorer.call(*prompts, ids, mask), ids, mask, (1.0, 0.7), per_token.PLAIN)
    # Inside the head's operator, which without data returns an empty result.
    vocabulary = shape.get_text_config().vocab_size
    return alive.peak + 4 * vocabulary * per_token.rows_of_chunk(device, vocabulary)


def drawing(shape: Any, dtype: torch.dtype, *, rows: int, prompt: int, new: int) -> int:
    """Return the bytes that drawing by the model itself takes, beside its weights.

    At the last token: keys and values of all positions, a layer's written anew, and a table of logits
    [rows, vocabulary] with what is computed of it. At the start: the prompts' pass.

    Args: as `scoring`.
    """
    with _without_data(shape, dtype) as model:
        cache = transformers.DynamicCache(config=shape)
        with Alive(model) as start:
            _call(model, cache, rows, prompt)
        _call(model, cache, rows, new - 2)
        with Alive(model) as end:
            end.add([vars(layer) for layer in cache.layers])
            logits = _call(model, cache, rows, 1)
            static_cache.statistics(logits.float(), 0.7)
    return max(start.peak, end.peak)


def _call(model: Any, cache: Any, rows: int, tokens: int) -> torch.Tensor:
    """Return the logits [rows, vocabulary] after so many more tokens."""
    ids = torch.zeros(rows, tokens, dtype=torch.long)
    return model(input_ids=ids, use_cache=True, logits_to_keep=1,
                 **cache_argument(model, cache)).logits[:, -1]


@contextlib.contextmanager
def _without_data(shape: Any, dtype: torch.dtype) -> Iterator[Any]:
    """Have all tensors made within carry no data, and yield the model."""
    with FakeTensorMode(), torch.no_grad():
        # On the CPU, so to speak: the meta device has not the attention that writes no table.
        yield transformers.AutoModelForCausalLM.from_config(shape, dtype=dtype).eval()
