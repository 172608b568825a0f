r"""AEPO, Section 4.2 and Figure 3: entropy regularization "tends to drive the optimization toward
two extremes", collapse or explosion.

"Tends to" is about training runs of language models, and the claim cannot decide those. It is read for
the exact objective :math:`J + \lambda H` at one state with 0/1 rewards, m right answers and n actions.
At its stationary policy the entropy is within a tenth of log n of log m (collapsed onto the right
answers) or of log n (uniform). This is false. The stationary policy is
:math:`\operatorname{softmax}(R/\lambda)`, and its entropy passes through every value between log m and
log n as :math:`\lambda` grows.

What holds instead is exact: :math:`\operatorname{softmax}(R/\lambda)` is stationary for
:math:`J + \lambda H`, and its entropy is strictly between log m and log n. So a constant coefficient
does hold a moderate entropy. Its value depends on :math:`\lambda`, m and n, and so changes from prompt
to prompt.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar

COEFFICIENT = vf.Scalar(name="coefficient", low=0.05, high=5.0, grid=(1, Fraction(1, 4)),
                        range=vf.POSITIVE)


def _one(i: vf.Cases) -> ar.Reals:
    return 0 * i.logits + ar.constant(1, like=i.logits)


@vf.definition
def reward(i: vf.Cases) -> ar.Reals:
    """1 on A*, 0 elsewhere."""
    return np.where(i.correct, _one(i), 0 * i.logits)


@vf.definition
def stationary(i: vf.Cases) -> ar.Reals:
    """The logits R/lambda."""
    return reward(i) / ar.per_action(i.coefficient)


def _range(i: vf.Cases) -> tuple[ar.Reals, ar.Reals]:
    """(log m, log n)."""
    return np.log(ar.total(_one(i), i.correct)), np.log(ar.total(_one(i)))


def _extreme(i: vf.Cases) -> ar.Reals:
    """A tenth of log n minus the distance from the nearer end."""
    collapsed, exploded = _range(i)
    entropy = ar.entropy(stationary(i))
    return exploded / 10 - ar.minimum(entropy - collapsed, exploded - entropy)


def _between(i: vf.Cases) -> ar.Reals:
    collapsed, exploded = _range(i)
    entropy = ar.entropy(stationary(i))
    return np.stack([entropy - collapsed, exploded - entropy], axis=-1)


collapse_or_explosion = vf.Claim(
    id="aepo.collapse-or-explosion",
    source="AEPO, Section 4.2 (Figure 3: 'either entropy collapse or entropy explosion')",
    reading=vf.Reading(
        "inferred",
        "entropy regularization tends to drive the optimization toward two extremes—either entropy "
        "collapse or entropy explosion", "Section 4.2, of what 'tends' to happen in Figure 3; "
        "the tenth is ours"),
    title="An entropy bonus leads to collapse or to explosion (one tabular state, stationary policy)",
    scope="one tabular state, rewards 0 and 1, stationary policy of the regularized objective",
    statement=vf.Statement(
        latex=r"At the stationary policy of $J + \lambda\mathcal H$ the entropy is within "
              r"$\frac{1}{10}\log n$ of $\log m$ or of $\log n$.",
        margin=_extreme,
        conditions=(vf.SOME_WRONG,),
    ),
    instances=vf.bandit_instances(COEFFICIENT, actions=(2, 8)),
    repair=vf.Statement(
        latex=r"It is strictly between $\log m$ and $\log n$.",
        margin=_between,
        relation=">",
        conditions=(vf.SOME_WRONG,),
    ),
    repair_note=r"the stationary policy $\mathrm{softmax}(R/\lambda)$ has an entropy strictly between "
                r"$\log m$ and $\log n$",
    mutants=(
        vf.mutant("closer to log m", margin=lambda i: _between(i)[..., 1] - _between(i)[..., 0]),
    ),
)
