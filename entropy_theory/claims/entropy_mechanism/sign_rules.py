"""When the covariances of the Entropy Mechanism are positive: what several claims share.

One state, logits z, pi = softmax(z), reward r, advantage A = r - E_pi r, zb = E_pi z,
c_a = pi_a (z_a - zb) = pi_a (log pi_a + H), C = E_pi c >= 0. Per unit learning rate the first-order
fall of entropy is

    plain policy gradient:    Cov_pi(log pi, pi A) = E[(r - rho)(c - C)] for every constant rho,
    natural policy gradient:  Cov_pi(log pi, A)    = Cov_pi(z, r).

Both are positive if the reward is ordered like the policy (r_a > r_b never with z_a < z_b), unless one
of the two is constant. For the natural gradient this is Chebyshev's sum inequality. For the plain one
c is not ordered like z (it has its minimum at pi_a = e^{-1-H}), but c - C changes sign only once, at
z+ = max(zb, max{z_a : z_a >= zb, c_a < C}); with rho the largest reward at or below z+ no term of
E[(r - rho)(c - C)] is negative.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from entropy_theory.claims.aepo.tempered_reinforce import (
    EXP_INCREASES,
    SUM_OF_SIGNS,
    covariance_is_nonnegative,
    own_covariance,
)
from entropy_theory.verification import (
    Cases,
    Condition,
    Step,
    Vector,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Ball, Reals
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.statement import ANY
from entropy_theory.verification.formula.terms import Term, definition, elementwise
from entropy_theory.verification.instances import Instance


def _in_order(case: Instance) -> Instance:
    """The instance with its rewards put into the order of the policy."""
    order = np.argsort(np.asarray(case.get("weights", case["logits"])))
    reward = np.empty(len(order))
    reward[order] = np.sort(np.asarray(case["reward"]))
    return {**case, "reward": reward.tolist()}


REWARD = Vector(name="reward", low=0.0, high=1.0, grid=(0, 1, Fraction(1, 2)), range=ANY)
"""Graded rewards; the statements hold for any."""
_any_order = bandit_instances(correct=False, actions=(2, 6), vectors=(REWARD,))
BANDITS = dataclasses.replace(
    _any_order, strategy=st.one_of(_any_order.strategy, _any_order.strategy.map(_in_order))
)


@definition
def plain_covariance(logits: Reals, reward: Reals) -> Reals:
    """Cov_pi(log pi, pi A), as the covariance of the reward and c."""
    return ar.covariance(ar.softmax(logits), reward, own_covariance(logits))


@definition
def natural_covariance(logits: Reals, reward: Reals) -> Reals:
    """Cov_pi(log pi, A) = Cov_pi(z, r)."""
    return ar.covariance(ar.softmax(logits), logits, reward)


def as_printed(logits: Reals, reward: Reals, kind: str) -> Term:
    """Both forms are one: that of Theorem 1 or 2, and what is computed."""
    policy, log_policy = ar.softmax(logits), ar.log_softmax(logits)
    advantage = ar.centered(policy, reward)
    if kind == "plain":
        return elementwise("equal", ar.covariance(policy, log_policy, policy * advantage),
                           plain_covariance(logits, reward))
    return elementwise("equal", ar.covariance(policy, log_policy, advantage),
                       natural_covariance(logits, reward))


def is_the_fall(logits: Reals, reward: Reals, kind: str) -> Term:
    """The covariance is minus the rate of entropy under the step pi A, or A."""
    policy = ar.softmax(logits)
    advantage = ar.centered(policy, reward)
    step, fall = ((policy * advantage, plain_covariance(logits, reward)) if kind == "plain"
                  else (advantage, natural_covariance(logits, reward)))
    return has_derivative(lambda t: ar.entropy(logits + ar.per_action(t) * step), 0, -fall)


def expected_reward(i: Cases) -> Reals:
    """E_pi r."""
    return ar.mean(ar.softmax(i.logits), i.reward)


def pair_products(i: Cases) -> Reals:
    """(r_a - r_b)(z_a - z_b) for all pairs, [..., n, n]."""
    return _differences(i.reward) * _differences(i.logits)


def ordered(products: Reals) -> Reals:
    """The smallest of all pairs' products."""
    return ar.smallest(ar.smallest(products))


def spread(values: Reals) -> Reals:
    """Largest minus smallest."""
    return ar.largest(values) - ar.smallest(values)


def _differences(values: Reals) -> Reals:
    return values[..., :, None] - values[..., None, :]


ORDERED_LIKE_POLICY = Condition(
    latex="the reward is ordered like the policy: no likelier action has a smaller reward",
    value=lambda i: ordered(pair_products(i)),
    relation=">=",
)
NOT_UNIFORM = Condition(latex="the policy is not uniform",
                        value=lambda i: spread(i.logits))
NOT_CONSTANT = Condition(latex="the reward is not constant", value=lambda i: spread(i.reward))
ORDERED = (ORDERED_LIKE_POLICY, NOT_UNIFORM, NOT_CONSTANT)


def illustration(step: Step) -> Step:
    """The step as an example or an aside, which no other step rests on."""
    return dataclasses.replace(step, cross_check=True)


def covariance_at(
    kind: Callable[[Reals, Reals], Reals], weights: list[int], reward: list[int]
) -> Ball:
    """A covariance at an exact policy, as a ball."""
    from flint import arb

    logits = np.array([[arb(w).log() for w in weights]], dtype=object)
    return kind(logits, np.array([[arb(r) for r in reward]], dtype=object))[0]


# ---------------------------------------------------------------- any correct set


def _plain_on_correct_set() -> list[symbolic.Expression]:
    """Cov(z, P (A - p)) against p (1 - p)(E[c|A*] - E[c|wrong]) with E[Ac] = p E[c|A*]."""
    m = symbolic.Moments("z P", indicators="A")
    z, prob, a = m["z"], m["P"], m["A"]
    p, c = m.expect(a), prob * (z - m.expect(z))
    right, wrong = m.expect(a * c), m.expect((1 - a) * c)
    return [
        m.covariance(z, prob * (a - p)) - ((1 - p) * right - p * wrong),
        m.covariance(z, prob * (a - p)) - (right - p * m.expect(c)),
    ]


def _natural_on_correct_set() -> list[symbolic.Expression]:
    m = symbolic.Moments("z", indicators="A")
    z, a = m["z"], m["A"]
    p = m.expect(a)
    right, wrong = m.expect(a * z), m.expect((1 - a) * z)
    return [
        m.covariance(z, a - p) - ((1 - p) * right - p * wrong),
        m.covariance(z, a - p) - m.expect(a * (z - m.expect(z))),
    ]


def plain_sign_rule() -> Step:
    """The exact sign of the plain covariance for a binary reward."""
    return symbolic.identity(
        "sign rule",
        "for the reward 1_{A*}, p = pi(A*): Cov(log pi, pi A) = p(1 - p)(E[c|A*] - E[c|wrong]) "
        "= sum_{A*} pi_a c_a - p C",
        _plain_on_correct_set, axioms=("p E[f|A*] = E[1_{A*} f]",),
    )


def natural_sign_rule() -> Step:
    """The exact sign of the natural covariance for a binary reward."""
    return symbolic.identity(
        "sign rule",
        "for the reward 1_{A*}, p = pi(A*): Cov(log pi, A) = p(1 - p)(E[log pi|A*] - "
        "E[log pi|wrong]) = sum_{A*} pi_a (log pi_a + H)",
        _natural_on_correct_set,
        axioms=("p E[f|A*] = E[1_{A*} f]", "log pi_a + H = z_a - zb"),
    )


def rare_answers(natural: bool) -> tuple[Step, ...]:
    """Where every right answer is below e^{-H} the covariance is negative, for every n."""
    conclusion = "if every right answer has pi_a < e^{-H}, the covariance is negative"
    if natural:
        return (natural_sign_rule(), smt.lemma(
            "rare right answers", conclusion, "p others d cov",
            lambda v: [v.p > 0, v.d < 0, v.others <= 0, v.cov == v.p * v.d + v.others],
            lambda v: v.cov < 0,
            uses=("sign rule",),
            axioms=("log pi_a + H < 0 for pi_a < e^{-H}: d is that of one right answer",
                    SUM_OF_SIGNS),
        ))
    return (*covariance_is_nonnegative(), plain_sign_rule(), smt.lemma(
        "rare right answers", conclusion, "pi p others d C cov",
        lambda v: [v.pi > 0, v.p > 0, v.d < 0, v.others <= 0, v.C >= 0,
                   v.cov == v.pi * (v.pi * v.d) + v.others - v.p * v.C],
        lambda v: v.cov < 0,
        uses=("sign rule", "C is nonnegative"),
        axioms=("log pi_a + H < 0 for pi_a < e^{-H}: d is that of one right answer", SUM_OF_SIGNS),
    ))


# ---------------------------------------------------------------- rewards ordered like the policy


def extreme_actions() -> smt.Lemma:
    """The actions between which something is strict: t (top) and b (bottom)."""
    return smt.lemma(
        "extremes",
        "let t be likeliest, and of those the best rewarded; b least likely, and of those the "
        "worst rewarded: every action has r_b <= r_a <= r_t and c_a <= c_t",
        "z r p zt rt pt zb rb m",
        lambda v: [
            v.p > 0, v.pt > 0, v.zt >= v.m, v.z <= v.zt, v.z >= v.zb, v.p <= v.pt,
            smt.implies(v.z == v.zt, v.r <= v.rt), smt.implies(v.z == v.zb, v.r >= v.rb),
            (v.r - v.rt) * (v.z - v.zt) >= 0, (v.r - v.rb) * (v.z - v.zb) >= 0,
        ],
        lambda v: smt.all_of(v.rb <= v.r, v.r <= v.rt,
                             v.p * (v.z - v.m) <= v.pt * (v.zt - v.m)),
        axioms=("a finite set has a largest and a smallest element", EXP_INCREASES),
    )


def _values(v: smt.Values, lemma: smt.Lemma) -> dict[str, smt.Number]:
    """The variables of a lemma that is used under the same names."""
    return {name: getattr(v, name) for name in lemma.variables}


def _centered_form() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("z P r")
    z, prob, r, rho = m["z"], m["P"], m["r"], sympy.Symbol("rho")
    c = prob * (z - m.expect(z))
    return m.covariance(z, prob * (r - m.expect(r))) - m.expect((r - rho) * (c - m.expect(c)))


def plain_proof() -> tuple[Step, ...]:
    """Cov(log pi, pi A) > 0 for a reward ordered like the policy, any n."""
    sides = smt.lemma(
        "sides of z+", "c_a <= C where z_a <= z+, and c_a >= C where z_a > z+",
        "z p zw pw m zp C",
        lambda v: [
            v.C >= 0, v.p > 0, v.pw > 0, v.zp >= v.m,
            # z+ is at least every z_a that is above the mean with c_a < C ...
            smt.implies(smt.all_of(v.z >= v.m, v.p * (v.z - v.m) < v.C), v.z <= v.zp),
            # ... and it is the mean or such a value itself, that of an action w.
            smt.any_of(v.zp == v.m,
                       smt.all_of(v.zp == v.zw, v.zw >= v.m, v.pw * (v.zw - v.m) < v.C)),
            smt.implies(v.z <= v.zw, v.p <= v.pw),
        ],
        lambda v: smt.all_of(smt.implies(v.z <= v.zp, v.p * (v.z - v.m) <= v.C),
                             smt.implies(v.z > v.zp, v.p * (v.z - v.m) >= v.C)),
        uses=("C is nonnegative",), axioms=(EXP_INCREASES,),
    )
    term = smt.lemma(
        "no negative term", "(r_a - rho)(c_a - C) >= 0, rho = r_k the largest reward with z_k <= z+",
        "z p r zk rho zp m zw pw C",
        lambda v: [
            *sides.premises(v), sides.instance(**_values(v, sides)),
            v.zk <= v.zp, smt.implies(v.z <= v.zp, v.r <= v.rho), (v.r - v.rho) * (v.z - v.zk) >= 0,
        ],
        lambda v: (v.r - v.rho) * (v.p * (v.z - v.m) - v.C) >= 0,
        uses=("sides of z+",),
    )
    above = smt.lemma(
        "c above its mean", "z_b < zb gives c_b < 0 <= C, so the largest c, which is c_t, is > C",
        "pb zb m C q rest ct",
        lambda v: [v.pb > 0, v.zb < v.m, v.C >= 0, v.q > 0, v.q < 1, v.rest <= v.ct,
                   v.q * (v.pb * (v.zb - v.m)) + (1 - v.q) * v.rest == v.C],
        lambda v: smt.all_of(v.pb * (v.zb - v.m) < v.C, v.ct > v.C),
        uses=("C is nonnegative", "extremes"),
        axioms=("a policy that is not uniform has z_b < zb", "a mean is at most the largest"),
    )
    return (
        *covariance_is_nonnegative(),
        symbolic.identity("centered form",
                          "Cov(log pi, pi A) = E[(r - rho)(c - C)] for every constant rho",
                          _centered_form, axioms=("log pi_a and z_a differ by a constant",)),
        sides,
        term,
        extreme_actions(),
        above,
        smt.lemma(
            "assembly", "all terms are >= 0, and that of b or that of t is > 0",
            "pb zb m C q rest ct rb rt rho wb wt others cov",
            lambda v: [
                *above.premises(v), above.instance(**_values(v, above)),
                v.wb > 0, v.wt > 0, v.others >= 0, v.rb < v.rt, v.rb <= v.rho, v.rho <= v.rt,
                v.cov == v.wb * ((v.rb - v.rho) * (v.pb * (v.zb - v.m) - v.C))
                + v.wt * ((v.rt - v.rho) * (v.ct - v.C)) + v.others,
            ],
            lambda v: v.cov > 0,
            uses=("centered form", "no negative term", "extremes", "c above its mean"),
            axioms=(SUM_OF_SIGNS,),
        ),
    )


