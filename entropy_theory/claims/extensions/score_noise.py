r"""Extension of Entropy Mechanism, Lemma 1: SGD's noise against noise of its own at each logit.

One action has probability p, and each of the :math:`m = n - 1` others has q, so
:math:`e = 1 - p = m q`. The gap in the logits is :math:`D = \log(p/q)`. With w1 and w2 the values of
:math:`\sqrt{\pi/(1 - \pi)}` of the one and of each other action, the second orders of entropy are

.. math::

    \text{isotropic}\quad e [p (p - q) D - (1 + p - q)/2],

    \text{SGD}\quad (e q/2) \{p (p - q) D [(2 p - 1) m + 2 p + 1] - [p^2 (m + 2) + 1 - q (1 + p)]\},

    \text{Adam}\quad p e D (w_1 - w_2)(e w_1 + p w_2) - [1 - p e (w_1 - w_2)^2]/2.

The mean square displacement of the centered logits is :math:`n - 1` under isotropic noise, and
:math:`1 - \sum \pi^2` under SGD's. Per unit of it, SGD's noise raises a peaked policy's entropy more.
In the limit of large D this is :math:`(n + 2)/4` times as much, or 8.5 times for 32 actions. Per step
of one learning rate it raises it less, because SGD's steps are short there. Per displacement of the
policy, :math:`\operatorname{Var}_\pi(d)`, all shapes are within the bounds of
`extension.noise-any-shape`.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.entropy_ceiling import count
from entropy_theory.claims.extensions.isotropic_noise import isotropic_effect
from entropy_theory.claims.extensions.noise import SOURCE
from entropy_theory.claims.extensions.noise_shapes import adam_effect, score_effect
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import after, number_of, tends_to

GAP = vf.Scalar(name="gap", low=0.05, high=12.0, grid=(1, 2, 4), range=vf.POSITIVE)


@vf.definition
def dominated(gap: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Logits of one action that is ahead of all others by ``gap``: [..., n]."""
    return np.where(correct, ar.per_action(gap), 0 * ar.per_action(gap))


@vf.definition
def likely(gap: ar.Reals, others: ar.Reals) -> ar.Reals:
    """p = e^D/(e^D + m)."""
    return 1 / (1 + others * np.exp(-gap))


@vf.definition
def rare(gap: ar.Reals, others: ar.Reals) -> ar.Reals:
    """q = 1/(e^D + m)."""
    return np.exp(-gap) / (1 + others * np.exp(-gap))


@vf.definition
def isotropic_closed(p: ar.Reals, q: ar.Reals, gap: ar.Reals, others: ar.Reals) -> ar.Reals:
    """The second order under isotropic noise."""
    return others * q * (p * (p - q) * gap - (1 + p - q) / 2)


@vf.definition
def score_closed(p: ar.Reals, q: ar.Reals, gap: ar.Reals, others: ar.Reals) -> ar.Reals:
    """The second order under SGD's noise."""
    return others * q * q / 2 * (
        p * (p - q) * gap * ((2 * p - 1) * others + 2 * p + 1)
        - (p * p * (others + 2) + 1 - q * (1 + p)))


@vf.definition
def adam_closed(p: ar.Reals, q: ar.Reals, gap: ar.Reals, others: ar.Reals) -> ar.Reals:
    """The second order under Adam's noise."""
    e = others * q
    first, second = np.sqrt(p / e), np.sqrt(q / (1 - q))
    apart = first - second
    return p * e * gap * apart * (e * first + p * second) - (1 - p * e * (apart * apart)) / 2


ONE_LIKELY = vf.Condition(
    latex="one action is likely", value=lambda i: 2 - count(dominated(i.gap, i.correct), i.correct))


def _slower(i: vf.Cases) -> ar.Reals:
    """Isotropic noise minus SGD's, at one displacement, where the first raises entropy."""
    z = dominated(i.gap, i.correct)
    p, isotropic, one = ar.softmax(z), isotropic_effect(z), 0 * i.gap + ar.constant(1, like=i.gap)
    more = isotropic * ar.total(p * (1 - p)) - score_effect(z) * count(z, ~i.correct)
    return np.where(ar.less(0 * one, isotropic), more, one)


def _closed(i: vf.Cases) -> ar.Reals:
    """The second orders with one likely action minus their closed forms."""
    z = dominated(i.gap, i.correct)
    others = count(z, ~i.correct)
    given = (likely(i.gap, others), rare(i.gap, others), i.gap, others)
    return np.stack([isotropic_effect(z) - isotropic_closed(*given),
                     score_effect(z) - score_closed(*given),
                     adam_effect(z) - adam_closed(*given)], axis=-1)


def _as_gap_grows(i: Any) -> tuple[vf.Term, ...]:
    """Second orders over displacement, per unit of gap and of the probability of the others."""
    def per(effect: Any, displacement: Any) -> Any:
        def at(k: vf.Term) -> Any:
            gap = number_of(after(k))
            z = dominated(gap, i.correct)
            p = ar.softmax(z)
            wrong = ar.total(p, ~i.correct)
            return effect(z) / (displacement(p, count(z, ~i.correct)) * (wrong * gap))
        return at

    n = i.correct.shape[-1]
    return (
        tends_to(per(isotropic_effect, lambda p, others: others), 1 / (n - 1)),
        tends_to(per(score_effect, lambda p, others: ar.total(p * (1 - p))),
                 (n + 2) / 4 * (1 / (n - 1))),
    )


score_noise = vf.Claim(
    id="extension.score-noise",
    source=SOURCE,
    title="At one displacement of the logits independent noise raises entropy, where it does, by at "
          "least as much as SGD's",
    scope="one tabular state with one likely action and n - 1 equal others, coins as rewards, second "
          "order, per mean square displacement of the centered logits",
    statement=vf.Statement(
        latex=r"With one likely action and $n - 1$ equal others, where independent noise raises entropy "
              r"it does so by at least as much, per mean square displacement of the centered logits, as "
              r"noise of covariance $\mathrm{diag}(\pi) - \pi\pi^\top$.",
        margin=_slower,
        conditions=(ONE_LIKELY,),
    ),
    instances=vf.bandit_instances(GAP),
    repair=vf.Statement(
        latex=r"With $p$ of one action, $q$ of each of $m = n - 1$ others, $e = mq$ and $D = "
              r"\log\frac pq$ the second orders are $e[p(p-q)D - \frac12(1+p-q)]$ (independent), "
              r"$\frac{eq}2\{p(p-q)D[(2p-1)m+2p+1] - [p^2(m+2)+1-q(1+p)]\}$ (SGD) and $peD(w_1-w_2)"
              r"(ew_1+pw_2) - \frac12[1-pe(w_1-w_2)^2]$, $w_1 = \sqrt{p/e}$, $w_2 = \sqrt{q/(1-q)}$ "
              r"(Adam). Along $D = 1, 2, \dots$ the first two, over displacements $n - 1$ and $1 - "
              r"\sum\pi^2$ and over $eD$, tend to $\frac1{n-1}$ and $\frac{n+2}4\cdot\frac1{n-1}$.",
        margin=_closed,
        relation="==",
        conditions=(ONE_LIKELY,),
        beyond=_as_gap_grows,
    ),
    repair_note="exact second orders; per displacement SGD's noise raises entropy (n + 2)/4 times as "
                "much in the limit of a large gap",
    mutants=(
        vf.mutant("SGD's noise is isotropic noise of another size", margin=lambda i: np.stack([
            score_effect(dominated(i.gap, i.correct))
            - isotropic_effect(dominated(i.gap, i.correct)) * ar.total(
                ar.softmax(dominated(i.gap, i.correct))
                * (1 - ar.softmax(dominated(i.gap, i.correct))))], axis=-1)),
    ),
)
