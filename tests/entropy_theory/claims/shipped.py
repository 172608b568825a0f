"""The step of an update rule that ships, on the instances of a claim: one state, every action listed.

A claim about a method types its formula in arithmetic that can be exact. This is the other side, the rule
that trains and simulates (`entropy_theory.update_rules`), in floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory import policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule

ROUNDINGS = 64 * float(np.finfo(float).eps)
"""A dozen sums over some eight actions, relative to the size of their terms."""


def shipped_step(
    name: str,
    logits: np.ndarray,
    reward: np.ndarray,
    *,
    learning_rate: float | np.ndarray = 1.0,
    temperature: float | np.ndarray | None = None,
    old_logits: np.ndarray | None = None,
    advantage: np.ndarray | None = None,
    **options: Any,
) -> np.ndarray:
    """The expected logit step of a rule: learning_rate x sum_i weight_i (score_i (e_a - pi) + ...).

    Args:
        name: the rule's, as of `update_rules.get`.
        logits: [instances, actions].
        reward: numbers or booleans, broadcastable to the same.
        learning_rate: a number, or one an instance.
        temperature: of the second batch, where the rule has one; of all rows where it has none and acts
            on them. A number or one an instance; None: ordinary rows alone.
        old_logits: [instances, actions] of the policy that sampled; None: ``logits``.
        advantage: [instances, actions], in place of what the rule would make of the reward.
        options: of the rule; numpy arrays have one value an instance.

    Returns:
        [instances, actions].

    Raises:
        ValueError: as `update_rules.get`, and the rule on such a listing.
    """
    logits = np.asarray(logits, dtype=float)
    columns: dict[str, Any] = {
        "reward": np.broadcast_to(np.asarray(reward, dtype=float), logits.shape),
        "old_logits": logits if old_logits is None else old_logits,
        "temperature": None if temperature is None else np.broadcast_to(
            np.asarray(temperature, dtype=float), logits.shape[:1]),
        "advantage": advantage,
    }
    varies = {key for key, value in options.items() if np.ndim(value) and not isinstance(value, str)}
    steps = []
    for k in range(len(logits)) if varies else (slice(None),):
        at = slice(k, k + 1) if isinstance(k, int) else k
        chosen = {key: float(value[k]) if key in varies else value for key, value in options.items()}
        rule = update_rules.get(name, **chosen)
        cut: dict[str, Any] = {
            key: None if value is None else value[at] for key, value in columns.items()}
        steps.append(_step(rule, logits[at], **cut))
    rate = np.asarray(learning_rate, dtype=float)
    return (rate[..., None] if rate.ndim else rate) * np.concatenate(steps)


def agreement(
    found: np.ndarray, claimed: np.ndarray, size: float | np.ndarray = 1.0
) -> tuple[bool, str]:
    """Whether two results are equal to rounding, and in words by how much they differ.

    Args:
        found, claimed: [instances, ...].
        size: [instances] or a number: of the terms that are summed to them, beside their own size.
    """
    axes = tuple(range(1, claimed.ndim))
    own = np.abs(claimed).max(axis=axes) if axes else np.abs(claimed)
    error = np.abs(found - claimed)
    worst = float(((error.max(axis=axes) if axes else error) / (size + own)).max())
    return worst <= ROUNDINGS, f"{len(claimed)} instances, largest relative difference {worst:.1e}"


def _step(
    rule: UpdateRule, logits: np.ndarray, *, reward: np.ndarray, old_logits: np.ndarray,
    temperature: np.ndarray | None, advantage: np.ndarray | None,
) -> np.ndarray:
    ordinary = temperature is None or rule.controller() is not None
    listed = tabular.exact_batch if ordinary else tabular.listing
    batch: TokenBatch = listed(
        old_logits[:, None], reward[:, None], temperature=temperature,
        removed_fraction=rule.needs.removed_fraction)
    kinds = batch.mask.shape[-2] // logits.shape[-1]
    rows = (*logits.shape[:1], batch.mask.shape[-2], 1)

    def column(values: np.ndarray) -> np.ndarray:
        return np.tile(values, kinds).reshape(rows)

    changes = {} if advantage is None else {"advantage": column(advantage)}
    if old_logits is not logits:
        changes["log_prob"] = column(policy.log_softmax(logits))
    return tabular.logit_step(logits[:, None], batch.replace(**changes), rule)[:, 0]
