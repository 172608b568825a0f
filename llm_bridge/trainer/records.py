"""Records every optimizer step, and checks it before it is taken."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from entropy_theory import advantages, forecast
from entropy_theory.token_batch import (
    TokenBatch,
    masked_sum,
    mean_entropy,
    mean_over_sequences,
    sequence_weight,
)
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.rule import strength
from entropy_theory.update_rules.selection import token_covariance
from llm_bridge.accounting.optimizer_step import learning_rate
from llm_bridge.data import private_names
from llm_bridge.objective.batches import OF_A_SEQUENCE, gathered, map_columns
from llm_bridge.objective.micro_batch import MicroBatch, contributions
from llm_bridge.running import faults
from llm_bridge.trainer import controllers, resuming


class StepRecords(TrainerCallback):
    """Puts every optimizer step of a trainer into its log.

    Args:
        trainer: the trainer, whose ``micro_batches`` are dropped once a step is recorded.
        on_step: called on the main process with each step's record.
    """

    def __init__(self, trainer: Any, on_step: Callable[[dict[str, Any]], None] | None):
        self._trainer, self._on_step = trainer, on_step
        self._started, self._learning_rate = time.perf_counter(), trainer.args.learning_rate

    def on_train_begin(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Go on where a resumed run was interrupted: in its log, and in the order of its prompts."""
        if self._trainer.log_to_restore is not None:
            private_names.restore_log(self._trainer, self._trainer.log_to_restore)
        if state.global_step:
            resuming.skip_epochs(self._trainer, int(state.epoch))

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Note that the first micro-batch of a step is about to be drawn."""
        self._started = time.perf_counter()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Refuse the step about to be taken if its gradient is not finite."""
        trainer = self._trainer
        self._learning_rate = learning_rate(trainer.optimizer)
        faults.check_gradient(
            trainer.model, trainer.accelerator, folder=Path(trainer.args.output_dir),
            step=trainer.state.global_step, rows=[part.inputs for part in trainer.micro_batches],
        )

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Record the step that was just taken."""
        trainer = self._trainer
        parts, trainer.micro_batches = trainer.micro_batches, []
        # A step on the model's logits z moves those of the policy, z / T, by 1 / T^2 of a step on them.
        rate = self._learning_rate / trainer.temperature**2
        record = {
            "step": trainer.state.global_step,
            **measured(parts, trainer.rule, rate, trainer.accelerator),
            "temperature": temperature(parts),
            # The step that was just taken began one earlier.
            "coefficient": coefficient(
                trainer.rule, trainer.coefficient_controller, trainer.state.global_step - 1),
            **controllers.report(trainer.controller),
            **controllers.report(trainer.coefficient_controller),
            "learning_rate": self._learning_rate,
            "skipped": faults.skipped(trainer.accelerator),
            "seconds": time.perf_counter() - self._started,
        }
        if trainer.entropy_account is not None:
            record |= trainer.entropy_account.metrics()
        for name, value in record.items():
            if value is not None and name not in ("step", "learning_rate"):
                private_names.training_log(trainer)[name].append(value)
        if self._on_step is not None and trainer.accelerator.is_main_process:
            self._on_step(record)


def measured(
    parts: Sequence[MicroBatch], rule: UpdateRule, learning_rate: float, accelerator: Any
) -> dict[str, float | None]:
    """Compute `step_metrics` of an optimizer step from the rows of its micro-batches on all ranks."""
    batch = map_columns(lambda *columns: torch.cat(columns), *(part.batch for part in parts))
    answer = torch.cat([part.inputs["answer"] for part in parts])
    extra = {"answer": answer[:, None].expand(batch.mask.shape)}
    forecasts = [found for part in parts if (found := contributions(part)) is not None]
    if forecasts:
        extra["forecast"] = torch.cat(forecasts)
    batch = gathered(
        accelerator, batch.with_prepared(**extra), narrow=(*OF_A_SEQUENCE, "answer"))
    # Averages of a few hundred float32 numbers should not show rounding.
    batch = map_columns(lambda c: c.double() if c.is_floating_point() else c, batch)
    return step_metrics(batch, rule, learning_rate)


def temperature(parts: Sequence[MicroBatch]) -> float | None:
    """The temperature of the second batch; None where the step has none of its rows."""
    found = torch.cat(
        [part.inputs["sampling_temperature"][part.inputs["tempered"]] for part in parts])
    return float(found[0]) if len(found) else None


def coefficient(rule: UpdateRule, controller: Any | None, step: int) -> float | None:
    """The rule's coefficient for a log: the adapted one, else its option's; None if it has none."""
    found = strength(rule, step) if controller is None else controller.coefficient
    return None if found is None else float(found)


ALWAYS = (
    "reward", "entropy", "entropy_token_mean", "forecast_entropy_change", "distinct_answers",
    "tempered_positive_share", "groups_without_signal", "clipped_fraction", "mean_length",
    "usable_fraction", "best_reward", "covariance",
)
"""The metrics that every record has; a metric is None where a step has no row to measure it on."""


def step_metrics(
    batch: TokenBatch, rule: UpdateRule, learning_rate: float
) -> dict[str, float | None]:
    """Compute what metrics.jsonl says of an optimizer step, from all its rows.

    Reward and entropies are those of the ordinary rows, under the policy that the step started from
    (that of its first forward pass, with several steps a generation). The rule's own metrics follow,
    such as the share of tokens that it selected. ``usable_fraction`` is the share of the completions
    that take part; where it is 0 the step's gradient is zero, and nothing else is known of it.
    ``best_reward`` is the mean over prompts of the best reward among a prompt's samples: for rewards 0
    and 1, pass@G. ``covariance`` is that of log-probability and group-normalized advantage over tokens
    (Cui et al., Eq. 10), whatever the rule's own advantages are.

    Args:
        batch: the rows, with prepared columns "answer" and, if the rule has one, "forecast".
    """
    entropy: Any = batch.entropy
    rows = batch.is_ordinary
    if not bool(batch.mask.any()):
        return dict.fromkeys(ALWAYS) | {"usable_fraction": 0.0}
    if not bool(rows.any()):
        # A small step of a generation may hold rows of the second batch only.
        return dict.fromkeys(ALWAYS) | {k: float(v) for k, v in rule.metrics(batch).items()}
    weight = sequence_weight(batch, rows)
    tokens = masked_sum(torch.ones_like(entropy), rows)
    change = None
    if "forecast" in batch.prepared:
        length = rows.sum(-1, keepdim=True).clamp(min=1)
        measure = torch.where(rows, weight / weight.sum() / length, 0.0)
        change = learning_rate * float(
            forecast.mean_entropy_forecast(batch.state, batch.prepared["forecast"], measure)
        )
    own = {name: float(value) for name, value in rule.metrics(batch).items()}
    present = rows.any(-1)
    ordinary = len(present) if batch.tempered is None else int((~batch.tempered[:, 0]).sum())
    covariance = token_covariance(batch, batch.log_prob, advantages.group_normalized(batch, rows))
    found = {
        "reward": float((weight * batch.reward[:, :1]).sum() / weight.sum()),
        "entropy": float(mean_entropy(batch)),
        "entropy_token_mean": float(masked_sum(entropy, rows) / tokens),
        "forecast_entropy_change": change,
        **_of_prompts(batch, present),
        "tempered_positive_share": None,
        "groups_without_signal": float(advantages.equal_reward_groups(batch, rows)),
        "clipped_fraction": None,
        "mean_length": float(rows.sum() / present.sum()),
        "usable_fraction": float(present.sum()) / ordinary,
        "covariance": float(masked_sum(batch.weight * covariance, rows) / masked_sum(batch.weight, rows)),
    }
    if batch.clamped_entropy is not None:
        found["clamped_entropy"] = float(mean_over_sequences(batch, "clamped_entropy"))
    if batch.reference_log_prob is not None:
        surplus = batch.log_prob - batch.reference_log_prob
        found["reference_kl"] = float(masked_sum(surplus, rows) / tokens)
    return {**found, **own}


def _of_prompts(batch: TokenBatch, present: torch.Tensor) -> dict[str, float | None]:
    """Return metrics of prompts and their samples, of the rows that have tokens."""
    group: Any = batch.group
    group, answer = group[present, 0], batch.prepared["answer"][present, 0]
    pairs = torch.unique(torch.stack([group, answer]), dim=1).shape[1]
    prompts, place = torch.unique(group, return_inverse=True)
    reward: Any = batch.reward.expand(batch.mask.shape)[present, 0]
    best = reward.new_full((len(prompts),), -torch.inf).scatter_reduce(0, place, reward, "amax")
    return {"distinct_answers": pairs / len(prompts), "best_reward": float(best.mean())}
