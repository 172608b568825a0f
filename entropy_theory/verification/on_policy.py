"""Which rules are plain policy gradient on policy, and which move along its line at least.

Found from the rules' own code: on listings of all answers, of flat and of concentrated policies, with
rewards 0 and 1. Two claims say what follows for entropy (`CLAIMS`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from entropy_theory import tabular
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import UpdateRule

Relation: TypeAlias = Literal["same", "line", "other"]
"""How a rule's expected step is related to the gradient of expected reward."""
CLAIMS: dict[Relation, tuple[str, ...]] = {
    "same": ("extension.loss-on-policy", "extension.loss-off-policy"),
    "line": ("extension.loss-binary-rewards",), "other": ()}
"""The claims on all rules of a relation; `extension.loss-coefficient` is on every token coefficient."""
STATES, ACTIONS = 512, 16
"""So many tokens that a rule which selects 2 of 10,000 acts."""
SCALES = (0.5, 1.0, 2.0, 6.0, 12.0, 30.0)
"""Standard deviations of logits, from entropies near the largest down to .1 nats."""
COEFFICIENT = 0.1
"""Given to rules whose coefficient a closed loop chooses."""
ROUNDING = 1e-9
"""Relative to the scores, which are sums over a group."""


def relation(rule: UpdateRule, *, seed: int = 0) -> Relation:
    """Say how the scores of a rule are related to advantages where every ratio is 1.

    Returns:
        "same" where the score of a token is its advantage, whatever that is. "line" where within a state
        it depends on the reward alone, and rises with it or stays. "other" elsewhere. A rule with state
        terms or a second batch is "other" too.

    Raises:
        ValueError: a listing that the rule refuses.
    """
    if rule.controller() is not None:
        return "other"
    rng = np.random.default_rng(seed)
    found = [_relation_at(rule, scale * rng.normal(size=(STATES, ACTIONS)), rng) for scale in SCALES]
    order: tuple[Relation, ...] = ("other", "line", "same")
    return next(each for each in order if each in found)


def _relation_at(rule: UpdateRule, logits: np.ndarray, rng: np.random.Generator) -> Relation:
    right = rng.random(logits.shape) < 0.5
    right[:, :2] = True, False
    batch = tabular.exact_batch(
        logits, right.astype(float), effects=True,
        reference_logits=logits + rng.normal(size=logits.shape),
        removed_fraction=rule.needs.removed_fraction)
    if rule.coefficient_controller() is not None:
        batch = batch.replace(coefficient=COEFFICIENT * np.ones(batch.weight.shape))
    if rule.state_terms(batch):
        return "other"
    if _keeps_advantages(rule, batch, rng.normal(size=batch.weight.shape)):
        return "same"
    scores = np.asarray(rule.scores(batch)).reshape(logits.shape)
    near = ROUNDING * np.abs(scores).max(axis=-1)
    least, most = (np.stack([choose(scores, axis=-1, where=kind, initial=-sign * np.inf)
                             for kind in (right, ~right)])
                   for choose, sign in ((np.min, -1), (np.max, 1)))
    by_reward = (most - least <= near).all() and (least[0] >= most[1] - near).all()
    return "line" if by_reward else "other"


def _keeps_advantages(rule: UpdateRule, batch: TokenBatch, advantage: np.ndarray) -> bool:
    """Whether scores are the advantages that are given."""
    try:
        scores = np.asarray(rule.scores(batch.replace(advantage=advantage)))
    except ValueError:
        return False
    return np.allclose(scores, advantage, rtol=ROUNDING, atol=0)
