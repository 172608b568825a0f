r"""AEPO, Table 4: a fixed number of positive samples (60 per step to raise entropy, 30 to lower it).

Eq. 1 and Assumption 4.2 average over all tempered samples. So the expected step is
:math:`P_T (q^T - \pi)`, with :math:`P_T = \pi^T(A^*)` and :math:`q^T` the tempered policy given
:math:`A^*`. With a fixed number of positives it is :math:`q^T - \pi`, up to a constant. (The number is
fixed for one prompt here, and for a batch in AEPO.) Its entropy rate per unit step is

.. math::

    G(T) = -\operatorname{Cov}_\pi(z, q^T - \pi) = C - \mathbb E_{q^T} c = F(T)/P_T.

Here F, c and C are those of `aepo.theorem-4.3a`. Three facts are exact, for every z, :math:`A^*` and
:math:`T > 0`. G has the sign of F. The weight :math:`\alpha` that makes :math:`\kappa F(1) + \alpha G`
vanish is :math:`P_T` times the weight for F, :math:`\kappa |F(1)|/F(T)`. And where the mean of c under
q is not negative, both halves of Corollary 4.4 hold at all T:

.. math::

    G(T) \ge G(1) \text{ for } T > 1,\quad G(T) \le G(1) \text{ for } T < 1.

So they hold where :math:`F(1) < 0`, since this puts the mean of c above :math:`C \ge 0`. For F itself
the low half is only local, since :math:`P_T` may vanish as :math:`T \to 0`, and the step with it. With
one correct answer G does not depend on T, so temperature has no effect at all.

The proof shows :math:`G' \ge 0`. For :math:`b' > b` the ratio :math:`r = q^{1/b'}/q^{1/b}` increases in
z and has mean 1, and c is negative below zb and nondecreasing above it.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.reward_improvement import conditional
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, own_covariance, rate
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import implies


@vf.definition
def fixed_rate(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals | None = None) -> ar.Reals:
    """G(T) = -Cov_pi(z, q^T - pi)."""
    probabilities = ar.softmax(logits)
    step = conditional(logits, correct, temperature) - probabilities
    return -ar.covariance(probabilities, logits, step)


@vf.definition
def gain(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """G(T) - G(1) = E_q c - E_{q^T} c.

    With c relative to its least value on A*, so that zeros at ties stay.
    """
    own = own_covariance(logits)
    relative = own - ar.smallest(own, correct)[..., None]
    change = conditional(logits, correct) - conditional(logits, correct, temperature)
    return ar.total(change * relative, correct)


@vf.definition
def mean_of_correct(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """E_q c."""
    return ar.total(conditional(logits, correct) * own_covariance(logits), correct)


def _gain(i: vf.Cases) -> ar.Reals:
    return gain(i.logits, i.correct, i.temperature)


def _mean_of_correct(i: vf.Cases) -> ar.Reals:
    return mean_of_correct(i.logits, i.correct)


def _in_full(i: Any) -> tuple[vf.Term, ...]:
    """F = P_T G, and both halves of the corollary for G where F(1) < 0."""
    share = ar.total(ar.softmax(i.logits, i.temperature), i.correct)
    plain = rate(i.logits, i.correct, i.temperature)
    fixed = fixed_rate(i.logits, i.correct, i.temperature)
    rises = fixed - fixed_rate(i.logits, i.correct)
    return (
        vf.elementwise("equal", plain, share * fixed), share > 0, share <= 1,
        implies(rate(i.logits, i.correct) < 0, (i.temperature - 1) * rises >= 0),
    )


def _conclusions(i: vf.Cases) -> ar.Reals:
    plain = rate(i.logits, i.correct, i.temperature)
    fixed = fixed_rate(i.logits, i.correct, i.temperature)
    return np.stack([
        plain * fixed,
        # E_q c > 0 implies (T - 1)(G(T) - G(1)) >= 0.
        ar.maximum(-_mean_of_correct(i), (i.temperature - 1) * _gain(i)),
        # F(1) < 0 implies E_q c > 0.
        ar.maximum(rate(i.logits, i.correct), _mean_of_correct(i)),
    ], axis=-1)


fixed_positives = vf.Claim(
    id="aepo.fixed-positives",
    source="AEPO, Table 4 (60 positives when raising, 30 when lowering)",
    reading=vf.Reading(
        "inferred", "60 (positive samples per step) for entropy up",
        "Table 4, of which it is a consequence"),
    title="With a fixed number of positives, and F(1) < 0, both halves of Corollary 4.4 hold at every "
          "T",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"With a fixed number of positives the rate is $G(T) = F(T)/P_T$, $P_T \in (0, 1]$; $F(1) "
              r"< 0$ gives $(T - 1)(G(T) - G(1)) \ge 0$ for every $T$.",
        margin=_conclusions,
        beyond=_in_full,
    ),
    instances=vf.bandit_instances(TEMPERATURE),
    mutants=(
        vf.mutant("F instead of G",
                  margin=lambda i: ar.maximum(
                      rate(i.logits, i.correct), (i.temperature - 1) * (
                          rate(i.logits, i.correct, i.temperature) - rate(i.logits, i.correct)))),
    ),
)
