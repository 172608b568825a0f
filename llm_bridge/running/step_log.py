"""Writes metrics.jsonl, one line for each optimizer step, and shows progress.

A process may be killed at any time and resumed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from rich import progress
from rich.console import Console

from entropy_theory import advantages, forecast
from entropy_theory.support import results
from entropy_theory.token_batch import (
    TokenBatch,
    masked_sum,
    mean_entropy,
    mean_over_sequences,
    sequence_weight,
)
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.selection import token_covariance


class StepLog:
    """An append-only JSONL file; a broken last line, which a killed writer may leave, is ignored."""

    def __init__(self, path: Path):
        self.path = path

    def append(self, record: dict[str, Any]) -> None:
        """Add one line. Raises OSError, naming the file, when it cannot be written."""
        line = json.dumps(results.plain(record), allow_nan=False) + "\n"
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise OSError(
                f"cannot write {self.path} ({error.strerror}): free some space or choose another "
                "output directory"
            ) from error

    def read(self) -> list[dict[str, Any]]:
        """Return all whole lines, in order."""
        if not self.path.exists():
            return []
        records = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return records

    def keep_until(self, step: int) -> None:
        """Drop the lines of later steps, which a resumed run is about to compute again."""
        kept = [record for record in self.read() if record["step"] <= step]
        results.write_text(self.path, "".join(json.dumps(record) + "\n" for record in kept))


class StepProgress:
    """Shows step, entropy, reward and seconds a step: a bar on a terminal, ten lines in a file."""

    def __init__(self, steps: int, *, title: str, done: int = 0, shown: bool = True):
        self._steps, self._title = steps, title
        self._every, self._shown = max(1, steps // 10), shown
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[values]}"),
            console=Console(file=sys.stderr),
        )
        self._task = self._bar.add_task(title, total=steps, completed=done, values="")

    def __enter__(self) -> StepProgress:
        if self._shown and self._bar.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, record: dict[str, Any]) -> None:
        """Show a step's record."""
        step = record["step"]
        entropy, reward = (
            "-" if record[name] is None else f"{record[name]:.3f}" for name in ("entropy", "reward")
        )
        values = f"entropy {entropy}  reward {reward}  {record['seconds']:.2f} s/step"
        if self._bar.console.is_terminal:
            self._bar.update(self._task, completed=step, values=values)
        elif step % self._every == 0 or step == self._steps:
            print(f"{self._title}: step {step}/{self._steps}  {values}", file=sys.stderr, flush=True)


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
    groups: Any = batch.group
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
    group, answer = groups[present, 0], batch.prepared["answer"][present, 0]
    pairs = torch.unique(torch.stack([group, answer]), dim=1).shape[1]
    prompts, place = torch.unique(group, return_inverse=True)
    reward: Any = batch.reward.expand(batch.mask.shape)[present, 0]
    best = reward.new_full((len(prompts),), -torch.inf).scatter_reduce(0, place, reward, "amax")
    covariance = token_covariance(batch, batch.log_prob, advantages.group_normalized(batch, rows))
    found = {
        "reward": float((weight * batch.reward[:, :1]).sum() / weight.sum()),
        "entropy": float(mean_entropy(batch)),
        "entropy_token_mean": float(masked_sum(entropy, rows) / tokens),
        "forecast_entropy_change": change,
        "distinct_answers": pairs / len(prompts),
        "tempered_positive_share": None,
        "groups_without_signal": float(advantages.equal_reward_groups(batch, rows)),
        "clipped_fraction": None,
        "mean_length": float(rows.sum() / present.sum()),
        "usable_fraction": float(present.sum()) / ordinary,
        "best_reward": float(best.mean()),
        "covariance": float(masked_sum(batch.weight * covariance, rows) / masked_sum(batch.weight, rows)),
    }
    if batch.clamped_entropy is not None:
        found["clamped_entropy"] = float(mean_over_sequences(batch, "clamped_entropy"))
    if batch.reference_log_prob is not None:
        surplus = batch.log_prob - batch.reference_log_prob
        found["reference_kl"] = float(masked_sum(surplus, rows) / tokens)
    return {**found, **own}
