r"""AEnt, after Proposition 2: it "provides a more accurate bound for the entropy bias".

It is read as more accurate than :math:`\lambda h \log|A|`. This is the bound from the policies'
entropies alone, and the number of right responses does not occur in it. Let m of the :math:`N = |A|^h`
responses be right, with returns 0 and 1. Of the value, the regularized optimum gives away exactly
:math:`B = (N - m)/(m e^{1/\lambda} + N - m)`, and

.. math::

    B \le \lambda \log(N/m) \le \lambda \log N.

The second inequality is strict for :math:`m > 1`. So Proposition 2 has a valid bound, and the better
one. The experiment of Lemma 5 shows how far it is from B. The ratio tends to 1 along a sequence. For
large :math:`\lambda` it is far from 1, since :math:`B \le 1` while the bound grows without end.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.clamping_reduces_bias import bias
from entropy_theory.claims.aent.token_mdp import COEFFICIENT
from entropy_theory.verification import arithmetic as ar


def _counts(i: vf.Cases) -> tuple[ar.Reals, ar.Reals]:
    """(N, m): responses, and right ones among them."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    return ar.total(one), ar.total(one, i.correct)


def _ordered(i: vf.Cases) -> ar.Reals:
    """Bound minus bias, and the cruder bound minus the bound."""
    responses, right = _counts(i)
    bound = i.coefficient * (np.log(responses) - np.log(right))
    return np.stack([bound - bias(responses, right, i.coefficient),
                     i.coefficient * np.log(responses) - bound], axis=-1)


more_accurate_bias = vf.Claim(
    id="aent.more-accurate-bias",
    source="AEnt, Section 3 ('a more accurate bound for the entropy bias')",
    reading=vf.Reading(
        "precise", "Proposition 2 also provides a more accurate bound for the entropy bias.",
        "Section 3; the bound's display is lost in the text"),
    title="The bound with the number of right responses is valid, and no looser than the one without",
    scope="all responses listed, returns 0 and 1, optimum of the regularized objective",
    statement=vf.Statement(
        latex=r"$\frac{N-m}{m e^{1/\lambda} + N - m} \le \lambda\log\frac Nm \le \lambda\log N$ for $m$ "
              r"right responses of $N = |\mathcal A|^h$.",
        margin=_ordered,
    ),
    instances=vf.bandit_instances(COEFFICIENT),
    # Half of the bound fails from 17 responses on, which few random instances have.
    witnesses=({"logits": [0] * 17, "correct": [False] * 16 + [True], "coefficient": Fraction(2, 5)},),
    mutants=(
        vf.mutant("the other order of the bounds", margin=lambda i: -_ordered(i)[..., 1]),
    ),
)
