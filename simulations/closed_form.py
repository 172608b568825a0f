"""The update rules' coefficients on states whose rows are summed by action.

One step of a tabular policy needs, for each state and action, only the share of the batch that took
the action: a probability in exact expectation, a count over G for sampled responses. On a binary
reward and an on-policy batch (ratio 1, answers of one token) the scores of every rule here are then
functions of one number a state, the share of right answers. That is what makes thousands of runs at
once cheap; `coefficients` returns None for options it does not cover, and the engine then lists the
rows and asks the rule itself. Tests hold both ways together to 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropy_theory.advantages import group_normalization_gain
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.aepo import Aepo
from entropy_theory.update_rules.combine import Combined
from entropy_theory.update_rules.entropy_bonus import EntropyBonus
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.reinforce import Reinforce


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Ordinary or tempered rows of a batch, summed by action."""

    share: np.ndarray
    """[runs, states, actions]: share of the state's rows that took the action; sums to 1."""
    right: np.ndarray
    """[runs, states, 1]: share of right answers."""
    wrong: np.ndarray
    """[runs, states, 1]: 1 - right, computed apart so that nothing is lost as right tends to 1."""
    group_size: int | None
    """Rows of each state; None in exact expectation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A score that depends on the reward only, each part [runs, states, 1] or a number."""

    right: np.ndarray | float = 0.0
    """d objective / d log_prob / weight of a right answer."""
    wrong: np.ndarray | float = 0.0
    """The same of a wrong answer."""

    def __add__(self, other: Score) -> Score:
        return Score(right=self.right + other.right, wrong=self.wrong + other.wrong)


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficients:
    """What a rule gives every row of a batch."""

    ordinary: Score
    tempered: Score
    entropy: float = 0.0
    """Coefficient of the gradient of entropy at ordinary rows."""


def coefficients(
    rule: UpdateRule, ordinary: Rows | None, tempered: Rows | None
) -> Coefficients | None:
    """The rule's coefficients on these rows, or None where only the rule itself knows them.

    Args:
        rule: the update rule.
        ordinary: rows at temperature 1; None if the batch has none.
        tempered: rows of the second batch; None if the batch has none.
    """
    match rule:
        case Reinforce(estimator="reward"):
            return Coefficients(ordinary=Score(right=1.0), tempered=Score(right=1.0))
        case Reinforce(estimator="group-normalized"):
            return Coefficients(ordinary=_normalized(ordinary), tempered=_normalized(tempered))
        case Grpo(max_length=None):
            exact = ordinary is not None and ordinary.group_size is None
            if rule.std_ddof and exact and rule.group_size is None:
                return None
            return Coefficients(
                ordinary=_group_score(rule, ordinary), tempered=_group_score(rule, tempered)
            )
        case EntropyBonus():
            base = coefficients(rule.base, ordinary, tempered)
            if base is None or ordinary is None:
                return None
            return Coefficients(
                ordinary=base.ordinary, tempered=base.tempered, entropy=base.entropy + rule.coefficient
            )
        case Aepo():
            base = coefficients(rule.base, ordinary, None)
            if base is None or tempered is None or not 0 < rule.positive_reward <= 1:
                return None
            return Coefficients(
                ordinary=base.ordinary, tempered=_aepo_score(rule, tempered), entropy=base.entropy
            )
        case Combined():
            parts = [coefficients(part, ordinary, tempered) for part in rule.rules]
            total = Coefficients(ordinary=Score(), tempered=Score())
            for part in parts:
                if part is None:
                    return None
                total = Coefficients(
                    ordinary=total.ordinary + part.ordinary,
                    tempered=total.tempered + part.tempered,
                    entropy=total.entropy + part.entropy,
                )
            return total
    return None


def _group_score(rule: Grpo, rows: Rows | None) -> Score:
    if rows is None or rule.group_size is None:
        return _normalized(rows, ddof=rule.std_ddof)
    gain = group_normalization_gain(
        rows.right, rows.wrong, group_size=rule.group_size, ddof=rule.std_ddof
    )
    return Score(right=gain * rows.wrong, wrong=-gain * rows.right)


def _normalized(rows: Rows | None, ddof: int = 0) -> Score:
    """(R - mean) / std: sqrt(wrong / right) and -sqrt(right / wrong), 0 for a group all alike."""
    if rows is None:
        return Score()
    alike = (rows.right == 0) | (rows.wrong == 0)
    odds = np.divide(rows.right, rows.wrong, out=np.ones_like(rows.right), where=~alike)
    root = np.sqrt(odds)
    factor = np.where(alike, 0.0, 1.0)
    if ddof and rows.group_size is not None and rows.group_size > 1:
        factor = factor * np.sqrt((rows.group_size - 1) / rows.group_size)
    return Score(right=factor / root, wrong=-factor * root)


def _aepo_score(rule: Aepo, tempered: Rows) -> Score:
    score = _normalized(tempered) if rule.ablation == "advantage" else Score(right=1.0)
    scale: np.ndarray | float = rule.alpha
    if rule.normalize == "positives":
        share = tempered.right.mean(axis=-2, keepdims=True)
        scale = rule.alpha / np.where(share > 0, share, 1.0)
    return Score(right=scale * score.right, wrong=scale * score.wrong)
