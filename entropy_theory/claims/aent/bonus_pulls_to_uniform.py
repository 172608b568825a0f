r"""AEnt, Section 4.1: the entropy bonus pulls every probability towards 1/n.

"Maximizing the entropy pulls the policy towards [uniform], increasing the likelihood of low-probability
actions while decreasing those of the high-probability ones." Read: one state, n tokens, gradient flow
on H (a bonus step dz = eta lambda grad H, eta -> 0): each pi_a moves towards 1/n. With

    S_a = pi_a (log pi_a + H),  Sb = E_pi S >= 0:     dz_a = -S_a,   d log pi_a = -(S_a - Sb),

a token gains exactly when S_a < Sb. Hence (exact)
- tokens with pi_a <= e^{-H} gain, in particular all below 1/n, since e^{-H} >= 1/n;
- the likeliest token loses, and entropy rises at the rate ||S||^2;
- tokens between 1/n and the crossing S_a = Sb gain too, moving away from 1/n: false as printed.
The lift of a rare token's logit, pi_a (-log pi_a - H), falls with pi_a below e^{-1-H}: the rarest token
is lifted least. (A natural-gradient bonus multiplies every log-ratio by 1 - eta lambda instead.)
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import (
    covariance_is_nonnegative,
    excess,
    own_covariance,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.terms import definition


@definition
def gains(logits: Reals) -> Reals:
    """d log pi_a under the flow: Sb - S_a, since S_a = Cov_pi(z, delta_a)."""
    return -excess(logits)


@definition
def above_uniform(logits: Reals) -> Reals:
    """pi_a - 1/n, summed over pairs."""
    n = logits.shape[-1]
    return ar.centered(0 * logits + ar.constant(1, like=logits) / n, ar.softmax(logits))


def _towards_uniform(i: Cases) -> Reals:
    return -above_uniform(i.logits) * gains(i.logits)


def _above_typical(logits: Reals) -> Reals:
    """log pi_a + H: above zero where pi_a > e^{-H}."""
    return ar.centered(ar.softmax(logits), logits)


def _rule(i: Cases) -> Reals:
    """Each token is above e^{-H} or gains, is below 1/n only if it gains, and the likeliest loses."""
    gain = gains(i.logits)
    return np.concatenate([
        ar.maximum(_above_typical(i.logits), gain),
        ar.maximum(above_uniform(i.logits), gain),
        np.where(ar.is_likeliest(i.logits), -gain, 0 * gain),
    ], axis=-1)


def _lift(i: Cases) -> Reals:
    """A rarer token's logit is lifted at least as much as a more frequent one's."""
    lift = -own_covariance(i.logits)
    order = i.logits[..., :, None] - i.logits[..., None, :]
    return (ar.maximum(order, lift[..., :, None] - lift[..., None, :])).reshape(len(i.logits), -1)


def _flow() -> list[symbolic.Expression]:
    """x = grad H = -S: d log pi = x - E x = -(S - E S), and dH/dt = -Cov(L, x) = E[pi (L + H)^2]."""
    m = symbolic.Moments("L P")
    own = m["P"] * (m["L"] - m.expect(m["L"]))
    moved = (-own) - m.expect(-own)
    entropy_rate = -m.covariance(m["L"], -own) - m.expect(m["P"] * (m["L"] - m.expect(m["L"])) ** 2)
    return [moved + own - m.expect(own), entropy_rate]


def _gradient() -> symbolic.Expression:
    m = symbolic.Moments("L x")
    slope = m.derivative(-m.expect(m["L"]), m["x"], {m["L"]: m["x"] - m.expect(m["x"])})
    return slope + m.expect(m["x"] * (m["L"] - m.expect(m["L"])))


def _lift_slope() -> symbolic.Expression:
    import sympy

    p, h = sympy.symbols("p H", positive=True)
    return sympy.diff(-p * (sympy.log(p) + h), p) + (sympy.log(p) + 1 + h)


_FLOW = (
    symbolic.softmax_rule(),
    symbolic.identity("gradient of entropy", "dH/dz_a = -S_a = -pi_a (log pi_a + H)", _gradient,
                      uses=("softmax rule",)),
    symbolic.identity("flow", "d log pi_a = E S - S_a, and entropy rises at the rate "
                      "E[pi (log pi + H)^2] = sum S_a^2", _flow, uses=("gradient of entropy",)),
)

_printed = Statement(
    latex=r"Under the gradient flow of $\mathcal H$ every probability moves towards uniform: "
          r"$(1/n - \pi_a)\,\dot\pi_a \ge 0$.",
    margin=_towards_uniform,
)
_repaired = Statement(
    latex=r"$\frac{d}{dt}\log\pi_a = \mathbb E_\pi S - S_a$, $S_a = \pi_a(\log\pi_a + \mathcal H)$: "
          r"every token with $\pi_a \le e^{-\mathcal H}$, and so every one below $1/n$, gains, and the "
          "likeliest loses.",
    margin=_rule,
    beyond=lambda i: (
        has_derivative(
            lambda t: ar.log_softmax(i.logits - ar.per_action(t) * own_covariance(i.logits)), 0,
            gains(i.logits)),
        has_derivative(
            lambda t: ar.entropy(i.logits - ar.per_action(t) * own_covariance(i.logits)), 0,
            ar.total(own_covariance(i.logits) * own_covariance(i.logits))),
    ),
)

bonus_pulls_to_uniform = Claim(
    id="aent.bonus-pulls-to-uniform",
    source="AEnt, Section 4.1",
    title="The entropy bonus pulls each probability towards 1/n",
    scope="one tabular state, gradient flow on the entropy alone",
    statement=_printed,
    instances=bandit_instances(correct=False),
    repair=_repaired,
    repair_is="instead",
    repair_note=r"tokens up to $e^{-H} \ge 1/n$ gain, the likeliest loses; in between $S_a < E S$ "
                "decides",
    negation=(
        *_FLOW,
        *covariance_is_nonnegative(),
        symbolic.identity("lift", "the logit's lift -p (log p + H) has the slope -(log p + 1 + H) in p",
                          _lift_slope),
        smt.lemma(
            "away from 1/n",
            "a token with 1/n < pi_a < e^{-H}, such as 3/10 in (1, 1, 3, 5)/10, gains: S_a < 0 <= E S; "
            "and below e^{-1-H} the lift increases with p: a rarer token is lifted less",
            "p uniform level S mean gain lift",
            lambda v: [v.uniform > 0, v.p > v.uniform, v.level < 0, v.p * v.level == v.S, v.mean >= 0,
                       v.gain == v.mean - v.S, v.lift == -(v.level + 1)],
            lambda v: smt.all_of((v.uniform - v.p) * v.gain < 0,
                                 smt.implies(v.level < -1, v.lift > 0)),
            uses=("flow", "C is nonnegative", "lift"), axioms=("z = log pi + a constant",),
        ),
    ),
    mutants=(
        Mutant(name="a token gains exactly up to e^{-H}", statement=variant(
            _printed, margin=lambda i: -_above_typical(i.logits) * gains(i.logits))),
        Mutant(name="rarer tokens are lifted more", statement=variant(_printed, margin=_lift)),
        Mutant(name="every token above e^{-H} loses", statement=variant(
            _repaired, margin=lambda i: ar.maximum(-_above_typical(i.logits), -gains(i.logits)))),
    ),
)
