r"""Extension of AEPO, section 3.1: no sampled group raises entropy once the right answer is
likeliest.

At one state a single action is right, and it is a likeliest one. In a group of any size the advantages
sum to zero. That of the right action is not negative, and those of wrong ones are not positive. Such
advantages are rewards less their mean, divided by their deviation or not, or less the mean of the
others. The baseline :math:`\pi` drops out, so the group's step is

.. math::

    d = \sum_{a \text{ wrong}} v_a (e_{\text{right}} - e_a),

    v_a \ge 0 \text{ the sum of } -A_i/G \text{ over the draws of } a.

:math:`S_a = \pi_a (\log \pi_a + H)` is largest at a likeliest action, and stays so along the step. So
entropy falls all the way, at any learning rate and for any draws. Near success 1, a group with one
wrong answer gives it the advantage :math:`-\sqrt{G - 1}`, and each right one :math:`1/\sqrt{G - 1}`.
Large as that is, it raises no entropy here. A rise has to come from elsewhere: tokens whose action does
not decide the reward, shared parameters, or several right answers.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.entropy_ceiling import count
from entropy_theory.verification import arithmetic as ar

BLAME = vf.Vector(name="blame", low=0.0, high=3.0, grid=(1, 0), range=vf.Range(low=0))
"""v: minus the sum of each wrong action's advantages, over G, times the learning rate."""
ONE_RIGHT = vf.Condition(latex=r"$|\mathcal A^*| = 1$",
                         value=lambda i: 2 - count(i.logits, i.correct))
LIKELIEST = vf.Condition(
    latex="no wrong action is likelier than the right one", relation=">=",
    value=lambda i: ar.smallest(i.logits, i.correct) - ar.largest(i.logits, ~i.correct))


@vf.definition
def blaming_step(blame: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Each wrong logit down by its v, the right one up by their sum."""
    return np.where(correct, ar.per_action(ar.total(blame, ~correct)), -blame)


solved_groups = vf.Claim(
    id="extension.solved-groups",
    source="Extension of AEPO, section 3.1 (a group's advantages)",
    title="No sampled group raises entropy where the only right action is a likeliest one, at any "
          "learning rate",
    scope="one tabular state, one right action, any one group whose advantages sum to zero and are below "
          "zero for no right answer, above zero for no wrong one, a step of any size",
    statement=vf.Statement(
        latex=r"If the only right action $r$ is a likeliest one, no step $\sum_a v_a (e_r - e_a)$ with "
              r"$v \ge 0$ raises entropy.",
        margin=lambda i: -ar.entropy_change(i.logits, blaming_step(i.blame, i.correct)),
        conditions=(vf.SOME_WRONG, ONE_RIGHT, LIKELIEST),
    ),
    instances=vf.bandit_instances(vectors=(BLAME,)),
    mutants=(
        vf.mutant("the right action need not be a likeliest one", conditions=(vf.SOME_WRONG, ONE_RIGHT)),
    ),
)
