"""Accounts for the steps of any loss of TRL's, from what its backward pass gives to each token."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from llm_bridge.accounting.step_accountant import Accounted
from llm_bridge.accounting.step_accounts import Pass, StepAccount, StepAccounts

BETTER, WORSE = "better", "worse"
"""Answers whose advantage is positive, and those whose is negative."""


def quarter(lengths: torch.Tensor) -> torch.Tensor:
    """Choose the first quarter of the rows, at least one."""
    return torch.arange(-(-len(lengths) // 4))


class ScoredAccounts(StepAccounts):
    """The accounts of a watched trainer's steps, whose rows are those that its loss scored."""

    def __init__(self, trainer: Any, seen: Callable[[], Iterable[Any]], **options: Any):
        super().__init__(trainer, **options)
        self._seen_parts = seen

    def passes(self) -> list[Pass]:
        """Return the micro-batches of the step."""
        return [
            # The gradients hold all weights and scales; an objective is minus a loss.
            Pass(batch=as_batch([part]), statistics=call, router=router,
                 moved={name: -part[f"by_{name}"] for name in ("log_prob", "entropy")})
            for part, call, router in self._seen_parts()
        ]

    def _completed(self, accounted: Accounted, found: StepAccount) -> StepAccount:
        """Add up the tokens of all ranks by the sign of their advantage, nats."""
        if accounted.tokens is None:
            return found
        signs = [torch.sign(part["advantage"]) for part, *_ in self._seen_parts()]
        return dataclasses.replace(found, tokens=accounted.tokens, by_answer=self._of_all_ranks({
            name: sum(float(effect[sign == wanted].sum(dtype=torch.float64))
                      for effect, sign in zip(accounted.tokens.by_token, signs, strict=True))
            for name, wanted in ((BETTER, 1), (WORSE, -1))}))


def as_batch(parts: list[dict[str, torch.Tensor]]) -> TokenBatch:
    """Join the micro-batches of a step: a batch's own columns, and all others as prepared columns."""
    width = max(part["mask"].shape[1] for part in parts)

    def column(name: str) -> torch.Tensor:
        padded = [torch.nn.functional.pad(p[name], (0, width - p[name].shape[1])) for p in parts]
        return torch.cat(padded)

    # In one order on all ranks, which gather column after column.
    names = sorted(set.intersection(*(set(part) for part in parts)))
    columns = {name: column(name) for name in names}
    log_prob = columns.pop("log_prob")
    advantage = columns.pop("advantage")
    return TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob, reward=advantage, advantage=advantage,
        mask=columns.pop("mask"), weight=torch.ones_like(log_prob), entropy=columns.pop("entropy"),
        state=columns.pop("state", None), prepared=columns,
    )
