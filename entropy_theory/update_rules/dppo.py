r"""DPPO: the clip looks at how far a probability moved, not at the ratio (arXiv 2602.04879, Eqs. 12-14).

.. math::

    J = E \sum_{i,t} M_{it}\, r_{it}\, A_i, \quad M = \begin{cases}
    0 & A > 0,\ p > p_\text{old},\ D > \delta_\text{high} \\
    0 & A < 0,\ p < p_\text{old},\ D > \delta_\text{low} \\
    1 & \text{elsewhere.} \end{cases}

D is a divergence of :math:`(p, 1 - p)` from :math:`(p_{\text{old}}, 1 - p_{\text{old}})`, where p is
the probability of the sampled token. It is the total variation :math:`|p - p_{\text{old}}|`, or

.. math::

    \operatorname{KL} = p_\text{old} \log \frac{p_\text{old}}{p}
    + (1 - p_\text{old}) \log \frac{1 - p_\text{old}}{1 - p}.

So a rare token may multiply its probability, and a likely one may not lose much of it. The policy may
have moved further than every token (`later-work.dppo-binary`). The largest total variation of a state
bounds what reward the surrogate misses (`later-work.dppo-bound`). With anchor "sampling" p_old is the
probability under the policy that sampled (paper, section 5.2, SkyRL, TRL, prime-rl). With "old" it is
recomputed (verl). The ratio r is truncated at ``truncation`` (20 in verl; SkyRL and prime-rl do not).
Engines' default delta is .2 and .2 for total variation (verl, SkyRL, prime-rl), .05 for KL (SkyRL).

prime-rl's default loss is this one with a squared log-ratio on all tokens: ``dro(beta=0.002,
anchor="sampling", base=dppo(anchor="sampling", truncation=inf))``; its ``ipo`` masks both directions
whatever the advantage (``two_sided``), with delta .1.
"""

from __future__ import annotations

from entropy_theory import rounding
from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import ANCHORS, capped_exp
from entropy_theory.update_rules.ratio_loss import RatioLoss
from entropy_theory.update_rules.rule import Needs, update_rule

KINDS = ("total-variation", "kl")


@update_rule("dppo")
class Dppo(RatioLoss):
    """The score is truncated ratio x advantage x length factor where the divergence is small enough."""

    normalization: str = "token-mean"
    kind: str = "total-variation"
    """The divergence, "total-variation" or "kl" (nats)."""
    delta_low: float = 0.2
    """With a negative advantage, no gradient once p has fallen by a divergence of more than this."""
    delta_high: float = 0.2
    """With a positive advantage, no gradient once p has risen by a divergence of more than this."""
    truncation: float = 20.0
    """The largest ratio that counts as such."""
    two_sided: bool = False
    """Whether a token that moved too far has no gradient whatever its advantage (prime-rl's ``ipo``)."""

    def _check(self) -> None:
        RatioLoss._check(self)
        check_choice(self.kind, KINDS, "kind")
        for name in ("delta_low", "delta_high"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        if not self.truncation > 0:
            raise ValueError(f"truncation must be positive, got {self.truncation}")

    @property
    def _needs(self) -> Needs:
        return self._reading("log_prob", ANCHORS[self.anchor])

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        change = self._log_ratio(batch)
        xp = namespace(change)
        risen, fallen = self._moved(batch, change)
        if not self.two_sided:
            risen, fallen = risen & (advantage > 0), fallen & (advantage < 0)
        r = xp.clip(capped_exp(change), None, self.truncation)
        return xp.where(risen | fallen, xp.zeros_like(r), r)

    def _moved(self, batch: TokenBatch, change: Array) -> tuple[Array, Array]:
        """Boolean: whether the token's probability has risen, or fallen, by too large a divergence."""
        xp = namespace(change)
        before = _probability(batch, getattr(batch, ANCHORS[self.anchor]))
        after = _probability(batch, batch.log_prob)
        shift = after - before
        divergence = abs(shift)
        if self.kind == "kl":
            # As in verl and SkyRL, since rounding may bring a probability to 1.
            rest, rest_before = (1 - p + 1e-8 for p in (after, before))
            divergence = (1 - before) * xp.log(rest_before / rest) - before * change
        return ((shift > 0) & ~rounding.at_most(divergence, self.delta_high),
                (shift < 0) & ~rounding.at_most(divergence, self.delta_low))


def _probability(batch: TokenBatch, log_prob: Array) -> Array:
    """The probabilities of the tokens; 1 outside the mask and where a log-probability is not finite."""
    xp = namespace(log_prob)
    known = xp.where(batch.mask & xp.isfinite(log_prob), log_prob, xp.zeros_like(log_prob))
    return xp.exp(xp.clip(known, None, 0.0))
