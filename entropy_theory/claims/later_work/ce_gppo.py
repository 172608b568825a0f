r"""CE-GPPO (arXiv 2509.20712): four classes of tokens, by advantage and probability.

According to Section 1, a positive advantage at high probability (PA&HP) and a negative one at low
(NA&LP) collapse entropy. Positive at low (PA&LP) and negative at high (NA&HP) hold it up. No number
divides high from low there. It is read with the probability :math:`e^{-H}`, at which a token's
surprisal is the mean. A sampled token of advantage 1 or -1 has the first-order effect
:math:`-A (c_k - C)`, with :math:`c_k = \pi_k (\log \pi_k + H)` and :math:`C = \mathbb E c`.

- The two classes of low probability act as described, at every policy.
- The two of high probability need not. Where :math:`0 < c_k < C` a likely token with a positive
  advantage raises entropy, and one with a negative advantage lowers it.

All four are right with another border, the crossing z+ of `later-work.stare`, which depends on the
whole distribution. It is not below :math:`e^{-H}`, and the likeliest token is never below it.

In the text under Eq. 8 beta_1 amplifies PA&LP and :math:`\beta_2` NA&LP. By Eq. 8 itself the two are
exchanged.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.token_contributions import relative_log_prob
from entropy_theory.claims.later_work.sampled_action import effect_of_sample
from entropy_theory.claims.later_work.stare import crossing
from entropy_theory.verification import arithmetic as ar


def _classes(i: vf.Cases, height: ar.Reals) -> ar.Reals:
    """Fall of entropy by a positive advantage where height is not negative, and rise elsewhere."""
    effect = effect_of_sample(i.logits)
    return np.where(ar.less(height, 0 * height), effect, -effect)


def _over_crossing(i: vf.Cases) -> ar.Reals:
    """z_a - z+; at z+ itself an action is low."""
    over = i.logits - ar.per_action(crossing(i.logits))
    return np.where(ar.less(0 * over, over), over, over - ar.constant(1, like=i.logits))


def _repaired(i: vf.Cases) -> ar.Reals:
    """The classes at z+, and z+ against e^{-H} and the likeliest token."""
    border = crossing(i.logits)
    return np.concatenate([
        _classes(i, _over_crossing(i)),
        ar.per_action(border - ar.mean(ar.softmax(i.logits), i.logits)),
        ar.per_action(ar.largest(i.logits) - border)], axis=-1)


ce_gppo_classes = vf.Claim(
    id="later-work.ce-gppo-classes",
    source="CE-GPPO (arXiv 2509.20712), Section 1: PA&HP, NA&LP, PA&LP, NA&HP",
    reading=vf.Reading(
        "precise",
        "optimizing these tokens reinforces high-probability choices, accelerating policy convergence "
        "and entropy collapse",
        "Section 1, of PA&HP and NA&LP; the border of high and low at e^{-H} is ours"),
    title="Four classes of tokens by advantage and probability: two raise entropy and two lower it",
    scope="one tabular state, one sampled token, on-policy, first order",
    statement=vf.Statement(
        latex=r"Advantages $\pm1$, high and low divided at $e^{-H}$: PA\&HP and NA\&LP tokens do not "
              r"raise entropy, PA\&LP and NA\&HP tokens do not lower it, to first order.",
        margin=lambda i: _classes(i, relative_log_prob(i.logits)),
    ),
    instances=vf.bandit_instances(correct=False),
    repair=vf.Statement(
        latex=r"That holds with high and low divided at $z_+=\max(\mathbb E\,z,\max\{z_a:c_a<C\})$, "
              r"low at $z_+$ itself. It is not below $\mathbb E\,z$, the logit of $e^{-H}$, and not "
              r"above the likeliest token.",
        margin=_repaired,
    ),
    repair_is="correction",
    repair_note="the border is the crossing $z_+$ in place of $e^{-H}$",
    mutants=(
        vf.mutant("the border at the likeliest token", margin=lambda i: _classes(
            i, i.logits - ar.per_action(ar.largest(i.logits)))),
    ),
)
