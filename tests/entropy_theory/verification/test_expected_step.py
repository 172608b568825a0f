"""Guards expected_step.py: known bugs are named. (`tests/rules.json` has what is said of our rules.)"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from entropy_theory import update_rules
from entropy_theory.advantages import group_normalized
from entropy_theory.policy import namespace
from entropy_theory.update_rules.clipped_ratio import ratio
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, UpdateRule
from entropy_theory.verification.expected_step import expected_step


def test_options_change_what_is_said():
    def said(name, **options):
        return expected_step(update_rules.get(name, **options))

    assert said("reference-kl", estimator="k3")[0].endswith("- c x KL(reference || pi)")
    assert said("reference-kl", estimator="k3-corrected")[1] == "off-policy too"
    assert "MIXES PROMPTS" in said("grpo", estimator="reinforce++")[2]
    assert said("grpo", estimator="reinforce++-baseline") == said("grpo")
    assert said("grpo", dual_clip=3.0)[3].endswith("(dual clip)")
    assert said("grpo", estimator="leave-one-out")[1:] == said("grpo")[2:]
    assert said("entropy-bonus", coefficient=-0.1)[0].endswith("- c x entropy: it LOWERS entropy")
    assert said("reference-kl", coefficient=-0.1)[0].endswith("away from the reference")
    assert "NOT along" in said("clip-cov", ratio=0.2, lower=-9.0, upper=9.0)[0]


class OfThePrompt(UpdateRule):
    name: ClassVar[str] = "planted"

    def _prepare(self, batch):
        return batch.with_prepared(advantage=group_normalized(batch, batch.is_ordinary))

    def _scores(self, batch):
        return ratio(batch) * batch.prepared["advantage"]


class OfTheBatch(OfThePrompt):
    def _prepare(self, batch):
        xp = namespace(batch.weight)
        mean = (xp.sum(batch.weight * batch.reward, axis=(-2, -1), keepdims=True)
                / xp.sum(batch.weight, axis=(-2, -1), keepdims=True))
        return batch.with_prepared(advantage=batch.reward - mean)


class WithoutRatio(OfThePrompt):
    def _scores(self, batch):
        return batch.prepared["advantage"]


class Against(OfThePrompt):
    def _scores(self, batch):
        return -ratio(batch) * batch.prepared["advantage"]


class ClipsWhere(OfThePrompt):
    """PPO's clip on the other side, and on both."""

    sides: ClassVar[tuple[int, ...]] = (-1, 1)

    def _scores(self, batch):
        r, a = ratio(batch), batch.prepared["advantage"]
        xp = namespace(r)
        out = [((s * a > 0) & (r > 1.2)) | ((s * a < 0) & (r < 0.8)) for s in self.sides]
        return xp.where(out[0] | out[-1], 0 * r, r * a)


class ClipsTheWrongSide(ClipsWhere):
    sides = (-1,)


class LowersEntropy(Modifier):
    name: ClassVar[str] = "planted"
    _needs = Needs(moves=("entropy",))

    def _state_terms(self, batch):
        return {"entropy": -0.5 * namespace(batch.weight).ones_like(batch.weight)}


class FlippedK3(Modifier):
    name: ClassVar[str] = "planted"
    _needs = Needs(columns=("reference_log_prob",))

    def _scores(self, batch):
        surplus = batch.log_prob - batch.reference_log_prob
        return self.base.scores(batch) - 0.1 * (namespace(surplus).exp(surplus) - 1)


@pytest.mark.parametrize(("bug", "line", "words"), [
    (OfTheBatch, 2, "MIXES PROMPTS"),
    (WithoutRatio, 1, "the ratio pi / pi_old is missing"),
    (WithoutRatio, 3, "no ratio"),
    (Against, 0, "- expected reward: it LOWERS expected reward"),
    (ClipsWhere, 3, "NOT PPO's clip"),
    (ClipsTheWrongSide, 3, "NOT PPO's clip"),
    (LowersEntropy, 0, "- c x entropy: it LOWERS entropy"),
    (FlippedK3, 0, "its term of the reference is the gradient of no KL"),
])
def test_a_known_bug_is_named(bug, line, words):
    assert words in expected_step(bug())[line]
    assert words not in expected_step(OfThePrompt())[line]
    assert np.all([expected_step(bug(), seed=seed)[line] for seed in (1, 2)])
