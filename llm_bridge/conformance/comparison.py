"""Compares a rule with an engine's function on random batches: the largest relative gap."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from entropy_theory.update_rules import rule_options
from llm_bridge.conformance.batches import Batch, random_batch

EQUAL = 1e-10
"""The largest gap of functions that are called equal. In float64 a coefficient is a handful of factors,
and a mean over a batch has some hundred terms: rounding is below 1e-13."""
BATCHES = 12
Call = Callable[..., torch.Tensor]
Options = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """An engine's function with options, and the rule that is meant to be the same."""

    function: str
    """The engine's name for it; of a trainer's loss, the type."""
    call: Call
    """From a batch, ``function`` and ``options`` to the loss, or to advantages [sequences, positions]."""
    rule: Options
    """The rule's table (`rule_options.from_table`)."""
    options: Options = field(default_factory=dict)
    """The engine's options that are not at its defaults."""
    drawn: Options = field(default_factory=dict)
    """Options of `random_batch`."""
    share: Call | None = None
    """Function of a batch and ``options`` that returns each token's weight in the engine's mean,
    where the rule's own normalization is not compared. None: the rule has the engine's
    normalization."""
    departure: str = ""
    """The key of what differs in `departures`; "" where nothing does."""
    of_advantages: bool = False
    """Whether ``call`` returns advantages."""

    @property
    def subject(self) -> str:
        """The compared function, named as in engines' registries: "loss NAME" or "advantages NAME"."""
        return f"{'advantages' if self.of_advantages else 'loss'} {self.function}"


@contextlib.contextmanager
def in_float64() -> Iterator[None]:
    """Have engines make float64 columns, where they leave the precision to torch."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def gap(case: Case, batches: int = BATCHES, rule: Options | None = None) -> float:
    """Return the largest difference relative to the largest number of either, over random batches.

    Losses are compared by their gradients at the log-probabilities and entropies of the tokens.

    Args:
        case: what is compared.
        batches: how many batches are drawn.
        rule: the table of another rule in place of the case's.

    Raises:
        ValueError: the engine's function is not finite, or is 0 everywhere on a quarter of the batches,
            on which nothing would be compared.
    """
    worst, silent = 0.0, 0
    with in_float64(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # engines warn as they are imported
        for seed in range(batches):
            batch = random_batch(seed, **case.drawn)
            expected, found = _theirs(case, batch), _ours(case, batch, rule or case.rule)
            size, largest = (max(float(column.abs().max()) for column in columns)
                             for columns in (expected, (*found, *expected)))
            if not size < float("inf"):
                raise ValueError(f"{case.function} is not finite on batch {seed}")
            silent += size == 0
            worst = max(worst, *(float((own - other).abs().max()) / max(largest, 1e-300)
                                 for own, other in zip(found, expected, strict=True)))
    if silent > batches / 4:
        raise ValueError(f"{case.function} is 0 everywhere on {silent} of {batches} batches")
    return worst


def _theirs(case: Case, batch: Batch) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    found = case.call(batch, case.function, dict(case.options))
    if case.of_advantages:
        return (torch.where(batch.mask, found, 0.0),)
    gradients = torch.autograd.grad(found, (batch.log_prob, batch.entropy), allow_unused=True)
    return tuple(torch.zeros_like(batch.log_prob) if each is None else each for each in gradients)


def _ours(case: Case, batch: Batch, table: Options) -> tuple[torch.Tensor, ...]:
    rule = rule_options.from_table(table)
    columns = batch.token_batch(with_advantage=not case.of_advantages)
    if case.of_advantages:
        return (torch.where(batch.mask, rule.advantages(columns), 0.0),)
    columns = rule.prepare(columns)
    share = columns.weight * batch.mask if case.share is None else case.share(batch, dict(case.options))
    term = rule.state_terms(columns).get("entropy", torch.zeros_like(share))
    return -share * rule.scores(columns), -share * torch.where(batch.mask, term, 0.0)


def mean_share(mean: Callable[[torch.Tensor], torch.Tensor], batch: Batch) -> torch.Tensor:
    """Return the weight that ``mean``, linear in a column, gives each token: [sequences, positions]."""
    column = torch.ones(batch.mask.shape, requires_grad=True)
    return torch.autograd.grad(mean(column), column)[0]
