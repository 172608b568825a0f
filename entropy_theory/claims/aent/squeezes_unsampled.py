r"""AEnt, Section 4.1: policy gradient squeezes what it does not sample.

"Policy optimization ... tends to reinforce the high-probability locally optimal tokens, while squeezing
down the low-probability optimal ones that are less likely to be sampled." The paper speaks of a sample
of high probability, and for the likeliest one it is right; the rule without that is what is judged.
Read: one state, one sampled token k with positive weight w; the step dz = c (e_k - pi), c = eta w > 0
of any size, lowers the probability of every other token, an unsampled optimal one among them.

False: the step pushes each logit down by c pi_b, the likely tokens most, so that a rare token can gain
when another rare token is reinforced. Exact rule: with g = sum_b pi_b^2, the first-order rate is

    d log pi_a / dc = g - pi_k - pi_a          (a not k),

and if pi_k + pi_a >= g, token a falls at every finite c. Reinforcing the likeliest token always
squeezes all others, since max pi >= g.

A whole group with a baseline does something else: ``extension.group-baseline``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from entropy_theory.claims.aent.token_mdp import likeliest
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
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

SIZE = Scalar(name="size", low=2.0**-6, high=32.0, grid=(1, Fraction(1, 4), 8))


def log_growth(i: Cases, sign: int = 1) -> Reals:
    """log pi'_a - log pi_a [..., k, a] after the step for each sampled token k."""
    policy = ar.softmax(i.logits)
    n = policy.shape[-1]
    hit = np.eye(n, dtype=bool)
    step = np.where(hit, 1 - policy[..., None, :], -policy[..., None, :])
    step = sign * ar.per_action(ar.per_action(i.size)) * step
    # log1p and expm1 keep the change of a step that hardly moves the policy.
    normalizer = np.log1p(np.sum(policy[..., None, :] * np.expm1(step), axis=-1))
    return step - normalizer[..., None]


def _others(values: Reals) -> Reals:
    """[..., n (n - 1)]: the entries [..., k, a] with a not k."""
    n = values.shape[-1]
    return values[..., ~np.eye(n, dtype=bool)]


def _rate(i: Cases) -> Reals:
    """d log pi_a/dc for each sampled k [..., k, a]: sum pi^2 - pi_k - pi_a."""
    policy = ar.softmax(i.logits)
    collision = ar.total(policy * policy)[..., None, None]
    return collision - policy[..., :, None] - policy[..., None, :]


def _without_sampled(i: Cases, values: Reals) -> Reals:
    """The entries [..., a] of [..., k, a] where k is the likeliest token; 1 at a = k."""
    top = likeliest(i.logits)
    rows = np.take_along_axis(values, top[..., None], axis=-2)[..., 0, :]
    return np.where(np.arange(values.shape[-1]) == top, 1 + 0 * rows, rows)


def _step_mean() -> symbolic.Expression:
    """E_pi[dz] = c (pi_k - g), with K the indicator of k and P the function pi of the token."""
    import sympy

    m, c = symbolic.Moments("P", indicators="K"), sympy.Symbol("c")
    return m.expect(c * (m["K"] - m["P"])) - c * (m.expect(m["K"]) - m.expect(m["P"]))


def _first_order() -> symbolic.Expression:
    """d log pi = x - E x along x = K - P: at a token that is not k it is -pi_a - (pi_k - g)."""
    import sympy

    m, own = symbolic.Moments("P", indicators="K"), sympy.Symbol("pi_a")
    at_other = (0 - own) - m.expect(m["K"] - m["P"])
    return at_other - (m.expect(m["P"]) - m.expect(m["K"]) - own)


_mean_step = symbolic.identity(
    "mean step", "E_pi[dz] = c (pi_k - g), g = sum_b pi_b^2 = E_pi[pi]", _step_mean
)
_jensen = smt.lemma(
    "normalizer", "Z = E e^{dz} >= e^{E dz}: each p e^y >= p (1 + y), y = dz - E dz, whose mean is 0",
    "p y exp_y",
    lambda v: [v.p > 0, v.exp_y >= 1 + v.y],
    lambda v: v.p * v.exp_y >= v.p + v.p * v.y,
    uses=("mean step",), axioms=("e^y >= 1 + y",),
)
_falls = smt.lemma(
    "falls", "log pi'_a - log pi_a = -c pi_a - log Z <= -c (pi_a + pi_k - g)",
    "c own sampled g log_z change",
    lambda v: [v.c > 0, v.log_z >= v.c * (v.sampled - v.g), v.change == -v.c * v.own - v.log_z],
    lambda v: smt.all_of(v.change <= -v.c * (v.own + v.sampled - v.g),
                         smt.implies(v.own + v.sampled >= v.g, v.change <= 0)),
    uses=("normalizer",), axioms=(SUM_OF_SIGNS, "log is increasing"),
)

_printed = Statement(
    latex=r"A step $\Delta z = c\,(e_k - \pi)$, $c > 0$, on a sampled token $k$ lowers the probability "
          "of every other token.",
    margin=lambda i: _others(-log_growth(i)),
)
_repaired = Statement(
    latex=r"$\Delta z = c\,(e_k - \pi)$, $c > 0$, lowers $\pi_a$, $a \ne k$, for every $c$ if $\pi_a + "
          r"\pi_k \ge \sum_b\pi_b^2$; so a step on the likeliest token lowers all others.",
    margin=lambda i: np.concatenate([
        _others(ar.maximum(_rate(i), -log_growth(i))),
        _without_sampled(i, -log_growth(i)),
    ], axis=-1),
    proof=(
        _mean_step,
        _jensen,
        _falls,
        smt.lemma(
            "likeliest", "each pi_b^2 <= pi_max pi_b, so g <= pi_max", "p top",
            lambda v: [v.p > 0, v.top >= v.p],
            lambda v: v.p * v.p <= v.top * v.p,
            axioms=("probabilities sum to 1",),
        ),
        smt.lemma(
            "assembly", "pi_a + pi_k >= g, or k the likeliest: the token falls",
            "c own sampled g log_z change top",
            lambda v: [v.c > 0, v.own > 0, v.log_z >= v.c * (v.sampled - v.g),
                       v.change == -v.c * v.own - v.log_z, v.g <= v.top,
                       _falls.instance(c=v.c, own=v.own, sampled=v.sampled, g=v.g, log_z=v.log_z,
                                       change=v.change)],
            lambda v: smt.all_of(smt.any_of(v.own + v.sampled < v.g, v.change <= 0),
                                 smt.any_of(v.sampled < v.top, v.change <= 0)),
            uses=("falls", "likeliest"),
        ),
    ),
)

squeezes_unsampled = Claim(
    id="aent.squeezes-unsampled",
    source="AEnt, Section 4.1",
    title="A reinforced sample squeezes all unsampled tokens",
    scope="one tabular state, one sampled token of positive weight, one step of any size",
    statement=_printed,
    instances=bandit_instances(SIZE, correct=False, actions=(2, 6)),
    repair=_repaired,
    repair_is="instead",
    repair_note="where pi_a + pi_k >= sum pi^2; always if the sampled token is the likeliest",
    negation=(
        symbolic.identity(
            "first order", "d log pi_a/dc = g - pi_k - pi_a at c = 0: with pi_k + pi_a < g an "
            "unsampled token gains for small c", _first_order,
        ),
        smt.lemma(
            "two rare tokens", "pi_a + pi_k < (max pi)^2 <= g: reinforcing either raises the other",
            "own sampled top rest g",
            lambda v: [v.top > 0, v.rest >= 0, v.g == v.top * v.top + v.rest,
                       v.own + v.sampled < v.top * v.top],
            lambda v: v.g - v.sampled - v.own > 0,
            uses=("first order",), axioms=(SUM_OF_SIGNS,),
        ),
    ),
    mutants=(
        Mutant(name="a negative sample raises every other token", statement=variant(
            _printed, margin=lambda i: _others(log_growth(i, sign=-1)))),
        Mutant(name="a sampled token above 1/n is enough", statement=variant(
            _repaired, margin=lambda i: _others(ar.maximum(
                1 - i.logits.shape[-1] * ar.softmax(i.logits)[..., :, None] + 0 * _rate(i),
                -log_growth(i))))),
        Mutant(name="pi_a + pi_k >= half of sum pi^2 is enough", statement=variant(
            _repaired, margin=lambda i: _others(ar.maximum(
                _rate(i) - ar.total(ar.softmax(i.logits) ** 2)[..., None, None] / 2,
                -log_growth(i))))),
    ),
)
