"""Accounts for the entropy changes of an EntropyTrainer's optimizer steps.

    trainer.add_callback(Accountant(trainer, every=10))
    trainer.train()

leaves in ``trainer.entropy_account``, at each optimizer step that is due, what the step was to do to
the mean entropy at its own states before it was taken, and what it did after (`step_accountant`),
divided

- by the addends of the optimizer's step: this batch's gradient, clipping, momentum, weight decay,
  rounding;
- by token, and from there by prompt, by right and wrong answers, and by the rules that the update rule is
  made of, a sum of rules included.

What a token's state weighs in the mean is one thing, and what the token moves another: a token's part is
what it did to the entropy of all states, through the parameters that they share.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from transformers import TrainerCallback

from entropy_theory import accounting
from entropy_theory.accounting import Account
from entropy_theory.token_batch import TokenBatch
from llm_bridge.accounting import rule_parts
from llm_bridge.accounting.entropy_gradient import (
    EntropyGradient,
    Slope,
    StepRows,
    check_accelerator,
    token_shares,
)
from llm_bridge.accounting.optimizer_step import Clipping, readable
from llm_bridge.accounting.response_change import response_change
from llm_bridge.accounting.step_accountant import StepAccountant, TokenEffects
from llm_bridge.forward.policy_forward import COLUMNS
from llm_bridge.head.token_statistics import TokenStatistics
from llm_bridge.objective.batches import map_columns
from llm_bridge.objective.micro_batch import MicroBatch

RIGHT, WRONG = "right", "wrong"


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
    response_change: float | None = None
    """The change of the entropy of whole responses to first order, visitation included, with a bias of
    its own samples (`response_change`); None without a prompt of two samples."""
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
        """What a log says of the step, a number a name."""
        found: dict[str, float | None] = {"entropy_gradient": self.forecast}
        found |= {f"entropy_gradient/{name}": value for name, value in self.forecast_parts.items()}
        if self.account is not None:
            found |= {
                "measured_entropy_change": self.account.measured,
                "accounted": self.account.accounted,
                "response_entropy_change": self.response_change,
            }
            found |= {f"accounted/{name}": value for name, value in self.account.parts.items()}
        for values in (self.by_rule, self.by_answer):
            found |= {f"accounted/{name}": value for name, value in (values or {}).items()}
        if self.tokens is not None:
            found["accounted_token_gap"] = self.tokens.gap
            found["accounted_token_rounding"] = self.tokens.rounding
        return found


class Accountant(TrainerCallback):
    """Accounts for every ``every``-th optimizer step of a trainer, the first included.

    Args:
        trainer: an EntropyTrainer.
        every: distance between accounted steps; 0: only forecasts.
        forecast_every: distance between forecasts; with None they are made at accounted steps alone.
        tokens: whether the account is divided over tokens: a forward pass with dual numbers more.
        forecast_unit: whether the forecast says what a unit of the rule's coefficient makes up of it
            (``change_per_coefficient``): one more again, before the step, but for a unit that is a
            multiple of the measured entropy itself, as that of an entropy bonus.
        reads: "before": the step is read from the optimizer's state, with its parts; "after": it is the
            difference of the weights, for any optimizer, with one part.
        choose: given all rows of the step, those on which entropy is measured, integer [rows]; all
            ordinary ones by default. On one process.
        sequences: the entropy is measured on the first so many rows of each process's step, with None
            on all: the forecast and the account are then of these rows' states, and their passes cost
            as much less. Tokens of all rows are told apart.
        share: the residual that is let stand, as a share of the measured change.
        most_points: the most points on a step's path.
        published: whether the account goes to the trainer, and to its log.

    Raises:
        ValueError: a distance below 0 or no distance at all. When training begins: a frozen model, ZeRO,
            an optimizer that cannot be read (`UnreadableStepError`), a loss that moves nothing.
    """

    def __init__(
        self, trainer: Any, *, every: int = 1, forecast_every: int | None = None,
        tokens: bool = True, forecast_unit: bool = False,
        reads: Literal["before", "after"] = "before",
        choose: Callable[[TokenBatch], torch.Tensor] | None = None, sequences: int | None = None,
        share: float = accounting.SHARE, most_points: int = accounting.MOST_POINTS,
        published: bool = True,
    ):
        forecast_every = every if forecast_every is None else forecast_every
        for name, value in (("every", every), ("forecast_every", forecast_every)):
            if value < 0:
                raise ValueError(f"{name} must be at least 0, got {value}")
        if every + forecast_every == 0:
            raise ValueError("account for, or forecast, every N-th step: every and forecast_every are 0")
        self._trainer, self._every, self._forecast_every = trainer, every, forecast_every
        self._tokens, self._forecast_unit, self._reads = tokens, forecast_unit, reads
        if sequences is not None:
            if sequences < 1 or choose is not None:
                raise ValueError(
                    f"sequences must be at least 1, and goes without choose, got {sequences}")
            choose = functools.partial(_first_rows, count=sequences)
        self._choose, self._share, self._most_points = choose, share, most_points
        self._published = published
        self.current: StepAccount | None = None
        """The account of the current step, as far as it is known."""
        self._clipping = Clipping(trainer.accelerator)
        self._gradient: EntropyGradient | None = None
        self._at_hand: _AtHand | None = None
        self._snapshot: StepAccountant | None = None
        self._measured: list[TokenBatch] = []
        trainer.before_backward.append(self._add_backward_pass)

    # --------------------------------------------------------------------------------- callbacks

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Forget the step before."""
        self._give(None)
        self._at_hand, self._snapshot, self._clipping.factor = None, None, 1.0

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Forecast the step about to be taken."""
        at_hand, self._at_hand = self._at_hand, None
        if not self._is_due():
            return
        trainer, reads_before = self._trainer, self._reads == "before"
        rows = step_rows(trainer, self._choose)
        if rows is None:
            return
        every, measured, self._measured = rows
        self._snapshot = StepAccountant(
            self.gradient, every, trainer.optimizer if reads_before else None,
            clip=self._clipping.factor, keeps_weights=self._is_accounted() or not reads_before,
            seen=None if at_hand is None else at_hand.whole(self.gradient), measured=measured,
        )
        if reads_before:
            found = StepAccount(
                step=trainer.state.global_step + 1, entropy=self._snapshot.entropy,
                forecast=math.fsum(self._snapshot.forecast_parts.values()),
                forecast_parts=self._snapshot.forecast_parts,
                coefficient=rule_parts.coefficient(trainer.rule, trainer.micro_batches),
            )
            if self._forecast_unit:
                found = dataclasses.replace(
                    found, change_per_coefficient=self._change_per_coefficient(self._snapshot))
            self._give(found)

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Account for the step that was taken."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None or not snapshot.keeps_weights:
            return
        trainer, before = self._trainer, self.current
        found = snapshot.finish(
            tokens=self._tokens, share=self._share, most_points=self._most_points)
        parts = trainer.micro_batches
        made = StepAccount(
            step=trainer.state.global_step + 1, entropy=snapshot.entropy,
            forecast=found.account.forecast, forecast_parts=found.account.forecast_parts,
            account=found.account,
            response_change=response_change(self._measured, found.log_prob, trainer.accelerator),
            coefficient=rule_parts.coefficient(trainer.rule, parts),
            change_per_coefficient=None if before is None else before.change_per_coefficient,
        )
        self._give(made if found.tokens is None else self._divided(made, found.tokens))

    # --------------------------------------------------------------------------------- its parts

    @property
    def gradient(self) -> EntropyGradient:
        """The gradient of the trainer's model; made when it is first asked for, in training."""
        if self._gradient is None:
            trainer = self._trainer
            check_accelerator(trainer.accelerator)
            if self._reads == "before":
                readable(trainer.optimizer)
            self._gradient = EntropyGradient(trainer.model, trainer.accelerator)
        return self._gradient

    def _give(self, found: StepAccount | None) -> None:
        self.current = found
        if self._published:
            self._trainer.entropy_account = found

    def _is_accounted(self) -> bool:
        return self._every > 0 and self._trainer.state.global_step % self._every == 0

    def _is_due(self) -> bool:
        every = self._forecast_every
        forecast = every > 0 and self._trainer.state.global_step % every == 0
        return forecast or self._is_accounted()

    def _add_backward_pass(self, batch: TokenBatch) -> None:
        """Take the entropy's gradient from the forward pass at hand, before the loss takes its own."""
        if not self._is_due() or self._choose is not None or self.gradient.needs_backward:
            return
        if self._at_hand is None:
            self._at_hand = _AtHand(self.gradient)
        self._at_hand.add(batch, self.gradient)

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

    def _of_all_ranks(self, numbers: Mapping[str, float]) -> dict[str, float]:
        whole = self.gradient.sum_over_ranks(list(numbers.values()))
        return dict(zip(numbers, whole, strict=True))


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


def step_rows(
    trainer: Any, choose: Callable[[TokenBatch], torch.Tensor] | None = None
) -> tuple[list[StepRows], list[StepRows], list[TokenBatch]] | None:
    """Return the rows of a trainer's step, for passes through its model; None if none is measured.

    Args:
        trainer: an EntropyTrainer whose micro-batches are those of the step.
        choose: as `Accountant`.

    Returns:
        All rows; those on which entropy is measured; and these as a batch for each of the latter.
    """
    parts: list[MicroBatch] = trainer.micro_batches
    chosen = [torch.arange(len(part.batch.mask)) for part in parts]
    if choose is not None:
        whole = map_columns(lambda *columns: torch.cat(columns), *(part.batch for part in parts))
        kept = torch.zeros(len(whole.mask), dtype=torch.bool)
        kept[choose(whole).cpu()] = True
        pieces = kept.split([len(rows) for rows in chosen])
        chosen = [torch.nonzero(piece)[:, 0] for piece in pieces]
    measures = []
    for part, rows in zip(parts, chosen, strict=True):
        mask = torch.zeros(len(part.batch.mask), dtype=torch.bool)
        mask[rows] = True
        measures.append(token_shares(part.batch, mask.to(part.batch.mask.device)))
    total = sum(weight for _, weight in measures)
    if trainer.accelerator.num_processes > 1:
        column = torch.tensor(total, device=trainer.accelerator.device)
        total = float(trainer.accelerator.reduce(column, "sum"))
    if not total:
        return None

    def statistics(inputs: dict[str, Any]) -> Callable[[], TokenStatistics]:
        return lambda: trainer.forward.statistics(trainer.model, inputs)

    every = [
        StepRows(statistics=statistics(part.inputs), measure=measure / total,
                 moved=rule_parts.of_step(part))
        for part, (measure, _) in zip(parts, measures, strict=True)
    ]
    if choose is None:
        return every, every, [part.batch for part in parts]
    measured, batches = [], []
    for part, whole_part, rows in zip(parts, every, chosen, strict=True):
        if not len(rows):
            continue
        rows = rows.to(part.batch.mask.device)
        inputs = {name: part.inputs[name][rows] for name in COLUMNS}
        measured.append(StepRows(
            statistics=statistics(inputs), measure=whole_part.measure[rows],
            moved={name: column[rows] for name, column in whole_part.moved.items()}))
        batches.append(part.batch.take_sequences(rows))
    return every, measured, batches


def _first_rows(batch: TokenBatch, count: int) -> torch.Tensor:
    return torch.arange(min(count, len(batch.mask)))


def _sum(columns: Sequence[torch.Tensor]) -> float:
    return math.fsum(float(column.sum(dtype=torch.float64)) for column in columns)
