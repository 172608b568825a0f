r"""Extension of Entropy Mechanism, Lemma 1: the noise of SGD, of Adam and of independent logits compared.

Without a signal a policy-gradient step is noise. Its covariance in the logits is, up to a factor,

    SGD          S = diag(pi) - pi pi', that of a sample's score e_k - pi under a coin (score-shaped);
    Adam         S_ab/sqrt(S_aa S_bb), once its mean squares have settled;
    isotropic    the identity, noise of its own at each logit.

The second orders of entropy follow from moments of pi and of w = sqrt(pi/(1 - pi)). Take one action of
probability p, q each of m = n - 1 others, e = 1 - p = m q, and the gap D = log(p/q) in the logits:

    isotropic    e [p (p - q) D - (1 + p - q)/2],
    SGD          (e q/2) {p (p - q) D [(2 p - 1) m + 2 p + 1] - [p^2 (m + 2) + 1 - q (1 + p)]},
    Adam         p e D (w1 - w2)(e w1 + p w2) - [1 - p e (w1 - w2)^2]/2.

Per mean square displacement of the centered logits, n - 1 and 1 - sum pi^2 for the first two, SGD's noise
raises a peaked policy's entropy more: (n + 2)/4 times as much as D grows, eight times for 32 actions. Per
step of one learning rate it raises it less, because SGD's steps are short there. Per displacement of the
policy, Var_pi(d), all shapes are within the bounds of ``extension.noise-any-shape``.

The first two second orders turn from - to + at one gap at most: the entropy that is stationary under
noise. With many actions that is far from peaked: for fixed p it is above zero for isotropic noise and for
Adam's at every p, for SGD's at every p above 1/2; and H/log n is 1 - p.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.entropy_ceiling import count
from entropy_theory.claims.extensions.noise import (
    SOURCE,
    isotropic_effect,
    noise_covariance,
    noise_effect,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    after,
    number_of,
    tends_to,
)

GAP = vf.Scalar(name="gap", low=0.05, high=12.0, grid=(1, 2, 4), range=vf.POSITIVE)
OTHERS = vf.Scalar(name="others", low=1, high=1e4, grid=(1, 2, 9), range=vf.Range(low=1))
FACTOR = vf.Scalar(name="factor", low=1.01, high=8.0, grid=(2,), range=vf.Range(low=1, open_low=True))
PEAK = vf.Scalar(name="peak", low=0.01, high=0.99, grid=(Fraction(1, 2),),
                 range=vf.Range(low=0, open_low=True, high=1, open_high=True))
"""The probability of the likely action, where the number of others grows."""


@vf.definition
def score_effect(logits: ar.Reals) -> ar.Reals:
    """The second order under SGD's noise, from moments of pi."""
    p = ar.softmax(logits)
    square, cube = ar.total(p * p), ar.total(p * p * p)
    return -(square + square * square - 2 * cube + (1 + 2 * square) * ar.covariance(p, logits, p)
             - 3 * ar.covariance(p, logits, p * p)) / 2


@vf.definition
def rest(policy: ar.Reals) -> ar.Reals:
    """1 - pi_a, summed over the other actions."""
    return ar.total(np.where(ar.same_action(policy), 0 * policy[..., None, :], policy[..., None, :]))


@vf.definition
def odds_root(logits: ar.Reals) -> ar.Reals:
    """w = sqrt(pi/(1 - pi))."""
    p = ar.softmax(logits)
    return np.sqrt(p / rest(p))


@vf.definition
def adam_effect(logits: ar.Reals) -> ar.Reals:
    """The second order under Adam's noise, from moments of pi and w."""
    p, w = ar.softmax(logits), odds_root(logits)
    return (ar.covariance(p, logits, w * w) - ar.mean(p, w) * ar.covariance(p, logits, w)
            - (1 - ar.covariance(p, w, w)) / 2)


@vf.definition
def score_covariance(logits: ar.Reals) -> ar.Reals:
    """S = sum_k pi_k (e_k - pi)(e_k - pi)'."""
    return noise_covariance(logits, ar.identity(logits) - ar.softmax(logits)[..., :, None])


@vf.definition
def scaled(covariance: ar.Reals, own: ar.Reals) -> ar.Reals:
    """S_ab/sqrt(S_aa S_bb), from S and its diagonal."""
    return covariance / (np.sqrt(own)[..., :, None] * np.sqrt(own)[..., None, :])


def _shapes(i: vf.Cases, scaling: bool = True) -> ar.Reals:
    """Second orders from covariances minus those from moments."""
    p = ar.softmax(i.logits)
    of_sgd = score_covariance(i.logits)
    of_adam = scaled(of_sgd, p * rest(p)) if scaling else of_sgd
    return np.stack([
        noise_effect(i.logits, ar.identity(i.logits)) - isotropic_effect(i.logits),
        noise_effect(i.logits, of_sgd) - score_effect(i.logits),
        noise_effect(i.logits, of_adam) - adam_effect(i.logits)], axis=-1)


noise_shapes = vf.Claim(
    id="extension.noise-shapes",
    source=SOURCE,
    title="What the noise of SGD, of Adam and of independent logits does to entropy, to second order",
    scope="one tabular state, coins as rewards, mean squares of Adam that have settled, second order",
    statement=vf.Statement(
        latex=r"The second order of entropy under noise of covariance $C$ is $\mathrm{Cov}_\pi(\pi, "
              r"\log\pi) - \frac12(1 - \sum\pi^2)$ for $C = I$; $-\frac12[s + s^2 - 2\sum\pi^3 + "
              r"(1 + 2 s)\,\mathrm{Cov}_\pi(\pi, \log\pi) - 3\,\mathrm{Cov}_\pi(\pi^2, \log\pi)]$, $s = "
              r"\sum\pi^2$, for $C = S = \sum_k \pi_k (e_k - \pi)(e_k - \pi)^\top$ (SGD); and "
              r"$\mathrm{Cov}_\pi(\log\pi, w^2) - \mathbb E[w]\,\mathrm{Cov}_\pi(\log\pi, w) - "
              r"\frac12(1 - \mathrm{Var}_\pi(w))$, $w = \sqrt{\pi/(1 - \pi)}$, for $C_{ab} = "
              r"S_{ab}/\sqrt{S_{aa} S_{bb}}$ (Adam).",
        margin=_shapes,
        relation="==",
    ),
    instances=vf.bandit_instances(correct=False),
    mutants=(
        vf.mutant("Adam's noise is SGD's", margin=lambda i: _shapes(i, scaling=False)),
    ),
)

# ---------------------------------------------------------------- one likely action


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
    title="At one displacement of the logits independent noise raises the entropy of a peaked policy "
          "more than SGD's",
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
              r"(Adam). As $D$ grows the first two, over displacements $n - 1$ and $1 - \sum\pi^2$ and "
              r"over $eD$, tend to $\frac1{n-1}$ and $\frac{n+2}4\cdot\frac1{n-1}$.",
        margin=_closed,
        relation="==",
        conditions=(ONE_LIKELY,),
        beyond=_as_gap_grows,
    ),
    repair_note="exact second orders; for peaked policies SGD's noise raises entropy (n + 2)/4 times as "
                "much",
    mutants=(
        vf.mutant("SGD's noise is isotropic noise of another size", margin=lambda i: np.stack([
            score_effect(dominated(i.gap, i.correct))
            - isotropic_effect(dominated(i.gap, i.correct)) * ar.total(
                ar.softmax(dominated(i.gap, i.correct))
                * (1 - ar.softmax(dominated(i.gap, i.correct))))], axis=-1)),
    ),
)

# ---------------------------------------------------------------- one gap

def _turned(i: vf.Cases, same: bool = False) -> ar.Reals:
    """The second orders at a larger gap, where they are not below zero at the smaller one."""
    one, larger = 0 * i.gap + ar.constant(1, like=i.gap), i.gap * i.factor

    def at(effect: Any, gap: ar.Reals) -> ar.Reals:
        return effect(likely(gap, i.others), rare(gap, i.others), gap, i.others)

    rows = []
    for effect in (isotropic_closed, score_closed):
        now = at(isotropic_closed if same else effect, i.gap)
        rows.append(np.where(ar.less(now, 0 * one), one, at(effect, larger)))
    return np.stack(rows, axis=-1)


def _among_many(i: Any) -> tuple[vf.Term, ...]:
    """Second orders over log m for a fixed p, as the number m of other actions grows."""
    def per(effect: Any) -> Any:
        def at(k: vf.Term) -> Any:
            others = number_of(after(after(k)))
            q = e / others
            return effect(p, q, np.log(p / q), others) / np.log(others)
        return at

    p, e = i.peak, 1 - i.peak
    return (tends_to(per(isotropic_closed), e * (p * p)),
            tends_to(per(score_closed), e * e * (p * p) * (2 * p - 1) / 2))


noise_level = vf.Claim(
    id="extension.noise-level",
    source=SOURCE,
    title="With one likely action entropy has at most one stationary level under isotropic noise and "
          "under SGD's; among many actions it is far from peaked",
    scope="one tabular state with one likely action and m equal others, m any number from 1 on, coins as "
          "rewards, second order",
    statement=vf.Statement(
        latex=r"With $p = e^D/(e^D + m)$ of one action and $q = 1/(e^D + m)$ of each of $m$ others, the "
              r"second orders under isotropic noise and SGD's, where they are at least 0 at a gap $D$, "
              r"are above 0 at every larger one. For a fixed $p$, as $m$ grows, they are "
              r"$(1-p)\,p^2\log m$ and $\frac12(1-p)^2p^2(2p-1)\log m$ in the limit.",
        margin=_turned,
        relation=">",
        beyond=_among_many,
    ),
    instances=vf.bandit_instances(OTHERS, GAP, FACTOR, PEAK, actions=(2, 2), correct=False),
    mutants=(
        vf.mutant("SGD's noise raises entropy wherever isotropic noise does",
                  margin=lambda i: _turned(i, same=True)),
    ),
)
