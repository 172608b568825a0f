r"""Clip-Cov: no gradient on a random few of the tokens with a large covariance (Cui et al., Eqs. 10-12).

.. math::

    \operatorname{Cov}(y_i) = (\log \pi(y_i) - \text{mean of} \log \pi)\, (A(y_i) - \text{mean of } A),

    I \sim \operatorname{Uniform}\{i : \text{lower} \le \operatorname{Cov}(y_i) \le \text{upper}\}, \quad
    |I| = \lfloor \text{ratio} \times N \rfloor, \quad \text{score 0 on } I.

Differences from the authors' code (verl, `clip_cov`), and why:

- Means, candidates and the quota are taken over the whole step. The code takes them over each micro-batch
  on each rank, so its number of picked tokens grows with the number of micro-batches.
- The quota may be 0, as printed; the code takes at least one (``at_least_one``).
- Tokens that PPO's clip has already silenced are not candidates, as in the code; the paper writes no PPO
  clip. With old log-probabilities nothing is silenced yet when tokens are selected. A token without
  advantage is a candidate, as in the code: it is not clipped.

The authors' scripts widen the clip to [0, 2] (``base=grpo(clip_low=1, clip_high=1)``).

The covariance is taken over tokens of different states, a heuristic transfer of Theorem 2, which is
about one state (`entropy-mechanism.clip-cov`). With ``covariance="network"`` a token's own first-order
effect on the batch's entropy stands in its place; nothing else of the rule changes.
"""

from __future__ import annotations

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import check_choice, lookup
from entropy_theory.token_batch import TokenBatch, masked_sum
from entropy_theory.update_rules import selection
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, check_share, update_rule

COV_COLUMN = {"old": "old_log_prob", "current": "log_prob"}
"""The column of each choice of ``cov_log_prob``."""


@update_rule("clip-cov")
class ClipCov(Modifier):
    """The base rule's score, 0 on the selected tokens.

    Defaults are those of Cui et al., section 4.3, and of their code.
    """

    ratio: float = 2e-4
    """Share of the step's tokens that is selected."""
    lower: float = 1.0
    """The lower end of the band, omega_low, nats times advantage."""
    upper: float = 5.0
    """The upper end of the band, omega_high, nats times advantage."""
    cov_log_prob: str = "old"
    """"old" takes log-probabilities of the policy that sampled. "current" takes those of the policy being
    trained, as the code does, and needs `prepare` at every optimizer step."""
    covariance: str = "tabular"
    """Meaning of Cov(y_i). "tabular" is the paper's. "network" is the amount that the token's score takes
    from the batch's mean entropy through all parameters, to first order. It is scaled so that its root
    mean square equals the paper's (`selection.network_covariance`), and needs the column
    ``entropy_effect``."""
    at_least_one: bool = False
    """Whether to select one token even where ratio x N is below 1, as the authors' code does."""

    def _check(self) -> None:
        check_share("ratio", self.ratio)
        lookup(COV_COLUMN, self.cov_log_prob, "cov_log_prob")
        check_choice(self.covariance, selection.COVARIANCES, "covariance")
        if not self.lower <= self.upper:
            raise ValueError(f"lower {self.lower} must not exceed upper {self.upper}")

    @property
    def _needs(self) -> Needs:
        return Needs(
            columns=(selection.EFFECT,) if self.covariance == "network" else (),
            reads={COV_COLUMN[self.cov_log_prob], "sequence", "rows", "step", "seed"},
            every_step=self.cov_log_prob == "current")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *quota_warnings(self.name, self.ratio, self.at_least_one, tokens))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        batch = self.base.prepare(batch)
        advantage = self.base.advantages(batch)
        covariance, slack = selection.covariances(
            batch, self.base.scores, advantage, COV_COLUMN[self.cov_log_prob], self.covariance)
        has_advantage = abs(advantage) > selection.rounding_of(batch, advantage)
        silenced = has_advantage & (self.base.scores(batch) == 0)
        # What rounding may have moved out of the band is in it.
        candidates = (
            batch.is_ordinary & ~silenced
            & (covariance >= self.lower - slack) & (covariance <= self.upper + slack)
        )
        count = selection.quota(batch, self.ratio, self.at_least_one)
        chosen = selection.largest(batch, -selection.keyed_uniform(batch), candidates, count)
        return batch.with_prepared(**{"clip-cov.selected": chosen, "clip-cov.candidate": candidates})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        return xp.where(batch.prepared["clip-cov.selected"], xp.zeros_like(scores), scores)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the shares of tokens selected and in the band, and the base rule's metrics.

        Their names are ``selected_fraction`` and ``candidate_fraction``.
        """
        batch = self._prepared(batch)
        return self._with_base_metrics(batch, {
            "selected_fraction": fraction(batch, batch.prepared["clip-cov.selected"]),
            "candidate_fraction": fraction(batch, batch.prepared["clip-cov.candidate"]),
        })


def fraction(batch: TokenBatch, chosen: Array) -> Array:
    """Share of the ordinary tokens that is in ``chosen``: [...]."""
    xp = namespace(batch.weight)
    ones = xp.ones_like(batch.weight)
    rows = batch.is_ordinary
    found = masked_sum(ones, rows & chosen) / xp.clip(masked_sum(ones, rows), 1, None)
    return found[..., 0, 0]


def quota_warnings(
    name: str, share: float, at_least_one: bool, tokens: int | None
) -> tuple[str, ...]:
    """Warn where a step has too few tokens for the quota to reach one."""
    if share == 0:
        return (f"'{name}' with ratio 0 selects nothing and is its base rule: raise it",)
    if tokens is None or at_least_one or share * tokens >= 1 - 1e-9:
        return ()
    return (
        f"'{name}' selects floor({share:g} x {tokens}) = 0 tokens of a step and so does nothing: "
        f"raise ratio above {1 / tokens:.1g}, or set at_least_one",
    )
