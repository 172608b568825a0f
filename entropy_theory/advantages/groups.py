"""The answers of each prompt as a group: sums, means and extremes in all groups at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from entropy_theory import rounding
from entropy_theory.array_types import Array
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.token_batch import TokenBatch, sequence_value, sequence_weight


def check_equal_weights(batch: TokenBatch, rows: Array, what: str) -> None:
    """Counting rows means nothing where a row stands for a probability, as in an exact listing."""
    if batch.checked:
        return
    xp = namespace(batch.weight)
    weight = sequence_weight(batch, rows)
    smallest = xp.min(
        xp.where(weight > 0, weight, xp.full_like(weight, math.inf)), axis=-2, keepdims=True)
    # Weights are 1/N each: they differ by rounding at most.
    if bool(xp.any(weight > smallest * (1 + 64 * float(xp.finfo(weight.dtype).eps)))):
        raise ValueError(
            f"{what} needs equally weighted samples, and these rows have different weights: for an "
            "exact listing use std_ddof=0, or group_size for the expectation over sampled groups"
        )


def over_sample_deviation(
    normalized: Array, batch: TokenBatch, rows: Array, group: Groups, ddof: int
) -> Array:
    """Return advantages that were divided by a deviation over G, divided by one over G - ddof."""
    if not ddof:
        return normalized
    check_equal_weights(batch, rows, "a standard deviation over G - 1")
    xp = namespace(batch.reward)
    # In a group of one all rewards are equal, and its advantage is 0 whatever divides it.
    size = xp.clip(group.size, 1, None)
    return normalized / xp.sqrt(size / xp.clip(size - ddof, 1, None))


class Groups:
    """Weighted statistics of a sequence-level column over each prompt's group, at its rows.

    Shapes are [..., sequences, 1], or [..., 1, 1] where all rows are one group.
    """

    def __init__(self, batch: TokenBatch, rows: Array) -> None:
        xp: Any = namespace(batch.reward)
        self._xp, self._rows, self._checked = xp, rows, batch.checked
        self._weight = sequence_weight(batch, rows)
        # An action that is never taken has weight 0, and does not count in its group.
        present = xp.any(rows, axis=-1, keepdims=True) & (self._weight > 0)
        self._present = present
        # The prompt id of a row is read at its first token.
        self._prompts = None if batch.group is None else PromptRows.of(
            sequence_value(batch.group, batch.mask, "group", checked=batch.checked))
        total = self._sum(self._weight)
        self._safe_total = xp.where(total > 0, total, xp.ones_like(total))
        self.size = self._sum(xp.astype(present, self._weight.dtype))

    def total(self, column: Array) -> Array:
        """Sum of [..., sequences, 1] over the rows of each row's group, each counted once."""
        return self._sum(self._xp.where(self._present, column, self._xp.zeros_like(column)))

    def mean(self, column: Array) -> Array:
        """Weighted mean of each row's group."""
        value = self._value(column)
        value = self._xp.where(self._present, value, self._xp.zeros_like(value))
        return self._sum(self._weight * value) / self._safe_total

    @property
    def share(self) -> Array:
        """Each row's share of the weight of its group: [..., sequences, 1]."""
        return self._weight / self._safe_total

    def largest(self, column: Array) -> Array:
        """Largest value in each row's group; -inf where the group has no row here."""
        return self._extreme(self._value(column))

    def is_flat(self, column: Array) -> Array:
        """Boolean: the values of each row's group are equal but for rounding."""
        return rounding.equal(*self._range(column))

    def centered(self, column: Array) -> Array:
        """The column less its group's mean; 0 where that is rounding alone, and in flat groups."""
        return self._centered(column)[0]

    def _centered(self, column: Array) -> tuple[Array, Array]:
        """`centered`, and how far apart the values of each row's group are."""
        xp = self._xp
        low, high, magnitude = self._range(column)
        # From the group's smallest, so that a constant that all rewards share costs no digits.
        above = column - xp.where(xp.isfinite(low), low, xp.zeros_like(low))
        centered = above - self.mean(above)
        # Half: two values that are just not equal are half of their difference from their mean.
        rounded = rounding.tolerance(column) / 2 * magnitude
        none = rounding.equal(low, high, magnitude) | (abs(centered) < rounded)
        return xp.where(none, xp.zeros_like(centered), centered), high - low

    def normalized(self, column: Array) -> Array:
        """`centered` over the standard deviation of its group, whatever the unit of the column."""
        centered, spread = self._centered(column)
        return self._over_deviation(centered, centered, spread)

    def over_deviation(self, difference: Array, column: Array) -> Array:
        """A difference of values of the column over the standard deviation of its group."""
        return self._over_deviation(difference, *self._centered(column))

    def _over_deviation(self, difference: Array, centered: Array, spread: Array) -> Array:
        xp = self._xp
        # Squares of very small or large numbers leave the format. Usual ones stay as they are.
        usual = (spread <= 0) | ((spread > 2.0**-60) & (spread < 2.0**60))
        unit = xp.where(usual, xp.ones_like(spread), spread)
        centered = centered / unit
        deviation = xp.sqrt(self.mean(centered * centered))
        some = deviation > 0
        normalized = difference / unit / xp.where(some, deviation, xp.ones_like(deviation))
        return xp.where(some, normalized, xp.zeros_like(normalized))

    def without_rounding(self, difference: Array, column: Array) -> Array:
        """A difference of values of the column, 0 where these are equal but for rounding."""
        low, high, magnitude = self._range(column)
        rounded = rounding.tolerance(column) * magnitude
        none = rounding.equal(low, high, magnitude) | (abs(difference) < rounded)
        return self._xp.where(none, self._xp.zeros_like(difference), difference)

    def margin(self, column: Array) -> Array:
        """By how much the group's largest value is above the next, at its row; 0 at all others.

        Several that are largest but for rounding have no margin.
        """
        xp, (_, high, magnitude) = self._xp, self._range(column)
        value = self._value(column)
        largest = self._present & (high - value < rounding.tolerance(column) * magnitude)
        alone = self._sum(xp.astype(largest, self._weight.dtype)) == 1
        rest = self._extreme(xp.where(largest, xp.full_like(value, -math.inf), value))
        alone = alone & largest & xp.isfinite(rest)
        return xp.where(alone, value - xp.where(alone, rest, value), xp.zeros_like(value))

    def ascending(self, column: Array) -> Ascending:
        """The column's values in each group, from the smallest."""
        value = self._value(column)
        xp, zeros = self._xp, self._xp.zeros_like(value)
        tolerance = rounding.tolerance(column) * self._range(column)[2]
        return Ascending.of(
            self._prompts, xp.where(self._present, value, xp.full_like(value, math.inf)),
            xp.where(self._present, self.share, zeros), xp.where(self._present, tolerance, zeros))

    def _range(self, column: Array) -> tuple[Array, Array, Array]:
        """Smallest and largest value in each row's group, and the magnitude that rounding is relative to.

        The magnitude is the larger of the group's own and that of all groups, the latter cut at 1. Terms
        of size 1 may cancel, as in ``.1 + .2 - .3``. A group of huge rewards does not change others.
        """
        xp, value = self._xp, self._value(column)
        low, high = -self._extreme(-value), self._extreme(value)
        magnitude = xp.maximum(abs(low), abs(high))
        if self._prompts is None:
            return low, high, magnitude
        size = xp.where(self._present, abs(value), xp.zeros_like(value))
        common = xp.clip(xp.max(size, axis=-2, keepdims=True), None, 1.0)
        return low, high, xp.maximum(magnitude, common)

    def _extreme(self, value: Array) -> Array:
        xp = self._xp
        value = xp.where(self._present, value, xp.full_like(value, -math.inf))
        if self._prompts is None:
            return xp.max(value, axis=-2, keepdims=True)
        return self._prompts.reduced(xp.max, value, -math.inf)

    def _value(self, column: Array) -> Array:
        return sequence_value(column, self._rows, checked=self._checked)

    def _sum(self, values: Array) -> Array:
        """Sum of [..., sequences, 1] over each row's group, back at the rows."""
        if self._prompts is None:
            return self._xp.sum(values, axis=-2, keepdims=True)
        return self._prompts.reduced(self._xp.sum, values, 0.0)


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

    def listed(self, values: Array, nothing: float) -> Array:
        """List numbers of rows, [..., sequences], prompt by prompt: [..., prompts, most]."""
        xp = namespace(values)
        rows = self._by_prompt(self.rows)
        found = xp.take_along_axis(values, _wide(xp, rows, values), axis=-1)
        if self.is_filling is not None:
            filling = self._by_prompt(self.is_filling)
            found = xp.where(_wide(xp, filling, values), xp.full_like(found, nothing), found)
        return xp.reshape(found, (*values.shape[:-1], rows.shape[-1] // self.most, self.most))

    def places(self) -> Array:
        """The place of each row in the result of `listed`, counted through: [..., sequences]."""
        rows = to_numpy(self.rows)
        prompts = rows.shape[-1] // self.most
        member = np.ones(rows.shape, bool) if self.is_filling is None else ~to_numpy(self.is_filling)
        slot = np.arange(rows.shape[-1]) % prompts * self.most + np.arange(rows.shape[-1]) // prompts
        found = np.zeros(to_numpy(self.prompt).shape, dtype=int)
        for lead in np.ndindex(rows.shape[:-1]):
            found[lead][rows[lead][member[lead]]] = slot[member[lead]]
        return self._like(found)

    def _by_prompt(self, columns: Array) -> Array:
        array = to_numpy(columns)
        array = array.reshape(*array.shape[:-1], self.most, -1)
        return self._like(np.swapaxes(array, -1, -2).reshape(*array.shape[:-2], -1).copy())

    def _like(self, array: np.ndarray) -> Array:
        return namespace(self.rows).asarray(array, device=array_api_compat.device(self.rows))

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Ascending:
    """The values of every group from the smallest, each group's in a line: [..., groups, most]."""

    values: Array
    """Ascending; infinite where a group has fewer rows than the largest, and at those not of it."""
    share: Array
    """The row's share of its group's weight; 0 for rows that do not count."""
    tolerance: Array
    """By how much values of the group may differ by rounding alone."""
    rank: Array
    """The place of each row of a group in this order."""
    place: Array | None
    """Where in the groups each row is, [..., sequences]; None where all rows are one group."""

    @classmethod
    def of(cls, prompts: PromptRows | None, values: Array, share: Array, tolerance: Array) -> Ascending:
        """Order columns [..., sequences, 1]."""
        xp = namespace(values)
        place = None
        columns = [xp.broadcast_to(column, values.shape)[..., 0] for column in (values, share, tolerance)]
        if prompts is None:
            columns = [column[..., None, :] for column in columns]
        else:
            columns = [prompts.listed(column, nothing)
                       for column, nothing in zip(columns, (math.inf, 0.0, 0.0), strict=True)]
            place = prompts.places()
        order = xp.argsort(columns[0], axis=-1, stable=True)
        values, share = (xp.take_along_axis(column, order, axis=-1) for column in columns[:2])
        return cls(values=values, share=share, tolerance=xp.max(columns[2], axis=-1, keepdims=True),
                   rank=xp.argsort(order, axis=-1, stable=True), place=place)

    def back(self, table: Array) -> Array:
        """Bring numbers in this order, [..., groups, most], back to the rows: [..., sequences, 1]."""
        xp = namespace(table)
        table = xp.take_along_axis(xp.broadcast_to(table, self.values.shape), self.rank, axis=-1)
        if self.place is None:
            return table[..., 0, :, None]
        flat = xp.reshape(table, (*table.shape[:-2], table.shape[-2] * table.shape[-1]))
        return xp.take_along_axis(flat, _wide(xp, self.place, flat), axis=-1)[..., None]
