"""Forecasts and accounts for the entropy change of one optimizer step of a model.

Before the step, from the gradient g of the mean entropy and the optimizer's state: the forecast <g, d
theta>, divided into the step's addends (`optimizer_step`). After it, from the average of g along the
step (`entropy_theory.accounting`): the account, with the same parts, which add up to the measured
change. The part ``rounding`` is what the weights' number format made of the addends.

The tokens' parts come all at once. The loss's gradient is a sum over tokens of coefficient x grad
log pi (and x grad H for state terms). With u = P g, a token's part in <g, -P gradient> is its
coefficient times the change of its own log pi (and H) along u. One forward pass with dual numbers
gives these derivatives for all tokens. Their sum is checked against the inner product
(`TokenEffects.gap`). Where rounding is coarse this check is not enough: errors of single tokens
cancel in their sum, as the tokens themselves do.

A forecast alone holds the entropy's gradient for one parameter at a time. Otherwise all of it is
held, and for an accounted step the weights before and after it too, in main memory if
`EntropyGradient` offloads. A router's own loss adds its gradient. One more gradient is held where a
path takes more than two points, and while the forecast of an accounted step is divided over tokens.
Training goes on with the weights that the optimizer left, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from entropy_theory import accounting
from entropy_theory.accounting import Account
from entropy_theory.rounding import FORWARD_ROUNDINGS
from llm_bridge.accounting.entropy_gradient import EntropyGradient
from llm_bridge.accounting.optimizer_step import OptimizerStep, working
from llm_bridge.accounting.step_rows import Slope, StepRows

WHOLE, ROUNDING = "step", "rounding"
"""The only part of a step that is read after it, and what the addends of one read before leave."""
LARGEST_GAP = 0.02
"""The error of token effects (`TokenEffects.gap` and ``rounding``) beyond which they are not to be
trusted."""

Columns = Mapping[str, torch.Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenEffects:
    """Effects of a step's tokens on the mean entropy through their gradient, clipping included."""

    derivatives: Sequence[Columns]
    """For each of the step's rows, by statistic, [sequences, positions]: what a unit of the token's
    coefficient does, nats."""
    clip: float
    """The factor by which the gradient was scaled down."""
    by_token: list[torch.Tensor]
    """For each of the step's rows, [sequences, positions]: what each token did, nats."""
    total: float
    """The parts ``gradient`` and ``clipping`` of the step, to which all tokens must add up, nats."""
    gap: float
    """By how much they do not, as a share of the sum of their absolute values."""
    rounding: float
    """Sum of the tokens' absolute rounding errors, as a share of the same sum. The gap does not
    contain them (`EntropyGradient.rounding_of_derivatives`)."""

    @property
    def trusted(self) -> bool:
        """Whether the tokens add up to the whole, in a number format that can tell them apart."""
        return max(self.gap, self.rounding) <= LARGEST_GAP

    def of(self, moved: Sequence[Columns]) -> list[torch.Tensor]:
        """What coefficients other than the step's would have done (see `StepRows.moved`)."""
        pairs = zip(self.derivatives, moved, strict=True)
        return [self.clip * _effect(derivative, columns) for derivative, columns in pairs]


@dataclass(frozen=True, kw_only=True, slots=True)
class Accounted:
    """An accounted step."""

    account: Account
    tokens: TokenEffects | None


Kept = Literal["weights", "slope", "nothing"]


class StepAccountant:
    """Holds what is known of a step before it is taken.

    Args:
        gradient: of the model.
        rows: the rows of the step.
        optimizer: torch's SGD, Adam or AdamW. None: the step is not read before it is taken.
        clip: the factor by which gradients were scaled down.
        measured: those of the rows on which entropy is measured, where they are not all; tokens of all
            rows are told apart.
        router: the gradient of a router's loss, a part of the step's (`OptimizerStep`).
        seen: mean entropy of the rows and its gradient, where they are known; it becomes this object's.
        keeps: kept in memory beside ``forecast_parts``. Use "weights" if `finish` will be called,
            "slope" if any other method will be, else "nothing".

    Raises:
        UnreadableStepError: another optimizer.
        ValueError: as `OptimizerStep` and `EntropyGradient`.
    """

    def __init__(
        self, gradient: EntropyGradient, rows: Sequence[StepRows], optimizer: Any | None, *,
        clip: float = 1.0, measured: Sequence[StepRows] | None = None, router: Slope | None = None,
        seen: tuple[float, Slope] | None = None, keeps: Kept = "weights",
    ):
        self._gradient, self._rows, self._clip = gradient, rows, clip
        self._measured = rows if measured is None else measured
        self._step = None if optimizer is None else OptimizerStep(
            optimizer, gradient.parameters, clip=clip,
            router=None if router is None else router.parts)
        self.keeps_weights = keeps == "weights"
        self._start = None
        if self.keeps_weights:
            self._start = gradient.copies()
        self._slope: list[Slope] = []
        """Taken out by what changes it in place, and so held no longer than it is the entropy's."""
        self.forecast_parts: dict[str, float] = {}
        """The forecast of each addend, nats; none where the step is not read before it is taken."""
        if seen is None and self._step is not None and keeps == "nothing":
            self.entropy, self.forecast_parts = gradient.evaluate_along(self._measured, self._step)
            return
        self.entropy, slope = gradient.evaluate(self._measured) if seen is None else seen
        self._slope.append(slope)
        if self._step is not None:
            self.forecast_parts = self._parts(slope, None)

    def announced_tokens(self) -> TokenEffects:
        """What tokens will do to first order, asked for once.

        Raises ValueError for a step that is not read before.
        """
        slope = self._slope[0].copy() if self.keeps_weights else self._slope.pop()
        return self._token_effects(slope, self.forecast_parts, None)

    def announced_of_entropy(self, moved: Sequence[Columns]) -> float | None:
        """What coefficients that are a multiple of the measured mean entropy will do, nats; else None.

        Their own gradient is that multiple of the entropy's, which is at hand: it takes no pass.

        Args:
            moved: coefficients for each of the step's rows, as `StepRows.moved`.
        """
        if self._step is None or self._measured is not self._rows:
            return None
        gradient = self._gradient
        pairs = [(columns.get("entropy", torch.zeros_like(rows.measure)), rows.measure)
                 for columns, rows in zip(moved, self._rows, strict=True)]
        product, norm, size = gradient.sum_over_ranks([
            sum(float((first * second).sum(dtype=torch.float64)) for first, second in found)
            for found in (pairs, [(m, m) for _, m in pairs], [(m, torch.sign(m)) for _, m in pairs])])
        factor = product / norm
        (rest,) = gradient.sum_over_ranks([
            sum(float((column - factor * measure).abs().sum(dtype=torch.float64))
                for column, measure in pairs)
            + sum(float(column.abs().sum(dtype=torch.float64)) for columns in moved
                  for name, column in columns.items() if name != "entropy")])
        # The columns are products of a few numbers each.
        rounding = max(torch.finfo(column.dtype).eps for column, _ in pairs)
        if rest > 8 * rounding * abs(factor) * size:
            return None
        power = sum(
            gradient.products(
                {WHOLE: addends.scale * gradient.fetched(self._slope[0].parts, place, rows)},
                self._slope[0], place, rows)[WHOLE]
            for place, rows, addends in self._step.addends(None))
        return self._clip * factor * gradient.sum_over_ranks([power])[0]

    def finish(
        self, *, tokens: bool = True, share: float = accounting.SHARE,
        most_points: int = accounting.MOST_POINTS,
    ) -> Accounted:
        """Account for the step, once it is taken; asked for once.

        Weights of 16 bits have no points between those before and after a step: their path has these two.

        Args:
            tokens: whether tokens are told apart, where the step was read before it was taken.
            share, most_points: as `accounting.along_path`.
        """
        gradient, start = self._gradient, self._start
        assert start is not None, "the weights before the step were not kept"
        end = gradient.copies()
        ends_only = any(weights.element_size() < 4 for weights in end)
        entropy = gradient.mean_entropy(self._measured)

        def difference(place: int) -> torch.Tensor:
            return working(gradient.fetched(end, place)) - working(gradient.fetched(start, place))

        def add_slope(total: Slope | None, t: float) -> Slope:
            gradient.move(lambda place: (
                end[place] if t == 1.0
                else working(gradient.fetched(start, place)) + t * difference(place)))
            return gradient.evaluate(self._measured, total)[1]

        def project(slope: Slope) -> float:
            return gradient.sum_over_ranks([sum(
                gradient.products({WHOLE: difference(place)}, slope, place)[WHOLE]
                for place in range(len(end)))])[0]

        measured = entropy - self.entropy
        if self._step is None:
            self.forecast_parts = {WHOLE: project(self._slope[0])}
        try:
            # Not by **options: Python would hold the slope in a tuple for the time of the call.
            path = accounting.along_path(
                self._slope.pop(), add_slope, project, measured, rounding=self._rounding(),
                ends_only=ends_only, share=share, most_points=most_points)
            if self._step is None:
                parts = {WHOLE: path.change}
            else:
                parts = self._parts(path.slope, start)
                parts[ROUNDING] = path.change - math.fsum(parts.values())
            effects = None
            if tokens and self._step is not None:
                # The step's gradient is that of the tokens at the weights before it.
                gradient.move(lambda place: start[place])
                effects = self._token_effects(path.slope, parts, start)
        finally:
            gradient.move(lambda place: end[place])
        return Accounted(
            account=Account(
                forecast_parts=self.forecast_parts, parts=parts, measured=measured,
                points=path.points, converged=path.converged,
            ),
            tokens=effects)

    def _rounding(self) -> float:
        """What rounding alone changes of the difference of two means, nats.

        An entropy is a mean of log-probabilities, which are off by `FORWARD_ROUNDINGS` of 1, of random
        sign over tokens; the difference has two such means.
        """
        count = self._gradient.sum_over_ranks(
            [float(sum(int((part.measure != 0).sum()) for part in self._measured))])[0]
        each = FORWARD_ROUNDINGS * self._gradient.roundoff
        return each * math.sqrt(2 / max(count, 1.0))

    def _parts(self, slope: Slope, start: Sequence[torch.Tensor] | None) -> dict[str, float]:
        """Return <slope, addend> for each addend of the step."""
        assert self._step is not None
        found = dict.fromkeys(self._step.names, 0.0)
        for place, rows, addends in self._step.addends(start):
            for name, product in self._gradient.products(addends.named(), slope, place, rows).items():
                found[name] += product
        return dict(zip(found, self._gradient.sum_over_ranks(list(found.values())), strict=True))

    def _token_effects(
        self, slope: Slope, parts: Mapping[str, float], start: Sequence[torch.Tensor] | None
    ) -> TokenEffects:
        """Divide the gradient's part over tokens; the slope is made the direction P x slope."""
        if self._step is None:
            raise ValueError("tokens are told apart only where the optimizer's step is read before it")
        gradient, power = self._gradient, 0.0
        at_rest = set(range(len(slope.parts)))
        for place, rows, addends in self._step.addends(start):
            scaled = addends.scale * gradient.fetched(slope.parts, place, rows)
            power += gradient.products({WHOLE: scaled}, slope, place, rows)[WHOLE]
            slope.parts[place][rows] = scaled
            at_rest.discard(place)
        for place in at_rest:
            slope.parts[place].zero_()
        (power,) = gradient.sum_over_ranks([power])
        derivatives = gradient.derivatives(self._rows, slope, power)
        by_token = [
            self._clip * _effect(derivative, rows.moved)
            for derivative, rows in zip(derivatives, self._rows, strict=True)
        ]
        whole, size = gradient.sum_over_ranks([
            sum(float(effect.sum(dtype=torch.float64)) for effect in by_token),
            sum(float(effect.abs().sum(dtype=torch.float64)) for effect in by_token),
        ])
        total = parts.get("gradient", 0.0) + parts.get("clipping", 0.0)
        return TokenEffects(
            derivatives=derivatives, clip=self._clip, by_token=by_token, total=total,
            gap=abs(whole - total) / size if size > 0 else float(total != 0),
            rounding=gradient.rounding_of_derivatives,
        )


def _effect(derivatives: Columns, moved: Columns) -> torch.Tensor:
    """Sum coefficient x derivative over the statistics that a token's loss is made of."""
    products = [
        torch.where(moved[name] != 0, moved[name] * derivative, 0.0)
        for name, derivative in derivatives.items() if name in moved
    ]
    return torch.stack(products).sum(0)
