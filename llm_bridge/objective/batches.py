"""Converts rows of an LLM batch from TRL's batch dictionary to a TokenBatch, and joins either kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch

PREPARED = "prepared/"
"""The prefix, in a batch dictionary, of the columns that a rule's ``prepare`` added."""

OF_A_SEQUENCE = (
    "reward", "coefficient", "target_offset", "sampling_temperature", "tempered", "group", "sequence")
"""The columns of `token_batch` that have one value at all positions of a row."""

# Of splitmix64 (Steele, Lea and Flood 2014), as signed numbers; odd, so that multiplication modulo 2^64
# loses nothing.
_STEP, _FIRST, _SECOND = (number - 2**64 for number in (
    0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def _mixed(number: torch.Tensor) -> torch.Tensor:
    """Return splitmix64 of each number: 64 bits, each of which depends on all of the number's."""
    for shift, factor in ((30, _FIRST), (27, _SECOND), (31, 1)):
        # A shift of signed numbers brings copies of the sign, which are masked away.
        number = (number ^ ((number >> shift) & (2 ** (64 - shift) - 1))) * factor
    return number


def prefix_states(input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return a 64-bit id of every prefix, equal for equal tokens, whatever their padding.

    The first tokens of a prompt's samples share a state. Different prefixes share an id with
    probability about n^2 / 2^65 for n prefixes. The id is a sum over the prefix of one pseudo-random
    number per token and place, modulo 2^64.

    Args:
        input_ids: integer [sequences, positions].
        mask: [sequences, positions]; tokens where it is 0 are not part of any prefix.

    Returns:
        int64 [sequences, positions + 1]; column t is the prefix of the first t positions.
    """
    counts = mask.bool()
    terms = _mixed(_mixed((input_ids.long() + 1) * _STEP) + counts.cumsum(-1))
    return torch.nn.functional.pad(torch.where(counts, terms, 0).cumsum(-1), (1, 0))


def token_batch(
    rows: dict[str, Any], log_prob: torch.Tensor, entropy: torch.Tensor,
    clamped_entropy: torch.Tensor | None = None, *, step: int, seed: int,
) -> TokenBatch:
    """Return the rows as update rules read them.

    Args:
        rows: TRL's batch dictionary with the trainer's columns.
        log_prob: [sequences, positions], log-probabilities of the policy being trained. At the
            first step on these rows, where ``rows`` has no old ones, they are the old ones too.
        entropy: [sequences, positions].
        clamped_entropy: [sequences, positions], where the rule moves it.
        step: number of the optimizer step.
        seed: seed of the run.
    """
    shape, old = rows["mask"].shape, rows.get("old_log_prob", log_prob.detach())

    def repeated(name: str) -> torch.Tensor:
        return rows[name][:, None].expand(shape)

    def known(name: str) -> torch.Tensor | None:
        return repeated(name).to(log_prob.dtype) if name in rows else None

    def of_sampling(name: str, policy: torch.Tensor) -> torch.Tensor | None:
        """The sampler's column, where a rule reads it; NaN stands for the policy's own value."""
        if name not in rows:
            return None
        return torch.where(rows[name].isnan(), policy, rows[name].to(policy.dtype))

    return TokenBatch(
        log_prob=log_prob,
        old_log_prob=old,
        reward=repeated("reward").to(log_prob.dtype),
        mask=rows["mask"],
        weight=rows["weight"].to(log_prob.dtype),
        entropy=entropy,
        clamped_entropy=clamped_entropy,
        old_entropy=of_sampling("old_entropy", rows.get("entropy", entropy.detach())),
        reference_log_prob=rows.get("reference_log_prob"),
        sampling_log_prob=of_sampling("sampling_log_prob", old),
        coefficient=known("coefficient"),
        target_offset=known("target_offset"),
        entropy_effect=rows.get("entropy_effect"),
        sampling_temperature=repeated("sampling_temperature").to(log_prob.dtype),
        tempered=repeated("tempered"),
        group=repeated("group"),
        sequence=repeated("sequence"),
        state=rows["state"],
        action=rows["completion_ids"],
        step=step,
        seed=seed,
        prepared={
            name.removeprefix(PREPARED): column
            for name, column in rows.items()
            if name.startswith(PREPARED)
        },
    )


def map_columns(function: Callable[..., torch.Tensor], *batches: TokenBatch) -> TokenBatch:
    """Make a batch whose columns are ``function`` of the batches' columns, prepared ones included."""
    return _mapped(lambda _, *columns: function(*columns), *batches)


def _mapped(function: Callable[..., torch.Tensor], *batches: TokenBatch) -> TokenBatch:
    """Do as `map_columns` does, with the name of the column as the first argument."""
    first = batches[0]
    own = {
        field.name: function(field.name, *(getattr(batch, field.name) for batch in batches))
        for field in dataclasses.fields(first)
        if isinstance(getattr(first, field.name), torch.Tensor)
    }
    prepared = {
        name: function(name, *(batch.prepared[name] for batch in batches)) for name in first.prepared
    }
    return first.replace(**own, prepared=prepared)


def gathered(
    accelerator: Any, batch: TokenBatch, *, narrow: Collection[str] = ()
) -> TokenBatch:
    """Gather the rows of all ranks, in order, padded on the right with zeros to the widest.

    Every column has the same dtype and shape on all ranks when it is gathered, whatever the lengths of
    their completions. (accelerate's ``pad_across_processes`` makes integers of booleans, and only where
    it pads: ranks would gather different types.)

    Args:
        accelerator: accelerate's accelerator, which gathers.
        batch: the rows of this rank.
        narrow: names of columns, prepared ones included, that have one value at all positions of a row:
            it is sent once, and stands at all positions again.
    """
    if accelerator.num_processes == 1:
        return batch
    width = batch.mask.shape[1]
    widths = accelerator.gather(torch.tensor(width, device=batch.mask.device))
    longest = int(widths.max())

    def everywhere(name: str, column: torch.Tensor) -> torch.Tensor:
        if name in narrow:
            return accelerator.gather(column[:, :1].contiguous()).expand(-1, longest)
        padded = torch.nn.functional.pad(column, (0, longest - width))
        return accelerator.gather(padded.contiguous())

    return _mapped(everywhere, batch)


def join(first: dict[str, Any], second: dict[str, Any], *, pad_token: int) -> dict[str, Any]:
    """Join the rows of two batch dictionaries, padded to the wider: prompts left, completions right.

    Columns that only one of them has are dropped; scalars are those of the first.
    """
    joined: dict[str, Any] = {}
    for name in (name for name in first if name in second):
        columns = (first[name], second[name])
        if isinstance(first[name], list):
            joined[name] = [*first[name], *second[name]]
        elif first[name].ndim < 2:
            joined[name] = torch.cat(columns) if first[name].ndim else first[name]
        else:
            joined[name] = stacked(name, columns, pad_token=pad_token)
    return joined


def stacked(name: str, columns: Sequence[torch.Tensor], *, pad_token: int) -> torch.Tensor:
    """Stack the rows of columns of a name, padded to the widest: prompts left, everything else right."""
    width = max(column.shape[1] for column in columns)
    fill = pad_token if name in ("prompt_ids", "completion_ids", "token_ids") else 0
    return torch.cat([
        torch.nn.functional.pad(
            column,
            (width - column.shape[1], 0) if name.startswith("prompt_") else (0, width - column.shape[1]),
            value=fill)
        for column in columns])
