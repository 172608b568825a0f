"""A causal language model's forward pass whose head gives statistics in place of logits.

For the time of one call the ``forward`` of the model's output embedding is replaced: it hands its
input and its weight to `head.column_stack`, and the model returns those columns where it would return
logits. All happens inside the module's own call, so whatever surrounds it works as usual: gathered
shards (FSDP2), data parallelism, tied weights, autocast, adapters elsewhere in the model.

This is right only for a model whose logits are what its head, a linear map, returns. `obstacle` finds
out by trying: the head is made to return known numbers, and the model must return them bit by bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from llm_bridge.head import per_token
from llm_bridge.head.row_statistics import CLAMPED_COLUMNS, COLUMNS
from llm_bridge.head.token_statistics import TokenStatistics, from_columns

Head = Callable[[torch.nn.Linear, torch.Tensor], torch.Tensor]
"""A function of the head and its input [sequences, positions, features] that replaces the logits."""


def statistics(
    model: Any, forward: Callable[[], torch.Tensor], token_ids: torch.Tensor, mask: torch.Tensor,
    *, removed_fraction: float | None = None, temperature: float = 1.0,
    first: torch.Tensor | None = None,
) -> TokenStatistics:
    """Compute statistics of the tokens: `token_statistics.from_logits` of what ``forward`` returns.

    Args:
        model: a model, not wrapped by data parallelism, for which `obstacle` found none.
        forward: calls the model, wrapped or not; its logits are [sequences, positions, vocabulary].
        token_ids: integer [sequences, positions].
        mask: [sequences, positions]; where it is False nothing is computed, and all columns are 0.
        removed_fraction: share of the vocabulary that the clamped entropy leaves out; None: no clamped
            entropy.
        temperature: what the logits are divided by.
        first: the head's input [sequences, 1, features] at a position before those of ``forward``,
            from a pass of its own (`hidden_states`); with None ``forward`` has all positions.
    """

    def columns(module: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
        if first is not None:
            hidden = torch.cat([first.to(hidden.dtype), hidden], dim=1)
        return per_token.column_stack(
            hidden, module.weight, token_ids, mask=mask, removed_fraction=removed_fraction,
            bias=module.bias, temperature=temperature,
        )

    with _replaced(_heads(model), columns):
        found = forward()
    return from_columns(list(found.unbind(-1)))


def hidden_states(model: Any, forward: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Return the head's input [sequences, positions, features]; the model must have no `obstacle`."""
    with _replaced(_heads(model), lambda _, hidden: hidden):
        return forward()


def obstacle(
    model: Any, forward: Callable[[], torch.Tensor], shape: tuple[int, int]
) -> str | None:
    """Say why `statistics` would not be those of the model's logits; None where they are.

    The model is called twice, without gradient.

    Args:
        forward: as in `statistics`, on a short input.
        shape: (sequences, positions) of its logits.
    """
    heads = _heads(model)
    if not heads:
        return "it has no output embedding"
    for module in heads:
        # FSDP2 makes a subclass that inherits it; quantized and adapted heads have their own.
        if type(module).forward is not torch.nn.Linear.forward or "forward" in vars(module):
            return f"its head, a {type(module).__name__}, is not a plain torch.nn.Linear"
    for width in (len(COLUMNS + CLAMPED_COLUMNS), heads[0].out_features):
        generator = torch.Generator().manual_seed(0)
        known = 100 * torch.randn(*shape, width, generator=generator)
        calls: list[Any] = []

        def give(
            _: torch.nn.Linear, hidden: torch.Tensor, known: torch.Tensor = known,
            calls: list[Any] = calls,
        ) -> torch.Tensor:
            calls.append(hidden.shape[:-1])
            return known.to(hidden.device)

        with torch.no_grad(), _replaced(heads, give):
            try:
                found = forward()
            except (ValueError, RuntimeError, TypeError, IndexError) as error:
                return f"its forward pass works on the logits ({str(error).splitlines()[0]})"
        if calls != [shape]:
            return f"its head is called on {[tuple(c) for c in calls]}, not once on {shape}"
        if found.shape != known.shape or not torch.equal(found.cpu().to(known.dtype), known):
            return "it changes the logits after its head (a scale, a cap, a cut, or rounding)"
    return None


def _heads(model: Any) -> list[Any]:
    """Return the output embedding, and its trained copy if there is one (PEFT's modules_to_save)."""
    try:
        found = model.get_output_embeddings()
    except (AttributeError, NotImplementedError):
        found = None
    if found is None:
        return []
    if hasattr(found, "modules_to_save"):
        return [found.original_module, *found.modules_to_save.values()]
    return [found]


@contextlib.contextmanager
def _replaced(heads: list[Any], forward: Head) -> Iterator[None]:
    try:
        for module in heads:
            module.forward = lambda hidden, module=module: forward(module, hidden)
        yield
    finally:
        for module in heads:
            vars(module).pop("forward", None)
