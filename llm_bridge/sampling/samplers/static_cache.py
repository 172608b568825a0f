"""Decodes on a static cache: one step writes into fixed buffers, and a GPU replays it as a graph.

At a small model's size a token costs far more time in Python and in kernel launches than on the
GPU. Therefore a step changes all its tensors in place: cache, mask, positions, counters, records.
It can be captured once, as a CUDA graph, and replayed for every later token. The prompt is read
once for all of its samples.

Tokens are drawn by the Gumbel trick, argmax(log pi^T - log E) with E exponential, which needs no
synchronization. torch's random state is captured with the graph and moves on with every replay.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import transformers
from transformers.cache_utils import StaticLayer

from entropy_theory import policy
from llm_bridge.data.models import cache_argument
from llm_bridge.data.private_names import attention_of
from llm_bridge.head.token_statistics import on_device
from llm_bridge.sampling.samplers.batch import PromptBatch, Tokens, positions

WARM_UP_STEPS = 3
INSTEAD = "Take sampler='generate'"
"""What to do where no step can be captured."""
LOOK_EVERY = {"cuda": 16, "cpu": 1}
"""The number of tokens between checks whether all sequences have ended; a check waits for the GPU."""


def draw(model: Any, batch: PromptBatch, kept: dict[Any, Any]) -> Tokens:
    """Draw all completions of a batch; buffers and graph are kept, and are as large as the largest batch.

    Raises:
        ValueError: NaN or +inf logits.
        RuntimeError: a captured graph that does nothing.
    """
    rows, filled = len(batch.ids) * batch.copies, _filled(batch)
    key = (batch.capacity, batch.length, batch.max_new_tokens, batch.temperature)
    with on_device(batch.ids):
        if kept.get("shape") != key:
            # The cache of another shape would stay in memory beside this one.
            kept.pop("decoder", None)
            kept |= {"shape": key, "decoder": _Decoder(model, filled)}
        drawn = kept["decoder"].run(filled)
    return Tokens(**{field.name: getattr(drawn, field.name)[:rows]
                     for field in dataclasses.fields(drawn)})


def _filled(batch: PromptBatch) -> PromptBatch:
    """Return a batch with as many rows as the largest: more of its last prompt, to be dropped."""
    prompts = len(batch.ids)
    if prompts == 1:
        return dataclasses.replace(batch, copies=batch.capacity)
    place = torch.arange(batch.capacity // batch.copies, device=batch.ids.device).clamp(max=prompts - 1)
    return dataclasses.replace(batch, ids=batch.ids[place], mask=batch.mask[place])


def obstacle(model: Any) -> str | None:
    """Say why a model cannot be decoded this way, or return None."""
    name = type(model).__name__
    if not getattr(model, "_can_compile_fullgraph", False):
        return f"{name} does not work on a static cache"
    if len({weight.device for weight in model.parameters()}) > 1:
        return f"{name} lies on several devices, and a graph is of one"
    layers = transformers.StaticCache(config=model.config, max_cache_len=2).layers
    if any(type(layer) is not StaticLayer for layer in layers):
        return f"{name} has layers without a full cache (sliding windows, recurrent states)"
    attention = attention_of(model)
    if attention not in ("sdpa", "eager"):
        return f"attention '{attention}' takes no mask of ours: load the model with 'sdpa'"
    return None


def statistics(logits: torch.Tensor, temperature: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute `policy.log_softmax` and `policy.entropy`, NaN for logits that those refuse.

    Nothing here waits for the GPU.

    Returns:
        [rows, actions] and [rows, 1], nats.
    """
    rows = policy.shift_logits_unseen(logits, temperature)
    return rows.shifted - rows.log_normalizer, policy.entropy_of(rows)[:, None]


class _Decoder:
    """The buffers for one shape of batch, and the step that changes them."""

    def __init__(self, model: Any, batch: PromptBatch):
        rows, device = len(batch.ids) * batch.copies, model.device
        self._model, self._temperature, self._pad_id = model, batch.temperature, batch.pad_id
        self._cache = transformers.StaticCache(config=model.config, max_cache_len=batch.length)
        self._past = cache_argument(model, self._cache)
        self._stops = torch.tensor(batch.stop_ids, device=device)
        whole = {"dtype": torch.long, "device": device}
        self._token = torch.zeros(rows, 1, **whole)
        self._position = torch.zeros(rows, 1, **whole)
        self._place = torch.zeros(1, **whole)
        self._slot = torch.zeros(1, **whole)
        self._ended = torch.zeros(rows, dtype=torch.bool, device=device)
        # Added to attention scores: 0 where a key may be seen.
        self._mask = torch.zeros(rows, 1, 1, batch.length, dtype=model.dtype, device=device)
        records = (rows, batch.max_new_tokens)
        self._ids = torch.zeros(records, **whole)
        self._log_prob, self._sampling_log_prob, self._entropy = (
            torch.zeros(records, device=device) for _ in range(3)
        )
        self._graph: Any = None

    def run(self, batch: PromptBatch) -> Tokens:
        """Draw the completions of a batch of this shape."""
        device = batch.ids.device.type
        first = self._prefill(batch)
        if device == "cuda" and self._graph is None and batch.max_new_tokens > WARM_UP_STEPS:
            self._capture(batch, first)
        self._record(first)
        drawn = 1
        while drawn < batch.max_new_tokens:
            if drawn % LOOK_EVERY.get(device, 1) == 0 and bool(self._ended.all()):
                break
            if self._graph is None:
                self._step()
            else:
                self._graph.replay()
            drawn += 1
        if not bool(self._entropy[:, :drawn].isfinite().all()):
            raise ValueError(
                f"{type(self._model).__name__} gave logits that are NaN or infinite: look for diverged "
                "weights, or a number format that overflows"
            )
        return Tokens(
            ids=self._ids[:, :drawn].clone(), log_prob=self._log_prob[:, :drawn].clone(),
            sampling_log_prob=self._sampling_log_prob[:, :drawn].clone(),
            entropy=self._entropy[:, :drawn].clone(),
        )

    def _prefill(self, batch: PromptBatch) -> torch.Tensor:
        """Fill all buffers for a batch; returns logits [rows, vocabulary] of the first new token."""
        width, copies = batch.ids.shape[1], batch.copies
        dynamic = transformers.DynamicCache(config=self._model.config)
        logits = self._model(
            input_ids=batch.ids, attention_mask=batch.mask, position_ids=positions(batch.mask),
            use_cache=True, logits_to_keep=1, **cache_argument(self._model, dynamic),
        ).logits[:, -1]
        layers: list[Any] = dynamic.layers
        for index, layer in enumerate(layers):
            static: Any = self._cache.layers[index]
            if static.is_initialized:
                static.cumulative_length.zero_()
            self._cache.update(
                layer.keys.repeat_interleave(copies, 0), layer.values.repeat_interleave(copies, 0),
                index,
            )
        _, mask = batch.rows()
        self._mask.fill_(torch.finfo(self._mask.dtype).min)
        self._mask[:, 0, 0, :width].masked_fill_(mask.bool(), 0.0)
        self._position.copy_(mask.sum(-1, keepdim=True) - 1)
        self._place.fill_(width)
        self._slot.zero_()
        self._ended.zero_()
        return logits.repeat_interleave(copies, 0)

    def _step(self) -> None:
        """Draw the next token of every sequence, given the last."""
        self._mask.index_fill_(-1, self._place, 0.0)
        self._place.add_(1)
        logits = self._model(
            input_ids=self._token, attention_mask=self._mask, position_ids=self._position,
            use_cache=True, **self._past,
        ).logits[:, -1]
        self._record(logits)

    def _record(self, logits: torch.Tensor) -> None:
        """Draw a token from logits [rows, vocabulary]; write it and its statistics down."""
        log_probs, entropy = statistics(logits.float())
        tempered = log_probs
        if self._temperature != 1.0:
            tempered, _ = statistics(logits.float(), self._temperature)
        noise = torch.empty_like(tempered).exponential_()
        token = (tempered - noise.log()).argmax(-1, keepdim=True)
        token.masked_fill_(self._ended[:, None], self._pad_id)
        for record, column in (
            (self._ids, token), (self._log_prob, log_probs.gather(-1, token)),
            (self._sampling_log_prob, tempered.gather(-1, token)),
            (self._entropy, entropy),
        ):
            record.index_copy_(1, self._slot, column)
        self._ended.logical_or_((token == self._stops).any(-1))
        self._token.copy_(token)
        self._position.add_(1)
        self._slot.add_(1)

    def _check_graph(self) -> None:
        """Raise ValueError for a graph that holds no step: what it replays would be tokens of id 0."""
        before = int(self._slot)
        self._graph.replay()
        if int(self._slot) != before + 1:
            raise ValueError(f"{self._graph_name} is empty: no step was captured. {INSTEAD}")

    @property
    def _graph_name(self) -> str:
        return f"the CUDA graph of {type(self._model).__name__} on {self._slot.device}"

    def _capture(self, batch: PromptBatch, first: torch.Tensor) -> None:
        """Capture one step as a CUDA graph, and leave buffers and random state as they were.

        Raises:
            ValueError: the step cannot be captured, or the graph holds none.
        """
        state = torch.cuda.get_rng_state(batch.ids.device)
        self._record(first)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP_STEPS - 1):
                self._step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self._step()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            why = str(error).splitlines()[0]
            raise ValueError(f"{self._graph_name} cannot be captured: {why}. {INSTEAD}") from error
        self._graph = graph
        self._check_graph()
        self._prefill(batch)
        torch.cuda.set_rng_state(state, batch.ids.device)
