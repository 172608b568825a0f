"""The images of rows, as arguments that a model takes beside their tokens.

TRL keeps the images of a batch in one tensor, cut by numbers that each family of models has its own of.
Here each row has its own dictionary of arguments, in the list ``images`` of the batch's columns.
Rows can then be cut, shuffled and joined like their tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

IMAGES = "images"
"""The column."""
ARGUMENTS = (
    "pixel_values", "image_grid_thw", "num_images", "pixel_attention_mask", "spatial_shapes", "num_tiles",
    "image_sizes", "token_type_ids", "mm_token_type_ids", "image_position_ids",
)
"""The names under which TRL keeps images, and hands them to its scoring."""
TOKEN_TYPES = ("token_type_ids", "mm_token_type_ids")
"""Those with a number for each token, 0 for those of completions."""


def of_rows(
    score: Callable[..., Any], columns: dict[str, Any], given: dict[str, Any]
) -> list[dict[str, torch.Tensor]] | None:
    """Return the arguments of each row, as TRL's own scoring cuts them out; None without images.

    Args:
        score: TRL's ``_get_per_token_logps_and_entropies``, which is shown a model that keeps what it is
            called with.
        columns: ``prompt_mask`` and ``completion_mask``, [rows, positions].
        given: TRL's batch dictionary, or the arguments of its scoring.
    """
    if given.get("pixel_values") is None:
        return None
    found: list[dict[str, torch.Tensor]] = []

    def keep(*, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: Any, fused_lm_head: Any,
             **own: torch.Tensor) -> Any:
        found.append(own)
        return SimpleNamespace(log_probs=labels, entropy=labels)

    prompt_mask, completion_mask = columns["prompt_mask"], columns["completion_mask"]
    mask = torch.cat([prompt_mask, completion_mask], dim=1)
    score(keep, torch.zeros_like(mask), mask, completion_mask.shape[1], batch_size=1,
          **{name: given[name] for name in ARGUMENTS if given.get(name) is not None})
    for own, present in zip(found, prompt_mask.bool(), strict=True):
        for name in own.keys() & set(TOKEN_TYPES):
            own[name] = own[name][:, : len(present)][:, present]
    return found


def joined(
    images: list[dict[str, torch.Tensor]], prompt_width: int, width: int
) -> dict[str, torch.Tensor]:
    """Return the arguments of rows that go through the model together.

    Args:
        images: those of each row.
        prompt_width: positions of the rows' prompts, padded on the left.
        width: positions of the tokens that the model reads.
    """
    found = {}
    for name in dict.fromkeys(name for row in images for name in row):
        parts = [row[name] for row in images if name in row]
        if name in TOKEN_TYPES:
            parts = [torch.nn.functional.pad(
                part, (prompt_width - part.shape[1], width - prompt_width)) for part in parts]
        found[name] = torch.cat(parts)
    return found


def numbers(images: list[dict[str, torch.Tensor]]) -> torch.Tensor:
    """Return a 64-bit number for the images of each row, equal for equal images: int64 [rows]."""

    def number(row: dict[str, torch.Tensor]) -> int:
        found = hashlib.blake2b(digest_size=8)
        for name in sorted(row.keys() - set(TOKEN_TYPES)):
            found.update(row[name].detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return int.from_bytes(found.digest(), "little", signed=True)

    return torch.tensor([number(row) for row in images])


def cut(columns: dict[str, Any], rows: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return columns for some of their rows, with the images where there are any.

    Args:
        columns: of the batch.
        rows: a slice, or a tensor of row numbers.
        names: of the tensors that are wanted.
    """
    found = {name: columns[name][rows] for name in names}
    if IMAGES in columns:
        found[IMAGES] = taken(columns[IMAGES], rows)
    return found


def taken(column: Any, rows: Any) -> Any:
    """Return some rows of a column, a tensor or a list."""
    if not isinstance(column, list):
        return column[rows]
    return column[rows] if isinstance(rows, slice) else [column[row] for row in rows.tolist()]
