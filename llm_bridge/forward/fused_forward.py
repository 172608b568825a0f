"""A causal language model's forward pass whose head gives statistics in place of logits.

For the time of one call we replace the ``forward`` of the model's output embedding. It hands its
input and its weight to `head.column_stack`. The model returns those columns in the place of logits.
All happens inside the module's own call, so whatever surrounds it works as usual: gathered shards
(FSDP2), data parallelism, tied weights, autocast, adapters elsewhere in the model. An adapter on
the head is r more features of its input, with r more columns of its weight. A head on another device (a
device map) is called through accelerate's hook, which moves its input there.

Some models scale or cap their logits. For the call these numbers are set to values that change nothing,
and the head applies them itself (`per_token.LogitMap`). `tried` tests whether the model's logits
are then those of its head. The head is made to return known numbers, and the model must return them
bit by bit.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch

from llm_bridge.data.private_names import INSIDE_HOOKS
from llm_bridge.head import per_token
from llm_bridge.head.per_token import PLAIN, LogitMap
from llm_bridge.head.row_statistics import CLAMPED_COLUMNS, COLUMNS
from llm_bridge.head.token_statistics import TokenStatistics, from_columns

logger = logging.getLogger(__name__)

Head = Callable[[Any, torch.Tensor], torch.Tensor]
"""A function of the head and its input [sequences, positions, features] that replaces the logits."""
CAP = "final_logit_softcapping"
FACTORS = ("logits_scaling", "logit_scale", "lm_head_multiplier", "output_multiplier")
"""Under which names models of transformers keep what they cap logits with, and what they multiply or
divide them by."""
ROUNDING = 1e-5
"""The relative difference of two float32 computations of a logit, of one or two operations each."""


class HeldLogitsError(ValueError):
    """A model's tokens have no statistics without its logits; the message is why."""


def statistics(
    model: Any, forward: Callable[[], torch.Tensor], token_ids: torch.Tensor, mask: torch.Tensor,
    *, logit_map: LogitMap = PLAIN, removed_fraction: float | None = None, temperature: float = 1.0,
    first: torch.Tensor | None = None,
) -> TokenStatistics:
    """Compute statistics of the tokens: `token_statistics.from_logits` of what ``forward`` returns.

    Args:
        model: a model, not wrapped by data parallelism, which `tried` accepts.
        forward: calls the model, wrapped or not; its logits are [sequences, positions, vocabulary].
        token_ids: integer [sequences, positions].
        mask: [sequences, positions]; where it is False nothing is computed, and all columns are 0.
        logit_map: what `tried` returned; by default logits are the head's product.
        removed_fraction: share of the vocabulary that the clamped entropy leaves out. None: no
            clamped entropy.
        temperature: what the logits are divided by.
        first: the head's input [sequences, 1, features] at a position before those of ``forward``,
            from a pass of its own (`hidden_states`); with None ``forward`` has all positions.
    """
    return tempered(
        model, forward, token_ids, mask, (temperature,), logit_map=logit_map,
        removed_fraction=removed_fraction, first=first)[0]


def tempered(
    model: Any, forward: Callable[[], torch.Tensor], token_ids: torch.Tensor, mask: torch.Tensor,
    temperatures: Sequence[float], *, logit_map: LogitMap, removed_fraction: float | None = None,
    first: torch.Tensor | None = None,
) -> list[TokenStatistics]:
    """Compute `statistics` at each of the temperatures, by one forward pass."""

    def columns(module: Any, hidden: torch.Tensor) -> torch.Tensor:
        if first is not None:
            hidden = torch.cat([first.to(hidden), hidden], dim=1)
        hidden, weight, bias = _linear(module, hidden)
        ids, counts = (column.to(hidden.device) for column in (token_ids, mask))
        return torch.cat([per_token.column_stack(
            hidden, weight, ids, mask=counts, removed_fraction=removed_fraction,
            bias=bias, temperature=temperature, logit_map=logit_map,
        ) for temperature in temperatures], dim=-1)

    with _replaced(model, columns):
        found = forward()
    return [from_columns(list(part.unbind(-1))) for part in found.chunk(len(temperatures), dim=-1)]


def hidden_states(model: Any, forward: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Return the head's input [sequences, positions, features] of a model that `tried` accepts."""
    with _replaced(model, lambda _, hidden: hidden):
        return forward()


def tried(model: Any, forward: Callable[[], torch.Tensor], shape: tuple[int, int]) -> LogitMap:
    """Return what the model does to its head's product before it returns logits.

    The model is called up to four times, without gradient.

    Args:
        forward: as in `statistics`, on a short input.
        shape: (sequences, positions) of its logits.

    Raises:
        HeldLogitsError: the statistics would not be those of the model's logits.
    """
    heads = _heads(model)
    if not heads:
        raise HeldLogitsError("it has no output embedding")
    for module in heads:
        if not _is_linear(module):
            raise HeldLogitsError(f"its head, a {type(module).__name__}, is not a plain torch.nn.Linear")
    for width in (len(COLUMNS + CLAMPED_COLUMNS), heads[0].out_features):
        known = _known(*shape, width)
        found, inputs = _returned(model, forward, known)
        if [given.shape[:-1] for given in inputs] != [shape]:
            raise HeldLogitsError(
                f"its head is called on {[tuple(i.shape[:-1]) for i in inputs]}, not once on {shape}")
        if found.shape != known.shape or not torch.equal(found.cpu().to(known.dtype), known):
            raise HeldLogitsError("it changes the logits after its head (a scale, a cut, or rounding)")
    # As the model is by itself, its declared cap and factors in force.
    values, [hidden] = _returned(model, forward, known, plainly=True)
    if not torch.equal(hidden, inputs[0]):
        raise HeldLogitsError("the scale of its logits scales more than those")
    for module in heads:
        if not _agrees(module, hidden):
            raise HeldLogitsError(f"its head, a {type(module).__name__}, is not the linear map it holds")
    values = values.cpu().to(known.dtype)
    for candidate in _candidates(model):
        divisor, bound = candidate.at(1.0)
        expected = known / divisor if bound is None else bound * (known / divisor).tanh()
        if torch.allclose(values, expected, rtol=ROUNDING, atol=0):
            return candidate
    raise HeldLogitsError("it changes the logits after its head by numbers that it does not declare")


class Trials:
    """What `tried` found of each model, tried at its first pass.

    Attributes:
        found: by model, its `LogitMap`, or None for one that needs its logits.
    """

    def __init__(self) -> None:
        self.found: WeakKeyDictionary[Any, LogitMap | None] = WeakKeyDictionary()

    def __call__(
        self, model: Any, forward: Callable[[], torch.Tensor], shape: tuple[int, int], *,
        tells: bool = True,
    ) -> LogitMap | None:
        """Return the map of ``model``, or None where it needs its logits, of which it warns once.

        Args:
            model, forward, shape: as `tried`.
            tells: whether this process is the one that warns.
        """
        if model not in self.found:
            try:
                self.found[model] = tried(model, forward, shape)
            except HeldLogitsError as error:
                self.found[model] = None
                if tells:
                    logger.warning("%s holds the logits of every token in memory: %s",
                                   type(model).__name__, error)
        return self.found[model]


def _known(*shape: int) -> torch.Tensor:
    return 100 * torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _returned(
    model: Any, forward: Callable[[], torch.Tensor], known: torch.Tensor, *, plainly: bool = False
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return what the model makes of ``known`` from its head, and the inputs of its head's calls."""
    inputs: list[torch.Tensor] = []

    def give(_: Any, hidden: torch.Tensor) -> torch.Tensor:
        inputs.append(hidden)
        return known.to(hidden.device)

    with torch.no_grad(), _same_noise(model), _replaced(model, give, plainly=plainly):
        try:
            return forward(), inputs
        except (ValueError, RuntimeError, TypeError, IndexError) as error:
            raise HeldLogitsError(
                f"its forward pass works on the logits ({str(error).splitlines()[0]})") from error


@contextlib.contextmanager
def _same_noise(module: Any) -> Iterator[None]:
    """Have each trial draw the same dropout, and leave the random state as it was."""
    device = next(module.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(0)
        yield


def _heads(model: Any) -> list[Any]:
    """Return the output embedding, and its trained copy if there is one (PEFT's modules_to_save)."""
    try:
        found = model.get_output_embeddings()
    except (AttributeError, NotImplementedError):
        found = None
    if found is None:
        return []
    if hasattr(found, "modules_to_save"):
        return [found.original_module, *found.modules_to_save.values()]
    return [found]


# ------------------------------------------------------------------------------------ linear maps


def _is_linear(module: Any) -> bool:
    """Whether the head is a plain linear map, or one with adapters of PEFT's LoRA."""
    if INSIDE_HOOKS in vars(module):
        return getattr(vars(module)[INSIDE_HOOKS], "__func__", None) is torch.nn.Linear.forward
    if "forward" in vars(module):
        return False
    if not hasattr(module, "lora_A"):
        # FSDP2 makes a subclass that inherits it; quantized heads have their own.
        return type(module).forward is torch.nn.Linear.forward
    base = module.get_base_layer()
    plainly = not module.merged and not module.lora_variant  # a variant, such as DoRA, is more than B A
    return plainly and INSIDE_HOOKS not in vars(base) and _is_linear(base) and all(
        up.bias is None for up in module.lora_B.values())


def _linear(module: Any, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return (input, weight, bias) whose linear map is the head's output.

    W h + s B A h is [W, B] applied to [h, s A h].
    """
    if not hasattr(module, "lora_A"):
        return hidden, module.weight, module.bias
    base = module.get_base_layer()
    inputs, weights = [hidden], [base.weight]
    active = [] if module.disable_adapters else module.active_adapters
    for name in active:
        if name in module.lora_A:
            down, up = module.lora_A[name], module.lora_B[name]
            dropped = module.lora_dropout[name](hidden.to(down.weight.dtype))
            inputs.append(down(dropped) * module.scaling[name])
            weights.append(up.weight)
    wide = torch.promote_types(hidden.dtype, weights[-1].dtype)
    return (torch.cat([part.to(wide) for part in inputs], dim=-1),
            torch.cat([part.to(wide) for part in weights], dim=-1), base.bias)


def _agrees(module: Any, hidden: torch.Tensor) -> bool:
    """Whether `_linear` has the output of an adapted head, dropout included."""
    if not hasattr(module, "lora_A"):
        return True
    with torch.no_grad():
        with _same_noise(module):
            expected = module(hidden)
        with _same_noise(module):
            found, weight, bias = _linear(module, hidden)
        found = torch.nn.functional.linear(found, weight, bias)
    # A product of n terms rounds by some sqrt(n) of them.
    size = torch.finfo(expected.dtype).eps * found.shape[-1] ** 0.5
    largest = float(expected.abs().max())
    return torch.allclose(found, expected.to(found.dtype), rtol=size, atol=size * largest)


# ---------------------------------------------------------------------------- scales and caps of logits


def _declarations(model: Any) -> list[tuple[Any, str, Any]]:
    """Return (owner, name, value) of each number that the model may cap or scale its logits by."""
    plain = model.get_base_model() if hasattr(model, "get_base_model") else model
    config = plain.config
    owners = [config, config.get_text_config(), plain, getattr(plain, "base_model", None)]
    distinct = {id(owner): owner for owner in owners if owner is not None}.values()
    return [(owner, name, vars(owner)[name]) for owner in distinct for name in (CAP, *FACTORS)
            if isinstance(vars(owner).get(name), int | float)]


def _candidates(model: Any) -> Iterator[LogitMap]:
    """Yield the maps that the declared numbers may mean, the plain one first."""
    declared = _declarations(model)
    caps = [None, *dict.fromkeys(float(value) for _, name, value in declared if name == CAP)]
    scales = dict.fromkeys(
        factor for _, name, value in declared if name != CAP and value for factor in (value, 1 / value))
    for cap, scale in itertools.product(caps, [1.0, *scales]):
        yield LogitMap(scale, cap)


@contextlib.contextmanager
def _replaced(model: Any, forward: Head, *, plainly: bool = False) -> Iterator[None]:
    """Have the head call ``forward``, and its output returned as it is, unless ``plainly``."""
    heads = [(module, INSIDE_HOOKS if INSIDE_HOOKS in vars(module) else "forward")
             for module in _heads(model)]
    before = [(module, name, vars(module).get(name)) for module, name in heads]
    declared = [] if plainly else _declarations(model)
    try:
        for owner, name, _ in declared:
            setattr(owner, name, None if name == CAP else 1.0)
        for module, slot in heads:
            setattr(module, slot, lambda hidden, module=module: forward(module, hidden))
        yield
    finally:
        for module, slot, own in before:
            if own is None:
                vars(module).pop(slot, None)
            else:
                setattr(module, slot, own)
        for owner, name, value in declared:
            setattr(owner, name, value)
