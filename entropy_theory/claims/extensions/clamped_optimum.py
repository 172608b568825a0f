r"""Extension of AEnt, Section 4.1: the optimum of AEnt's own objective is never more biased.

The setting is one state with n tokens, :math:`m \ge 1` of them right. AEnt's clamped entropy
:math:`\tilde H` is that of the policy renormalized on its own k likeliest tokens, a set that moves with
the policy. For every policy

.. math::

    \mathbb E_\pi[r] + \lambda \tilde H(\pi) \le \lambda \log(m^* e^{1/\lambda} + k - m^*),\quad m^* =
    \min(m, k).

It is approached by :math:`\operatorname{softmax}(r/\lambda)` on k tokens that hold :math:`m^*` right
ones (all others vanish). So the optimum gives away :math:`B(k, m^*) = (k - m^*)/(m^* e^{1/\lambda} + k
- m^*)`. This is never more than the B(n, m) of the full bonus.

So the danger of clamping does not lie in the optimum but on the way to it. A right token outside the
kept set gets no bonus (`aent.clamping-reduces-bias`). The bound is false for a kept set that does not
move. There a policy can collect the reward outside and the entropy inside it.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.clamping_reduces_bias import REMOVED, bias, kept_tokens
from entropy_theory.claims.aent.token_mdp import COEFFICIENT
from entropy_theory.verification import arithmetic as ar


@vf.definition
def kept_entropy(logits: ar.Reals, kept: ar.Mask) -> ar.Reals:
    """The entropy of the policy renormalized on the kept set."""
    policy, mass = ar.softmax(logits), ar.total(ar.softmax(logits), kept)
    return np.log(mass) - ar.total(policy * ar.log_softmax(logits), kept) / mass


def objective(i: vf.Cases, kept: np.ndarray) -> ar.Reals:
    """E_pi[r] + lambda times the entropy of the policy renormalized on ``kept``."""
    return ar.total(ar.softmax(i.logits), i.correct) + i.coefficient * kept_entropy(i.logits, kept)


def _sizes(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals, ar.Reals]:
    """(n, m, k, m*)."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    n, m = ar.constant(i.logits.shape[-1], like=i.logits), ar.total(one, i.correct)
    k = ar.total(one, kept_tokens(i.logits, i.removed_fraction))
    return n, m, k, ar.minimum(m, k)


def _best(i: vf.Cases) -> ar.Reals:
    """lambda log(m* e^{1/lambda} + k - m*)."""
    _, _, k, m_star = _sizes(i)
    return i.coefficient * np.log(m_star * np.exp(1 / i.coefficient) + k - m_star)


def _room(i: vf.Cases) -> ar.Reals:
    n, m, k, m_star = _sizes(i)
    kept = kept_tokens(i.logits, i.removed_fraction)
    less_biased = bias(n, m, i.coefficient) - bias(k, m_star, i.coefficient)
    return np.stack([_best(i) - objective(i, kept), less_biased], axis=-1)


clamped_optimum = vf.Claim(
    id="extension.clamped-optimum",
    source="Extension of AEnt, Section 4.1",
    title="AEnt's clamped objective has an upper bound with no more bias than the full bonus",
    scope="one tabular state, any policy",
    statement=vf.Statement(
        latex=r"$\mathbb E_\pi[r] + \lambda\tilde{\mathcal H}(\pi) \le \lambda\log(m^*e^{1/\lambda} + k "
              r"- m^*)$ for every policy, $m^* = \min(m, k)$, and $B(k, m^*) \le B(n, m)$ with $B(n, m) "
              r"= (n - m)/(m e^{1/\lambda} + n - m)$.",
        margin=_room,
    ),
    instances=vf.bandit_instances(COEFFICIENT, REMOVED),
    mutants=(
        vf.mutant("a kept set that does not move",
                  margin=lambda i: _best(i) - objective(i, _first_tokens(i))),
    ),
)


def _first_tokens(i: vf.Cases) -> np.ndarray:
    """The mask of as many tokens as are kept, but always of the first ones."""
    kept = kept_tokens(i.logits, i.removed_fraction)
    return np.arange(kept.shape[-1]) < np.sum(kept, axis=-1)[..., None]
