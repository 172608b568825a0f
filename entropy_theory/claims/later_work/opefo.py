r"""OPEFO (arXiv 2605.11491): token updates rescaled so that their entropy effects cancel.

Tokens with first-order entropy change f_i > 0 get the weight 1 + lambda, those with f_i < 0 the weight
1 - lambda. With R = sum of the rises and L = sum of the falls |f_i|, R + L > 0, and

    lambda* = (L - R)/(L + R) = -sum f / sum |f|,

the net flow vanishes, lambda* lies in [-1, 1], and so no weight is negative. Exact at first order: the
balanced step d has Cov(log pi, d) = 0. The exact entropy still moves, within (1/4)(1 + log n) ||d||^2.

The price: with two actions and the expected policy gradient both tokens push entropy the same way, so
lambda* = +-1 and the balanced step is zero: no learning at all. With three actions and graded rewards
the balanced step can even lower the expected reward. With rewards 0 and 1 it never does. Proof, with
G_a = pi_a A_a, c = E_pi[G], w = S - Sbar (so f = -G w), X = sum G^2 and Y = sum G w:

    (R + L) (rate of the reward) = sum over rises of 2 G T,    T = Y (G - c) - X w

(once, where f = 0). Among the correct actions, and among the wrong ones, T/pi = k - X log pi + D/pi falls
as pi grows, because D = X Sbar - Y c >= 0, and pi T adds up to zero. So pi T adds up to something
nonnegative over the less likely actions, w < 0, of either kind, and to something nonpositive over the
others; rises are the correct actions with w < 0 (G > 0) and the wrong ones with w > 0 (G < 0).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import (
    EXP_INCREASES,
    SUM_OF_SIGNS,
    covariance_is_nonnegative,
    excess,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Statement,
    Step,
    Vector,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.statement import ANY
from entropy_theory.verification.formula.terms import definition, elementwise
from entropy_theory.verification.instances import Margin

REWARD = Vector(name="reward", low=0.0, high=1.0, grid=(0, 1, Fraction(3, 4)), range=ANY)


@definition
def flows(logits: Reals, coefficients: Reals) -> Reals:
    """What the tokens of each action do to entropy, first order: f_a = -G_a (S_a - Sbar)."""
    return -coefficients * excess(logits)


@definition
def balance(flow: Reals) -> Reals:
    """lambda* = -sum f / sum |f|."""
    return -ar.total(flow) / ar.total(np.abs(flow))


@definition
def _balanced(logits: Reals, coefficients: Reals, flow: Reals, sign: int = 1) -> Reals:
    """sum_a m_a G_a (e_a - pi), with m = 1 + lambda* on rises, 1 - lambda* on falls."""
    weighted = (1 + sign * ar.per_action(balance(flow)) * ar.sign(flow)) * coefficients
    return weighted - ar.per_action(ar.total(weighted)) * ar.softmax(logits)


def balanced_step(logits: Reals, coefficients: Reals, sign: int = 1, flow: Reals | None = None) -> Reals:
    """sum_a m_a G_a (e_a - pi) with m = 1 + lambda* on rises, 1 - lambda* on falls."""
    return _balanced(logits, coefficients, flows(logits, coefficients) if flow is None else flow, sign)


def _net(i: Cases, **changes: Any) -> Reals:
    """Net first-order flow as a covariance, relative to the flow there is."""
    d = balanced_step(i.logits, i.step, **changes)
    flow = ar.total(np.abs(flows(i.logits, i.step)))
    return -ar.covariance(ar.softmax(i.logits), i.logits, d) / flow


SOME_FLOW = Condition(
    latex="some token moves entropy",
    value=lambda i: ar.total(np.abs(flows(i.logits, i.step))))


_statement = Statement(
    latex=r"With weights $1+\lambda^*$ on $f_i>0$, $1-\lambda^*$ on $f_i<0$ and "
          r"$\lambda^*=\frac{\sum_{f<0}|f|-\sum_{f>0}f}{\sum|f|}$ the first-order entropy change is "
          r"zero; $|\lambda^*|\le1$, so no weight is negative.",
    margin=_net,
    relation="==",
    conditions=(SOME_FLOW,),
    beyond=lambda i: (
        has_derivative(lambda t: ar.entropy(
            i.logits + ar.per_action(t) * balanced_step(i.logits, i.step)), 0, 0),
        elementwise("less_equal", np.abs(balance(flows(i.logits, i.step))), 1),
    ),
)


def _uncentered(i: Cases) -> Reals:
    """The split made with S_k in place of S_k - Sbar."""
    p = ar.softmax(i.logits)
    return _net(i, flow=-i.step * p * ar.centered(p, i.logits))


def _exact_change(i: Cases) -> Reals:
    return ar.entropy_change(i.logits, balanced_step(i.logits, i.step))


opefo = Claim(
    id="later-work.opefo",
    source="OPEFO (arXiv 2605.11491), the balancing coefficient",
    title="Flow-balancing weights cancel the first-order entropy change",
    scope="one tabular state, every action listed, exact expectation, first order; judged: the "
          "coefficient as described in public, its Eq. 6 is not at hand",
    source_text="abstract",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True),
    mutants=(
        Mutant(name="sign of lambda* flipped",
               statement=variant(_statement, margin=lambda i: _net(i, sign=-1))),
        Mutant(name="flows without the mean Sbar", statement=variant(_statement, margin=_uncentered)),
        Mutant(name="the exact entropy change vanishes too",
               statement=variant(_statement, margin=_exact_change)),
    ),
)

# ---------------------------------------------------------------- what balancing costs


def _progress(i: Cases, reward: Reals) -> Reals:
    """First-order change of the expected reward under the balanced policy gradient."""
    p = ar.softmax(i.logits)
    advantage = ar.centered(p, reward)
    d = balanced_step(i.logits, p * advantage)
    return ar.total(d * p * advantage)


def _binary(i: Cases) -> Reals:
    """The rewards rounded to 0 and 1."""
    zero = 0 * i.reward
    return np.where(ar.less(i.reward, zero + ar.constant(0.5, i.reward)), zero,
                    zero + ar.constant(1, i.reward))


def _some_flow(reward: Margin) -> Condition:
    def excess_flow(i: Cases) -> Reals:
        p = ar.softmax(i.logits)
        flow = flows(i.logits, p * ar.centered(p, reward(i)))
        return ar.total(np.abs(flow)) - ar.constant(1e-6, like=i.logits)

    return Condition(latex="some token moves entropy (by more than rounding)", value=excess_flow)


_ascent = Statement(
    latex=r"The flow-balanced expected policy gradient never lowers the expected reward to first order.",
    margin=lambda i: _progress(i, i.reward),
    conditions=(_some_flow(lambda i: i.reward),),
)

# ---------------------------------------------------------------- proof for rewards 0 and 1


class _Quantities:
    """G = (1_{A*} - p) pi, w = S - Sbar and their sums over actions, sum x = E_pi[x / pi]."""

    def __init__(self) -> None:
        m = symbolic.Moments("L P", indicators="A")
        log_p, p, a = m["L"], m["P"], m["A"]
        self.m, self.p, self.correct, self.depth = m, p, a, log_p - m.expect(log_p)
        self.mass = m.expect(a)
        self.mean_s = m.expect(p * self.depth)
        self.w = p * self.depth - self.mean_s
        self.advantage = a - self.mass
        self.c = m.expect(self.advantage * p)
        self.x = m.expect(self.advantage**2 * p)
        self.y = m.expect(self.advantage * self.w)
        self.t = self.y * (self.advantage * p - self.c) - self.x * self.w
        self.gap = self.x * self.mean_s - self.y * self.c


def _signed_sum() -> symbolic.Expression:
    """(R + L) rate against sums over rises (r), falls (f) and actions without flow (o)."""
    import sympy

    x_r, x_f, x_o, w_r, w_f = sympy.symbols("X_r X_f X_o W_r W_f")
    rises, falls = -w_r, w_f
    balance_ = (falls - rises) / (falls + rises)
    rate = (1 + balance_) * x_r + (1 - balance_) * x_f + x_o
    x, y = x_r + x_f + x_o, w_r + w_f
    return sympy.together((rises + falls) * rate - (2 * (y * x_r - x * w_r) + y * x_o))


def _shape_of_t() -> symbolic.Expression:
    q = _Quantities()
    return q.t - (q.p * (q.y * q.advantage - q.x * q.depth) + q.gap)


def _sums_of_t() -> list[symbolic.Expression]:
    q = _Quantities()
    return [q.m.expect(q.correct * q.t), q.m.expect((1 - q.correct) * q.t)]


def _gap() -> list[symbolic.Expression]:
    q = _Quantities()
    a, p = q.correct, q.p
    right, wrong = q.m.expect(a * p), q.m.expect((1 - a) * p)
    deep_right, deep_wrong = q.m.expect(a * p * q.depth), q.m.expect((1 - a) * p * q.depth)
    gap = q.gap - ((1 - q.mass) * right * deep_wrong + q.mass * wrong * deep_right)
    return [gap, q.m.expect(a * q.depth) + q.m.expect((1 - a) * q.depth)]


def _pairs_in_a_set() -> symbolic.Expression:
    """p sum_B pi^2 l - (sum_B pi^2)(sum_B pi l) over a set B of mass p, as a sum over pairs."""
    import sympy

    m = symbolic.Moments("l P", indicators="B")
    l1, l2, p1, p2, b1, b2 = sympy.symbols("l1 l2 P1 P2 B1 B2")
    depth, p, b = m["l"], m["P"], m["B"]
    pairs = m.expect_pairs((l1 - l2) * (p1 - p2) * b1 * b2, {"l": l1, "P": p1, "B": b1},
                           {"l": l2, "P": p2, "B": b2})
    return m.expect(b) * m.expect(b * p * depth) - m.expect(b * p) * m.expect(b * depth) - pairs / 2


def _two_actions() -> list[symbolic.Expression]:
    """Both flows of the expected policy gradient over two actions, with pi_2 = 1 - pi_1."""
    import sympy

    p, s1, a1 = sympy.symbols("pi_1 S_1 A_1")
    q, s2, a2 = 1 - p, -s1, -p * a1 / (1 - p)
    mean = p * s1 + q * s2
    first, second = -p * a1 * (s1 - mean), -q * a2 * (s2 - mean)
    # f_1 = -2 pi_1 pi_2 A_1 S_1 and f_2 = (pi_1/pi_2) f_1: the same sign.
    return [sympy.together(first + 2 * p * q * a1 * s1), sympy.together(second * q - first * p)]


NO_LEARNING = (
    symbolic.identity("two actions", "with two actions both flows have one sign, f_2 = (pi_1/pi_2) f_1, "
                      "whatever the rewards", _two_actions,
                      axioms=("S_1 + S_2 = 0, pi_1 A_1 + pi_2 A_2 = 0",)),
    smt.lemma("no learning", "f_1 f_2 > 0 gives 1 + lambda* sign f = 0 for both: the step is zero",
              "f1 f2 balance s",
              lambda v: [v.f1 * v.f2 > 0, smt.any_of(
                  smt.all_of(v.f1 > 0, v.s == 1, v.balance * (v.f1 + v.f2) == -(v.f1 + v.f2)),
                  smt.all_of(v.f1 < 0, v.s == -1, v.balance * (v.f1 + v.f2) == v.f1 + v.f2))],
              lambda v: 1 + v.balance * v.s == 0, uses=("two actions",)),
)


def _binary_steps() -> tuple[Step, ...]:
    """With rewards 0 and 1 the rate of the expected reward along the balanced step is nonnegative."""
    order = smt.lemma(
        "order of w", "pi_a >= pi_b: w_b >= 0 gives w_a >= 0, and w_b > 0 gives w_a > 0, w = pi l - "
        "Sbar: {w < 0} and {w <= 0} hold less likely actions than the rest", "pa pb la lb mean_s",
        lambda v: [v.mean_s >= 0, v.pb > 0, v.pa >= v.pb, v.la >= v.lb],
        lambda v: smt.all_of(
            smt.implies(v.pb * v.lb - v.mean_s >= 0, v.pa * v.la - v.mean_s >= 0),
            smt.implies(v.pb * v.lb - v.mean_s > 0, v.pa * v.la - v.mean_s > 0)),
        uses=("C is nonnegative",), axioms=("Sbar is C, as Cov_pi(z, pi) = Cov_pi(log pi, pi)",))
    nonnegative = smt.lemma(
        "D is nonnegative", "D = (1 - p) s_R t_W + p s_W t_R >= 0, from p t_R >= s_R e and (1 - p) t_W "
        ">= -s_W e, e = sum_{A*} pi l = -sum_W pi l", "p sR sW tR tW e D",
        lambda v: [v.sR >= 0, v.sW >= 0, v.p * v.tR >= v.sR * v.e,
                   (1 - v.p) * v.tW >= v.sW * -v.e,
                   (1 - v.p) * v.sR * v.tW + v.p * v.sW * v.tR == v.D],
        lambda v: v.D >= 0,
        uses=("D", "pairs in a set", "sign of a pair"), axioms=(SUM_OF_SIGNS,))
    falling = smt.lemma(
        "T changes sign once", "for actions a, b of one kind with pi_a <= pi_b: T_b > 0 gives T_a > 0",
        "pa pb la lb k X D",
        lambda v: [v.X >= 0, v.D >= 0, v.pa > 0, v.pa <= v.pb, v.la <= v.lb,
                   v.pb * (v.k - v.X * v.lb) + v.D > 0],
        lambda v: v.pa * (v.k - v.X * v.la) + v.D > 0,
        uses=("shape of T", "D is nonnegative"), axioms=(EXP_INCREASES,))
    return (
        *NO_LEARNING,
        symbolic.identity(
            "signed sum", "(R + L) sum_a m_a G_a (G_a - c) = 2 sum_{rises} G T + sum_{f = 0} G T, T = Y "
            "(G - c) - X w", _signed_sum,
            axioms=("sum G = 0, so X = sum G (G - c); R = -sum_{rises} G w and L = sum_{falls} G w",)),
        symbolic.identity("shape of T", "T = pi (k - X l) + D, l = log pi + H, D = X Sbar - Y c, k = "
                          "(1 - p) Y for correct actions and -p Y for wrong ones", _shape_of_t),
        symbolic.identity("sums of T", "sum_{A*} pi T = 0 and sum_W pi T = 0", _sums_of_t),
        symbolic.identity("D", "D = (1 - p) s_R t_W + p s_W t_R, s = sum pi^2 and t = sum pi^2 l over "
                          "the right and the wrong actions; sum_{A*} pi l + sum_W pi l = 0", _gap),
        symbolic.identity("pairs in a set", "p sum_B pi^2 l - sum_B pi^2 sum_B pi l = (1/2) sum over "
                          "pairs in B of pi_i pi_j (l_i - l_j)(pi_i - pi_j)", _pairs_in_a_set),
        smt.lemma("sign of a pair", "each of these terms is nonnegative", "pi pj li lj",
                  lambda v: [v.pi > 0, v.pj > 0, smt.implies(v.li <= v.lj, v.pi <= v.pj),
                             smt.implies(v.lj <= v.li, v.pj <= v.pi)],
                  lambda v: v.pi * v.pj * (v.li - v.lj) * (v.pi - v.pj) >= 0,
                  axioms=("log is increasing",)),
        *covariance_is_nonnegative(),
        order, nonnegative, falling,
        smt.lemma(
            "one kind", "low + high = 0 (sums of pi T over w < 0, or w <= 0, and over the rest of one "
            "kind): either no T in the rest is positive, or all the others are: low >= 0 >= high",
            "low high",
            lambda v: [v.low + v.high == 0, smt.any_of(v.high <= 0, v.low >= 0)],
            lambda v: smt.all_of(v.low >= 0, v.high <= 0),
            uses=("sums of T", "order of w", "T changes sign once"), axioms=(SUM_OF_SIGNS,)),
        smt.lemma(
            "assembly", "sum_{rises} G T = (1 - p) low_R - p high_W >= 0, without the actions of f = 0 "
            "and with them; the sum of both is (R + L) times the rate", "p low high B low0 high0 "
            "B0 size rate",
            lambda v: [v.p > 0, v.p < 1, v.low >= 0, v.high <= 0, v.low0 >= 0, v.high0 <= 0,
                       (1 - v.p) * v.low - v.p * v.high == v.B,
                       (1 - v.p) * v.low0 - v.p * v.high0 == v.B0,
                       v.size > 0, v.size * v.rate == v.B + v.B0],
            lambda v: v.rate >= 0,
            uses=("signed sum", "one kind", "no learning")),
    )


_ascent_binary = Statement(
    latex=r"With rewards 0 and 1 the flow-balanced expected policy gradient never lowers the expected "
          r"reward to first order. (With two actions the balanced step is zero, whatever the rewards.)",
    margin=lambda i: _progress(i, _binary(i)),
    conditions=(_some_flow(_binary),),
    proof=_binary_steps(),
)


def _unbalanced(i: Cases) -> Reals:
    """First-order change of the expected reward under the plain policy gradient."""
    p = ar.softmax(i.logits)
    gradient = p * ar.centered(p, _binary(i))
    return ar.total(gradient * gradient)


opefo_reward = Claim(
    id="later-work.opefo-reward",
    source="OPEFO (arXiv 2605.11491), what balancing costs",
    title="Flow balancing never lowers the expected reward",
    scope="one tabular state, every action listed, exact expectation, first order; judged: the "
          "coefficient as described in public, its Eq. 6 is not at hand",
    source_text="abstract",
    statement=_ascent,
    instances=bandit_instances(correct=False, vectors=(REWARD,), actions=(2, 5)),
    # The smallest with rewards 0, 3/4 and 1, and the smallest of these for three actions.
    witnesses=(
        {"weights": [1, 1, 3, 4], "reward": [0, 0, Fraction(3, 4), 1]},
        {"weights": [2, 4, 5], "reward": [0, Fraction(3, 4), 1]},
    ),
    repair=_ascent_binary,
    repair_is="instead",
    repair_note="rewards 0 and 1",
    mutants=(
        Mutant(name="with rewards 0 and 1 there is always progress",
               statement=variant(_ascent_binary, margin=lambda i: _progress(i, _binary(i))
                                 - ar.constant(1e-9, like=i.logits))),
        Mutant(name="at least half of the unbalanced progress",
               statement=variant(_ascent_binary, margin=lambda i: _progress(i, _binary(i))
                                 - _unbalanced(i) / 2)),
    ),
)
