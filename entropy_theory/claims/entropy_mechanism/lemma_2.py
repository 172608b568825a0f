r"""Entropy Mechanism, Lemma 2: the derivative of a log-probability by a logit.

For a tabular softmax policy d log pi(a|s)/d z_{s,a'} = 1[a = a'] - pi(a'|s), exactly.

It is tested with its remainder, which is exact too: for every step h of the one logit z_{a'},

    -h^2/8 <= log pi_a(z + h e_{a'}) - log pi_a(z) - h (1[a = a'] - pi_{a'}) <= 0,

because the second derivative is -pi_{a'}(1 - pi_{a'}), between -1/4 and 0 whatever a is.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Scalar,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant

SIZE = Scalar(name="size", low=2.0**-8, high=16.0, grid=(1, Fraction(1, 8), 4))
TAYLOR = "Taylor's formula: the remainder lies between h^2/2 times the extremes of the second derivative"


def _excess(i: Cases, derivative: Reals) -> Reals:
    """log pi_a(z + h e_k) - log pi_a(z) - h derivative_{ak}, for h = size and -size; [B, 2, n, n]."""
    n = i.logits.shape[-1]
    units = np.eye(n, dtype=int)
    before = ar.log_softmax(i.logits)[..., None, :, None]
    found = []
    for size in (i.size, -i.size):
        h = ar.per_action(ar.per_action(size))
        # After the move of logit k the log-probabilities are on the last axis: bring a before k.
        after = ar.log_softmax(i.logits[..., None, :] + h * units)
        found.append(np.swapaxes(after, -1, -2) - before[..., 0, :, :] - h * derivative)
    return np.stack(found, axis=-3)


def _jacobian(i: Cases) -> Reals:
    return np.eye(i.logits.shape[-1], dtype=int) - ar.softmax(i.logits)[..., None, :]


def _room(i: Cases, derivative: Reals) -> Reals:
    """Both margins: the excess is at most 0 and at least -h^2/8."""
    excess = _excess(i, derivative)
    h = np.asarray(i.size)[..., None, None, None]
    slack = h * h / 8
    # Floats cannot resolve an excess below the rounding of log pi.
    rounding = 0 if ar.is_exact(i.logits) else 1e-12 * (1 + np.abs(excess))
    return np.stack([rounding - excess, excess + slack + rounding], axis=-1)


def _first_derivative() -> symbolic.Expression:
    import sympy

    # log pi = z - A along e_k, whose values over actions are the indicator of k.
    m = symbolic.Moments("", indicators="k")
    z, log_normalizer = sympy.symbols("z A")
    k = m["k"]
    moved = m.derivative(z - log_normalizer, k, {z: k, log_normalizer: m.expect(k)})
    return moved - (k - m.expect(k))


def _second_derivative() -> symbolic.Expression:
    m = symbolic.Moments("", indicators="k")
    k = m["k"]
    p = m.expect(k)
    return m.derivative(k - p, k, {}) + p * (1 - p)


def _written_out(s: symbolic.ExplicitSoftmax) -> Iterable[symbolic.Rational]:
    # e is free, so log p_a = log e_a - log(sum e) has derivative (d e_a)/e_a - (sum d e)/(sum e).
    normalizer = sum(s.e[1:], s.e[0])
    for a, e_a in enumerate(s.e):
        for k, e_k in enumerate(s.e):
            change = e_a.diff(e_k) * e_k / e_a - normalizer.diff(e_k) * e_k / normalizer
            yield change - ((1 if a == k else 0) - s.p[k])


QUARTER = smt.lemma(
    "at most a quarter", "0 <= p (1 - p) <= 1/4", "p",
    lambda v: [v.p > 0, v.p < 1],
    lambda v: smt.all_of(v.p * (1 - v.p) >= 0, 4 * v.p * (1 - v.p) <= 1),
)

_statement = Statement(
    latex=r"$\frac{\partial\log\pi(a|s)}{\partial z_{s,a'}} = \mathbf 1[a=a'] - \pi(a'|s)$: a move of "
          r"one logit by h changes $\log\pi(a|s)$ by h times this, up to $-h^2/8$ and $0$.",
    margin=lambda i: _room(i, _jacobian(i)),
    proof=(
        symbolic.softmax_rule(),
        symbolic.identity(
            "first derivative", "d log pi_a/dz_k = 1[a = k] - pi_k", _first_derivative,
            uses=("softmax rule",), axioms=("d/dt log sum exp(z) = E[dz/dt]",),
        ),
        symbolic.explicit("first derivative, written out", "the same for each n and all a, k",
                          _written_out),
        symbolic.identity("second derivative", "d2 log pi_a/dz_k^2 = -pi_k (1 - pi_k)",
                          _second_derivative, uses=("first derivative",)),
        QUARTER,
        smt.lemma(
            "assembly", "the excess is between -h^2/8 and 0", "p q h excess",
            # The second derivative is lowest at a policy with pi_k = p, highest at one with q.
            lambda v: [v.p > 0, v.p < 1, v.q > 0, v.q < 1,
                       QUARTER.instance(p=v.p), QUARTER.instance(p=v.q),
                       2 * v.excess >= v.h * v.h * -(v.p * (1 - v.p)),
                       2 * v.excess <= v.h * v.h * -(v.q * (1 - v.q))],
            lambda v: smt.all_of(8 * v.excess >= -v.h * v.h, v.excess <= 0),
            uses=("second derivative", "at most a quarter"), axioms=(TAYLOR,),
        ),
    ),
)

lemma_2 = Claim(
    id="entropy-mechanism.lemma-2",
    source="Entropy Mechanism, Lemma 2 (Appendix B)",
    title="Derivative of a log-probability by a logit",
    scope="one softmax policy, one logit",
    source_text="not in sources",
    statement=_statement,
    instances=bandit_instances(SIZE, actions=(2, 5), correct=False),
    mutants=(
        Mutant(name="pi of the wrong action: 1[a = a'] - pi(a|s)",
               statement=variant(_statement, margin=lambda i: _room(
                   i, np.swapaxes(_jacobian(i), -1, -2)))),
        Mutant(name="normalizer forgotten: 1[a = a']",
               statement=variant(_statement, margin=lambda i: _room(
                   i, _jacobian(i) + ar.softmax(i.logits)[..., None, :]))),
        Mutant(name="derivative of pi, not of log pi",
               statement=variant(_statement, margin=lambda i: _room(
                   i, ar.softmax(i.logits)[..., :, None] * _jacobian(i)))),
    ),
)
