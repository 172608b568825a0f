"""Lists the rows of each prompt, for statistics of all prompts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace, to_numpy


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptRows:
    """The rows of each prompt, so that a statistic of every prompt is one over an axis.

    Prompts with fewer rows than the largest are filled up with rows that do not count.
    """

    rows: Array
    """Numbers of rows, [..., most * prompts]."""
    is_filling: Array | None
    """Boolean of that shape; None where all prompts have as many rows."""
    prompt: Array
    """The prompt of each row, counted from 0: [..., sequences]."""
    most: int
    """The number of rows of the largest prompt."""

    @classmethod
    def of(cls, group: Array) -> PromptRows:
        """Sort rows by the ids of their prompts, [..., sequences, 1]."""
        xp, device = namespace(group), array_api_compat.device(group)
        ids = to_numpy(group)[..., 0]
        *lead, n = ids.shape
        ids = ids.reshape(-1, n)
        if (ids == ids[:1]).all():  # Runs with the same prompts are sorted once.
            ids, lead = ids[:1], [1] * len(lead)
        order = np.argsort(ids, axis=-1, kind="stable")
        sorted_ids = np.take_along_axis(ids, order, axis=-1)
        begins = np.ones(ids.shape, dtype=bool)
        begins[:, 1:] = sorted_ids[:, 1:] != sorted_ids[:, :-1]
        prompt = np.cumsum(begins, axis=-1) - 1
        place = np.arange(n) - np.maximum.accumulate(np.where(begins, np.arange(n), 0), axis=-1)
        most, prompts = int(place.max(initial=0)) + 1, int(prompt.max(initial=0)) + 1
        rows = np.full((len(ids), most, prompts), -1)
        rows[np.arange(len(ids))[:, None], place, prompt] = order
        prompt_of = np.empty_like(order)
        np.put_along_axis(prompt_of, order, prompt, axis=-1)
        filling = rows < 0

        def made(array: np.ndarray) -> Array:
            return xp.asarray(array.reshape(*lead, -1), device=device)

        return cls(
            rows=made(np.maximum(rows, 0)), is_filling=made(filling) if filling.any() else None,
            prompt=made(prompt_of), most=most)

    def reduced(self, reduce: Callable[..., Array], values: Array, nothing: float) -> Array:
        """Reduce [..., sequences, 1] over each row's prompt, back at the rows.

        Args:
            reduce: the sum or the maximum of the array library.
            values: one number of each row.
            nothing: the value that a row that does not count has.
        """
        xp = namespace(values)
        flat = values[..., 0]
        listed = xp.take_along_axis(flat, _wide(xp, self.rows, flat), axis=-1)
        if self.is_filling is not None:
            listed = xp.where(self.is_filling, xp.full_like(listed, nothing), listed)
        listed = xp.reshape(listed, (*flat.shape[:-1], self.most, -1))
        by_prompt = reduce(listed, axis=-2)
        return xp.take_along_axis(by_prompt, _wide(xp, self.prompt, flat), axis=-1)[..., None]


def _wide(xp: Any, index: Array, values: Array) -> Array:
    """Broadcast an index [..., n] to the leading axes of the values, as the array API asks."""
    return xp.broadcast_to(index, (*values.shape[:-1], index.shape[-1]))
