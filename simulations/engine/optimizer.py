"""The optimizers that turn a rule's step into that of the parameters, as `torch.optim` has them.

A rule's step is minus the gradient of its loss, so that what torch subtracts is added here. Parameters
are the logits; where they are shared, theta, which starts at 0 (`simulations.engine.simulate`). Weight
decay pulls towards 0: logits towards the uniform policy, shared parameters towards the start.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace


@dataclass(frozen=True, kw_only=True, slots=True)
class Optimizer(abc.ABC):
    """How parameters move. Raises ValueError for options out of range, naming them."""

    weight_decay: float = 0.0

    @property
    @abc.abstractmethod
    def n_moments(self) -> int:
        """The number of arrays of the parameters' shape that are kept, 0 at the start."""

    @property
    def is_plain(self) -> bool:
        """Whether parameters move along the rule's step and by nothing else."""
        return self.n_moments == 0 and self.weight_decay == 0

    @abc.abstractmethod
    def update(
        self, step: Array, parameters: Array, moments: Sequence[Array], taken: Any
    ) -> tuple[Array, list[Array]]:
        """The move of the parameters per unit learning rate, and the moments after it.

        Args:
            step: the rule's step, minus the gradient of its loss, of the parameters' shape.
            parameters: before the step.
            moments: those kept, of the same shape.
            taken: how many steps were taken before.
        """

    def _check(self, **allowed: tuple[bool, str]) -> None:
        allowed["weight_decay"] = (0 <= self.weight_decay < math.inf, "at least 0 and finite")
        for name, (is_met, what) in allowed.items():
            if not is_met:
                raise ValueError(f"the optimizer's {name} must be {what}, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sgd(Optimizer):
    """Gradient steps, plain by default (torch.optim.SGD)."""

    momentum: float = 0.0
    dampening: float = 0.0
    """The share of each step that the momentum leaves out, from the second step on."""
    nesterov: bool = False

    def __post_init__(self) -> None:
        self._check(momentum=(0 <= self.momentum < 1, "from 0 to below 1"),
                    dampening=(0 <= self.dampening <= 1, "from 0 to 1"),
                    nesterov=(not self.nesterov or (self.momentum > 0 and self.dampening == 0),
                              "false without momentum and with dampening"))

    @property
    def n_moments(self) -> int:
        return int(self.momentum > 0)

    def update(
        self, step: Array, parameters: Array, moments: Sequence[Array], taken: Any
    ) -> tuple[Array, list[Array]]:
        if self.weight_decay:
            step = step - self.weight_decay * parameters
        if not moments:
            return step, []
        added = step
        if self.dampening:
            xp = namespace(step)
            added = step * (1 - self.dampening * xp.astype(xp.asarray(taken > 0), step.dtype))
        kept = self.momentum * moments[0] + added
        return (step + self.momentum * kept if self.nesterov else kept), [kept]


@dataclass(frozen=True, kw_only=True, slots=True)
class Adam(Optimizer):
    """Steps over the root of their mean square (Kingma, Ba 2015; torch.optim.Adam, AdamW)."""

    betas: tuple[float, ...] = (0.9, 0.999)
    """How much of the mean step and of the mean square is kept from step to step."""
    eps: float = 1e-8
    decoupled: ClassVar[bool] = False
    """Whether weight decay acts on the parameters apart from the means: AdamW."""

    def __post_init__(self) -> None:
        self._check(
            betas=(len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas),
                   "two numbers from 0 to below 1"),
            eps=(0 < self.eps < math.inf,
                 "above 0 and finite (without it rounding of a gradient of 0 would be a full step)"))

    @property
    def n_moments(self) -> int:
        return 2

    def update(
        self, step: Array, parameters: Array, moments: Sequence[Array], taken: Any
    ) -> tuple[Array, list[Array]]:
        xp = namespace(step)
        decay: Any = self.weight_decay * parameters if self.weight_decay else None
        if decay is not None and not self.decoupled:
            step = step - decay
        mean, square = (beta * kept + (1 - beta) * new for beta, kept, new in zip(
            self.betas, moments, (step, step * step), strict=True))
        seen_mean, seen_square = (self._seen(xp, beta, taken) for beta in self.betas)
        update = mean / seen_mean / (xp.sqrt(square) / seen_square**0.5 + self.eps)
        if decay is not None and self.decoupled:
            update = update - decay
        return update, [mean, square]

    @staticmethod
    def _seen(xp: Any, beta: float, taken: Any) -> Any:
        """1 - beta^(taken + 1): the weight of all steps so far in a mean that started at 0."""
        return -xp.expm1(math.log(beta) * (taken + 1)) if beta else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AdamW(Adam):
    """Adam whose weight decay acts apart (Loshchilov, Hutter 2019)."""

    weight_decay: float = 0.01
    decoupled: ClassVar[bool] = True


OPTIMIZERS: dict[str, type[Optimizer]] = {"sgd": Sgd, "adam": Adam, "adamw": AdamW}
"""The optimizers by their kind, for tables; the first is that of a table without one."""
