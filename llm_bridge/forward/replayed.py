"""A call of a model that a trainer made, made again for statistics of its tokens.

The second call passes on all that the trainer gave its model (images, positions, segments), and so
computes the same distributions. Requests of the first call to its head are left out.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator
from typing import Any

import torch

from llm_bridge.forward import fused_forward
from llm_bridge.head.token_statistics import TokenStatistics, from_logits

OF_THE_HEAD = ("labels", "shift_labels", "fused_lm_head", "logits_to_keep", "use_cache",
               "output_router_logits")
IMAGES = "pixel_values"
"""With this argument rows cannot be cut: images are not one per row."""


class Replayed:
    """Makes a model's calls again, at one temperature."""

    def __init__(self, accelerator: Any, temperature: float):
        self._accelerator, self._temperature = accelerator, temperature
        self._plain = functools.cache(accelerator.unwrap_model)
        self._trials = fused_forward.Trials()

    @contextlib.contextmanager
    def seen(self, model: torch.nn.Module) -> Iterator[list[dict[str, Any]]]:
        """Give a list that has the keyword arguments of each call of the model in the context."""
        calls: list[dict[str, Any]] = []

        plain = self._plain(model)
        names = list(inspect.signature(type(plain).forward).parameters)[1:]

        def note(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            given = dict(zip(names, args, strict=False)) | kwargs
            calls.append({name: value for name, value in given.items() if name not in OF_THE_HEAD})

        handle = model.register_forward_pre_hook(note, with_kwargs=True)
        try:
            yield calls
        finally:
            handle.remove()

    def statistics(
        self, model: Any, call: dict[str, Any], input_ids: torch.Tensor, positions: int,
        rows: Any = slice(None),
    ) -> TokenStatistics:
        """Compute the statistics of a call's last tokens, for some of its rows.

        Args:
            model: the model, as it was called.
            call: its arguments, of `seen`.
            input_ids: the rows' tokens [sequences, width]; the call has all, or all but the last.
            positions: how many of the last tokens to look at.
            rows: an index of rows.

        Returns:
            Columns [rows, positions].
        """
        if IMAGES in call and not isinstance(rows, slice):
            whole = self.statistics(model, call, input_ids, positions)
            return whole.map(lambda column: column[rows])
        call, token_ids = _cut(call, rows, len(input_ids)), input_ids[rows, -positions:]
        # Where the call has the last token, its head is asked what follows that too.
        beyond = int(call["input_ids"].shape[1] == input_ids.shape[1])
        plain = self._plain(model)

        def forward(call: dict[str, Any] = call, kept: int = positions + beyond) -> torch.Tensor:
            with self._accelerator.autocast():
                return model(**call, use_cache=False, logits_to_keep=kept).logits

        short = call if IMAGES in call else _cut(call, slice(1), len(token_ids))
        logit_map = self._trials(
            plain, lambda: forward(short, 2), (len(short["input_ids"]), 2),
            tells=self._accelerator.is_main_process)
        if logit_map is None:
            return from_logits(forward()[:, :positions] / self._temperature, token_ids)
        ids, mask = (torch.nn.functional.pad(column, (0, beyond)) for column in (
            token_ids, torch.ones_like(token_ids, dtype=torch.bool)))
        found = fused_forward.statistics(
            plain, forward, ids, mask, logit_map=logit_map, temperature=self._temperature)
        return found.map(lambda column: column[:, :positions])

    def router_loss(self, model: Any, call: dict[str, Any]) -> torch.Tensor:
        """Compute the load-balancing loss of a call of a mixture of experts, a scalar."""
        with self._accelerator.autocast():
            return model(
                **call, use_cache=False, logits_to_keep=1, output_router_logits=True).aux_loss


def _cut(call: dict[str, Any], rows: Any, sequences: int) -> dict[str, Any]:
    """Return a call's arguments for some of its rows."""
    return {name: value[rows] if isinstance(value, torch.Tensor) and value.ndim
            and len(value) == sequences else value for name, value in call.items()}
