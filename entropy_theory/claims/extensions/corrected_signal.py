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
from entropy_theory.claims.extensions.weighted_signal import surprise_spread
from entropy_theory.verification import arithmetic as ar

TEMPERATURE = vf.Scalar(name="temperature", low=0.5, high=2.0, grid=(Fraction(1, 2), 2, 1),
                        range=vf.Range(low=Fraction(1, 2), high=2))
REWARDS = ", rewards 0 and 1 less their mean under the sampler: "
SAMPLES = r"Samples at a temperature $\frac12 \le T \le 2$" + REWARDS
AT_MODERATE = r"Samples at a temperature $\frac35 \le T \le \frac53$" + REWARDS
MILD = vf.Condition(
    latex=r"$\frac{9}{10} \le T \le \frac{11}{10}$", relation=">=",
    value=lambda i: (10 * i.temperature - 9) * (11 - 10 * i.temperature))
MODERATE = vf.Condition(
    latex=r"$\frac35 \le T \le \frac53$", relation=">=",
    value=lambda i: (5 * i.temperature - 3) * (5 - 3 * i.temperature))
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


@vf.definition
def truncated_weight(logits: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """min(1, 2 mu/pi)."""
    ratio = tempered_ratio(logits, temperature)
    return ar.minimum(0 * ratio + ar.constant(1, like=ratio), 2 * ratio)


@vf.definition
def banded_weight(logits: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """1 where pi/mu is from 1/2 to 5, else 0."""
    ratio = tempered_ratio(logits, temperature)
    one = 0 * ratio + ar.constant(1, like=ratio)
    return np.where(ar.less(5 * ratio, one) | ar.less(2 * one, ratio), 0 * one, one)


@vf.definition
def dppo_weight(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """0 where pi - mu is above 1/5 at a right action or below -1/5 at a wrong one, else 1."""
    ahead = 5 * (ar.softmax(logits) - ar.softmax(logits, temperature))
    one = 0 * ahead + ar.constant(1, like=ahead)
    return np.where(ar.less(one, np.where(correct, ahead, -ahead)), 0 * one, one)


def _truncated(i: vf.Cases) -> ar.Reals:
    return truncated_weight(i.logits, i.temperature)


def _banded(i: vf.Cases) -> ar.Reals:
    return banded_weight(i.logits, i.temperature)


def _by_distance(i: vf.Cases) -> ar.Reals:
    return dppo_weight(i.logits, i.correct, i.temperature)


def _uncorrected(i: vf.Cases) -> ar.Reals:
    return tempered_ratio(i.logits, i.temperature)


def _advantage(i: vf.Cases) -> ar.Reals:
    return reward_over_sampler(i.logits, i.correct, i.temperature)


def _agreement(i: vf.Cases, weight: ar.Reals) -> ar.Reals:
    """The product of the first orders with these weights and of the exact step."""
    return fall(i.logits, weight * _advantage(i)) * fall(i.logits, _advantage(i))


def _one_way(i: vf.Cases, weight: ar.Reals) -> ar.Reals:
    """w_k times the exact step's fall of entropy, less the fall with these weights, times 1 - T."""
    lack = ar.total(weight, i.correct) * fall(i.logits, _advantage(i)) - fall(
        i.logits, weight * _advantage(i))
    return (1 - i.temperature) * lack


def _clear(weights: vf.Margin, parts: int = 1) -> vf.Condition:
    """The exact step's first order is above the masked probability, or a part of it, times D."""
    def room(i: vf.Cases) -> ar.Reals:
        masked = ar.mean(ar.softmax(i.logits), 1 - weights(i))
        return np.abs(fall(i.logits, _advantage(i))) - masked * surprise_spread(i.logits) / parts

    return vf.Condition(latex=r"$|h_\pi| > \pi(\text{masked})\, \mathbb E_\pi|\log\pi + H|$",
                        relation=">", value=room)


ONE_RIGHT = vf.Condition(latex="one action is right",
                         value=lambda i: 2 - count(i.logits, i.correct))
SOURCE = "Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)"
SCOPE = ("one tabular state, rewards 0 and 1 less their mean under the sampler, samples at another "
         "temperature, exact expectation, first order")
ONE_WAY = (r"and one right action $k$, the fall of entropy to first order is at most $w_k$ times the "
           r"exact step's where $T \le 1$. Where $T \ge 1$ it is at least that.")
CLEAR = (r"if the first order $h_\pi$ of the exact step has $|h_\pi| > \pi(\text{masked})\, \mathbb "
         r"E_\pi|\log\pi + H|$, the step with this mask moves entropy in its direction.")
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
        margin=lambda i: _agreement(i, _uncorrected(i)),
        conditions=(MILD,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + r"with $w = \mu/\pi$ " + ONE_WAY,
                        margin=lambda i: _one_way(i, _uncorrected(i)), conditions=(ONE_RIGHT,)),
    repair_note="with one right action it errs in one direction: a sharper sampler towards more entropy",
    witnesses=({"weights": [1, 1, 1, 4, 5], "correct": [False, False, False, True, False],
                "temperature": Fraction(21, 20)},),
    mutants=(
        vf.mutant("also with more right actions", conditions=()),
        vf.mutant("a sharper sampler errs towards less entropy",
                  margin=lambda i: -_one_way(i, _uncorrected(i))),
    ),
)

truncated_signal = vf.Claim(
    id="extension.truncated-signal",
    source=SOURCE,
    title="Importance weights truncated at 2 (TIS) do not move entropy against the exact step, for "
          "samples at a temperature from 3/5 to 5/3",
    scope=SCOPE,
    statement=vf.Statement(
        latex=AT_MODERATE + r"the step with importance weights $\min(\pi/\mu, 2)$, so that $w = \min(1, "
                            r"2\mu/\pi)$, " + SAME,
        margin=lambda i: _agreement(i, _truncated(i)),
        conditions=(MODERATE,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + r"with $w = \min(1, 2\mu/\pi)$ " + ONE_WAY,
                        margin=lambda i: _one_way(i, _truncated(i)), conditions=(ONE_RIGHT,)),
    repair_note="with one right action it errs in one direction: a sharper sampler towards more entropy",
    witnesses=({"weights": [1, 2, 2, 7, 8], "correct": [False, True, True, False, True],
                "temperature": Fraction(2, 3)},),
    mutants=(
        vf.mutant("also with more right actions", conditions=()),
        vf.mutant("truncation leaves the exact step", relation="==",
                  margin=lambda i: fall(i.logits, _truncated(i) * _advantage(i)) - fall(
                      i.logits, _advantage(i))),
    ),
)

banded_signal = vf.Claim(
    id="extension.banded-signal",
    source=SOURCE,
    title="Importance weights masked to the band from 1/2 to 5 (IcePop) do not move entropy against the "
          "exact step, for samples at a temperature from 3/5 to 5/3",
    scope=SCOPE,
    statement=vf.Statement(
        latex=AT_MODERATE + r"the step with importance weights $\pi/\mu$ where $\frac12 \le \pi/\mu "
                            r"\le 5$ and 0 elsewhere " + SAME,
        margin=lambda i: _agreement(i, _banded(i)),
        conditions=(MODERATE,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + CLEAR, margin=lambda i: _agreement(i, _banded(i)), relation=">",
                        conditions=(_clear(_banded),)),
    repair_note=r"the exact first order must be above the policy's masked probability times "
                r"$\mathbb E_\pi|\log\pi + H|$",
    witnesses=({"weights": [1, 3, 11, 12], "correct": [False, True, False, True],
                "temperature": Fraction(3, 2)},),
    mutants=(
        vf.mutant("an eighth of that is enough", conditions=(_clear(_banded, parts=8),)),
    ),
)

dppo_signal = vf.Claim(
    id="extension.dppo-signal",
    source=SOURCE,
    title="DPPO's mask at .2 does not move entropy against the exact step, for samples at a temperature "
          "from 1/2 to 2",
    scope=SCOPE,
    statement=vf.Statement(
        latex=SAMPLES + r"the step with importance weights $\pi/\mu$, and 0 where $\pi - \mu > \frac15$ "
              r"at right actions or $\mu - \pi > \frac15$ at wrong ones, " + SAME,
        margin=lambda i: _agreement(i, _by_distance(i)),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + CLEAR, margin=lambda i: _agreement(i, _by_distance(i)),
                        relation=">", conditions=(_clear(_by_distance),)),
    repair_note=r"the exact first order must be above the policy's masked probability times "
                r"$\mathbb E_\pi|\log\pi + H|$",
    witnesses=({"weights": [1, 2, 3, 5, 8], "correct": [False, False, False, True, False],
                "temperature": Fraction(1, 2)},),
    mutants=(
        vf.mutant("a sixteenth of that is enough", conditions=(_clear(_by_distance, parts=16),)),
    ),
)
