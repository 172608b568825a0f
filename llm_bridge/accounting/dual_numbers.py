"""Differentiates the statistics of tokens along a direction of the parameters, by one forward pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel


def derivatives(
    model: Any, modules: Sequence[torch.nn.Module], parameters: Sequence[torch.nn.Parameter],
    direction: Sequence[torch.Tensor], passes: Sequence[Callable[[], Any]],
    names: Sequence[Iterable[str]],
) -> list[dict[str, torch.Tensor]]:
    """Return for each pass the derivatives of the statistics that are named, in evaluation mode.

    Args:
        model: the model in training.
        modules: all of its modules, whose modes are as they were after.
        parameters: those that the direction moves.
        direction: a tensor for each of the parameters, of its shape.
        passes: functions that make a forward pass and return its statistics.
        names: the statistics' names, for each pass.

    Raises:
        NotImplementedError, RuntimeError: an operation of the model's has no forward mode.
    """
    place = {id(parameter): at for at, parameter in enumerate(parameters)}
    whole = _Passes(model)
    modes = [(module, module.training) for module in modules]
    try:
        # Nothing is kept for a backward pass, so that checkpointed layers need not be.
        model.eval()
        # Fused attention has no forward mode.
        with (
            torch.no_grad(), forward_ad.dual_level(), sdpa_kernel(SDPBackend.MATH),
            warnings.catch_warnings(),
        ):
            # torch's own formulas for some operations are scripts, which it warns of.
            warnings.filterwarnings("ignore", ".*torch.jit.script")
            weights = {
                name: forward_ad.make_dual(
                    parameter.detach(),
                    direction[place[id(parameter)]].to(parameter.device, parameter.dtype))
                for name, parameter in whole.named_parameters() if id(parameter) in place
            }
            found = torch.func.functional_call(whole, weights, (passes,), tie_weights=True)
            return [
                {name: _tangent(getattr(seen, name)) for name in named}
                for named, seen in zip(names, found, strict=True)
            ]
    finally:
        for module, training in modes:
            module.training = training


class _Passes(torch.nn.Module):
    """A model whose weights can be put in place of its own for several passes."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, passes: Sequence[Callable[[], Any]]) -> list[Any]:
        """Make passes through the model."""
        return [one() for one in passes]


def _tangent(column: torch.Tensor) -> torch.Tensor:
    found = forward_ad.unpack_dual(column).tangent
    if found is None:
        raise NotImplementedError("its statistics carry no derivative")
    return found
