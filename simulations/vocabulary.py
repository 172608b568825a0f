"""One exact step of policies as large as a vocabulary, on whatever arrays the caller brings.

The engine's step (`engine.compiled`) written against the array API: numpy arrays, or torch tensors
on any device, of any precision; with torch the caller may wrap `Steps.take` in ``torch.compile``, which
makes of each step one pass for the sums and one for the update. The rule is asked once, on the CPU, and
read from its tables (`simulations.engine.compiled.tables`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import array_api_compat

from entropy_theory.controllers import TemperatureSwitch
from entropy_theory.policy import Array, namespace
from entropy_theory.update_rules import UpdateRule
from simulations.engine.compiled.tables import NotTabulatedError, Question, Tables, tabulate


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """The exact steps of one rule on one kind of array; answers are right (1) or wrong (0)."""

    tables: Tables
    """On the device, in the precision of the logits."""
    cells: tuple[int, int, int]
    """Cells an octave of the three tables."""
    learning_rate: float
    switch: TemperatureSwitch | None
    xp: Any
    """The namespace of the arrays (`policy.namespace`), found once: compilers need not trace that."""

    @classmethod
    def of(cls, rule: UpdateRule, learning_rate: float, like: Array) -> Steps:
        """The steps of a rule, for logits of the precision and on the device of ``like``.

        Raises:
            ValueError: a rule that cannot be tabulated, with the reason, or a controller other than
                AEPO's two-point switch.
        """
        switch = rule.controller()
        if type(switch) not in (type(None), TemperatureSwitch):
            raise ValueError(f"the controller of '{rule.name}' is not the two-point switch")
        question = Question(
            rule=rule, values=(1.0, 0.0), n_runs=1, n_states=1, exact=True, ordinary=1,
            tempered=int(switch is not None), one_run=lambda run: rule)
        try:
            tables = tabulate(question)
        except NotTabulatedError as reason:
            raise ValueError(f"'{rule.name}' cannot be tabulated: {reason}") from None
        parts = (tables.ordinary, tables.tempered, tables.bonus)
        cells = [1 << int(table[0, -1, 1]) if table.shape[1] > 1 else 1 for table in parts]
        xp, device = namespace(like), array_api_compat.device(like)
        ordinary, tempered, bonus = (
            xp.asarray(table, dtype=like.dtype, device=device)
            for table in parts)
        return cls(
            tables=Tables(ordinary=ordinary, tempered=tempered, bonus=bonus, scales=tables.scales),
            cells=(cells[0], cells[1], cells[2]), learning_rate=learning_rate, switch=switch,
            xp=xp)

    def take(self, logits: Array, right: Array) -> tuple[Array, Array]:
        """One step.

        Args:
            logits: [runs, actions], finite.
            right: 1 at right answers and 0 elsewhere, of the logits' dtype, broadcastable to them.

        Returns:
            The logits after it, and the entropy before it, nats, [runs].
        """
        xp = self.xp
        shifted = logits - xp.max(logits, axis=-1, keepdims=True)
        e = xp.exp(shifted)
        # The largest ones are counted, not summed: log1p of the rest keeps its digits at collapse.
        is_top = xp.astype(shifted == 0, e.dtype)
        rest = _sum(xp, e - is_top) + (_sum(xp, is_top) - 1)
        total = 1 + rest
        depth = _sum(xp, e * shifted) / total
        entropy = xp.log1p(rest) - depth
        p, q = _sum(xp, e * right) / total, _sum(xp, e * (1 - right)) / total
        gap = _look_up(xp, self.tables.ordinary, self.cells[0], p, q)
        change = e / total * gap * (right * q - (1 - right) * p)
        bonus = _look_up(xp, self.tables.bonus, self.cells[2], p, q)
        change = change - bonus * (e / total) * (shifted - depth)
        if self.switch is not None:
            hot, cold = (1 / t for t in (self.switch.temperature_high, self.switch.temperature_low))
            below = xp.astype(entropy < self.switch.target, e.dtype)
            f = xp.exp(shifted * (cold + (hot - cold) * below))
            share = f / _sum(xp, f)
            hits, misses = _sum(xp, share * right), _sum(xp, share * (1 - right))
            at_right = _look_up(xp, self.tables.tempered[:2], self.cells[1], hits, misses)
            at_wrong = _look_up(xp, self.tables.tempered[2:], self.cells[1], hits, misses)
            mean = hits * at_right + misses * at_wrong
            change = change + share * (right * at_right + (1 - right) * at_wrong) - e / total * mean
        return logits + self.learning_rate * change, entropy[..., 0]


def _sum(xp: Array, x: Array) -> Array:
    return xp.sum(x, axis=-1, keepdims=True)


def _look_up(xp: Array, table: Array, size: int, p: Array, q: Array) -> Array:
    """What a table says of shares of right and wrong answers, [runs, 1] each (see `tabulated`).

    ``size``: cells an octave.
    """
    cells = table.shape[1] - 1
    if cells == 0:
        return table[0, 0, 0] + 0 * p
    fewer_wrong = q < p
    t = xp.where(fewer_wrong, q, p)
    smallest = float(xp.finfo(t.dtype).smallest_normal)
    positive = xp.where(t > smallest, t, xp.full_like(t, smallest))
    octave = xp.floor(xp.log2(positive))
    place = (positive / 2.0**octave - 1) * size
    # A rounded logarithm may be one octave off at a power of two: the next cell's end is the same.
    cell_place = xp.clip(xp.floor(place), 0, size - 1)
    v = xp.clip(2 * (place - cell_place) - 1, -1, 1)
    cell = xp.astype((-octave - 1) * size + (size - 1 - cell_place), xp.int64)
    cell = xp.clip(cell, 0, cells - 1)
    rows = xp.astype(fewer_wrong, xp.int64)
    value = xp.zeros_like(t)
    for power in range(table.shape[2] - 1, -1, -1):
        value = value * v + table[rows, cell, power]
    return xp.where(t > 0, value, table[rows, cells, 0])
