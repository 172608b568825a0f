r"""Extension of AEPO, Theorem 4.3: which corrections of a sampler leave the sign right, with a reward.

Samples have a temperature T from 1/2 to 2, so that :math:`\mu = \pi^T`. Rewards are 1 or 0, and their
baseline is the mean under the sampler, as in a large group: :math:`A = 1_{A^*} - \mu(A^*)`. The expected
step is :math:`\sum_a \pi_a w_a A_a (e_a - \pi)` with the weights of the correction:

- none, :math:`w = \mu/\pi`;
- TIS, :math:`w = \min(1, 2 \mu/\pi)` (verl's, SkyRL's and slime's bound);
- IcePop, w 1 where :math:`1/2 \le \pi/\mu \le 5` and else 0 (OpenRLHF's bounds);
- DPPO, w 0 where the step would carry a token further from the sampler that is away from it by more than
  .2 already, and else 1 (its engines' bound on total variation).

Full importance weights have w 1 and are the exact step. Each of the four can turn the sign of the first
order of entropy. Two statements hold in its place.

With one right action k the first order without a correction, or with TIS, errs in one direction. Its fall
of entropy is

.. math::

    w_k f - \mu_k g,

where f is the fall of the exact step, and g that of a coin without a baseline under the same weights. By
``reweighted_coin`` g has the sign of :math:`1 - T`. So a sharper sampler errs towards more entropy, and a
hotter one towards less. The coin of mean :math:`m > 0` without a baseline does the reverse.

For masks :math:`\mathbb E_\pi|w - 1|` is the masked probability under the policy (``weighted_signal``).
The sign is right where the exact step's first order is above this times :math:`\mathbb E_\pi|\log \pi +
H|`.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.entropy_ceiling import count
from entropy_theory.claims.extensions.reweighted_coin import fall, over_policy
from entropy_theory.verification import arithmetic as ar

TEMPERATURE = vf.Scalar(name="temperature", low=0.5, high=2.0, grid=(Fraction(1, 2), 2, 1),
                        range=vf.Range(low=Fraction(1, 2), high=2))
REWARDS = ", rewards 0 and 1 less their mean under the sampler: "
SAMPLES = r"Samples at a temperature $\frac12 \le T \le 2$" + REWARDS
MILD = vf.Condition(
    latex=r"$\frac{9}{10} \le T \le \frac{11}{10}$", relation=">=",
    value=lambda i: (10 * i.temperature - 9) * (11 - 10 * i.temperature))
SAME = "does not move entropy against the exact step, to first order."


@vf.definition
def tempered_ratio(logits: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """mu/pi, for samples of mu = softmax(z/T)."""
    return over_policy(logits, logits / ar.per_action(temperature) - logits)


@vf.definition
def reward_over_sampler(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """1 at right actions and 0 at others, less the mean under the sampler."""
    one = 0 * logits + ar.constant(1, like=logits)
    return ar.centered(ar.softmax(logits, temperature), np.where(correct, one, 0 * one))


def _uncorrected(i: vf.Cases) -> ar.Reals:
    return tempered_ratio(i.logits, i.temperature)


def advantage_of(i: vf.Cases) -> ar.Reals:
    """Return the advantages of an instance's actions."""
    return reward_over_sampler(i.logits, i.correct, i.temperature)


def agreement(i: vf.Cases, weight: ar.Reals) -> ar.Reals:
    """The product of the first orders with these weights and of the exact step."""
    return fall(i.logits, weight * advantage_of(i)) * fall(i.logits, advantage_of(i))


def one_way(i: vf.Cases, weight: ar.Reals) -> ar.Reals:
    """w_k times the exact step's fall of entropy, less the fall with these weights, times 1 - T."""
    lack = ar.total(weight, i.correct) * fall(i.logits, advantage_of(i)) - fall(
        i.logits, weight * advantage_of(i))
    return (1 - i.temperature) * lack


ONE_RIGHT = vf.Condition(latex="one action is right",
                         value=lambda i: 2 - count(i.logits, i.correct))
SOURCE = "Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)"
SCOPE = ("one tabular state, rewards 0 and 1 less their mean under the sampler, samples at another "
         "temperature, exact expectation, first order")
ONE_WAY = (r"and one right action $k$, the fall of entropy to first order is at most $w_k$ times the "
           r"exact step's where $T \le 1$. Where $T \ge 1$ it is at least that.")
INSTANCES = vf.bandit_instances(TEMPERATURE)

uncorrected_signal = vf.Claim(
    id="extension.uncorrected-signal",
    source=SOURCE,
    title="Samples at a temperature from .9 to 1.1 without a correction do not move entropy against the "
          "exact step",
    scope=SCOPE,
    statement=vf.Statement(
        latex=r"Samples at a temperature $\frac{9}{10} \le T \le \frac{11}{10}$" + REWARDS
        + r"the step without a correction, $w = \mu/\pi$, " + SAME,
        margin=lambda i: agreement(i, _uncorrected(i)),
        conditions=(MILD,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + r"with $w = \mu/\pi$ " + ONE_WAY,
                        margin=lambda i: one_way(i, _uncorrected(i)), conditions=(ONE_RIGHT,)),
    repair_note="with one right action it errs in one direction: a sharper sampler towards more entropy",
    witnesses=({"weights": [1, 1, 1, 4, 5], "correct": [False, False, False, True, False],
                "temperature": Fraction(21, 20)},),
    mutants=(
        vf.mutant("also with more right actions", conditions=()),
        vf.mutant("a sharper sampler errs towards less entropy",
                  margin=lambda i: -one_way(i, _uncorrected(i))),
    ),
)
