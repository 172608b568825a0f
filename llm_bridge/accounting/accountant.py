"""Accounts for the entropy changes of a trainer's optimizer steps.

::

    trainer.add_callback(Accountant(trainer, every=10))
    trainer.train()

records in ``trainer.entropy_account``, at each optimizer step that is due, the step's forecast and
measured change of the mean entropy at its own states (`step_accountant`), divided

- by the addends of the optimizer's step: this batch's gradient, clipping, a router's loss, momentum,
  weight decay, rounding;
- by token; sums over tokens then give prompts, right and wrong answers, and the rules that a sum of
  rules or a modified rule is made of.

A token's part is not its state's weight in the mean. It is the token's effect on the entropy of all
states, through the parameters that they share.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

import torch

from entropy_theory.token_batch import TokenBatch
from llm_bridge.accounting import rule_parts
from llm_bridge.accounting.entropy_gradient import EntropyGradient
from llm_bridge.accounting.step_accountant import Accounted, StepAccountant, TokenEffects
from llm_bridge.accounting.step_accounts import Choice, Pass, StepAccount, StepAccounts
from llm_bridge.accounting.step_rows import Slope, token_shares
from llm_bridge.forward.images import cut
from llm_bridge.forward.policy_forward import COLUMNS
from llm_bridge.objective.micro_batch import MicroBatch, router_share

RIGHT, WRONG = "right", "wrong"


class Accountant(StepAccounts):
    """Accounts for the steps of an EntropyTrainer, and leaves them to it and its log.

    Args:
        trainer: an EntropyTrainer.
        every, forecast_every, tokens, reads, sequences, more: as `StepAccounts`. With ``every=0``
            only forecasts are made.
        forecast_unit: whether to forecast also the effect of a unit of the rule's coefficient
            (``change_per_coefficient``). It costs one more pass before the step, unless the unit is
            a multiple of the measured entropy itself, as for an entropy bonus.

    Attributes:
        is_published: whether the account goes to the trainer, and to its log.

    Raises:
        ValueError: ``every`` or ``forecast_every`` below 0, or neither given. When training begins:
            a frozen model, ZeRO, an optimizer that cannot be read (`UnreadableStepError`), a loss
            that moves nothing.
    """

    is_published = True

    def __init__(
        self, trainer: Any, *, every: int = 1, forecast_every: int | None = None,
        tokens: bool = True, forecast_unit: bool = False,
        reads: Literal["before", "after"] = "before", sequences: int | Choice | None = None, **more: Any,
    ):
        super().__init__(trainer, every=every, forecast_every=forecast_every, tokens=tokens, reads=reads,
                         sequences=sequences, **more)
        self._forecast_unit = forecast_unit
        self._at_hand: _AtHand | None = None
        trainer.before_backward.append(self._add_backward_pass)

    def passes(self) -> list[Pass]:
        """Return the trainer's micro-batches."""
        return passes_of(self._trainer)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Forget the step before."""
        super().on_step_begin()
        self._at_hand = None

    def _give(self, found: StepAccount | None) -> None:
        super()._give(found)
        if self.is_published:
            self._trainer.entropy_account = found

    def _add_backward_pass(self, batch: TokenBatch) -> None:
        """Take the entropy's gradient from the forward pass at hand, before the loss takes its own."""
        if not self._is_due() or self._choose is not None or self.gradient.needs_backward:
            return
        if self._at_hand is None:
            self._at_hand = _AtHand(self.gradient)
        self._at_hand.add(batch, self.gradient)

    def _seen(self) -> tuple[float, Slope] | None:
        at_hand, self._at_hand = self._at_hand, None
        return None if at_hand is None else at_hand.whole(self.gradient)

    @property
    def _announces_more(self) -> bool:
        return self._forecast_unit

    def _announced(self, snapshot: StepAccountant, found: StepAccount) -> StepAccount:
        return dataclasses.replace(
            found, coefficient=rule_parts.coefficient(self._trainer.rule, self._trainer.micro_batches),
            change_per_coefficient=(
                self._change_per_coefficient(snapshot) if self._forecast_unit else None))

    def _completed(self, accounted: Accounted, found: StepAccount) -> StepAccount:
        trainer, before = self._trainer, self.current
        found = dataclasses.replace(
            found,
            coefficient=rule_parts.coefficient(trainer.rule, trainer.micro_batches),
            change_per_coefficient=None if before is None else before.change_per_coefficient,
        )
        return found if accounted.tokens is None else self._divided(found, accounted.tokens)

    def _divided(self, found: StepAccount, effects: TokenEffects) -> StepAccount:
        parts = self._trainer.micro_batches
        largest = max(
            [float(r.max()) for p in parts if len(r := p.batch.reward[p.batch.mask])], default=0.0)
        if self._trainer.accelerator.num_processes > 1:
            device = self._trainer.accelerator.device
            largest = float(
                self._trainer.accelerator.gather(torch.tensor([largest], device=device)).max())
        by_answer = {RIGHT: 0.0, WRONG: 0.0}
        by_prompt: dict[int, float] = defaultdict(float)
        for part, effect in zip(parts, effects.by_token, strict=True):
            group: Any = part.batch.group
            for prompt, value in zip(group[:, 0].tolist(), effect.double().sum(-1).tolist(), strict=True):
                by_prompt[prompt] += value
            right = (part.batch.reward > largest / 2) & (part.batch.reward > 0)
            by_answer[RIGHT] += _sum([effect[right]])
            by_answer[WRONG] += _sum([effect[~right]])
        by_rule = {
            name: _sum(effects.of(moved))
            for name, moved in rule_parts.by_component(self._trainer.rule, parts).items()
        }
        return dataclasses.replace(
            found, by_answer=self._of_all_ranks(by_answer), by_rule=self._of_all_ranks(by_rule),
            by_prompt=dict(sorted(by_prompt.items())), tokens=effects)

    def _change_per_coefficient(self, snapshot: StepAccountant) -> float | None:
        unit = rule_parts.per_unit(self._trainer.rule, self._trainer.micro_batches)
        if unit is None:
            return None
        change = snapshot.announced_of_entropy(unit)
        if change is not None:
            return change
        effects = snapshot.announced_tokens().of(unit)
        return self.gradient.sum_over_ranks([_sum(effects)])[0]


class _AtHand:
    """The entropy and its gradient, summed over the micro-batches of a step as they pass."""

    def __init__(self, gradient: EntropyGradient):
        self._slope, self._entropy, self._weight = gradient.zero(), 0.0, 0.0

    def add(self, batch: TokenBatch, gradient: EntropyGradient) -> None:
        measure, weight = token_shares(batch)
        entropy: Any = batch.entropy
        if weight:
            gradient.add_backward_pass(self._slope, entropy, measure)
            self._entropy += float(torch.where(measure != 0, measure * entropy.detach(), 0.0).sum())
            self._weight += weight

    def whole(self, gradient: EntropyGradient) -> tuple[float, Slope]:
        """The mean of all micro-batches of all ranks, and its gradient."""
        entropy, weight = gradient.sum_over_ranks([self._entropy, self._weight])
        slope = gradient.whole(self._slope)
        slope *= 1 / weight
        return entropy / weight, slope


def passes_of(trainer: Any) -> list[Pass]:
    """Return the passes of the micro-batches of an EntropyTrainer's step."""

    def one(part: MicroBatch) -> Pass:
        inputs = cut(part.inputs, slice(None), (*COLUMNS, "mask"))
        return Pass(
            batch=part.batch, moved=rule_parts.of_step(part),
            router=(lambda: router_share(trainer) * trainer.forward.router_loss(trainer.model, inputs))
            if trainer.aux_loss_enabled else None,
            statistics=lambda rows: trainer.forward.statistics(
                trainer.model, cut(inputs, rows, (*COLUMNS, "mask"))))

    return [one(part) for part in trainer.micro_batches]


def _sum(columns: Sequence[torch.Tensor]) -> float:
    return math.fsum(float(column.sum(dtype=torch.float64)) for column in columns)
