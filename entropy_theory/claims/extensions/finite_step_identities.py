r"""Extension: the exact change of entropy by a logit step of any size.

After the step d, :math:`\pi'` is proportional to :math:`\pi e^d`. Let
:math:`w = \pi'/\pi = e^{d - \psi}` with :math:`\psi = \log \mathbb E_\pi[e^d]`, and let :math:`\pi_t`
be proportional to :math:`\pi e^{td}`.

.. math::

    \text{(E1)}\quad H(\pi') - H(\pi) = -\operatorname{Cov}_\pi(w, \log \pi) - \operatorname{KL}(\pi' \|
    \pi)

    \text{(E2)}\quad H(\pi') - H(\pi) = -\sum_a (\pi'_a - \pi_a) \log \pi'_a + \operatorname{KL}(\pi \|
    \pi')

    \text{(E3)}\quad H(\pi') - H(\pi) = -\int_0^1 \operatorname{Cov}_{\pi_t}(\log \pi_t, d) \, dt

    \operatorname{KL}(\pi' \| \pi) = \int_0^1 t \operatorname{Var}_{\pi_t}(d) \, dt

They are exact for every n and every step. The papers' first order is E1 with w replaced by
:math:`1 + d` and without the divergence. As :math:`\operatorname{KL}(\pi' \| \pi) \ge 0`, the
divergence in E1 always pushes entropy down. So :math:`H(\pi') - H(\pi) \le -\operatorname{Cov}_\pi(w,
\log \pi)`, with equality only where the policy stays.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, has_derivative


def covariance_with_ratio(i: vf.Cases) -> ar.Reals:
    """Cov_pi(w, log pi)."""
    p = ar.softmax(i.logits)
    ratio = np.exp(ar.log_softmax(i.logits + i.step) - ar.log_softmax(i.logits))
    return ar.covariance(p, ratio, i.logits)


def divergence(from_logits: ar.Reals, to_logits: ar.Reals) -> ar.Reals:
    """KL(softmax(from) || softmax(to))."""
    gap = ar.log_softmax(from_logits) - ar.log_softmax(to_logits)
    return ar.mean(ar.softmax(from_logits), gap)


def _residuals(i: vf.Cases) -> ar.Reals:
    """E1 and E2, left minus right side."""
    change, moved = ar.entropy_change(i.logits, i.step), i.logits + i.step
    difference = ar.softmax(moved) - ar.softmax(i.logits)
    first = change + covariance_with_ratio(i) + divergence(moved, i.logits)
    second = change + ar.total(difference * ar.log_softmax(moved)) - divergence(i.logits, moved)
    return np.stack([first, second], axis=-1)


def _on_the_way(i: vf.Cases) -> tuple[Any, ...]:
    """E3 at every t: the slopes of H(pi_t) and of KL(pi_t || pi) along the step; KL(pi' || pi) >= 0."""
    def along(t: ar.Real) -> ar.Reals:
        return i.logits + ar.per_action(t) * i.step

    def entropy_slope(t: ar.Real) -> ar.Reals:
        return -ar.covariance(ar.softmax(along(t)), ar.log_softmax(along(t)), i.step)

    def divergence_slope(t: ar.Real) -> ar.Reals:
        return t * ar.covariance(ar.softmax(along(t)), i.step, i.step)

    return (
        for_every("t", (), lambda t: has_derivative(lambda s: ar.entropy(along(s)), t, entropy_slope(t))),
        for_every("t", (), lambda t: has_derivative(
            lambda s: divergence(along(s), i.logits), t, divergence_slope(t))),
        divergence(i.logits + i.step, i.logits) >= 0,
    )


def _divergence_pushes_up(i: vf.Cases) -> ar.Reals:
    return ar.entropy_change(i.logits, i.step) + covariance_with_ratio(i)


finite_step_identities = vf.Claim(
    id="extension.finite-step-identities",
    source="Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6",
    title="The entropy change of any finite step, exactly",
    scope="one softmax policy, one logit step of any size",
    statement=vf.Statement(
        latex=r"$H(\pi')-H(\pi) = -\mathrm{Cov}_\pi(w,\log\pi)-\mathrm{KL}(\pi'\Vert\pi) = "
              r"-\sum_a(\pi'_a-\pi_a)\log\pi'_a+\mathrm{KL}(\pi\Vert\pi')$ for every step $d$, "
              r"$w=\pi'/\pi$. Along it $\frac{d}{dt}H(\pi_t) = -\mathrm{Cov}_{\pi_t}(\log\pi_t,d)$, "
              r"$\frac{d}{dt}\mathrm{KL}(\pi_t\Vert\pi) = t\,\mathrm{Var}_{\pi_t}(d)$.",
        margin=_residuals,
        relation="==",
        beyond=_on_the_way,
    ),
    instances=vf.bandit_instances(correct=False, step=True),
    mutants=(
        vf.mutant("the divergence pushes entropy up", relation=">=", margin=_divergence_pushes_up),
    ),
)
