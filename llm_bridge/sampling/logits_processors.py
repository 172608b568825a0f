"""Puts a target's logits processors into a model's generation, whose configuration cannot hold any."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from transformers import LogitsProcessorList


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
    build = model._get_logits_processor

    def extended(*arguments: Any, logits_processor: Any = None, **options: Any) -> Any:
        both = LogitsProcessorList([*(logits_processor or []), *processors])
        return build(*arguments, logits_processor=both, **options)

    model._get_logits_processor = extended
    try:
        yield
    finally:
        del model._get_logits_processor


def in_use(model: Any) -> bool:
    """Whether processors are being applied to what the model generates."""
    return "_get_logits_processor" in vars(model)
