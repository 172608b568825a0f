"""The change of the entropy of whole responses, from the samples of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch


def response_change(
    parts: Sequence[TokenBatch], log_prob: Sequence[torch.Tensor], accelerator: Any
) -> float | None:
    """Change of the entropy of whole responses to first order, nats, averaged over the step's prompts.

    -Cov(log pi(y), change of log pi(y)) over a prompt's ordinary samples, with G / (G - 1) for the mean
    that is theirs (the response identity): the change of the entropy to go, and of where the policy
    goes.

    It is biased, since the samples are those that the step was taken on: a sample with a positive
    advantage is itself made more probable, which a fresh draw would see only where it met it. With
    independent logits a step of rate eta moves log pi(y_i) through itself by eta A_i / G x |e_y - pi|^2,
    which adds -(eta / G) Cov(log pi(y), A |e_y - pi|^2). The bias falls as 1 / G and does not as
    answers grow many, while the change itself does: in bandits of random logits, a quarter of the
    answers right, it was .4 of the change with 5 answers and G = 8, 11 times the change with 1,000, and
    still once the change at G = 128. Where parameters are shared it is smaller, as a sample's kernel
    with itself is beside that with all others. So this is a number for large groups, or for few or
    similar answers.
    """
    columns: list[list[torch.Tensor]] = [[], [], [], []]
    for batch, after in zip(parts, log_prob, strict=True):
        rows: Any = batch.is_ordinary
        group: Any = batch.group
        before: Any = batch.log_prob
        new = torch.where(rows, after.double() - before.double(), 0.0).sum(-1)
        for column, values in zip(columns, (
            group[:, 0], torch.where(rows, before.double(), 0.0).sum(-1), new, rows.any(-1),
        ), strict=True):
            column.append(values)
    whole = [torch.cat(column) for column in columns]
    if accelerator.num_processes > 1:
        whole = [accelerator.gather(column) for column in whole]
    kept = whole[3]
    group, before, change = (column[kept] for column in whole[:3])
    ids, place = torch.unique(group, return_inverse=True)
    count = torch.bincount(place, minlength=len(ids)).double()

    def mean(values: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(count).index_add(0, place, values) / count

    covariance = mean((before - mean(before)[place]) * (change - mean(change)[place]))
    several = count > 1
    if not bool(several.any()):
        return None
    return float(-(covariance * count / (count - 1))[several].mean())
