"""The gradient of a step's mean policy entropy by the trainable parameters, at the weights as they are.

The mean is that of `token_batch.mean_entropy`: over the tokens of a sequence, then over the ordinary
sequences of the step. Its gradient costs one more backward pass on the forward pass at hand, before the
loss takes its own (`add_backward_pass`). That is ``torch.autograd.grad``, which leaves ``.grad`` alone,
and with it the buckets of data parallelism. It does not work where a backward pass is more than that:

- gradient checkpointing: a forward pass is run again in each backward pass, and torch's reentrant kind
  refuses ``autograd.grad``;
- sharded weights (FSDP2): the hooks that gather weights and scatter gradients belong to ``backward``,
  once for each forward pass.

There the gradient takes a forward and a backward pass of its own, in evaluation mode
(`EntropyGradient.evaluate`). So it does where the forward pass at hand has training noise, or other
weights than those asked for. Where ``autograd.grad`` does not work, the trainer's ``.grad`` are
set aside before and put back after.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule

from entropy_theory.rounding import FORWARD_ROUNDINGS
from llm_bridge.accounting import dual_numbers
from llm_bridge.accounting.optimizer_step import OptimizerStep, Rows, local, working
from llm_bridge.accounting.step_rows import Slope, StepRows, copies_on_ranks, sum_over_ranks
from llm_bridge.forward import evaluation_mode
from llm_bridge.head.token_statistics import TokenStatistics
from llm_bridge.running import faults
from llm_bridge.running.sharding import is_sharded

logger = logging.getLogger(__name__)

NORMS = 2.0**-24
"""The rounding of float32, in which norms compute even where the weights are float64."""


class EntropyGradient:
    """Takes gradients of the mean entropy of rows of one step, and inner products with them.

    Args:
        model: the model in training, in whatever data parallelism wraps it.
        accelerator: accelerate's.
        offload: whether what is held beyond a pass lies in main memory: gradients, and copies of weights.

    Raises:
        ValueError: a model without a trainable parameter.
    """

    def __init__(self, model: Any, accelerator: Any, *, offload: bool = False):
        self.model, self._accelerator = model, accelerator
        self._home = torch.device("cpu") if offload else None
        self.roundoff = faults.roundoff(model, accelerator.mixed_precision)
        # Found once: walks through all modules are a tenth of a small model's pass.
        self._modules = list(model.modules())
        self._is_sharded = is_sharded(accelerator, model)
        # On several processes passes are collectives, which one that fails half way breaks.
        self._has_no_forward_mode = self._is_sharded or accelerator.num_processes > 1
        self._reshard()  # else the root's parameters are whole ones, whose memory is freed with them
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        if not self.parameters:
            raise ValueError(
                "the model has no trainable parameter, so that nothing moves its entropy: unfreeze some "
                "(requires_grad_), or give it an adapter (peft_config)"
            )

    @property
    def needs_backward(self) -> bool:
        """Whether gradients come from ``backward`` alone, into ``.grad``."""
        return self._is_sharded or any(
            getattr(module, "gradient_checkpointing", False) for module in self._modules)

    @property
    def rounding_of_derivatives(self) -> float:
        """Rounding error of `derivatives`: the sum of all errors over the sum of all sizes.

        A derivative of a log-probability goes through the layers of the log-probability itself. Its
        error, relative to its own size, is as many roundings as the log-probability's relative to
        1. These are `FORWARD_ROUNDINGS`, more than was measured (2 to 57). Tokens that nearly
        cancel within themselves are off by more. A difference has that error twice, relative to 1,
        over a change of `_move` each way.
        """
        each = FORWARD_ROUNDINGS * self._roundoff_of_products
        if not self._has_no_forward_mode:
            return each
        return each / (math.sqrt(2) * self._move)

    @property
    def _roundoff_of_products(self) -> float:
        """The relative rounding error of matrix products, of which attention here is made too.

        ``roundoff`` takes float32 on a GPU for TF32, which torch can be asked about.
        """
        is_wide = self._accelerator.mixed_precision == "no" and all(
            weight.dtype in (torch.float32, torch.float64) for weight in self.model.parameters())
        if is_wide and torch.backends.cuda.matmul.fp32_precision != "tf32":
            return min(self.roundoff, NORMS)
        return self.roundoff

    @property
    def _move(self) -> float:
        """By how much a symmetric difference moves the mean entropy each way, nats."""
        return max(self.roundoff, NORMS) ** (1 / 3)

    def zero(self) -> Slope:
        """Return a slope of zeros."""
        return Slope([torch.zeros_like(working(p), device=self._home) for p in self.parameters])

    def copies(self) -> list[torch.Tensor]:
        """Return copies of the weights, this rank's part of each parameter, where they are held."""
        return [local(p).to(self._home or p.device, copy=True) for p in self.parameters]

    def fetched(self, held: Sequence[torch.Tensor], place: int, rows: Rows = ...) -> torch.Tensor:
        """Return what is held for rows of the parameter at a place, on that parameter's device."""
        return held[place][rows].to(self.parameters[place].device)

    def add_backward_pass(self, total: Slope, entropy: torch.Tensor, measure: torch.Tensor) -> None:
        """Add the gradient of sum(measure x entropy) to ``total``; the graph stays for the loss.

        Args:
            total: the rank's own sum so far (`whole` then completes it).
            entropy: [sequences, positions], with its gradient graph.
            measure: [sequences, positions], constants; entropies where it is 0 do not count.

        Raises:
            ValueError: an entropy without gradient.
        """
        self._take_gradient(_mean(entropy, measure), self._adding_to(total), retain_graph=True)

    @contextlib.contextmanager
    def own_passes(self) -> Iterator[None]:
        """Within it the model is in evaluation mode; after it no weights are left gathered."""
        with evaluation_mode.entered(self.model):
            yield
        self._reshard()

    def left_by(self, passes: Callable[[], object]) -> Slope:
        """Return what passes of somebody else's leave in ``.grad``, which is as it was after."""
        with self.own_passes(), torch.enable_grad(), self._set_aside():
            passes()
            return Slope([
                torch.zeros_like(working(p), device=self._home) if p.grad is None
                else working(p.grad).to(self._home or p.device)
                for p in self.parameters])

    def whole(self, total: Slope) -> Slope:
        """Sum over ranks what `add_backward_pass` added up on each of them."""
        if self._accelerator.num_processes > 1:
            total.parts = [
                self._accelerator.reduce(self.fetched(total.parts, place), "sum").to(part.device)
                for place, part in enumerate(total.parts)]
        return total

    def evaluate(
        self, rows: Sequence[StepRows], onto: Slope | None = None
    ) -> tuple[float, Slope]:
        """Take the mean entropy of the rows, nats, and its gradient.

        A forward and a backward pass of their own, in evaluation mode; ``.grad`` is as it was.

        Args:
            rows: rows of one step.
            onto: a sum to which the gradient is added, in place; none is begun with None.

        Raises:
            ValueError: an entropy without gradient.
        """
        summed = not self._is_sharded
        if onto is None:
            total = self.zero()
        else:
            total = onto
            if summed:
                # Each rank holds all of it, and below all ranks' are added up.
                total *= 1 / self._accelerator.num_processes
        value = self._differentiate(rows, self._adding_to(total))
        if summed:
            total = self.whole(total)
        return value, total

    def evaluate_along(
        self, rows: Sequence[StepRows], step: OptimizerStep
    ) -> tuple[float, dict[str, float]]:
        """Take the mean entropy of the rows, nats, and the product of its gradient with each addend.

        Passes as `evaluate`'s. No gradient is held: each parameter's is multiplied as it comes, once per
        pass, and with several passes the addends are read as often.
        """
        found = dict.fromkeys(step.names, 0.0)

        def multiply(place: int, gradient: torch.Tensor) -> None:
            # Ranks' gradients add up, and each of them has the addends; shards are what sums are of.
            share = 1 / copies_on_ranks(
                self.parameters[place], self._accelerator.num_processes if self._is_sharded else 1)
            gradient = local(gradient)
            for part, addends in step.addends_of(place):
                for name, addend in addends.named().items():
                    found[name] += share * _inner(working(gradient[part]), addend)

        value = self._differentiate(rows, multiply)
        return value, dict(zip(found, self.sum_over_ranks(list(found.values())), strict=True))

    def _differentiate(
        self, rows: Sequence[StepRows], take: Callable[[int, torch.Tensor], None]
    ) -> float:
        """Return the mean entropy, nats; its gradient is given away by the parameter's place.

        A parameter may come several times, with addends of its gradient. A rank gives the addends
        of its own rows. With sharded weights it gives its shard of the whole gradient.
        """
        by_backward, value = self.needs_backward, 0.0
        # FSDP2 averages over ranks, where the mean is a sum over them.
        scale = self._accelerator.num_processes if self._is_sharded else 1
        with (
            evaluation_mode.entered(self.model), torch.enable_grad(),
            self._set_aside() if by_backward else contextlib.nullcontext(),
        ):
            for part in rows:
                statistics = part.statistics()
                mean = _mean(statistics.entropy, part.measure)
                value += float(mean.detach())
                if by_backward:
                    (scale * mean).backward()
                    self._take_grads(take)
                else:
                    self._take_gradient(mean, take)
        self._reshard()
        return self.sum_over_ranks([value])[0]

    def mean_entropy(self, rows: Sequence[StepRows]) -> float:
        """Take the mean entropy of the rows: a forward pass alone."""
        values = [float(_sum(seen.entropy, part.measure))
                  for seen, part in zip(self.statistics(rows), rows, strict=True)]
        return self.sum_over_ranks([math.fsum(values)])[0]

    def statistics(self, rows: Sequence[StepRows]) -> list[TokenStatistics]:
        """Each token's statistics, by a pass without gradient in evaluation mode."""
        with evaluation_mode.entered(self.model), torch.no_grad():
            found = [part.statistics() for part in rows]
        self._reshard()
        return found

    def move(self, weights: Callable[[int], torch.Tensor]) -> None:
        """Give each parameter other weights: this rank's part, as the function says for its place."""
        with torch.no_grad():
            for place, parameter in enumerate(self.parameters):
                local(parameter).copy_(weights(place))

    def products(
        self, tensors: Mapping[str, torch.Tensor], slope: Slope, place: int, rows: Rows = ...
    ) -> dict[str, float]:
        """Inner products of the slope by rows of a parameter with tensors, this rank's share."""
        part = self.fetched(slope.parts, place, rows)
        share = 1 / copies_on_ranks(self.parameters[place], self._accelerator.num_processes)
        return {name: share * _inner(part, tensor) for name, tensor in tensors.items()}

    def derivatives(
        self, rows: Sequence[StepRows], direction: Slope, power: float
    ) -> list[dict[str, torch.Tensor]]:
        """Differentiate the statistics of each token along a direction of the parameters.

        This takes one pass with dual numbers, at the cost of about three plain ones. On several
        processes, and where the model has no forward mode (warned of once), it takes a symmetric
        difference. That costs two passes, with an error that may be large (`TokenEffects.gap`). The
        weights are as before afterwards.

        Args:
            rows: rows of a step; the statistics are those named in ``StepRows.moved``.
            direction: of the parameters.
            power: the derivative of the mean entropy along it, nats; 0 where there is none.

        Returns:
            For each of the rows, by statistic, [sequences, positions]; zeros where the power is 0.
        """
        if not power:
            return [
                {name: torch.zeros_like(part.measure) for name in part.moved} for part in rows]
        if not self._has_no_forward_mode:
            try:
                return dual_numbers.derivatives(
                    self.model, self._modules, self.parameters, direction.parts,
                    [part.statistics for part in rows], [part.moved for part in rows])
            except (NotImplementedError, RuntimeError) as error:
                if isinstance(error, torch.OutOfMemoryError):
                    raise
                self._has_no_forward_mode = True
                if self._accelerator.is_main_process:
                    logger.warning(
                        "tokens are told apart by differences, not by derivatives: %s has no forward "
                        "mode (%s)", type(self.model).__name__, str(error).splitlines()[0])
        width = self._move / abs(power)
        found = [self._seen_along(direction, rows, sign * width) for sign in (1, -1)]
        return [
            {name: (getattr(up, name) - getattr(down, name)) / (2 * width) for name in part.moved}
            for part, up, down in zip(rows, *found, strict=True)
        ]

    def _seen_along(
        self, direction: Slope, rows: Sequence[StepRows], width: float
    ) -> list[TokenStatistics]:
        """Each token's statistics at the weights + width x direction; the weights are restored
        after."""
        here = self.copies()
        try:
            self.move(lambda at: (
                working(self.fetched(here, at)) + width * self.fetched(direction.parts, at)))
            return self.statistics(rows)
        finally:
            self.move(lambda at: here[at])

    def sum_over_ranks(self, numbers: Sequence[float]) -> list[float]:
        """Sum each number over all ranks, in one operation."""
        return sum_over_ranks(self._accelerator, numbers)

    def _adding_to(self, total: Slope) -> Callable[[int, torch.Tensor], None]:
        def add(place: int, gradient: torch.Tensor) -> None:
            part = total.parts[place]
            part.add_(working(gradient).to(part.device))

        return add

    def _take_gradient(
        self, value: torch.Tensor, take: Callable[[int, torch.Tensor], None], *,
        retain_graph: bool = False,
    ) -> None:
        """Give away the gradient of ``value``, a parameter at a time: a whole one is never held."""
        def giving(place: int) -> Callable[[torch.Tensor | None], torch.Tensor | None]:
            def give(gradient: torch.Tensor | None) -> torch.Tensor | None:
                if gradient is None:  # of an operation that gives none
                    return None
                take(place, gradient)
                # The pass would keep what is returned until all parameters have theirs.
                return gradient.new_zeros((), layout=torch.strided).expand(gradient.shape)
            return give

        hooks = [parameter.register_hook(giving(place))
                 for place, parameter in enumerate(self.parameters)]
        try:
            torch.autograd.grad(value, self.parameters, retain_graph=retain_graph, allow_unused=True)
        finally:
            for hook in hooks:
                hook.remove()

    def _take_grads(self, take: Callable[[int, torch.Tensor], None]) -> None:
        """Give away what is in ``.grad``."""
        for place, parameter in enumerate(self.parameters):
            if parameter.grad is not None:
                take(place, parameter.grad)
                parameter.grad = None

    def _reshard(self) -> None:
        """Give up gathered weights, which FSDP2 keeps after a forward pass: they may be others next."""
        if not self._is_sharded:
            return
        for module in self._modules:
            if isinstance(module, FSDPModule):
                module.reshard()

    @contextlib.contextmanager
    def _set_aside(self) -> Iterator[None]:
        """Give the parameters no ``.grad``, and their own back after."""
        kept = [p.grad for p in self.parameters]
        no_sync = getattr(self.model, "no_sync", contextlib.nullcontext)
        try:
            for parameter in self.parameters:
                parameter.grad = None
            with contextlib.nullcontext() if self._is_sharded else no_sync():
                yield
        finally:
            for parameter, grad in zip(self.parameters, kept, strict=True):
                parameter.grad = grad


def _mean(entropy: torch.Tensor, measure: torch.Tensor) -> torch.Tensor:
    if not entropy.requires_grad:
        raise ValueError(
            "the entropies carry no gradient by the trainable parameters: compute them from the model's "
            "logits with gradients on (not under torch.no_grad, and not detached)"
        )
    return _sum(entropy, measure)


def _sum(entropy: torch.Tensor, measure: torch.Tensor) -> torch.Tensor:
    return torch.where(measure != 0, measure * entropy, 0.0).sum()


def _inner(part: torch.Tensor, tensor: torch.Tensor) -> float:
    """The inner product; products of float32 are summed in float64 without a copy in it."""
    return float((part * tensor).sum(dtype=torch.float64))
