"""How a rule's expected step on policy relates to the gradients of expected reward and of entropy.

The relations are found from the rules' own code: on listings of all answers, of flat and of concentrated
policies, with rewards 0 and 1. Two claims derive the consequences for entropy (`CLAIMS`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from entropy_theory import tabular
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import UpdateRule

Relation: TypeAlias = Literal["same", "line", "entropy", "other"]
"""How a rule's expected step is related to the gradients of expected reward and of entropy."""
CLAIMS: dict[Relation, tuple[str, ...]] = {
    "same": ("extension.loss-on-policy", "extension.loss-off-policy"),
    "line": ("extension.loss-binary-rewards",), "entropy": (), "other": ()}
"""The claims on all rules of a relation; `extension.loss-coefficient` is on every token coefficient."""
STATES, ACTIONS = 512, 16
"""So many tokens that a rule which selects 2 of 10,000 acts."""
SCALES = (0.5, 1.0, 2.0, 6.0, 12.0, 30.0)
"""Standard deviations of logits, from entropies near the largest down to .1 nats."""
COEFFICIENT = 0.1
"""Given to rules whose coefficient a closed loop chooses."""
ROUNDING = 5e-10
"""Relative to the scores, which are sums over a group."""


def relation(rule: UpdateRule, *, seed: int = 0) -> Relation:
    """Say how the scores of a rule are related to advantages where every ratio is 1.

    Returns:
        "same" where the score of a token is its advantage, whatever that is. "line" where within a state
        it depends on the reward alone, and rises with it or stays. "entropy" where the step is a sum of
        the gradients of expected reward and of entropy. "other" elsewhere, and with a second batch.

    Raises:
        ValueError: a listing that the rule refuses.
    """
    if rule.controller() is not None:
        return "other"
    rng = np.random.default_rng(seed)
    found = [_relation_at(rule, scale * rng.normal(size=(STATES, ACTIONS)), rng) for scale in SCALES]
    order: tuple[Relation, ...] = ("other", "entropy", "line", "same")
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
    terms = rule.state_terms(batch)
    if terms.keys() - {"entropy"}:
        return "other"
    if not terms and _keeps_advantages(rule, batch, rng.normal(size=batch.weight.shape)):
        return "same"
    scores, log_prob = (
        np.asarray(of).reshape(logits.shape) for of in (rule.scores(batch), batch.log_prob))
    near = ROUNDING * np.abs(scores).max(axis=-1, keepdims=True)
    of_reward = np.stack([np.ones_like(scores), right], axis=-1)
    lines: dict[Relation, np.ndarray] = {} if terms else {"line": of_reward}
    # The gradient of entropy is the step of scores -log pi.
    lines["entropy"] = np.concatenate([of_reward, log_prob[..., None]], axis=-1)
    for found, columns in lines.items():
        factors = np.linalg.pinv(columns) @ scores[..., None]
        if (np.abs((columns @ factors)[..., 0] - scores) <= near).all():
            return found if (factors[:, 1] >= -near).all() else "other"
    return "other"


def _keeps_advantages(rule: UpdateRule, batch: TokenBatch, advantage: np.ndarray) -> bool:
    """Whether scores are the advantages that are given."""
    try:
        scores = np.asarray(rule.scores(batch.replace(advantage=advantage)))
    except ValueError:
        return False
    return np.allclose(scores, advantage, rtol=ROUNDING, atol=0)
