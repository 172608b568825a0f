r"""Reads the step that torch's SGD, Adam or AdamW takes, as a sum of addends, one parameter at a time.

The addends are exact. With P the scaling of this very step, this batch in Adam's second moment,

.. math::

    \theta' - \theta = -P g - P\, \text{momentum} - \text{weight decay } [+ \text{rounding}]

- ``gradient``: this batch's gradient as the backward pass left it, before clipping;
- ``clipping``: (c - 1) times that, where the gradient was scaled by c;
- ``load_balancing``: the share of a router's loss (mixtures of experts) in this batch's gradient,
  with clipping. The two above are then of the rest, the tokens' share;
- ``momentum``: what earlier batches left in the momentum buffer;
- ``weight_decay``: decoupled (AdamW), or this step's share of what is added to the gradient (SGD, Adam).

Adam's step is not a linear function of the gradient, since P depends on the gradient. This
dependence has no addend of its own. The addends add up to the step only under the P of the step
taken; how much this batch changed P is a question about another step. The difference of theta' -
theta and the addends, known once the step is taken, is the rounding of the weights' number format.

Nothing is held for more than some rows of a parameter at a time. With sharded weights (FSDP2) all of it
is the rank's own shard.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import torch
from torch.distributed.tensor import DTensor

ADDENDS = ("gradient", "clipping", "load_balancing", "momentum", "weight_decay")
READABLE = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam", torch.optim.AdamW: "adam"}
CACHED, LAUNCHED = 2**16, 2**26
"""How many numbers are read at a time, on a CPU and on a GPU: few enough for a CPU's cache, and so many
that a GPU's kernels are long."""
Rows = slice | EllipsisType
"""An index of some rows of a parameter, or of all of a parameter without rows."""


class Clipping:
    """Sees by what factor accelerate scales gradients down."""

    def __init__(self, accelerator: Any):
        self.factor = 1.0
        original = accelerator.clip_grad_norm_

        def clip_grad_norm(parameters: Any, max_norm: float, *rest: Any, **options: Any) -> Any:
            norm = original(parameters, max_norm, *rest, **options)
            # torch.nn.utils.clip_grad_norm_: the same formula, with the norm before clipping.
            self.factor *= min(1.0, float(max_norm) / (float(norm) + 1e-6))
            return norm

        accelerator.clip_grad_norm_ = clip_grad_norm


class UnreadableStepError(ValueError):
    """An optimizer whose step cannot be read before it is taken."""


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Return the rank's own part of a tensor, without gradient."""
    tensor = tensor.detach()
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def working(tensor: torch.Tensor) -> torch.Tensor:
    """Return the rank's own part in float32, or as it is if it is float64."""
    tensor = local(tensor)
    return tensor if tensor.dtype == torch.float64 else tensor.float()


@dataclass(frozen=True, kw_only=True, slots=True)
class Addends:
    """The addends of some rows of a parameter's step, each of their shape; None where there is none."""

    scale: torch.Tensor | float
    """P: this step takes -P times the gradient; above 0, but for ``maximize``."""
    gradient: torch.Tensor
    clipping: torch.Tensor | None
    load_balancing: torch.Tensor | None
    momentum: torch.Tensor | None
    weight_decay: torch.Tensor | None

    def named(self) -> dict[str, torch.Tensor]:
        """Return those that there are, by name."""
        found = {name: getattr(self, name) for name in ADDENDS}
        return {name: addend for name, addend in found.items() if addend is not None}


class OptimizerStep:
    """The step that an optimizer is about to take from the gradients at hand.

    Make it before the step. Its addends can be asked for before the step and, with the weights before
    it, after; gradients must still be there.

    Args:
        optimizer: torch's SGD, Adam or AdamW, or accelerate's wrapper around one.
        parameters: the model's trainable parameters.
        clip: the factor c by which gradients were scaled down.
        router: the gradient of a router's loss before clipping, a part of that at hand; None without one.

    Raises:
        UnreadableStepError: any other optimizer, or a gradient that is sparse, named with the remedy.
        ValueError: not one parameter has a gradient.
    """

    def __init__(
        self, optimizer: Any, parameters: Sequence[torch.nn.Parameter], *, clip: float = 1.0,
        router: Sequence[torch.Tensor] | None = None,
    ):
        plain = readable(optimizer)
        self._router = router
        place = {id(parameter): at for at, parameter in enumerate(parameters)}
        self._clip = clip
        self._readers: dict[int, _Reader] = {}
        for group in plain.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None or id(parameter) not in place:
                    continue
                if parameter.grad.is_sparse:
                    raise UnreadableStepError(
                        f"the step of {type(plain).__name__} on a sparse gradient cannot be read: make "
                        "the embedding with sparse=False"
                    )
                kind = _Sgd if READABLE[type(plain)] == "sgd" else _Adam
                self._readers[place[id(parameter)]] = kind(plain, group, parameter)
        if not self._readers:
            raise ValueError(
                "no parameter has a gradient, so the optimizer takes no step: the loss does not reach "
                "the model's trainable parameters (a rule without scores and state terms?)"
            )

    @property
    def names(self) -> list[str]:
        """The names of the step's addends, in the order of `ADDENDS`."""
        readers = self._readers.values()
        missing = {
            "clipping": self._clip == 1, "load_balancing": self._router is None,
            "momentum": not any(reader.carries for reader in readers),
            "weight_decay": not any(reader.decay for reader in readers)}
        return [name for name in ADDENDS if not missing.get(name, False)]

    def addends(
        self, start: Sequence[torch.Tensor] | None = None
    ) -> Iterator[tuple[int, Rows, Addends]]:
        """Yield the place of each parameter that moves, an index of some of its rows, and their addends.

        Args:
            start: the weights before the step, once it is taken; None before it is.
        """
        for place in self._readers:
            for rows, addends in self.addends_of(place, None if start is None else start[place]):
                yield place, rows, addends

    def addends_of(
        self, place: int, start: torch.Tensor | None = None
    ) -> Iterator[tuple[Rows, Addends]]:
        """Yield the same of the parameter at a place; nothing of one that does not move."""
        reader = self._readers.get(place)
        if reader is None:
            return
        for rows in reader.rows():
            scale, gradient, carried, decay = reader.read(start, rows)
            unclipped = gradient / self._clip if self._clip > 0 else torch.zeros_like(gradient)
            router = None if self._router is None else self._router[place][rows].to(gradient.device)
            if router is not None:
                unclipped = unclipped - router
            yield rows, Addends(
                scale=scale, gradient=-scale * unclipped,
                clipping=(1 - self._clip) * scale * unclipped if self._clip != 1 else None,
                load_balancing=None if router is None else -self._clip * scale * router,
                momentum=None if carried is None else -carried,
                weight_decay=None if decay is None else -decay,
            )


def learning_rate(optimizer: Any) -> float:
    """Return the rate of the step about to be taken, by the first group of parameters."""
    return float(optimizer.param_groups[0]["lr"])


def readable(optimizer: Any) -> Any:
    """Return torch's own optimizer inside ``optimizer``. Raises UnreadableStepError for any other."""
    plain = optimizer
    while type(plain) not in READABLE and hasattr(plain, "optimizer"):
        plain = plain.optimizer
    if type(plain) not in READABLE:
        raise UnreadableStepError(
            f"the step of {type(plain).__name__} cannot be read before it is taken: use torch's "
            "SGD, Adam or AdamW, or Accountant(reads='after') or "
            "diagnostics.attach(account_reads='after'). The latter two copy the weights at every "
            "step and have the whole step as the only part"
        )
    return plain


def scalings(
    optimizer: Any, parameters: Sequence[torch.nn.Parameter]
) -> list[torch.Tensor | float]:
    """Return the scaling P of each parameter as it stands between steps, up to one positive factor.

    It is what the optimizer knows before it has seen the next gradient: the second moment is that of the
    steps so far. Before the first step there is none, and P is 1. Parameters that the optimizer does not
    move have 0.

    Raises:
        UnreadableStepError: as `readable`.
    """
    plain = readable(optimizer)
    place = {id(parameter): at for at, parameter in enumerate(parameters)}
    found: list[torch.Tensor | float] = [0.0] * len(parameters)
    # A rate of 0 at the start of a warm-up says nothing about the steps to come.
    fastest = max(float(group["lr"]) for group in plain.param_groups) or 1.0
    for group in plain.param_groups:
        rate = float(group["lr"]) / fastest or 1.0
        for parameter in group["params"]:
            if id(parameter) not in place:
                continue
            state = plain.state.get(parameter, {})
            if READABLE[type(plain)] == "sgd" or not state:
                found[place[id(parameter)]] = rate
                continue
            square = working(state["max_exp_avg_sq" if group["amsgrad"] else "exp_avg_sq"])
            spread = (square / (1 - float(group["betas"][1]) ** float(state["step"]))).sqrt()
            found[place[id(parameter)]] = rate / (spread + float(group["eps"]))
    return found


class _Reader(ABC):
    """The numbers of one parameter's step, as they are before it; its tensors are looked up when read."""

    def __init__(self, optimizer: Any, group: dict[str, Any], parameter: torch.nn.Parameter):
        assert parameter.grad is not None
        self._optimizer, self._parameter = optimizer, parameter
        # Passes of others may set ``.grad`` aside for their time.
        self._grad = local(parameter.grad)
        self._version = self._grad._version
        self._rate, self.decay = float(group["lr"]), float(group["weight_decay"])
        self._sign = -1.0 if group["maximize"] else 1.0
        self.carries = False
        """Whether there is momentum of earlier steps."""

    @abstractmethod
    def read(self, start: torch.Tensor | None, rows: Rows) -> _Parts:
        """Return the parts of the step of some rows.

        Args:
            start: the parameter's weights before the step, if it has been taken.
            rows: an index of the rows.
        """

    def rows(self) -> Iterator[Rows]:
        """Yield indices that cut the parameter into parts that are read at a time; one at least."""
        whole = self._grad
        if not whole.ndim:
            yield ...
            return
        size = CACHED if whole.device.type == "cpu" else LAUNCHED
        count = max(1, size * len(whole) // max(1, whole.numel()))
        for first in range(0, max(1, len(whole)), count):
            yield slice(first, first + count)

    @property
    def _state(self) -> dict[str, Any]:
        return self._optimizer.state.get(self._parameter, {})

    def _gradient(self, rows: Rows) -> torch.Tensor:
        return working(self._grad[rows])

    @property
    def _is_overwritten(self) -> bool:
        """Whether the optimizer has changed the gradient in place."""
        return self._grad._version != self._version

    def _weights(self, start: torch.Tensor | None, rows: Rows) -> torch.Tensor:
        weights = local(self._parameter if start is None else start)[rows]
        return working(weights.to(self._grad.device))


_Parts = tuple[torch.Tensor | float, torch.Tensor, torch.Tensor | None, torch.Tensor | None]
"""P, the gradient, what momentum takes away, and what weight decay takes away."""


class _Sgd(_Reader):
    def __init__(self, optimizer: Any, group: dict[str, Any], parameter: torch.nn.Parameter):
        super().__init__(optimizer, group, parameter)
        self._momentum, self._nesterov = float(group["momentum"]), bool(group["nesterov"])
        self.carries = bool(self._momentum) and self._state.get("momentum_buffer") is not None
        # The buffer's first value is the gradient itself, whatever the dampening.
        self._kept = 1 - float(group["dampening"]) if self.carries else 1.0

    def read(self, start: torch.Tensor | None, rows: Rows) -> _Parts:
        """See `_Reader.read`."""
        gradient, weights = self._gradient(rows), self._weights(start, rows)
        if not self._momentum:
            decay = self._rate * self.decay * weights if self.decay else None
            return self._sign * self._rate, gradient, None, decay
        if start is not None and self._is_overwritten:
            # torch's foreach form of Nesterov's momentum adds the buffer to the gradient itself.
            gradient = gradient - self._momentum * self._buffer(rows)
        # The step takes the buffer, or with Nesterov's momentum the gradient and momentum x buffer.
        share, ahead = (self._momentum, 1.0) if self._nesterov else (1.0, 0.0)
        scale = self._rate * (ahead + share * self._kept)
        carried = None
        if self.carries:
            buffer = self._buffer(rows)
            if start is None:
                earlier = self._momentum * buffer
            else:
                earlier = buffer - self._kept * (self._sign * gradient + self.decay * weights)
            carried = self._rate * share * earlier
        decay = scale * self.decay * weights if self.decay else None
        return self._sign * scale, gradient, carried, decay

    def _buffer(self, rows: Rows) -> torch.Tensor:
        return working(local(self._state["momentum_buffer"])[rows])


class _Adam(_Reader):
    def __init__(self, optimizer: Any, group: dict[str, Any], parameter: torch.nn.Parameter):
        super().__init__(optimizer, group, parameter)
        self._first, self._second = (float(beta) for beta in group["betas"])
        self._eps, self._amsgrad = float(group["eps"]), bool(group["amsgrad"])
        self._decoupled = bool(group["decoupled_weight_decay"])
        self.carries = bool(self._state)
        self._steps = (float(self._state["step"]) if self.carries else 0.0) + 1

    def read(self, start: torch.Tensor | None, rows: Rows) -> _Parts:
        """See `_Reader.read`."""
        gradient, weights = self._gradient(rows), self._weights(start, rows)
        whole = self._sign * gradient
        if self.decay and not self._decoupled:
            whole = whole + self.decay * weights
        moment, square = (
            self._moment(name, rows, whole) for name in ("exp_avg", "exp_avg_sq"))
        if start is None:
            square = self._second * square + (1 - self._second) * whole * whole
            earlier = self._first * moment
        else:
            earlier = moment - (1 - self._first) * whole
        if self._amsgrad:
            square = torch.maximum(square, self._moment("max_exp_avg_sq", rows, whole))
        spread = square.sqrt() / (1 - self._second**self._steps) ** 0.5
        scaling = self._rate / (1 - self._first**self._steps) / (spread + self._eps)
        scale = (1 - self._first) * scaling
        decay = None
        if self.decay:
            decay = (self._rate if self._decoupled else scale) * self.decay * weights
        return self._sign * scale, gradient, scaling * earlier if self.carries else None, decay

    def _moment(self, name: str, rows: Rows, like: torch.Tensor) -> torch.Tensor:
        if not self._state:
            return torch.zeros_like(like)
        return working(local(self._state[name])[rows])
