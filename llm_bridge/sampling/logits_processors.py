"""Puts logits processors into a model's generation: a target's, and one that records what was drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList

from entropy_theory import policy
from llm_bridge.data import private_names

BuildProcessors = Callable[..., LogitsProcessorList]


@contextlib.contextmanager
def applied(model: Any, processors: Sequence[Any]) -> Iterator[None]:
    """Apply processors to all that the model generates inside the block, before its temperature.

    A model's configuration cannot hold any.

    Args:
        model: a model of transformers, not wrapped by data parallelism or an adapter.
        processors: callables (tokens [rows, length], logits [rows, vocabulary]) -> logits.
    """
    if not processors:
        yield
        return
    def around(build: BuildProcessors) -> BuildProcessors:
        def extended(*arguments: Any, logits_processor: Any = None, **options: Any) -> Any:
            both = LogitsProcessorList([*(logits_processor or []), *processors])
            return build(*arguments, logits_processor=both, **options)

        return extended

    with _around(model, around):
        yield


@contextlib.contextmanager
def recorded(model: Any) -> Iterator[LastProcessor]:
    """Record what the one call of ``generate`` inside the block draws from.

    Args:
        model: as `applied`.

    Yields:
        The recorder, to be asked once the call has returned.
    """
    recorder = LastProcessor()

    def around(build: BuildProcessors) -> BuildProcessors:
        # After temperature and cuts, which transformers puts behind all processors that it is given.
        return lambda *arguments, **more: LogitsProcessorList([*build(*arguments, **more), recorder])

    with _around(model, around):
        yield recorder


@contextlib.contextmanager
def _around(model: Any, around: Callable[[BuildProcessors], BuildProcessors]) -> Iterator[None]:
    private_names.go_around_processors(model, around)
    try:
        yield
    finally:
        private_names.leave_processors(model)


def in_use(model: Any) -> bool:
    """Whether processors are being applied to what the model generates."""
    return private_names.has_other_processors(model)


class Recorder(LogitsProcessor):
    """Records, for each drawn token, its entries in tables over the vocabulary.

    A token is known at the step after the one that draws it, so one step's tables are held.
    """

    def __init__(self) -> None:
        self._tables: dict[str, torch.Tensor] = {}
        self._found: dict[str, list[torch.Tensor]] = {}

    def hold(self, input_ids: torch.Tensor, **tables: torch.Tensor) -> None:
        """Take tables [rows, vocabulary] of the coming step, and the last tokens of ``input_ids``."""
        if self._tables:
            self.drawn(input_ids[:, -1])
        self._tables = tables

    def drawn(self, token_ids: torch.Tensor) -> None:
        """Record the tokens [rows] that were drawn from the tables at hand."""
        for name, table in self._tables.items():
            self._found.setdefault(name, []).append(table.gather(-1, token_ids[:, None])[:, 0])
        self._tables = {}

    def columns(self) -> dict[str, torch.Tensor]:
        """Return the entries of all recorded tokens, [rows, positions] for each kind of table."""
        return {name: torch.stack(steps, dim=-1) for name, steps in self._found.items()}


class LastProcessor(Recorder):
    """Records log-probabilities under the distribution that is left after all other processors."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self.hold(input_ids, log_prob=policy.log_softmax(scores.float()))
        return scores

    def of(self, completions: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-probability of each token of the generated completions.

        Args:
            completions: token ids, row by row, without anything behind their end.

        Raises:
            ValueError: a generation that did not pass its logits through here at each step.
        """
        longest = max(map(len, completions))
        table = self._tables.get("log_prob")
        steps = len(self._found.get("log_prob", ()))
        if table is not None and steps < longest:
            # Rows that ended before have anything here: it is cut away.
            last = [row[-1] if len(row) == longest else 0 for row in completions]
            self.drawn(torch.tensor(last, device=table.device))
            steps += 1
        found = self.columns()["log_prob"] if steps else torch.empty(0, 0)
        if len(found) != len(completions) or steps < longest:
            raise ValueError(
                "the model generates without the logits processors of transformers: got "
                f"log-probabilities for {tuple(found.shape)} rows and tokens, where "
                f"{len(completions)} rows of up to {longest} were drawn. Take a rule that does not read "
                "sampling_log_prob, or samples that are not cut")
        return [row[: len(ids)] for row, ids in zip(found.tolist(), completions, strict=True)]
