"""The input of a sampler, a batch of prompts, and its output, the tokens drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from llm_bridge.forward import fused_forward
from llm_bridge.head.per_token import LogitMap
from llm_bridge.head.token_statistics import TokenStatistics, from_logits

HELD_LOGITS = 2**28
"""The number of logits of a pass over a model whose logits must be held: 1 GiB in float32, or one row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptBatch:
    """Prompts to continue.

    Attributes:
        ids: [prompts, width] integers, padded on the left, on the model's device.
        mask: the same shape, 0 on padding.
        copies: number of completions of each prompt; rows are all copies of a prompt, then the next.
        temperature: T, above 0.
        max_new_tokens: largest number of tokens of a completion.
        stop_ids: tokens that end a completion; they belong to it.
        pad_id: token that fills the positions after the end.
        length: largest number of positions that prompt and completion take together.
        seed: seed for samplers that do not draw from torch's global random state.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    copies: int
    temperature: float
    max_new_tokens: int
    stop_ids: list[int]
    pad_id: int
    length: int
    seed: int

    def rows(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (ids, mask), each [prompts x copies, width]."""
        return tuple(  # type: ignore[return-value]
            column.repeat_interleave(self.copies, dim=0) for column in (self.ids, self.mask)
        )

    def plain_prompts(self) -> list[list[int]]:
        """Return the prompts' tokens without padding."""
        return [row[keep.bool()].tolist() for row, keep in zip(self.ids, self.mask, strict=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """The tokens drawn and their statistics; whatever follows a stop token is meaningless.

    Attributes:
        ids: [rows, positions].
        log_prob, sampling_log_prob, entropy: the same shape, nats, under pi, under pi^T, of pi; None
            if they are still to be computed (`Scorer`).
    """

    ids: torch.Tensor
    log_prob: torch.Tensor | None = None
    sampling_log_prob: torch.Tensor | None = None
    entropy: torch.Tensor | None = None


def positions(mask: torch.Tensor) -> torch.Tensor:
    """Return positions, counted from the first token that is no padding: [rows, positions]."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


def padded(rows: list[list[int]], pad_id: int, device: torch.device) -> torch.Tensor:
    """Return lists of tokens as one tensor [rows, longest], filled on the right."""
    width = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (width - len(row)) for row in rows], device=device)


class Scorer:
    """Computes statistics of drawn tokens in teacher-forced passes, without logits where it can."""

    def __init__(self, model: Any):
        self._model = model
        self._trials = fused_forward.Trials()

    def score(
        self, prompts: tuple[torch.Tensor, torch.Tensor], token_ids: torch.Tensor, mask: torch.Tensor,
        temperature: float, batch_size: int,
    ) -> Tokens:
        """Score tokens [rows, positions] after prompts (ids, mask), ``batch_size`` rows a pass."""
        short = self._call(*(column[:1] for column in prompts), token_ids[:1, :2], mask[:1, :2])
        logit_map = self._trials(self._model, short, (1, min(2, mask.shape[1])))
        size = batch_size
        if logit_map is None:
            vocabulary = self._model.config.get_text_config().vocab_size
            size = max(1, min(size, HELD_LOGITS // (token_ids.shape[1] * vocabulary)))
        found = []
        for rows in torch.arange(len(token_ids), device=mask.device).split(size):
            columns = self._statistics(
                self._call(*(column[rows] for column in prompts), token_ids[rows], mask[rows]),
                token_ids[rows], mask[rows].bool(), (1.0, temperature), logit_map)
            found.append([columns[0].log_prob, columns[-1].log_prob, columns[0].entropy])
        log_prob, sampling_log_prob, entropy = (torch.cat(part) for part in zip(*found, strict=True))
        return Tokens(
            ids=token_ids, log_prob=log_prob, sampling_log_prob=sampling_log_prob, entropy=entropy
        )

    def _call(
        self, prompt_ids: torch.Tensor, prompt_mask: torch.Tensor, token_ids: torch.Tensor,
        mask: torch.Tensor,
    ) -> Callable[[], torch.Tensor]:
        ids = torch.cat([prompt_ids, token_ids], dim=1)
        present = torch.cat([prompt_mask.long(), mask.long()], dim=1)
        return lambda: self._model(
            input_ids=ids[:, :-1], attention_mask=present[:, :-1],
            position_ids=positions(present)[:, :-1], use_cache=False,
            logits_to_keep=token_ids.shape[1],
        ).logits

    def _statistics(
        self, forward: Callable[[], torch.Tensor], ids: torch.Tensor, mask: torch.Tensor,
        temperatures: Sequence[float], logit_map: LogitMap | None,
    ) -> list[TokenStatistics]:
        if logit_map is None:
            logits = forward()
            return [from_logits(logits if t == 1 else logits / t, ids) for t in temperatures]
        distinct = list(dict.fromkeys(temperatures))
        return fused_forward.tempered(
            self._model, forward, ids, mask, distinct, logit_map=logit_map)
