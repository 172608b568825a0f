r"""AEnt, Section 4.1: the entropy bonus pulls every probability towards 1/n.

"Maximizing the entropy pulls the policy towards [uniform], increasing the likelihood of
low-probability actions while decreasing those of the high-probability ones."

It is read at one state with n tokens, under the gradient flow on the entropy H. This is the limit of
small bonus steps :math:`dz = \eta \lambda \nabla H`. The statement is that each :math:`\pi_a` moves
towards 1/n. Per unit of time,

.. math::

    dz_a = -S_a,\quad d \log \pi_a = -(S_a - \bar S),

    S_a = \pi_a (\log \pi_a + H),\quad \bar S = \mathbb E_\pi S \ge 0.

So a token gains exactly when :math:`S_a < \bar S`. Three exact consequences follow.

- Tokens with :math:`\pi_a \le e^{-H}` gain. All tokens below 1/n are among them, since
  :math:`e^{-H} \ge 1/n`.
- The likeliest token loses, and entropy rises at the rate :math:`\|S\|^2`.
- Tokens between 1/n and the crossing :math:`S_a = \bar S` gain too, and so move away from 1/n. The
  statement as printed is false.

The bonus lifts a token's logit by :math:`\pi_a (-\log \pi_a - H)`, and below :math:`e^{-1-H}` this
falls with :math:`\pi_a`. So it lifts the rarest token least. A natural-gradient bonus multiplies every
log-ratio by :math:`1 - \eta \lambda` instead.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess, own_covariance
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


@vf.definition
def gains(logits: ar.Reals) -> ar.Reals:
    """d log pi_a under the flow: Sb - S_a, since S_a = Cov_pi(z, delta_a)."""
    return -excess(logits)


@vf.definition
def above_uniform(logits: ar.Reals) -> ar.Reals:
    """pi_a - 1/n, summed over pairs."""
    n = logits.shape[-1]
    return ar.centered(0 * logits + ar.constant(1, like=logits) / n, ar.softmax(logits))


def _above_typical(logits: ar.Reals) -> ar.Reals:
    """log pi_a + H: above zero where pi_a > e^{-H}."""
    return ar.centered(ar.softmax(logits), logits)


def _rule(i: vf.Cases) -> ar.Reals:
    """Each token is above e^{-H} or gains, is below 1/n only if it gains, and the likeliest loses."""
    gain = gains(i.logits)
    return np.concatenate([
        ar.maximum(_above_typical(i.logits), gain),
        ar.maximum(above_uniform(i.logits), gain),
        np.where(ar.is_likeliest(i.logits), -gain, 0 * gain),
    ], axis=-1)


def _lift(i: vf.Cases) -> ar.Reals:
    """A rarer token's logit is lifted at least as much as a more frequent one's."""
    lift = -own_covariance(i.logits)
    order = i.logits[..., :, None] - i.logits[..., None, :]
    return (ar.maximum(order, lift[..., :, None] - lift[..., None, :])).reshape(len(i.logits), -1)


_printed = vf.Statement(
    latex=r"Under the gradient flow of $\mathcal H$ every probability moves towards uniform: "
          r"$(1/n - \pi_a)\,\dot\pi_a \ge 0$.",
    margin=lambda i: -above_uniform(i.logits) * gains(i.logits),
)
bonus_pulls_to_uniform = vf.Claim(
    id="aent.bonus-pulls-to-uniform",
    source="AEnt, Section 4.1",
    reading=vf.Reading(
        "precise",
        "increasing the likelihood of low-probability actions while decreasing those of the "
        "high-probability ones", "Section 4.1"),
    title="The entropy bonus pulls each probability towards 1/n",
    scope="one tabular state, gradient flow on the entropy alone",
    statement=_printed,
    instances=vf.bandit_instances(correct=False),
    repair=vf.Statement(
        latex=r"$\frac{d}{dt}\log\pi_a = \mathbb E_\pi S - S_a$, $S_a = \pi_a(\log\pi_a + \mathcal H)$: "
              r"no token with $\pi_a < e^{-\mathcal H}$ or $\pi_a < 1/n$ loses, and the likeliest does "
              r"not gain.",
        margin=_rule,
        beyond=lambda i: (
            has_derivative(
                lambda t: ar.log_softmax(i.logits - ar.per_action(t) * own_covariance(i.logits)), 0,
                gains(i.logits)),
            has_derivative(
                lambda t: ar.entropy(i.logits - ar.per_action(t) * own_covariance(i.logits)), 0,
                ar.total(own_covariance(i.logits) * own_covariance(i.logits))),
        ),
    ),
    repair_note="tokens below $e^{-H}$ or $1/n$ do not lose, the likeliest does not gain; in between "
                "$S_a < E S$ decides",
    mutants=(
        vf.Mutant(name="rarer tokens are lifted more", statement=vf.variant(_printed, margin=_lift)),
    ),
)
