"""Accounts for those optimizer steps of a trainer that are due, whatever the rows of a step are.

Before a step stands what it is to do to the mean entropy at its own states, and after it what it did
(`step_accountant`). `accountant.Accountant` is for an EntropyTrainer, `llm_bridge.diagnostics` for any
other of TRL's.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from transformers import TrainerCallback

from entropy_theory.accounting import Account
from entropy_theory.token_batch import TokenBatch
from llm_bridge.accounting.entropy_gradient import EntropyGradient
from llm_bridge.accounting.optimizer_step import Clipping, local, readable
from llm_bridge.accounting.step_accountant import Accounted, StepAccountant, TokenEffects
from llm_bridge.accounting.step_rows import (
    Slope,
    StepRows,
    check_accelerator,
    sum_over_ranks,
    token_shares,
)
from llm_bridge.head.token_statistics import TokenStatistics
from llm_bridge.running.sharding import is_sharded


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAccount:
    """One optimizer step's entropy change, nats: of the mean over sequences of means over tokens."""

    step: int
    """The number of the step, from 1."""
    entropy: float
    """The mean entropy before the step."""
    forecast: float
    """Its change to first order, from the entropy's gradient and the optimizer's step."""
    forecast_parts: dict[str, float]
    """The forecast by addend of the step (`optimizer_step.ADDENDS`); its sum is the forecast."""
    account: Account | None = None
    """The measured change and its parts; None before the step, and where only a forecast was asked
    for."""
    coefficient: float | None = None
    """The rule's coefficient in this step; None where it has none."""
    change_per_coefficient: float | None = None
    """The part of the forecast that a unit of the coefficient makes up, clipping included; None where
    the rule has none, or nobody asked for it."""
    by_rule: dict[str, float] | None = None
    """The gradient's part (clipping included) by the rules that the update rule is made of."""
    by_prompt: dict[int, float] | None = None
    """The same by prompt, by the number of its group in the step's generation; on each rank, of its own
    rows."""
    by_answer: dict[str, float] | None = None
    """The same by right answers (a reward above half the step's largest) and wrong ones."""
    tokens: TokenEffects | None = None
    """The same by token, for each of the step's micro-batches."""

    @property
    def base_change(self) -> float | None:
        """The forecast without the coefficient's part; None as ``change_per_coefficient``."""
        if self.change_per_coefficient is None or self.coefficient is None:
            return None
        return self.forecast - self.coefficient * self.change_per_coefficient

    def metrics(self) -> dict[str, float | None]:
        """The log's values of the step, by name."""
        found: dict[str, float | None] = {"entropy_gradient": self.forecast}
        found |= {f"entropy_gradient/{name}": value for name, value in self.forecast_parts.items()}
        if self.account is not None:
            found |= {
                "measured_entropy_change": self.account.measured,
                "accounted": self.account.accounted,
            }
            found |= {f"accounted/{name}": value for name, value in self.account.parts.items()}
        for values in (self.by_rule, self.by_answer):
            found |= {f"accounted/{name}": value for name, value in (values or {}).items()}
        if self.tokens is not None:
            found["accounted_token_gap"] = self.tokens.gap
            found["accounted_token_rounding"] = self.tokens.rounding
        return found


Choice = Callable[[torch.Tensor], torch.Tensor]
"""Given the number of ordinary tokens of each row of a step, [rows], the rows to measure entropy on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """The rows of one forward pass of a step."""

    batch: TokenBatch
    statistics: Callable[[Any], TokenStatistics]
    """A function of an index of rows: their statistics under the weights as they are."""
    moved: Mapping[str, torch.Tensor]
    """The coefficients, as in `StepRows.moved`."""
    router: Callable[[], torch.Tensor] | None = None
    """A router's addend to the loss of the pass, a scalar with its graph, from a pass of its
    own."""


def _first(count: int, lengths: torch.Tensor) -> torch.Tensor:
    """Choose the first rows, at most ``count``."""
    return torch.arange(min(count, len(lengths)))


class StepAccounts(TrainerCallback, abc.ABC):
    """Accounts for every ``every``-th optimizer step of a trainer, the first included.

    A subclass gives the rows of a step (``passes``).

    Args:
        trainer: TRL's GRPOTrainer, or a subclass.
        every: distance between accounted steps. 0: none is accounted.
        forecast_every: distance between forecasts; with None they are made at accounted steps alone.
        tokens: whether the account is divided over tokens: a forward pass with dual numbers more.
        reads: "before": the step is read from the optimizer's state, with its parts. "after": it is
            the difference of the weights, for any optimizer, with one part.
        sequences: number of rows of each process's step, the first ones, on which entropy is
            measured; or a `Choice` of rows, on one process. None: all. Forecast and account are
            then of these rows' states, and their passes cost less in proportion. The account is
            divided over the tokens of all rows.
        offload: whether gradients and copies of weights lie in main memory between their uses.
        path: as `StepAccountant.finish`: ``share`` and ``most_points``.
    """

    def __init__(
        self, trainer: Any, *, every: int, tokens: bool, reads: Literal["before", "after"],
        sequences: int | Choice | None, forecast_every: int | None = None, offload: bool = False,
        **path: Any,
    ):
        if every < 0:
            raise ValueError(f"every must be at least 0, got {every}")
        self.forecast_every = every if forecast_every is None else forecast_every
        if self.forecast_every < 0:
            raise ValueError(f"forecast_every must be at least 0, got {forecast_every}")
        if every + self.forecast_every == 0:
            raise ValueError("account for, or forecast, every N-th step: every and forecast_every are 0")
        if isinstance(sequences, int):
            if sequences < 1:
                raise ValueError(f"sequences must be at least 1, got {sequences}")
            sequences = functools.partial(_first, sequences)
        self._trainer, self._every, self._tokens, self._reads = trainer, every, tokens, reads
        self._choose, self._path, self._offload = sequences, path, offload
        self.current: StepAccount | None = None
        """The account of the current step, as far as it is known."""
        self._clipping = Clipping(trainer.accelerator)
        self._gradient: EntropyGradient | None = None
        self._snapshot: StepAccountant | None = None

    @property
    def gradient(self) -> EntropyGradient:
        """The gradient of the trainer's model; made when it is first asked for, in training."""
        if self._gradient is None:
            self.check()
            self._gradient = EntropyGradient(
                self._trainer.model, self._trainer.accelerator, offload=self._offload)
        return self._gradient

    def check(self) -> None:
        """Raise ValueError for a distribution, or an optimizer, whose steps cannot be accounted for."""
        check_accelerator(self._trainer.accelerator)
        if self._reads == "before":
            readable(self._trainer.optimizer)

    def cost(self, rows: int) -> str:
        """Return in words what forecasts and accounts add to a step of so many rows in this process."""
        measured = rows if self._choose is None else len(self._choose(torch.ones(rows)))
        size = sum(local(p).numel() * p.element_size() for p in self._trainer.model.parameters()
                   if p.requires_grad) / 2**20
        told = [f"one step in {every} also takes {passes} of {measured} of its {rows} sequences"
                for every, passes in ((self._every, "three forward and two backward passes"),
                                      (self.forecast_every, "one forward and one backward pass"))
                if every and (every != self._every or passes.startswith("three"))]
        router = int(getattr(self._trainer, "aux_loss_enabled", False))
        if router:
            told.append(f"each one forward and one backward pass of {rows} for the router's loss")
        held = 3 if self._every else int(self.gradient.needs_backward or self._announces_more)
        held += router
        memory = f"up to {held} x {size:.0f} MiB for gradients and weights" if held else "no copy of them"
        if held and self._offload:
            memory += " in main memory" + ", one of them on the device for tokens" * self._tokens
        return f"cost of the entropies: {', and '.join(told)}. Outside the training passes: {memory}"

    @abc.abstractmethod
    def passes(self) -> list[Pass]:
        """Return the passes of the step about to be taken."""

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Forget the step before."""
        self._give(None)
        self._snapshot, self._clipping.factor = None, 1.0

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Forecast the step about to be taken."""
        if not self._is_due():
            return
        trainer, reads_before = self._trainer, self._reads == "before"
        rows = rows_of(self.passes(), trainer.accelerator, self._choose)
        if rows is None:
            return
        every, measured = rows
        self._snapshot = StepAccountant(
            self.gradient, every, trainer.optimizer if reads_before else None,
            clip=self._clipping.factor,
            keeps="weights" if self._is_accounted() or not reads_before
            else "slope" if self._announces_more else "nothing",
            router=self._router_slope() if reads_before else None,
            seen=self._seen(), measured=measured,
        )
        if reads_before:
            self._give(self._announced(self._snapshot, StepAccount(
                step=trainer.state.global_step + 1, entropy=self._snapshot.entropy,
                forecast=math.fsum(self._snapshot.forecast_parts.values()),
                forecast_parts=self._snapshot.forecast_parts)))

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Account for the step that was taken."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None or not snapshot.keeps_weights:
            return
        found = snapshot.finish(tokens=self._tokens, **self._path)
        self._give(self._completed(found, StepAccount(
            step=self._trainer.state.global_step + 1, entropy=snapshot.entropy,
            forecast=found.account.forecast, forecast_parts=found.account.forecast_parts,
            account=found.account)))

    def _router_slope(self) -> Slope | None:
        """Return the gradient of the step's router losses, which no token has a part in."""
        losses = [one.router for one in self.passes() if one.router is not None]
        if not losses:
            return None
        found = self.gradient.left_by(lambda: [loss().backward() for loss in losses])
        accelerator = self._trainer.accelerator
        if not is_sharded(accelerator, self._trainer.model):  # else it is averaged over ranks already
            found = self.gradient.whole(found)
            found *= 1 / accelerator.num_processes
        return found

    def _give(self, found: StepAccount | None) -> None:
        self.current = found

    def _is_accounted(self) -> bool:
        return self._every > 0 and self._trainer.state.global_step % self._every == 0

    def _is_due(self) -> bool:
        every = self.forecast_every
        forecast = every > 0 and self._trainer.state.global_step % every == 0
        return forecast or self._is_accounted()

    def _seen(self) -> tuple[float, Slope] | None:
        """Return the mean entropy and its gradient, where the step's own passes gave them."""
        return None

    @property
    def _announces_more(self) -> bool:
        """Whether `_announced` needs the entropy's gradient."""
        return False

    def _announced(self, snapshot: StepAccountant, found: StepAccount) -> StepAccount:
        return found

    def _completed(self, accounted: Accounted, found: StepAccount) -> StepAccount:
        return found

    def _of_all_ranks(self, numbers: Mapping[str, float]) -> dict[str, float]:
        whole = self.gradient.sum_over_ranks(list(numbers.values()))
        return dict(zip(numbers, whole, strict=True))


def rows_of(
    passes: Sequence[Pass], accelerator: Any, choose: Choice | None = None
) -> tuple[list[StepRows], list[StepRows]] | None:
    """Return the rows of a step, for passes through its model; None if none is measured.

    Returns:
        All rows, and those on which entropy is measured.
    """
    kept = [torch.ones(len(one.batch.mask), dtype=torch.bool) for one in passes]
    if choose is not None and passes:
        whole = torch.zeros(sum(map(len, kept)), dtype=torch.bool)
        whole[choose(torch.cat([one.batch.is_ordinary.sum(-1) for one in passes])).cpu()] = True
        kept = list(whole.split(list(map(len, kept))))
    shares = [token_shares(one.batch, rows.to(one.batch.mask.device))
              for one, rows in zip(passes, kept, strict=True)]
    (total,) = sum_over_ranks(accelerator, [math.fsum(weight for _, weight in shares)])
    if not total:
        return None
    every = [
        StepRows(statistics=functools.partial(one.statistics, slice(None)), measure=measure / total,
                 moved=one.moved)
        for one, (measure, _) in zip(passes, shares, strict=True)
    ]
    if choose is None:
        return every, every
    measured = []
    for one, rows, places in zip(passes, every, kept, strict=True):
        if not bool(places.any()):
            continue
        index = torch.nonzero(places)[:, 0].to(one.batch.mask.device)
        measured.append(StepRows(
            statistics=functools.partial(one.statistics, index), measure=rows.measure[index],
            moved={name: column[index] for name, column in rows.moved.items()}))
    return every, measured
