"""Puts a target's logits processors into a model's generation, whose configuration cannot hold any."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from transformers import LogitsProcessorList

from llm_bridge.data import private_names


@contextlib.contextmanager
def applied(model: Any, processors: Sequence[Any]) -> Iterator[None]:
    """Apply processors to all that the model generates inside the block, before its temperature.

    Args:
        model: a model of transformers, not wrapped by data parallelism or an adapter.
        processors: callables (tokens [rows, length], logits [rows, vocabulary]) -> logits.
    """
    if not processors:
        yield
        return
    def around(build: Callable[..., Any]) -> Callable[..., Any]:
        def extended(*arguments: Any, logits_processor: Any = None, **options: Any) -> Any:
            both = LogitsProcessorList([*(logits_processor or []), *processors])
            return build(*arguments, logits_processor=both, **options)

        return extended

    private_names.go_around_processors(model, around)
    try:
        yield
    finally:
        private_names.leave_processors(model)


def in_use(model: Any) -> bool:
    """Whether processors are being applied to what the model generates."""
    return private_names.has_other_processors(model)
