r"""Entropy Mechanism, Clip-Cov: does zeroing the gradient of high-covariance tokens raise entropy?

The setting is one state with every action listed. The base rule is the vanilla policy gradient with
:math:`A = r - \mathbb E r`. Each action has the covariance term :math:`K_a = (\log \pi_a -
\operatorname{mean})(A_a - \operatorname{mean} A)`. Clip-Cov zeroes the score of actions with
:math:`K_a` in :math:`[\omega_{\text{low}}, \omega_{\text{high}}]`, at random up to a quota. The effect
of one action does not depend on which others are chosen. Relative to the base rule, the first-order
entropy change moves by

.. math::

    + \eta \sum_{\text{selected}} \pi_a A_a (c_a - C),\quad c_a = \pi_a (\log \pi_a + H),\quad C =
    \mathbb E c.

It does not move by :math:`+ \eta \sum \pi_a K_a`, which is the value for the natural policy gradient.
So Clip-Cov always raises entropy on top of the natural gradient. On top of its own base rule it may
lower entropy. A right answer with :math:`0 < c_a < C` has :math:`K_a > 0` and raises entropy itself.
With the paper's :math:`\omega = (1, 5)` an example is 14 actions: twelve of weight 1, one of 3 and one
of 6. The action of weight 3 is right with reward 3, and the advantage has standard deviation 1.05.

Repair: it raises entropy if every selected action with a positive advantage has :math:`c_a > C`.
Selected actions with a negative advantage need no condition.

This is at one state. In a batch of many states the means in :math:`K_a` are those of the batch, while c
and C are those of the state. Then a negative advantage is not a guarantee either. A token of
probability 0.4 that is by far the likeliest at its state is below the mean of a confident batch. With a
low advantage it is selected, although pushing it down raises entropy. The quantity to rank by is
:math:`A_a (c_a - C)`. Clip-Cov is idle if the band is empty or the quota is 0.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess
from entropy_theory.claims.entropy_mechanism.sign_rules import REWARD
from entropy_theory.claims.entropy_mechanism.token_contributions import (
    SOME_IN_BAND,
    THRESHOLD,
    advantage,
    first_order,
    in_band,
    only,
    relative_log_prob,
    score_step,
)
from entropy_theory.verification import arithmetic as ar

INSTANCES = vf.bandit_instances(THRESHOLD, actions=(2, 5), correct=False, vectors=(REWARD,))


def _gain(i: vf.Cases) -> ar.Reals:
    """First-order entropy change of Clip-Cov minus that of plain policy gradient."""
    return _zeroing_gain(i.logits, i.reward, i.lower)


@vf.definition
def _zeroing_gain(logits: ar.Reals, reward: ar.Reals, lower: ar.Reals) -> ar.Reals:
    """What Clip-Cov adds to policy gradient at first order: the selected scores pi A are taken away."""
    selected = in_band(logits, reward, lower)
    weighted = ar.softmax(logits) * advantage(logits, reward)
    return first_order(logits, score_step(logits, -only(selected, weighted)))


def _natural_gain(i: vf.Cases) -> ar.Reals:
    """The gain under the natural gradient: logits of selected actions do not move."""
    selected = in_band(i.logits, i.reward, i.lower)
    return first_order(i.logits, -only(selected, advantage(i.logits, i.reward)))


def _no_weak_right_answer(i: vf.Cases) -> ar.Mask:
    """No selected action has A > 0 and c <= C."""
    zero = 0 * i.logits
    right = in_band(i.logits, i.reward, i.lower) & ar.less(zero, advantage(i.logits, i.reward))
    return ~np.any(right & ~ar.less(zero, excess(i.logits)), axis=-1)


NO_WEAK_RIGHT_ANSWER = vf.Condition(
    latex="every selected action with a positive advantage has $c_a > C$", value=_no_weak_right_answer
)
RIGHT_ABOVE_PERPLEXITY = vf.Condition(
    latex="every selected action is likelier than e^{-H}",
    value=lambda i: ~np.any(
        in_band(i.logits, i.reward, i.lower)
        & ~ar.less(0 * i.logits, relative_log_prob(i.logits)), axis=-1),
)

clip_cov = vf.Claim(
    id="entropy-mechanism.clip-cov",
    source="Entropy Mechanism, Clip-Cov (Eqs. 10-12)",
    reading=vf.Reading(
        "precise", "These simple techniques prevent policy from entropy collapse", "last takeaway"),
    title="Clip-Cov raises entropy relative to vanilla policy gradient",
    scope="one tabular state, every action listed, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Zeroing the score of the actions with $K_a \in [\omega_{low}, 5\omega_{low}]$ does not "
              r"lower the first-order entropy change of vanilla policy gradient.",
        margin=_gain,
        conditions=(SOME_IN_BAND,),
    ),
    instances=INSTANCES,
    # With the paper's omega = (1, 5).
    witnesses=({"weights": [1] * 12 + [3, 6], "reward": [0] * 12 + [3, 0], "lower": 1},),
    repair=vf.Statement(
        latex=r"It raises it if every selected action with a positive advantage has "
              r"$c_a > C$, $c_a = \pi_a(\log\pi_a + H)$.",
        margin=_gain,
        relation=">",
        conditions=(SOME_IN_BAND, NO_WEAK_RIGHT_ANSWER),
    ),
    repair_is="hypothesis",
    repair_note=r"hypothesis: no selected action has $A_a > 0$ and $c_a \le C$",
    mutants=(
        vf.mutant("likelier than e^{-H} is enough", conditions=(SOME_IN_BAND, RIGHT_ABOVE_PERPLEXITY)),
    ),
)

# ---------------------------------------------------------------- natural gradient


clip_cov_npg = vf.Claim(
    id="entropy-mechanism.clip-cov-npg",
    source="Entropy Mechanism, Clip-Cov (Eqs. 10-12), with Theorem 2",
    reading=vf.Reading(
        "precise", "These simple techniques prevent policy from entropy collapse", "last takeaway"),
    title="Clip-Cov raises entropy relative to natural policy gradient, to first order",
    scope="one tabular state, every action listed, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Leaving the logits of the actions with $K_a \in [\omega_{low}, 5\omega_{low}]$ where "
              r"they are raises the first-order entropy change of natural policy gradient.",
        margin=_natural_gain,
        relation=">",
        conditions=(SOME_IN_BAND,),
    ),
    instances=INSTANCES,
    mutants=(
        vf.mutant("any selection, not only positive covariances", conditions=(),
                  margin=lambda i: first_order(
                      i.logits, -only(np.arange(i.logits.shape[-1]) == 0, advantage(i.logits,
                                                                                    i.reward)))),
    ),
)
