r"""Extension of AEnt, Section 4.1: with a group baseline unsampled tokens all change alike.

At one state a batch of sampled tokens :math:`k_i` has weights :math:`w_i` that sum to zero (advantages
minus their mean, as in GRPO). The step is :math:`dz = c \sum_i w_i (e_{k_i} - \pi)`, so an unsampled
logit moves by :math:`-c \pi_a \sum w = 0`. Every unsampled token's log-probability then changes by -log
Z, for steps of any size:

.. math::

    -\log Z \le -c \sum_i w_i \pi(k_i),\quad Z = \mathbb E_\pi e^{dz}.

If the weights go with the likely tokens (:math:`\sum_i w_i \pi(k_i) \ge 0`), all of them are squeezed
by one factor. If the reinforced tokens are the rarer ones, unsampled tokens can gain.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.squeezes_unsampled import SIZE
from entropy_theory.verification import arithmetic as ar

# The correct set of an instance serves as the set of sampled tokens.
ADVANTAGE = vf.Vector(name="advantage", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)
SOME_UNSAMPLED = vf.Condition(latex="some token is not sampled", value=vf.SOME_WRONG.value)


@vf.definition
def weights(advantage: ar.Reals, sampled: ar.Mask, baseline: bool = True) -> ar.Reals:
    """w: advantages of the sampled tokens, minus their mean; zero elsewhere."""
    one = 0 * advantage + ar.constant(1, like=advantage)
    mean = ar.total(advantage, sampled) / ar.total(one, sampled)
    return np.where(sampled, advantage - (mean[..., None] if baseline else 0), 0 * one)


@vf.definition
def group_step(logits: ar.Reals, w: ar.Reals, size: ar.Reals) -> ar.Reals:
    """c sum_i w_i (e_i - pi)."""
    return ar.per_action(size) * (w - ar.softmax(logits) * ar.total(w)[..., None])


def _room(i: vf.Cases, bounded: bool = True) -> ar.Reals:
    """-c sum w pi (or zero) minus the log-growth of each unsampled token."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    w = weights(i.advantage * one, i.correct)
    growth = ar.log_growth(i.logits, group_step(i.logits, w, i.size))
    bound = -i.size * ar.mean(ar.softmax(i.logits), w)
    return np.where(i.correct, one, (bound[..., None] if bounded else 0) - growth)


group_baseline = vf.Claim(
    id="extension.group-baseline",
    source="Extension of AEnt, Section 4.1",
    title="With a group baseline no unsampled token's log-probability rises by more than -c sum w pi",
    scope="one tabular state, a group of sampled tokens, one step of any size",
    statement=vf.Statement(
        latex=r"With weights that sum to zero over the sampled tokens, each unsampled token has "
              r"$\log\pi'_a - \log\pi_a \le -c\sum_i w_i\,\pi(k_i)$.",
        margin=_room,
        conditions=(SOME_UNSAMPLED,),
    ),
    instances=vf.bandit_instances(SIZE, actions=(2, 6), vectors=(ADVANTAGE,)),
    mutants=(
        vf.mutant("unsampled tokens never gain", margin=lambda i: _room(i, bounded=False)),
    ),
)
