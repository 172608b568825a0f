r"""Entropy Mechanism, Lemma 2: the derivative of a log-probability by a logit.

For a tabular softmax policy :math:`d \log \pi(a|s)/d z_{s,a'} = 1[a = a'] - \pi(a'|s)`, exactly.

It is tested with its remainder, which is exact too. For every step h of the one logit :math:`z_{a'}`,

.. math::

    -h^2/8 \le \log \pi_a(z + h e_{a'}) - \log \pi_a(z) - h (1[a = a'] - \pi_{a'}) \le 0.

The reason is the second derivative :math:`-\pi_{a'}(1 - \pi_{a'})`, which is between -1/4 and 0 for any
a.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

SIZE = vf.Scalar(name="size", low=2.0**-8, high=16.0, grid=(1, Fraction(1, 8), 4), range=vf.POSITIVE)


@vf.definition
def jacobian(logits: ar.Reals) -> ar.Reals:
    """1[a = k] - pi_k, for the logit k that moves and the action a."""
    same = ar.same_action(logits)
    one = 0 * logits[..., None] + ar.constant(1, like=logits)
    return np.where(same, one, 0 * one) - ar.softmax(logits)[..., :, None]


def units(logits: ar.Reals) -> ar.Reals:
    """e_k for each k, in the rows."""
    one = 0 * logits[..., None] + ar.constant(1, like=logits)
    return np.where(ar.same_action(logits), one, 0 * one)


@vf.definition
def remainder(logits: ar.Reals, change: ar.Reals, slope: ar.Reals) -> ar.Reals:
    """log pi_a(z + h e_k) - log pi_a(z) - h times the slope, for each k and a."""
    size = ar.per_action(ar.per_action(change))
    return ar.log_growth(logits[..., None, :], size * units(logits)) - size * slope


def _room(i: vf.Cases, derivative: ar.Reals) -> ar.Reals:
    """Both margins, for h = size and -size: the remainder is at most 0 and at least -h^2/8."""
    parts = []
    for h in (i.size, -i.size):
        found, size = remainder(i.logits, h, derivative), ar.per_action(ar.per_action(h))
        parts += [-found, found + size * size / 8]
    return np.concatenate(parts, axis=-1)


def _has_this_derivative(i: vf.Cases) -> tuple[vf.Term, ...]:
    def moved(t: vf.Term) -> vf.Term:
        return ar.log_softmax(i.logits[..., None, :] + ar.per_action(ar.per_action(t)) * units(i.logits))

    return (has_derivative(moved, 0, jacobian(i.logits)),)


lemma_2 = vf.Claim(
    id="entropy-mechanism.lemma-2",
    source="Entropy Mechanism, Lemma 2 (Appendix B)",
    reading=vf.Reading("precise", "", "Lemma 2, Appendix B, which is not in the text at hand"),
    title="Derivative of a log-probability by a logit",
    scope="one softmax policy, one logit",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"$\frac{\partial\log\pi(a|s)}{\partial z_{s,a'}} = \mathbf 1[a=a'] - \pi(a'|s)$: a move "
              r"of one logit by h changes $\log\pi(a|s)$ by h times this, up to $-h^2/8$ and $0$.",
        margin=lambda i: _room(i, jacobian(i.logits)),
        beyond=_has_this_derivative,
    ),
    instances=vf.bandit_instances(SIZE, actions=(2, 5), correct=False),
    symbolic=True,
)
