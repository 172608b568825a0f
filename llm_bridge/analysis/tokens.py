"""Divides an audited step's entropy change by token, by kind of token and by difficulty of prompt.

Each step has one record, kept as a file, for tables and pages:

- the largest token covariances (log pi - mean)(A - mean), their mean and their tokens (Cui et al.,
  Table 1);
- covariances of prompts grouped by accuracy (their Figure 8). A prompt is a state, a whole answer
  an action with its log-probability per token. They use the form with the factor pi (Theorem 1),
  where we presume the exponential of the log-probability per token for pi(y|x). Both forms are
  given;
- each token's share in the forecast change of the mean entropy.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entropy_theory import advantages, policy
from entropy_theory.rounding import at_least
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import selection
from llm_bridge.analysis.stored_arrays import read_record, write_arrays

if TYPE_CHECKING:
    import torch

EIGHTHS = 8
"""Prompts are grouped by accuracy in steps of one over this: Cui et al. have G = 8 samples a prompt."""
SHARES = {"top_0.02%": 2e-4, "top_0.2%": 2e-3, "top_2%": 0.02, "top_20%": 0.2, "top_50%": 0.5,
          "all": 1.0}
"""The rows of the covariance table: the share of the tokens, by name."""
LISTED = 12
"""How many kinds of tokens each row of a table names, at most."""

Decode = Callable[[int], str]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class AuditedTokens:
    """The ordinary rows of one optimizer step, as before the step.

    Arrays are [rows, positions] unless said otherwise.
    """

    step: int
    learning_rate: float
    prompt_ids: np.ndarray
    """[rows, prompt positions]."""
    prompt_mask: np.ndarray
    """[rows, prompt positions]."""
    token_ids: np.ndarray
    mask: np.ndarray
    log_prob: np.ndarray
    """log pi of the token, nats."""
    entropy: np.ndarray
    """Entropy of the policy at the token's state, nats."""
    covariance: np.ndarray
    """Covariance of each token, nats, (log pi - mean)(A - mean) by Eq. 10 of Cui et al. with means
    over the step's tokens."""
    forecast: np.ndarray
    """Change of the mean entropy that the token causes by forecast (i), nats per unit learning rate."""
    measured: np.ndarray
    """Measured entropy change at the token's state, nats; NaN where it was not audited."""
    attribution: np.ndarray
    """Change of the mean entropy that the token caused, through all parameters, nats; NaN where tokens
    were not told apart."""
    reward: np.ndarray
    """The response's reward, [rows]."""
    advantage: np.ndarray
    """The response's advantage, normalized in each prompt's group, [rows]."""
    group: np.ndarray
    """A number for each row, equal for the samples of a prompt, [rows]."""


def record(
    rows: dict[str, torch.Tensor], batch: TokenBatch, contribution: torch.Tensor, *,
    step: int, learning_rate: float,
) -> AuditedTokens:
    """Make the record of a step whose measured changes are still to come (NaN).

    Args:
        rows: prompt_ids, prompt_mask, completion_ids of all rows.
        batch: the same rows; with ``group``, ``state`` and ``entropy``.
        contribution: forecast (i), token by token, of all rows, tempered ones included.
    """
    import torch  # here alone: figures are drawn from records without it

    ordinary = batch.is_ordinary
    kept = ordinary.any(-1)
    found: Any = batch.advantage
    if found is None:
        found = advantages.group_normalized(batch, ordinary)
    # Samples that were all cut off have no advantage to speak of; kept rows have one for all tokens.
    advantage = torch.where(ordinary, found.expand(ordinary.shape), -torch.inf).amax(-1)
    covariance = selection.token_covariance(batch, batch.log_prob, found.expand(ordinary.shape))
    reward = torch.where(ordinary, batch.reward.expand(ordinary.shape), -torch.inf).amax(-1)
    group: Any = batch.group

    def of(column: Any) -> np.ndarray:
        return policy.to_numpy(column[kept])

    return AuditedTokens(
        step=step, learning_rate=learning_rate,
        prompt_ids=of(rows["prompt_ids"]), prompt_mask=of(rows["prompt_mask"].bool()),
        token_ids=of(rows["completion_ids"]), mask=of(ordinary),
        log_prob=of(batch.log_prob.double()), entropy=of(torch.as_tensor(batch.entropy).double()),
        covariance=of(covariance.double()),
        forecast=_shares(batch, contribution)[policy.to_numpy(kept)],
        measured=np.full(of(ordinary).shape, np.nan),
        attribution=np.full(of(ordinary).shape, np.nan),
        reward=of(reward.double()), advantage=of(advantage.double()),
        group=of(group.expand(ordinary.shape))[:, 0],
    )


def _shares(batch: TokenBatch, contribution: torch.Tensor) -> np.ndarray:
    """Return contributions to the mean entropy: each times the weight of its state in the mean.

    Tokens of tempered rows move it too; their part is spread evenly over the ordinary tokens of their
    state.
    """
    ordinary = policy.to_numpy(batch.is_ordinary)
    length = ordinary.sum(-1, keepdims=True)
    measure = np.where(ordinary, 1 / np.maximum(length, 1) / max((length > 0).sum(), 1), 0.0)
    state: Any = batch.state
    ids, index = np.unique(policy.to_numpy(state), return_inverse=True)
    index = index.reshape(measure.shape)
    by_state = np.bincount(index.ravel(), measure.ravel(), minlength=len(ids))
    own = policy.to_numpy(contribution.double())
    tempered = np.bincount(
        index.ravel(), np.where(ordinary, 0.0, own).ravel(), minlength=len(ids)
    )
    count = np.bincount(index.ravel(), ordinary.ravel(), minlength=len(ids))
    each = own + (tempered / np.maximum(count, 1))[index]
    return np.where(ordinary, each * by_state[index], 0.0)


def write(path: Path, tokens: AuditedTokens) -> None:
    """Write a record, whole or not at all."""
    write_arrays(path, {f.name: getattr(tokens, f.name) for f in dataclasses.fields(tokens)})


def read(path: Path) -> AuditedTokens:
    """Read a record. Raises ValueError as `stored_arrays.read_record`."""
    return read_record(path, lambda columns: AuditedTokens(**columns | {
        "step": int(columns["step"]), "learning_rate": float(columns["learning_rate"])}),
        "audited tokens")


# --------------------------------------------------------------------------------------- the tables


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Difficulty:
    """Prompts of one accuracy: means over them, with standard errors where there are several."""

    accuracy: float
    prompts: int
    covariance: float
    r""":math:`\operatorname{Cov}(\log \pi(y|x) / |y|, A)` over a prompt's samples, nats."""
    covariance_error: float | None
    covariance_pg: float
    r""":math:`\operatorname{Cov}(\log \pi(y|x) / |y|, \pi A)`: Theorem 1's form,
    :math:`\pi = \exp(\log \pi(y|x) / |y|)`."""
    covariance_pg_error: float | None
    forecast: float
    """Forecast change of the mean entropy from a prompt's samples, nats per unit learning rate."""
    forecast_error: float | None


def by_difficulty(steps: Sequence[AuditedTokens]) -> list[Difficulty]:
    """Compute covariance and forecast of prompts by accuracy, to the nearest eighth, hardest first.

    Where all samples of a prompt are right, or all wrong, advantages and covariances are 0.
    """
    found = collections.defaultdict(list)
    for tokens in steps:
        length = tokens.mask.sum(-1)
        log_prob = np.where(tokens.mask, tokens.log_prob, 0.0).sum(-1) / length
        for group in np.unique(tokens.group):
            rows = tokens.group == group
            x, a = log_prob[rows], tokens.advantage[rows]
            accuracy = round(float(at_least(tokens.reward[rows], 1.0).mean()) * EIGHTHS) / EIGHTHS
            found[accuracy].append(
                (_covariance(x, a), _covariance(x, np.exp(x) * a), tokens.forecast[rows].sum())
            )
    rows = []
    for accuracy in sorted(found):
        values = np.array(found[accuracy])
        count = len(values)
        mean = values.mean(0)
        errors = values.std(0, ddof=1) / np.sqrt(count) if count > 1 else [None] * 3
        error = [None if e is None else float(e) for e in errors]
        rows.append(Difficulty(
            accuracy=accuracy, prompts=count,
            covariance=float(mean[0]), covariance_error=error[0],
            covariance_pg=float(mean[1]), covariance_pg_error=error[1],
            forecast=float(mean[2]), forecast_error=error[2],
        ))
    return rows


def _covariance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((x - x.mean()) * (y - y.mean())))


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """All tokens with one text, among those of one row of the table."""

    text: str
    count: int
    mean: float


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CovarianceRow:
    """One row of the covariance table."""

    share: str
    tokens: int
    mean: float
    """Mean of the covariances, nats."""
    negative_advantage: float
    """Share of these tokens that stand in answers of negative advantage."""
    mean_log_prob: float
    kinds: tuple[Kind, ...]
    """The most frequent tokens among them."""
    n_kinds: int


def mean_covariances(batch: TokenBatch, log_prob: Any, advantage: Any) -> dict[str, float]:
    """Return the mean of the largest token covariances, by share of the tokens (at least one token).

    Args:
        batch: the whole batch, which supplies ``weight`` and ``mask``.
        log_prob: [sequences, positions], nats.
        advantage: [sequences, positions].
    """
    covariance = selection.token_covariance(batch, log_prob, advantage)[batch.is_ordinary]
    ordered = covariance.sort(descending=True).values
    return {
        name: float(ordered[: largest_count(share, len(ordered))].mean())
        for name, share in SHARES.items()
    }


def largest_count(share: float, tokens: int) -> int:
    """Return the number of tokens in the covariance table's row of this share: at least one."""
    return max(1, math.floor(share * tokens + 1e-9))


def covariance_table(steps: Sequence[AuditedTokens], decode: Decode) -> list[CovarianceRow]:
    """Compute Table 1 of Cui et al. over all tokens of all steps: the means, and which tokens."""
    covariance, ids, log_prob = (
        np.concatenate([getattr(s, name)[s.mask] for s in steps])
        for name in ("covariance", "token_ids", "log_prob")
    )
    advantage = np.concatenate(
        [np.broadcast_to(s.advantage[:, None], s.mask.shape)[s.mask] for s in steps]
    )
    order = np.argsort(-covariance, kind="stable")
    rows = []
    for name, share in SHARES.items():
        top = order[: largest_count(share, len(order))]
        kinds = _kinds(ids[top], covariance[top], decode)
        rows.append(CovarianceRow(
            share=name, tokens=len(top), mean=float(covariance[top].mean()),
            negative_advantage=float((advantage[top] < 0).mean()),
            mean_log_prob=float(log_prob[top].mean()),
            kinds=tuple(kinds[:LISTED]), n_kinds=len(kinds),
        ))
    return rows


def _kinds(ids: np.ndarray, values: np.ndarray, decode: Decode) -> list[Kind]:
    """Group tokens by text, the most frequent first."""
    unique, index, count = np.unique(ids, return_inverse=True, return_counts=True)
    mean = np.bincount(index, values) / count
    order = np.lexsort((-mean, -count))
    return [
        Kind(text=decode(int(unique[i])), count=int(count[i]), mean=float(mean[i])) for i in order
    ]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TokenShare:
    """The contribution of all tokens with one text to the change of the mean entropy."""

    text: str
    count: int
    share: float
    """Contribution over the sum of all tokens' absolute ones; below 0 where it lowers entropy."""


def entropy_by_token(steps: Sequence[AuditedTokens], decode: Decode) -> list[TokenShare]:
    """Add up contributions by token; those that lower entropy most come first."""
    ids = np.concatenate([s.token_ids[s.mask] for s in steps])
    # Steps of unequal learning rate or size count alike.
    values = np.concatenate([relative_forecast(s)[s.mask] for s in steps])
    unique, index, count = np.unique(ids, return_inverse=True, return_counts=True)
    total = np.bincount(index, values) / len(steps)
    return [
        TokenShare(text=decode(int(unique[i])), count=int(count[i]), share=float(total[i]))
        for i in np.argsort(total, kind="stable")
    ]


def is_attributed(tokens: AuditedTokens) -> bool:
    """Whether tokens were told apart by what they did, through all parameters."""
    return bool(np.isfinite(tokens.attribution[tokens.mask]).all())


def relative_forecast(tokens: AuditedTokens) -> np.ndarray:
    """Return each token's contribution over the sum of all absolute ones, [rows, positions].

    Contributions are those to the accounted change where tokens were told apart, else those of
    forecast (i).
    """
    values = tokens.attribution if is_attributed(tokens) else tokens.forecast
    values = np.where(tokens.mask, values, 0.0)
    size = np.abs(values).sum()
    return values / size if size > 0 else np.zeros_like(values)
