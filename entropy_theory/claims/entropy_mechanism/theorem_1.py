r"""Entropy Mechanism, Theorem 1: under the policy gradient entropy moves by
:math:`-\eta \operatorname{Cov}(\log \pi, \pi A)`.

At one state (responses of one token), for the exact expected step :math:`dz = \eta \pi A` and every
:math:`\eta > 0`,

.. math::

    |H(\pi') - H(\pi) + \eta \operatorname{Cov}_\pi(\log \pi, \pi A)| \le \tfrac14(1 + \log n)
    \|dz\|_2^2.

So the printed "~" is a first order with this remainder. In longer responses the exact gradient has the
factor :math:`d(s)`, the probability of visiting s (Proposition 1). So must the theorem: at each state

.. math::

    H(\pi'|s) - H(\pi|s) \sim -\eta d(s) \operatorname{Cov}_s(\log \pi, \pi A).

The paper prints it for every state s and without :math:`d(s)`. The sign at a state is then right and
the rate is not. Where :math:`d(s) < 1` and the covariance is not zero, no constant makes the error a
multiple of :math:`\eta^2`. Lemma 1 is about the entropy of whole responses.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, remainder_bound
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    advantage,
    expected_reward,
    policy_gradient,
    trees,
    visits,
    weighted_advantage,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_gradient


def state_error(i: vf.Cases, step: ar.Reals, rate: ar.Reals) -> ar.Reals:
    """``bound - |H(z + eta step) - H(z) - eta rate|`` at every state: [B, states]."""
    moved = i.learning_rate[..., None, None] * step
    error = np.abs(ar.entropy_change(i.logits, moved) - i.learning_rate[..., None] * rate)
    return remainder_bound(moved) - error


def rate_along(i: vf.Cases, x: ar.Reals) -> ar.Reals:
    """-Cov_s(log pi, x) at every state."""
    return -ar.covariance(ar.softmax(i.logits), ar.log_softmax(i.logits), x)


def _step(i: vf.Cases) -> ar.Reals:
    """The exact gradient from the responses, per unit learning rate."""
    return policy_gradient(i.logits, i.reward)


def _rate(i: vf.Cases) -> ar.Reals:
    return visits(i.logits)[..., 0] * _printed_rate(i)


def _printed_rate(i: vf.Cases) -> ar.Reals:
    return rate_along(i, weighted_advantage(i.logits, i.reward))


theorem_1 = vf.Claim(
    id="entropy-mechanism.theorem-1",
    source="Entropy Mechanism, Theorem 1",
    reading=vf.Reading(
        "precise",
        r"-\eta \cdot \text{Cov}_{a \sim \pi_\theta^k(\cdot|s)} (\log \pi_\theta^k(a|s), "
        r"\pi_\theta^k(a|s) \cdot A(s, a))", "Theorem 1, with a remainder for its '≈'"),
    title="Entropy change under the policy gradient",
    scope="tabular token tree, exact gradient, one step, with its remainder; entropy of each state",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"$\mathcal H(\pi^{k+1}|s) - \mathcal H(\pi^k|s) \approx -\eta\,"
              r"\mathrm{Cov}_{a\sim\pi}(\log\pi, \pi A)$ under the exact policy gradient, at every "
              r"state: the error is at most $\frac14(1+\log n)\lVert\Delta z_s\rVert_2^2$.",
        margin=lambda i: state_error(i, _step(i), _printed_rate(i)),
    ),
    instances=trees(LEARNING_RATE, reward="graded"),
    symbolic=True,
    repair=vf.Statement(
        latex=r"$\mathcal H(\pi^{k+1}|s) - \mathcal H(\pi^k|s) \approx "
              r"-\eta\,d(s)\,\mathrm{Cov}_{a\sim\pi}(\log\pi, \pi A)$, with the same bound; $d(s) = 1$ "
              r"for responses of one token.",
        margin=lambda i: state_error(i, _step(i), _rate(i)),
        beyond=lambda i: (has_gradient(lambda z: expected_reward(z, i.reward), i.logits, _step(i)),),
    ),
    repair_is="correction",
    repair_note="adds the factor $d(s)$, the probability of visiting the state; as printed it holds, to "
                "first order, where responses have one token",
    mutants=(
        vf.mutant("factor pi dropped (the natural gradient's rate)",
                  margin=lambda i: state_error(
                      i, _step(i), visits(i.logits)[..., 0]
                      * rate_along(i, advantage(i.logits, i.reward)))),
    ),
)
