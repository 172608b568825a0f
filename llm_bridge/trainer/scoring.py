"""Scores sampled rows, without gradient, under the policy that sampled them and the reference."""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from entropy_theory.token_batch import TokenBatch
from llm_bridge.forward import evaluation_mode
from llm_bridge.forward.images import cut
from llm_bridge.forward.policy_forward import COLUMNS, Forward, RouterLosses
from llm_bridge.head.token_statistics import TokenStatistics
from llm_bridge.running import faults

OF_THE_POLICY = frozenset(
    {"log_prob", "old_log_prob", "sampling_log_prob", "entropy", "clamped_entropy",
     "old_entropy"})
"""The names (`entropy_theory.reads`) that a rule may read and that need a forward pass. A ratio is not
among them where rows serve one step, as it is 1."""
MEASURED_ROWS = 8
"""The number of rows on which rounding is measured."""


class Scoring:
    """Computes statistics of the policy on sampled rows.

    Args:
        forward: the trainer's forward pass.
        batch_size: number of rows of one forward pass.
        precision: accelerate's mixed precision.
        allowed: the difference of two passes that counts as rounding, nats, root mean square. None:
            `faults.rounding`.
    """

    def __init__(
        self, forward: Forward, *, batch_size: int, precision: str, allowed: float | None = None
    ):
        self._forward, self._batch_size, self._precision = forward, batch_size, precision
        self._allowed = allowed
        self._rounding: dict[int, float] = {}
        self._known: dict[str, torch.Tensor] | None = None
        self._step: int | None = None

    def statistics(
        self, model: Any, columns: dict[str, Any], batch_size: int | None = None,
        router: RouterLosses | None = None,
    ) -> dict[str, torch.Tensor]:
        """Return ``log_prob``, ``entropy`` and, where the rule moves it, ``clamped_entropy``.

        ``router`` as in `Forward.statistics`.
        """
        size = batch_size or self._batch_size
        found = defaultdict(list)
        with torch.no_grad():
            for start in range(0, len(columns["prompt_ids"]), size):
                rows = cut(columns, slice(start, start + size), COLUMNS)
                statistics = self._forward.statistics(model, rows, router)
                found["log_prob"].append(statistics.log_prob)
                found["entropy"].append(statistics.entropy)
                if statistics.clamped_entropy is not None:
                    found["clamped_entropy"].append(statistics.clamped_entropy)
        return {name: torch.cat(parts) for name, parts in found.items()}

    def forget(self) -> None:
        """Forget the scores that were kept, before other rows are sampled."""
        self._known = None

    def keep(self, statistics: dict[str, torch.Tensor]) -> None:
        """Keep the scores of the rows that were just sampled, which TRL computed by our forward pass."""
        self._known = statistics

    @property
    def has_kept(self) -> bool:
        """Whether the rows that were just sampled are scored already."""
        return self._known is not None

    def score(self, model: Any, columns: dict[str, Any], *, step: int) -> None:
        """Add the columns of the policy that sampled: old_log_prob, entropy and clamped_entropy."""
        found = self.statistics(model, columns) if self._known is None else self._known
        self._known, self._step = None, step
        # Once: what trains on another policy does so from the start, while rounding grows with a policy.
        if not self._rounding and self.rounding(model) > faults.TELLING:
            measured = self.difference_alone(model, columns, found["log_prob"])
            self._rounding[step] = faults.with_a_flip(
                measured, model, int(columns["mask"][:MEASURED_ROWS].sum()))
        columns["old_log_prob"] = found.pop("log_prob")
        columns.update(found)

    def check_ratio(
        self, batch: TokenBatch, columns: dict[str, Any], model: Any
    ) -> TokenBatch:
        """Check ratios as `faults.check_ratio`, at a step that starts from the policy that scored.

        Returns the batch with ratios of exactly 1 there, where only rounding differs. A clip or a
        penalty with an edge at 1 would act on rounding, differently for every cut into
        micro-batches.

        Args:
            batch: as there.
            columns: the rows', with those of `score` if they were scored.
            model: the policy.
        """
        if batch.step == self._step and "old_log_prob" in columns:
            measured = self._rounding.get(batch.step)
            faults.check_ratio(batch, self.rounding(model, measured), step=batch.step)
            return batch.replace(old_log_prob=batch.log_prob.detach())
        return batch

    def rounding(self, model: Any, measured: float | None = None) -> float:
        """By how much log-probs of two passes may differ, nats: what is allowed, or `faults.rounding`."""
        if self._allowed is not None:
            return self._allowed
        return faults.rounding(model, self._precision, measured)

    def difference_alone(
        self, model: Any, columns: dict[str, Any], log_prob: torch.Tensor
    ) -> float:
        """Score the first rows again, each alone and without its padding; return how far scores differ.

        Under sharding each call of the model is a collective: ranks have equally many rows, and each row
        is one call, with tokens or without.

        Args:
            model: the policy.
            columns: the rows'.
            log_prob: [rows, positions], their scores.

        Returns:
            The root mean square over tokens, nats; infinity without a token.
        """
        differences, counted = [], columns.get("mask", columns["completion_mask"]).bool()
        for row in range(min(MEASURED_ROWS, len(log_prob))):
            alone = cut(columns, slice(row, row + 1), COLUMNS)
            for kind in ("prompt", "completion"):
                place = alone[f"{kind}_mask"][0].nonzero()
                present = slice(int(place.min()), int(place.max()) + 1) if len(place) else slice(None)
                for part in ("ids", "mask"):
                    alone[f"{kind}_{part}"] = alone[f"{kind}_{part}"][:, present]
            again = self.statistics(model, alone)["log_prob"][0]
            differences.append((again - log_prob[row, present])[counted[row, present]])
        every = torch.cat(differences)
        return float(every.square().mean().sqrt()) if len(every) else math.inf


def unscored(mask: torch.Tensor, model: Any) -> dict[str, torch.Tensor]:
    """Return zeros, so that all ratios are 1, in place of the statistics that a rule does not read."""
    wide = any(weight.dtype == torch.float64 for weight in model.parameters())
    zeros = torch.zeros(mask.shape, dtype=torch.float64 if wide else torch.float32, device=mask.device)
    return dict.fromkeys(("log_prob", "entropy", "clamped_entropy"), zeros)


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
        first = cut(columns, slice(MEASURED_ROWS), (*COLUMNS, "mask"))
        self._compare(first, found[0].log_prob.detach()[:MEASURED_ROWS], "the pass that is trained",
                      seen.drawing)

    @property
    def _name(self) -> str:
        return type(self._trainer.generating_model).__name__

    def _compare(
        self, columns: dict[str, Any], log_prob: torch.Tensor, what: str, drawing: set[str]
    ) -> None:
        trainer = self._trainer
        largest = trainer.scoring.rounding(trainer.model)
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
            "its rows or their padding act on one another, or a cached past differs from the "
            "prompt. Set gradient_checkpointing=False, or switch off what acts across rows, such "
            "as an expert's capacity. Without position_ids in the model, give prompts of one "
            "length. If it is rounding after all, give EntropyTrainer a larger rounding")
        raise ValueError(
            f"the trained policy must be the one that draws, but {what} and a row-by-row pass of "
            f"{self._name} in evaluation mode differ. The root mean square of the first rows is "
            f"{found:.3g} nats per token. Rounding explains {largest:.2g}. A reason: {why}")


def _kinds(names: set[str]) -> str:
    return ", ".join(sorted(names))
