r"""Extension of the Entropy Mechanism, Lemma 1: the entropy of responses to first order, with a
bound.

A response has h tokens out of n, with tabular logits z and any step d of them. Let
:math:`D = \max_s \|d_s\|_2^2` over the states, :math:`d(s)` the probability of visiting s, and
:math:`H(sa)` the entropy to come after token a. Then

.. math::

    |H(z + d) - H(z) - \sum_s d(s) \{-\operatorname{Cov}_s(\log \pi, d) + \operatorname{Cov}_s(H(sa),
    d)\}| \le (h/4)(1 + \log h + h \log n) D.

This is the repaired Lemma 1 with its remainder. For one token it is the bound at one state.

Proof, along :math:`z + t d`, with responses y as actions. Let
:math:`S(y) = \sum_t (d_t - \mathbb E d_t)` be the score of y, and :math:`Q(y)` the sum of
:math:`\operatorname{Var}(d)` over the states of y. Then

.. math::

    H' = -\mathbb E[\log \pi(y) S],\quad H'' = -\mathbb E[S^2] - \mathbb E[\log \pi(y) (S^2 - Q)],\quad
    \mathbb E[S^2] = \mathbb E[Q].

Here :math:`Q \le h D/2` and :math:`|S| \le h \sqrt{2 D}`. Then
:math:`-\mathbb E[\log \pi(y) Q] \le (h D/2) H` bounds H'' from below.
:math:`-p \log p \le -p \log q + q - p` with :math:`q = 1/(4 h n^h)` bounds it from above. Together,
:math:`|H''| \le (h D/2)(1 + \log h + h \log n)`.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    STEP,
    action_covariance,
    entropy_to_go,
    trees,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import along, has_derivative

SIZE = vf.Scalar(name="size", low=2.0**-8, high=8.0, grid=(1, Fraction(1, 64)), range=vf.POSITIVE)


@vf.definition
def response_rate(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    """sum_s d(s) {-Cov_s(log pi, step) + Cov_s(H(sa), step)}."""
    return action_covariance(logits, step, entropy_to_go(logits) - ar.log_softmax(logits))


@vf.definition
def response_remainder_bound(step: ar.Reals) -> ar.Reals:
    """(h/4)(1 + log h + h log n) max_s ||step_s||^2."""
    tree = ar.token_tree(step)
    h = tree.horizon
    most = h * (1 + ar.log_of(h, like=step) + h * ar.log_of(tree.n_tokens, like=step))
    return most * ar.largest(ar.total(step * step)) / 4


def _step(i: vf.Cases) -> ar.Reals:
    return i.size[..., None, None] * i.step


def _room(i: vf.Cases, rate: Callable[[ar.Reals, ar.Reals], ar.Reals] = response_rate) -> ar.Reals:
    """``bound - |H(z + d) - H(z) - rate|``."""
    step = _step(i)
    change = ar.response_entropy(i.logits + step) - ar.response_entropy(i.logits)
    return response_remainder_bound(step) - np.abs(change - rate(i.logits, step))


def _frozen_rate(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    return -action_covariance(logits, step)


response_entropy_expansion = vf.Claim(
    id="extension.response-entropy-expansion",
    source="Extension of Entropy Mechanism, Lemma 1",
    title="Entropy of responses to first order, with an explicit remainder",
    scope="tabular token tree, one logit step of any size, with its remainder; entropy per response",
    statement=vf.Statement(
        latex=r"$|\mathcal H(z+\Delta z) - \mathcal H(z) - \sum_s d(s)\{-\mathrm{Cov}_s(\log\pi, \Delta "
              r"z) + \mathrm{Cov}_s(\mathcal H(sa), \Delta z)\}| \le \frac h4(1 + \log h + h\log "
              r"n)\max_s\lVert\Delta z_s\rVert_2^2$ for responses of h tokens.",
        margin=_room,
        beyond=lambda i: (has_derivative(lambda t: ar.response_entropy(along(i.logits, t, i.step)), 0,
                                         response_rate(i.logits, i.step)),),
    ),
    instances=trees(SIZE, reward=None, vectors=(STEP,)),
    first_order=True,
    mutants=(
        vf.mutant("the printed rate, without the entropy to come",
                  margin=lambda i: _room(i, rate=_frozen_rate)),
    ),
)
