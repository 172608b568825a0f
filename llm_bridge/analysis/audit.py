"""Audits whether the theory's assumptions hold on a model: forecasts beside the measured change.

For an audited optimizer step, the whole distribution at the step's ordinary states is evaluated
before and after the step. At each state, with dz the measured change of the log-probabilities (a
logit step, for logits are defined up to a constant):

(i)   the change from the rule's coefficients, under the tabular assumption, per unit learning rate.
(ii)  the change to first order from the measured dz.
(iii) the exact change from the measured dz, which is the measured entropy change.

Where (ii) and (iii) differ, the second order in dz gives the part of the difference that is
curvature of the entropy in the logits.

The difference of (i) and (ii) is the error of the tabular assumption, and of any optimizer other
than SGD. The difference of (ii) and (iii) is the error of first order. The audit also gives the
exact version of (i) at the step's learning rate, which is (iii) for a tabular model under SGD.

Forecast (i') is made before the step and without the tabular assumption. It is the inner product of
the optimizer's step with the gradient of the mean entropy by the parameters. After the step follows
the account, the inner product with the average of that gradient along the step
(`llm_bridge.accounting`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from transformers import TrainerCallback

from entropy_theory import forecast
from entropy_theory.support import results
from entropy_theory.support.user_errors import one_line
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.accounting.optimizer_step import UnreadableStepError, readable
from llm_bridge.analysis.audited_step import AuditedStep, Details, StepSnapshot
from llm_bridge.trainer.entropy_trainer import EntropyTrainer

__all__ = ["DIVISIONS", "AuditedStep", "Auditor", "Details", "read", "summary", "write"]

TABLE_ELEMENTS = 2**24
"""The largest table of log-probabilities [tokens, vocabulary], 128 MiB in float64: before the step and
after it each audited token has its whole distribution in one."""


class Auditor(TrainerCallback):
    """Audits every ``every``-th optimizer step of a trainer, the first included.

    Args:
        trainer: a trainer on one process; distributed runs are refused (ValueError).
        every: distance between audited steps.
        on_audit: called with all audited steps so far after each.
        details: where tokens and kernels of the audited steps are kept; with None they are not.
    """

    def __init__(
        self,
        trainer: EntropyTrainer,
        *,
        every: int = 1,
        on_audit: Callable[[list[AuditedStep]], None] | None = None,
        earlier: list[AuditedStep] | None = None,
        details: Details | None = None,
    ):
        if every < 1:
            raise ValueError(f"audit every N-th step with N at least 1, got {every}")
        if trainer.accelerator.num_processes > 1:
            raise ValueError("an audit runs on one process: start it without a launcher")
        if trainer.temperature != 1:
            raise ValueError(
                f"an audit takes the model's logits for the policy's: train at temperature 1 instead of "
                f"{trainer.temperature}")
        self._trainer, self._every, self._on_audit = trainer, every, on_audit
        self._details = details
        self._snapshot: StepSnapshot | None = None
        self._accountant: Accountant | None = None
        self.steps = list(earlier or [])

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Find out whether the optimizer's step can be read before it is taken."""
        if self._accountant is not None:
            return  # training goes on
        try:
            readable(self._trainer.optimizer)
        except UnreadableStepError:
            reads: Literal["before", "after"] = "after"
        else:
            reads = "before"
        self._accountant = Accountant(
            self._trainer, every=self._every, reads=reads, sequences=self._rows,
            tokens=self._details is not None)
        self._accountant.is_published = False

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Forget the step before."""
        if self._accountant is not None:
            self._accountant.on_step_begin()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Keep the distributions that the step starts from; there are none in a step without rows."""
        if self._is_due() and any(bool(p.batch.mask.any()) for p in self._trainer.micro_batches):
            self._snapshot = StepSnapshot(self._trainer, self._rows, self._details)
            assert self._accountant is not None
            self._accountant.on_pre_optimizer_step()

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Evaluate the distributions again, and compare."""
        if self._snapshot is None:
            return
        assert self._accountant is not None
        self._accountant.on_optimizer_step()
        self.steps.append(self._snapshot.compare(self._accountant.current))
        self._snapshot = None
        if self._on_audit is not None:
            self._on_audit(self.steps)

    def _rows(self, lengths: torch.Tensor) -> torch.Tensor:
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        return _choose_rows(lengths, max(1, TABLE_ELEMENTS // model.config.get_text_config().vocab_size))

    def _is_due(self) -> bool:
        return self._trainer.state.global_step % self._every == 0


def _choose_rows(length: torch.Tensor, max_tokens: int) -> torch.Tensor:
    """Choose sequences with tokens, in order, that have at most ``max_tokens`` tokens together."""
    rows = torch.nonzero(length > 0)[:, 0]
    within = length[rows].cumsum(0) <= max_tokens
    if not bool(within.any()):
        raise ValueError(
            f"a completion of {int(length[rows[0]])} tokens is too long for an audit's table of "
            f"{max_tokens} tokens: lower max_new_tokens"
        )
    return rows[within]


DIVISIONS = ("parts", "by_rule", "by_answer")
"""The ways in which an audited step's account is divided."""


def summary(steps: list[AuditedStep]) -> dict[str, Any]:
    """Summarize how well the forecasts met the measured changes of steps and of single tokens.

    Returns:
        "steps" and "tokens": the forecasts of each against the measured changes. "divided": each of
        DIVISIONS, summed over the steps, nats; None where a step lacks it.
    """
    names = ("coefficients", "first_order", "exact", "measured")
    further: dict[str, Any] = {
        name: [getattr(step, name) for step in steps]
        for name in ("second_order", "entropy_gradient", "accounted")}
    of_steps = forecast.compare(
        *([getattr(step, name) for step in steps] for name in names), **further)
    of_tokens = forecast.compare(
        *(np.concatenate([step.by_token[name] for step in steps]) for name in names)
    )
    return {
        **{level: {**results.plain(found), "dominant": found.dominant}
           for level, found in (("steps", of_steps), ("tokens", of_tokens))},
        "divided": {name: _summed([getattr(step, name) for step in steps]) for name in DIVISIONS},
    }


def _summed(divisions: Sequence[dict[str, float] | None]) -> dict[str, float] | None:
    """Add up what each part did; a part that a step lacks did nothing there."""
    known = [division for division in divisions if division is not None]
    if len(known) < len(divisions):
        return None
    names = dict.fromkeys(name for division in known for name in division)
    return {name: math.fsum(division.get(name, 0.0) for division in known) for name in names}


def write(path: Path, steps: list[AuditedStep], provenance: dict[str, Any]) -> None:
    """Write audit.json: provenance, summary, and every audited step with its tokens."""
    results.write_json(
        path, {"provenance": provenance, "summary": summary(steps), "steps": results.plain(steps)}
    )


def read(path: Path) -> list[AuditedStep]:
    """Read the audited steps of an audit.json; there are none if there is no such file."""
    if not path.exists():
        return []
    found = results.read_json(path, {"steps": [{}]})
    try:
        return [AuditedStep(**step) for step in found["steps"]]
    except TypeError as error:  # a column that is missing, or one too many
        raise ValueError(f"{path} is damaged ({one_line(str(error))}): delete it and run again") from None
