"""Trains a model in evaluation mode, so that the policy that is trained is the one that drew.

In training mode a model may drop values or layers, add noise to a router, or normalize by its
batch. Submodules and functions that no option reaches may do so too. Ratios and entropies of a step
would then be of another policy than the one that drew the samples.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.modules.dropout import _DropoutNd
from transformers.modeling_layers import GradientCheckpointingLayer

from llm_bridge.data.private_names import CHECKPOINT

NOISE = ("drop", "jitter", "noise")
"""Parts of the names under which models keep rates of dropout, of layer drop, and of a router's noise."""


@contextlib.contextmanager
def kept(model: Any) -> Iterator[None]:
    """Do as `entered`, also after ``model.train()``, of which ``model.training`` alone then tells."""
    plain, own = model.train, vars(model).get("train")

    def train(mode: bool = True) -> Any:
        plain(mode)
        _quieten(model)
        return model

    model.train = train
    try:
        with entered(model):
            yield
    finally:
        del model.train
        if own is not None:
            model.train = own


@contextlib.contextmanager
def entered(model: Any) -> Iterator[None]:
    """Within it a model computes what it computes in evaluation mode; after it modes are as before.

    Layers go on being checkpointed, which transformers does in training mode alone: they decide by their
    mode, and leave it for the time of their own forward pass.
    """
    modes = [(module, module.training) for module in model.modules()]
    hooks = [
        hook for module, _ in modes
        if module is model or isinstance(module, GradientCheckpointingLayer)
        for hook in _evaluating(module)]
    try:
        _quieten(model)
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for module, training in modes:
            module.training = training


def _quieten(model: Any) -> None:
    for module in model.modules():
        if module is not model and not isinstance(module, GradientCheckpointingLayer):
            module.training = module.training and _checkpoints_others(module)


def _checkpoints_others(module: torch.nn.Module) -> bool:
    """Whether a module's forward pass decides by its own mode whether others are checkpointed."""
    if not getattr(module, "gradient_checkpointing", False):
        return False
    code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
    return code is not None and {"gradient_checkpointing", "training"} <= set(code.co_names)


def _evaluating(module: torch.nn.Module) -> tuple[Any, Any]:
    """Let a module's forward pass, the one of the backward pass included, be in evaluation mode."""
    undo: list[Callable[[], None]] = []

    def enter(module: torch.nn.Module, _: Any) -> None:
        name = "training"
        if _checkpoints_its_forward_pass(module):
            # It decides by its mode once it is called, and leaves it within what is checkpointed.
            name = CHECKPOINT
        own: Any = getattr(module, name)
        undo.append(functools.partial(setattr, module, name, own))
        setattr(module, name, name != "training" and functools.partial(_checkpointed, module, own))

    def leave(*_: Any) -> None:
        undo.pop()()

    return (module.register_forward_pre_hook(enter, prepend=True),
            module.register_forward_hook(leave, always_call=True))


def _checkpoints_its_forward_pass(module: Any) -> bool:
    """Whether hooks surround what is checkpointed, as from transformers 5.23 on; before, it held them."""
    return (
        isinstance(module, GradientCheckpointingLayer)
        and "__call__" not in vars(GradientCheckpointingLayer)
        and module.gradient_checkpointing and module.training and torch.is_grad_enabled())


def _checkpointed(
    module: torch.nn.Module, checkpoint: Callable[..., Any], function: Callable[..., Any], *args: Any
) -> Any:
    def in_evaluation_mode(*args: Any) -> Any:
        training, module.training = module.training, False
        try:
            return function(*args)
        finally:
            module.training = training

    return checkpoint(in_evaluation_mode, *args)


def declared_noise(model: Any) -> dict[str, float]:
    """The rates above 0 by which a model says that it drops or adds noise in training, by name."""
    found = {}
    for path, module in model.named_modules():
        if isinstance(module, _DropoutNd):
            found[path.rpartition(".")[2]] = module.p
        else:
            found |= vars(module)
    config: Any = getattr(model, "config", None)
    found |= vars(config.get_text_config()) if hasattr(config, "get_text_config") else {}
    return {
        name: value for name, value in sorted(found.items())
        if isinstance(value, float) and value > 0 and any(word in name for word in NOISE)
    }


class PassWatch:
    """Sees what a model's forward pass does beside computing; made by `watched`.

    Attributes:
        drawing: kinds of modules that drew random numbers.
        cut_off: kinds of modules with trained weights that another one called without gradients.
    """

    def __init__(self, modules: Sequence[torch.nn.Module]):
        self.drawing: set[str] = set()
        self.cut_off: set[str] = set()
        devices = (weight.device for module in modules for weight in module.parameters())
        self._device = next(devices, torch.device("cpu"))
        self._calls: list[tuple[torch.nn.Module, bool]] = []
        self._last = self._random_state()

    def enter(self, module: torch.nn.Module, _: Any) -> None:
        """Note what the caller has drawn, and whether it records gradients."""
        self._note()
        graph = torch.is_grad_enabled()
        if self._calls and self._calls[-1][1] and not graph and not any(
            getattr(part, "gradient_checkpointing", False) for part in (module, self._calls[-1][0])
        ) and any(weight.requires_grad for weight in module.parameters()):
            self.cut_off.add(type(module).__name__)
        self._calls.append((module, graph))

    def leave(self, *_: Any) -> None:
        """Note what the module has drawn."""
        self._note()
        self._calls.pop()

    def _note(self) -> None:
        state = self._random_state()
        if self._calls and not torch.equal(state, self._last):
            self.drawing.add(type(self._calls[-1][0]).__name__)
        self._last = state

    def _random_state(self) -> torch.Tensor:
        if self._device.type == "cuda":
            return torch.cuda.get_rng_state(self._device)
        return torch.get_rng_state()


@contextlib.contextmanager
def watched(modules: Sequence[torch.nn.Module]) -> Iterator[PassWatch]:
    """Watch the forward passes of modules, of which it changes nothing."""
    found = PassWatch(modules)
    hooks = [hook for module in modules for hook in (
        module.register_forward_pre_hook(found.enter),
        module.register_forward_hook(found.leave, always_call=True))]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()
