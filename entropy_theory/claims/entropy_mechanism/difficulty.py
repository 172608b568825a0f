r"""Entropy Mechanism, Figure 8 (right): "easier prompts with higher accuracy has higher
covariances".

It is read in the simplest family in which it can be exact. One right answer has probability p, and
:math:`n - 1` wrong ones are equally likely. With :math:`l = \log(p (n - 1)/(1 - p))` the two
covariances are

.. math::

    \operatorname{Cov}_\pi(\log \pi, \pi A) = n/(n - 1) p^2 (1 - p)^2 l,\quad
    \operatorname{Cov}_\pi(\log \pi, A) = p (1 - p) l.

The figure has the first one (Theorem 1). It is negative below chance (:math:`p < 1/n`), so it first
falls from 0, and it tends to 0 again as :math:`p \to 1`. It is not monotone. For every :math:`n \ge 3`
it is larger at :math:`p = 1/2` than at :math:`p = 7/8`, which are two of the three groups of the
figure.

Repair: it increases exactly where :math:`(2p - 1) l \le 1/2`. This is an interval from below chance to
a peak between 1/2 and 3/4. So prompts are ordered by accuracy from :math:`p = 1/n` up to 1/2, and in
the opposite order above the peak.
"""

import math
from collections.abc import Iterator

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.sign_rules import plain_covariance
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.instances import drawn_by

MOST_WRONG = 7

# ---------------------------------------------------------------- two prompts of one family


def _policy(n: int, gap: ar.Reals | float) -> ar.Reals:
    """Logits of one right answer (the first) and n - 1 wrong ones, for each gap."""
    return np.concatenate([np.asarray(gap)[..., None], np.zeros((*np.shape(gap), n - 1))], axis=-1)


def _sample(generator: np.random.Generator, size: int) -> vf.Batch:
    n = 1 + round(math.exp(generator.uniform(0, math.log(MOST_WRONG))))
    harder = generator.normal(0.0, 3.0, size)
    return {"logits": _policy(n, harder), "shift": np.exp(generator.uniform(-5, 2, size))}


def _enumerate(largest_total: int) -> Iterator[vf.Batch]:
    for n in range(2, largest_total):
        pairs = [(a, b) for a in range(1, largest_total) for b in range(1, largest_total)
                 if a + b * (n - 1) <= largest_total and math.gcd(a, b) == 1]
        if pairs:
            yield {
                "weights": np.array([[a, *[b] * (n - 1)] for a, b in pairs]),
                "shift": np.ones(len(pairs)),
            }


PROMPTS = vf.Instances(
    strategy=drawn_by(_sample),
    sample=_sample,
    enumerate=_enumerate,
    families=f"one right answer with a Gaussian logit, 1-{MOST_WRONG} equally likely wrong ones; the "
             "easier prompt has a larger right logit",
    parameters=vf.Parameters(fields=(
        vf.Parameter(name="logits", axes=(vf.ACTIONS,)), vf.Parameter(name="shift", range=vf.POSITIVE))),
)


def _reward(logits: ar.Reals) -> ar.Mask:
    """The right answer is the first."""
    return ar.same_action(logits)[..., :, 0]


@vf.definition
def prompt_covariance(logits: ar.Reals) -> ar.Reals:
    """Cov_pi(log pi, pi A), the first answer being the right one."""
    one = 0 * logits + ar.constant(1, logits)
    return plain_covariance(logits, np.where(_reward(logits), one, 0 * one))


def _covariance(logits: ar.Reals) -> ar.Reals:
    return prompt_covariance(logits)


@vf.definition
def easier(logits: ar.Reals, shift: ar.Reals) -> ar.Reals:
    """The prompt with its right logit raised."""
    return logits + np.where(_reward(logits), ar.per_action(shift), 0 * logits)


def _easier(i: vf.Cases) -> ar.Reals:
    return easier(i.logits, i.shift)


def _rise(i: vf.Cases) -> ar.Reals:
    """Covariance of the easier prompt minus that of the harder one."""
    return _covariance(_easier(i)) - _covariance(i.logits)


def _log_odds_against_one(logits: ar.Reals) -> ar.Reals:
    """l: log-probability of the right answer minus that of each wrong one."""
    return logits[..., 0] - logits[..., 1]


@vf.definition
def past_peak(logits: ar.Reals) -> ar.Reals:
    """(2p - 1) l - 1/2, above zero where the covariance falls with p."""
    p = ar.softmax(logits)[..., 0]
    return (2 * p - 1) * _log_odds_against_one(logits) - ar.constant(1, logits) / 2


def _past_peak(logits: ar.Reals) -> ar.Reals:
    return past_peak(logits)


def _others_alike(i: vf.Cases) -> ar.Reals:
    """Smallest minus largest logit of the wrong answers: zero in the family."""
    wrong = ~_reward(i.logits)
    return ar.smallest(i.logits, wrong) - ar.largest(i.logits, wrong)


ONE_FAMILY = vf.Condition(latex="the wrong answers are equally likely", value=_others_alike,
                          relation=">=")


def _on_rising_interval(i: vf.Cases) -> ar.Mask:
    """Whether both prompts have (2p - 1) l <= 1/2."""
    worse = ar.maximum(_past_peak(i.logits), _past_peak(_easier(i)))
    return ~ar.less(0 * worse, worse)


def _on_one_side_of_it(i: vf.Cases) -> ar.Mask:
    """Whether both prompts have (2p - 1) l > 1/2, and l of the same sign."""
    past = ar.minimum(_past_peak(i.logits), _past_peak(_easier(i)))
    harder, easier = _log_odds_against_one(i.logits), _log_odds_against_one(_easier(i))
    return ar.less(0 * past, past) & (ar.less(0 * past, harder) | ar.less(easier, 0 * past))


SAME_BRANCH = vf.Condition(
    latex=r"both prompts lie on the interval $(2p-1)\log\frac{p(n-1)}{1-p} \le \frac12$, or both on "
          "the same side of it",
    value=lambda i: _on_rising_interval(i) | _on_one_side_of_it(i),
)
ABOVE_CHANCE = vf.Condition(
    latex="p >= 1/n at both prompts", value=lambda i: _log_odds_against_one(i.logits), relation=">="
)

difficulty = vf.Claim(
    id="entropy-mechanism.difficulty",
    source="Entropy Mechanism, Figure 8 (right)",
    reading=vf.Reading(
        "inferred",
        "Easier prompts with higher accuracy has higher covariances as well, while harder prompts have "
        "lower covariances.", "Figure 8, caption, of a run: an observation, no law"),
    title="Easier prompts have a larger covariance",
    scope="prompts of one tabular state: one right answer; the repair with equally likely wrong ones",
    statement=vf.Statement(
        latex=r"One right answer of probability $p$, the odds among the others fixed: "
              r"$\mathrm{Cov}_\pi(\log\pi, \pi A)$ does not fall as $p$ rises.",
        margin=_rise,
    ),
    instances=PROMPTS,
    # From p = 1/2 to p = 0.88, about the middle and the easiest group of the figure.
    witnesses=({"weights": [2, 1, 1], "shift": 2},),
    repair=vf.Statement(
        latex=r"It rises with $p$ where $(2p-1)\log\frac{p(n-1)}{1-p} \le \frac12$, and falls with $p$ "
              r"on either side.",
        # The rise on the rising interval, the fall on either side of it.
        margin=lambda i: np.where(_on_rising_interval(i), _rise(i), -_rise(i)),
        relation=">",
        conditions=(ONE_FAMILY, SAME_BRANCH),
    ),
    repair_note=r"it rises with $p$ where $(2p-1)\log\frac{p(n-1)}{1-p} \le \frac12$, and falls on "
                "either side",
    mutants=(
        vf.mutant("it rises wherever p is above chance", margin=_rise, conditions=(ABOVE_CHANCE,)),
    ),
)
