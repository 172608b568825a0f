"""Checks, once a run, that the policy that is trained is the one that draws, whatever the model is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from llm_bridge.forward import evaluation_mode
from llm_bridge.forward.policy_forward import COLUMNS
from llm_bridge.head.token_statistics import TokenStatistics
from llm_bridge.running import faults
from llm_bridge.trainer.scoring import MEASURED_ROWS


class SamePolicy:
    """Compares the first rows of a run that are drawn, and those that are trained, with one more pass.

    That pass is in evaluation mode and without gradient, and each row is alone in it.

    Args:
        trainer: an EntropyTrainer, whose scoring is in place when rows come.
    """

    def __init__(self, trainer: Any):
        self._trainer = trainer
        self.looks_at_draws = self._looks_at_training = False

    def begin(self) -> None:
        """Check the next rows that come: a run begins."""
        self.looks_at_draws = self._looks_at_training = True

    def check_drawn(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]],
        log_prob: Sequence[Sequence[float]], drawing: set[str],
    ) -> None:
        """Raise ValueError unless the sampler drew from what a forward pass computes.

        Args:
            prompts, completions: token ids.
            log_prob: of the completions' tokens, as they were drawn.
            drawing: kinds of modules that drew random numbers.
        """
        self.looks_at_draws = False
        device = self._trainer.accelerator.device

        def padded(rows: Sequence[Sequence[float]], side: str, dtype: torch.dtype) -> torch.Tensor:
            return pad_sequence([torch.tensor(row, dtype=dtype) for row in rows[:MEASURED_ROWS]],
                                batch_first=True, padding_side=side).to(device)

        columns = {}
        for kind, rows, side in (("prompt", prompts, "left"), ("completion", completions, "right")):
            columns[f"{kind}_ids"] = padded(rows, side, torch.long)
            columns[f"{kind}_mask"] = padded([[1] * len(row) for row in rows], side, torch.long)
        self._compare(columns, padded(log_prob, "right", torch.float64), "the sampler", drawing)

    @contextlib.contextmanager
    def watching(self, columns: dict[str, Any]) -> Iterator[list[TokenStatistics]]:
        """Check the first rows of the pass that is trained, which is taken within it.

        Args:
            columns: of the rows, with the trainer's.

        Yields:
            A list, to be given what the pass says of the tokens.

        Raises:
            ValueError: it draws random numbers, gives parts of the model no gradient, or says something
                else than evaluation mode.
        """
        if not self._looks_at_training:
            yield []
            return
        self._looks_at_training = False
        found: list[TokenStatistics] = []
        # A graph that is compiled around hooks would be another one.
        parts = [] if self._trainer.args.torch_compile else list(self._trainer.model.modules())
        with evaluation_mode.watched(parts) as seen:
            yield found
        if seen.cut_off:
            raise ValueError(
                f"{_kinds(seen.cut_off)} of {self._name} would not be trained: in evaluation mode, in "
                "which completions are drawn, its forward pass calls them without gradients. Let it "
                "record them there too, or freeze their weights (requires_grad_(False))")
        first = {name: columns[name][:MEASURED_ROWS] for name in (*COLUMNS, "mask")}
        self._compare(first, found[0].log_prob.detach()[:MEASURED_ROWS], "the pass that is trained",
                      seen.drawing)

    @property
    def _name(self) -> str:
        return type(self._trainer.generating_model).__name__

    def _compare(
        self, columns: dict[str, Any], log_prob: torch.Tensor, what: str, drawing: set[str]
    ) -> None:
        trainer = self._trainer
        largest = faults.rounding(trainer.model, trainer.accelerator.mixed_precision)
        # However little it is, noise is no rounding.
        is_noisy = bool(drawing) and not torch.equal(*(
            trainer.scoring.statistics(trainer.model, columns)["log_prob"] for _ in range(2)))
        training = trainer.model.training
        trainer.model.eval()
        try:
            found = trainer.scoring.difference_alone(trainer.model, columns, log_prob)
        finally:
            trainer.model.train(training)
        if not is_noisy and not largest < found < torch.inf:
            return
        why = (
            f"{_kinds(drawing)} draw random numbers. Set their rates to 0 in the model's config, or let "
            "them draw none after eval()" if drawing else
            "its rows or their padding act on one another, or a past is not what was read. Give prompts "
            "of one length where the model knows no position_ids, set gradient_checkpointing=False, or "
            "switch off what acts across rows, such as an expert's capacity")
        raise ValueError(
            f"the policy that is trained must be the one that draws, but {what} and a pass of "
            f"{self._name} in evaluation mode, row by row, differ by {found:.3g} nats a token (root mean "
            f"square of the first rows), where rounding explains {largest:.2g}: {why}")


def _kinds(names: set[str]) -> str:
    return ", ".join(sorted(names))
