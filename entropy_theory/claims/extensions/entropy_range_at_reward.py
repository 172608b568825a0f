r"""Extension: the range of entropies that a performance leaves open.

For every policy over n actions, m of them right, with R the probability of a right answer and h the
entropy of two outcomes,

.. math::

    h(R) \le H \le h(R) + R \log m + (1 - R) \log(n - m).

Both ends are tight, and every value between is attained, since :math:`H = h(R) + R H(. | \text{ right})
+ (1 - R) H(. | \text{ wrong})`. The two conditional entropies range freely over [0, log m] and
:math:`[0, \log(n - m)]`. So entropy does not determine performance (with two actions it leaves R or 1 -
R), and :math:`R = 1` leaves any H in [0, log m]. The upper end is the curve on which symmetric runs
stay (`extension.symmetric-curve`).
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.one_right_answer import failure, performance
from entropy_theory.verification import arithmetic as ar


@vf.definition
def binary(right: ar.Reals, wrong: ar.Reals) -> ar.Reals:
    """h(R) from both probabilities, so that neither is lost in a difference from 1."""
    return -right * np.log(right) - wrong * np.log(wrong)


@vf.definition
def widest(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """R log m + (1 - R) log(n - m)."""
    one = 0 * logits + ar.constant(1, like=logits)
    # Where every action is right the other factor is 0, and log 1 does for it.
    n_wrong = ar.maximum(ar.total(one, ~correct), one[..., 0])
    return (performance(logits, correct) * np.log(ar.total(one, correct))
            + failure(logits, correct) * np.log(n_wrong))


def _sides(i: vf.Cases) -> ar.Reals:
    """``(H - h(R), h(R) + R log m + (1 - R) log(n - m) - H)``."""
    below = binary(performance(i.logits, i.correct), failure(i.logits, i.correct))
    entropy = ar.entropy(i.logits)
    return np.stack([entropy - below, below + widest(i.logits, i.correct) - entropy], axis=-1)


entropy_range_at_reward = vf.Claim(
    id="extension.entropy-range-at-reward",
    source="Extension of Entropy Mechanism (the R-H law)",
    title="The entropies compatible with a given performance",
    scope="one softmax policy, exact",
    statement=vf.Statement(
        latex=r"$h(R) \le H \le h(R) + R\log m + (1-R)\log(n-m)$, with $R = \pi(\mathcal A^*)$.",
        margin=_sides,
        conditions=(vf.SOME_WRONG,),
    ),
    instances=vf.bandit_instances(actions=(2, 7)),
    mutants=(
        vf.mutant("performance 1/2 or more leaves at most log m",
                  margin=lambda i: np.where(
                      ar.less(2 * failure(i.logits, i.correct), ar.constant(1, like=i.logits)),
                      np.log(ar.total(0 * i.logits + ar.constant(1, like=i.logits), i.correct))
                      - ar.entropy(i.logits), ar.constant(1, like=i.logits))),
    ),
)
