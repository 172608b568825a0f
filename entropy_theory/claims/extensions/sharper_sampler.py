"""Extension of AEPO, Theorem 4.3: samples of another policy than the one that is trained.

Rewards are coins without a baseline, and the theorem is that of ``reweighted_coin``. A sampler may
have less entropy than the policy because its weight is elsewhere. It then pushes up actions that
are rare under the policy, and raises entropy.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import (
    EXPECTED,
    SHARPER,
    SHIFT,
    fall,
    least_agreement,
    over_policy,
)
from entropy_theory.verification import arithmetic as ar


def _uncorrected(i: vf.Cases) -> ar.Reals:
    return fall(i.logits, over_policy(i.logits, i.shift))


LESS_ENTROPY = vf.Condition(latex=r"$H(\mu) \le H(\pi)$", relation=">=",
                            value=lambda i: -ar.entropy_change(i.logits, i.shift))

sharper_sampler = vf.Claim(
    id="extension.sharper-sampler",
    source="Extension of AEPO, Theorem 4.3 (rewards that do not depend on the action)",
    title="Samples of a policy of lower entropy do not raise entropy, where the reward is a coin of "
          "positive mean",
    scope="one tabular state, a reward of one mean for all actions and no baseline, exact expectation, "
          "first order",
    statement=vf.Statement(
        latex=EXPECTED + r"if $H(\mu) \le H(\pi)$, the step $\mu - \pi$ does not raise entropy to first "
              r"order.",
        margin=_uncorrected,
        conditions=(LESS_ENTROPY,),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(SHIFT,)),
    repair=vf.Statement(
        latex=EXPECTED + r"if $\mu_a/\pi_a \ge \mu_b/\pi_b$ wherever $\pi_a > \pi_b$ (a lower "
              r"temperature, for one), the step $\mu - \pi$ does not raise entropy to first order.",
        margin=_uncorrected,
        conditions=(SHARPER,),
    ),
    repair_note=r"$\mu/\pi$ must not fall as $\pi$ grows; a lower entropy is not enough",
    mutants=(
        vf.mutant("a flatter sampler raises no entropy either", conditions=(vf.Condition(
            latex="flatter", relation=">=", value=lambda i: least_agreement(i.logits, -i.shift)),)),
    ),
)
