"""The input of a sampler, a batch of prompts, and its output, the tokens drawn."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptBatch:
    """Prompts to continue.

    Attributes:
        ids: [prompts, width] integers, padded on the left, on the model's device.
        mask: the same shape, 0 on padding.
        copies: number of completions of each prompt; rows are all copies of a prompt, then the next.
        temperature: T, above 0.
        top_p, top_k: as of `drawing_options.Drawing`. Samplers without them get 1 and 0.
        max_new_tokens: largest number of tokens of a completion.
        stop_ids: tokens that end a completion; they belong to it.
        pad_id: token that fills the positions after the end.
        length: largest number of positions that prompt and completion take together.
        capacity: number of rows of the largest batch, of which this is one.
        seed: seed for samplers that do not draw from torch's global random state.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    copies: int
    temperature: float
    top_p: float
    top_k: int
    max_new_tokens: int
    stop_ids: list[int]
    pad_id: int
    length: int
    capacity: int
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
        log_prob, sampling_log_prob, entropy: the same shape, nats, under pi, under pi^T, of pi. Without
            an entropy all are still to be computed (`sampling.scorer`), and a ``log_prob`` is compared.
    """

    ids: torch.Tensor
    log_prob: torch.Tensor | None = None
    sampling_log_prob: torch.Tensor | None = None
    entropy: torch.Tensor | None = None


def positions(mask: torch.Tensor) -> torch.Tensor:
    """Return positions, counted from the first token that is not padding: [rows, positions]."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


def padded(rows: list[list[int]], pad_id: int, device: torch.device) -> torch.Tensor:
    """Return lists of tokens as one tensor [rows, longest], filled on the right."""
    width = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (width - len(row)) for row in rows], device=device)
