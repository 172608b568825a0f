r"""REPO: an advantage that falls with a token's log-probability (arXiv 2603.11682).

.. math::

    \text{repo:} \quad A \leftarrow A - \beta\, (\log \pi + H)

    \text{repo-r:} \quad A \leftarrow A\, (1 - \zeta \log \pi) \text{ where } A > 0, \quad
    A\, (1 + \zeta \log \pi) \text{ where } A < 0, \text{ of one sign}

In expectation over on-policy samples ``repo`` is the entropy bonus beta grad H. The two have one gradient
in exact computation. REPO's is an estimate from sampled tokens, which needs no logits
(`later-work.repo`).

The paper's practical form is ``repo-r``, with :math:`\beta = \zeta |A|` and log pi in place of log pi + H
(Appendix D.2; SkyRL's ``algorithm.repo``). Rare right tokens rise more, and rare wrong ones fall less.
With rewards of one size it never lowers the rate of entropy while no weight is held at 0. With centered
rewards it may (`later-work.repo-rescaled`).

SkyRL doubles or halves zeta depending on the side of a target entropy. Here zeta is a constant, since
``entropy-bonus`` holds targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import Needs, per_run, update_rule
from entropy_theory.update_rules.shaped import PolicyShaped


def _check_finite(name: str, value: Array) -> None:
    if not np.all(np.isfinite(to_numpy(value))):
        raise ValueError(f"{name} must be finite, got {value}")


@update_rule("repo")
class Repo(PolicyShaped):
    """The base rule on A - beta (log pi + H)."""

    beta: Array = 0.01
    """Advantage per nat of log-probability above its mean, a number or one per run."""

    def _check(self) -> None:
        PolicyShaped._check(self)
        _check_finite("beta", self.beta)

    @property
    def _needs(self) -> Needs:
        return Needs(columns=("entropy",), reads={self._policy_read},
                     every_step=self.log_prob == "current")

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        entropy: Any = batch.entropy
        return advantage - per_run(self.beta, advantage) * (self._log_prob(batch) + entropy)


@update_rule("repo-r")
class RepoR(PolicyShaped):
    """The base rule on advantages rescaled by a token's log-probability."""

    zeta: Array = 0.001
    """Addition per nat of surprise to the weight of a positive advantage, and reduction of that of a
    negative one; a number or one per run. The paper keeps it within 1e-4 and .05."""

    def _check(self) -> None:
        PolicyShaped._check(self)
        _check_finite("zeta", self.zeta)

    @property
    def _needs(self) -> Needs:
        return Needs(reads={self._policy_read}, every_step=self.log_prob == "current")

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        xp = namespace(advantage)
        surprise = -per_run(self.zeta, advantage) * self._log_prob(batch)
        weight = 1 + xp.where(advantage > 0, surprise, -surprise)
        return advantage * xp.clip(weight, 0.0, None)
