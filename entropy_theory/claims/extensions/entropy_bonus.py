r"""Extension: an entropy bonus with vanilla gradient steps, and how large they may be.

The bonus lambda H and a step of size eta move logits by dz = -c S, c = eta lambda, S = pi (log pi + H) =
-grad H. To first order entropy rises by c ||S||^2 >= 0, zero only where pi is uniform. Exactly it rises,
or stays, at every policy as long as

    0 < c <= 2/K,    K any bound on -Q(d)/||d||^2, here K = 5/8 + (1/5) log n,

because H(z + dz) - H(z) >= c ||S||^2 - (K/2) c^2 ||S||^2. Larger steps overshoot. For two actions the
bound is 4 (as K_2 = 1/2 gives too), and it is sharp: exactly, the logit gap x becomes
x (1 - 2 c pi_1 pi_2), which is longer than x where c pi_1 pi_2 > 1, and so near the uniform policy for
every c > 4.
"""

from __future__ import annotations

from fractions import Fraction

from entropy_theory.claims.aepo.expansion import TAYLOR
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS, own_covariance
from entropy_theory.claims.extensions.remainder_constant import (
    curvature_constant,
    curvature_steps,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Scalar,
    Statement,
    Step,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Real, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import for_every, has_derivative, implies
from entropy_theory.verification.formula.statement import Range
from entropy_theory.verification.formula.terms import definition, elementwise

SHARE = Scalar(name="share", low=0.01, high=1.0, grid=(1, Fraction(1, 2)),
               range=Range(low=0, open_low=True, high=1))
"""c as a share of the largest step with a guarantee."""


@definition
def bonus_step(logits: Reals, strength: Reals) -> Reals:
    """The step -c S of strength c = eta lambda."""
    return -ar.per_action(strength) * own_covariance(logits)


@definition
def squared_tilt(logits: Reals) -> Reals:
    """||S||_2^2."""
    return ar.total(own_covariance(logits) * own_covariance(logits))


def rise(i: Cases, limit: Real, sign: int = -1) -> Reals:
    """Exact entropy change of the step -c S, with c = share * limit."""
    return ar.entropy_change(i.logits, bonus_step(i.logits, -sign * i.share * limit))


def _limit(i: Cases) -> Real:
    return 2 / curvature_constant(i.logits.shape[-1], i.logits)


def _product(logits: Reals) -> Reals:
    """pi_1 pi_2."""
    policy = ar.softmax(logits)
    return policy[..., 0] * policy[..., 1]


def _four(i: Cases) -> Real:
    return ar.constant(4, i.logits)


def _gradient() -> symbolic.Expression:
    """Along -c S entropy moves at first order by c E[pi (log pi + H)^2] = c ||S||^2."""
    import sympy

    m = symbolic.Moments("L P")
    log_p, p, c = m["L"], m["P"], sympy.Symbol("c")
    depth = log_p - m.expect(log_p)
    return -m.covariance(log_p, -c * p * depth) - c * m.expect(p * depth**2)


def _gap_step() -> symbolic.Expression:
    """Two actions: S_1 - S_2 = 2 pi_1 pi_2 x with x = log pi_1 - log pi_2."""
    import sympy

    p, log_p, log_q, c = sympy.symbols("p log_p log_q c")
    entropy, x = -p * log_p - (1 - p) * log_q, log_p - log_q
    moved = x - c * (p * (log_p + entropy) - (1 - p) * (log_q + entropy))
    return moved - x * (1 - 2 * c * p * (1 - p))


def _entropy_in_the_gap() -> symbolic.Expression:
    import sympy

    x = sympy.Symbol("x", real=True)
    p = 1 / (1 + sympy.exp(-x))
    entropy = sympy.log(1 + sympy.exp(-x)) + x * (1 - p)
    return sympy.simplify(sympy.diff(entropy, x) + p * (1 - p) * x)


def _two_action_steps() -> tuple[Step, ...]:
    return (
        symbolic.identity("gap", "the step turns the gap x = z_1 - z_2 into x (1 - 2 c pi_1 pi_2)",
                          _gap_step, axioms=("pi_2 = 1 - pi_1, x = log pi_1 - log pi_2",)),
        symbolic.identity("entropy in the gap", "dH/dx = -pi_1 pi_2 x", _entropy_in_the_gap,
                          axioms=("H = log(1 + e^-x) + x (1 - pi_1)",)),
        smt.lemma("falls with |x|", "dH/dx has the sign of -x", "p x slope",
                  lambda v: [v.p > 0, v.p < 1, v.slope == -v.p * (1 - v.p) * v.x],
                  lambda v: smt.all_of(smt.implies(v.x > 0, v.slope < 0),
                                       smt.implies(v.x < 0, v.slope > 0)),
                  uses=("entropy in the gap",)),
        smt.lemma("shorter or longer", "0 < c <= 4 gives |x'| <= |x|; c pi_1 pi_2 > 1 gives |x'| > |x|, "
                  "and for c > 4 uniform pi_1 = 1/2 has c pi_1 pi_2 > 1", "c p x moved",
                  lambda v: [v.c > 0, v.p > 0, v.p < 1,
                             v.moved == v.x * (1 - 2 * v.c * v.p * (1 - v.p))],
                  lambda v: smt.all_of(
                      smt.implies(v.c <= 4, v.moved * v.moved <= v.x * v.x),
                      smt.implies(smt.all_of(v.c * v.p * (1 - v.p) > 1, v.x * v.x > 0),
                                  v.moved * v.moved > v.x * v.x),
                      smt.implies(smt.all_of(v.c > 4, 2 * v.p == 1), v.c * v.p * (1 - v.p) > 1)),
                  uses=("gap",)),
        smt.lemma("assembly", "H is even in x and falls with |x|: for c <= 4 entropy does not fall; for "
                  "c > 4 it falls wherever c pi_1 pi_2 > 1 and x is not 0", "c p x moved H after",
                  lambda v: [v.c > 0, v.p > 0, v.p < 1,
                             smt.implies(v.c <= 4, v.moved * v.moved <= v.x * v.x),
                             smt.implies(smt.all_of(v.c * v.p * (1 - v.p) > 1, v.x * v.x > 0),
                                         v.moved * v.moved > v.x * v.x),
                             smt.implies(v.moved * v.moved <= v.x * v.x, v.after >= v.H),
                             smt.implies(v.moved * v.moved > v.x * v.x, v.after < v.H)],
                  lambda v: smt.all_of(
                      smt.implies(v.c <= 4, v.after >= v.H),
                      smt.implies(smt.all_of(v.c * v.p * (1 - v.p) > 1, v.x * v.x > 0),
                                  v.after < v.H)),
                  uses=("falls with |x|", "shorter or longer"),
                  axioms=("where f' has the sign of -x, f falls as |x| grows, on each side of 0",
                          "exchanging the two actions leaves H unchanged")),
    )


def _ascent() -> tuple[Step, ...]:
    return (
        symbolic.identity("first order", "-Cov(log pi, -c S) = c E[pi (log pi + H)^2] = c ||S||^2",
                          _gradient, axioms=("sum_a S_a f_a = E_pi[(log pi + H) f]",)),
        smt.lemma("only at uniform", "if S_a = 0 for every a then log pi_a = -H for every a", "p L H S",
                  lambda v: [v.p > 0, v.p * (v.L + v.H) == v.S, v.S == 0],
                  lambda v: v.L == -v.H),
        smt.lemma("assembly", "change >= c ||S||^2 - (K/2) c^2 ||S||^2 >= 0 for c <= 2/K, K = 5/8 + "
                  "(1/5) log n; and it is positive for c < 2/K unless S = 0", "change c K N",
                  lambda v: [v.c > 0, v.K > 0, v.c * v.K <= 2, v.N >= 0,
                             2 * (v.change - v.c * v.N) >= -v.K * v.c * v.c * v.N],
                  lambda v: smt.all_of(v.change >= 0, smt.implies(
                      smt.all_of(v.c * v.K < 2, v.N > 0), v.change > 0)),
                  uses=("first order", "only at uniform", "curvature bound"),
                  axioms=(TAYLOR, SUM_OF_SIGNS)),
    )


_statement = Statement(
    latex=r"For $0<\eta\lambda\le 2/(\frac58+\frac15\log n)$ the step $\Delta z=-\eta\lambda S$ never "
          r"lowers entropy; to first order it adds $\eta\lambda\lVert S\rVert_2^2$ (zero: uniform).",
    margin=lambda i: rise(i, _limit(i)),
    beyond=lambda i: (
        for_every("c", (), lambda c: has_derivative(lambda t: ar.entropy(
            i.logits + ar.per_action(t) * bonus_step(i.logits, c)), 0, c * squared_tilt(i.logits))),
        implies(elementwise("equal", squared_tilt(i.logits), 0),
                elementwise("equal", ar.softmax(i.logits), 1 / i.logits.shape[-1]).all()),
    ),
    proof=(*curvature_steps(), *_ascent()),
)

entropy_bonus = Claim(
    id="extension.entropy-bonus",
    source="Extension: entropy bonus with vanilla gradient steps",
    title="An entropy bonus raises entropy exactly, up to a step size",
    scope="one tabular state, one step of the bonus alone, any size up to a threshold",
    statement=_statement,
    instances=bandit_instances(SHARE, correct=False),
    mutants=(
        Mutant(name="no limit on the step", statement=variant(_statement),
               instances=bandit_instances(
                   Scalar(name="share", low=1.6, high=40.0, grid=(2, 8)), correct=False)),
        Mutant(name="sign of the bonus flipped",
               statement=variant(_statement, margin=lambda i: rise(i, _limit(i), sign=1))),
        Mutant(name="entropy rises by at least its first order",
               statement=variant(_statement, margin=lambda i: rise(i, _limit(i)) - i.share * _limit(i)
                                 * ar.total(own_covariance(i.logits) * own_covariance(i.logits)))),
    ),
)

_two = Statement(
    latex=r"For two actions and $0<\eta\lambda\le4$ the step $\Delta z=-\eta\lambda S$ never lowers "
          r"entropy; above 4 it does wherever $\pi_1\pi_2>1/(\eta\lambda)$, save at the uniform policy.",
    margin=lambda i: rise(i, _four(i)),
    beyond=lambda i: (for_every("c", (), lambda c: implies(
        ar.less(0 * c, c) & ar.less(1 / c, _product(i.logits))
        & ~elementwise("equal", i.logits[..., 0], i.logits[..., 1]),
        ar.less(ar.entropy_change(i.logits, bonus_step(i.logits, c)), 0 * c))),),
    proof=_two_action_steps(),
)

entropy_bonus_two_actions = Claim(
    id="extension.entropy-bonus-two-actions",
    source="Extension: entropy bonus with vanilla gradient steps",
    title="Two actions: the largest safe entropy bonus is 4",
    scope="one tabular state with two actions, one step of the bonus alone",
    statement=_two,
    instances=bandit_instances(SHARE, correct=False, actions=(2, 2)),
    mutants=(
        Mutant(name="4.2 to 8 for 4", statement=variant(_two),
               instances=bandit_instances(
                   Scalar(name="share", low=1.05, high=2.0, grid=(2, Fraction(3, 2), Fraction(21, 20))),
                   correct=False, actions=(2, 2))),
        Mutant(name="sign of the bonus flipped",
               statement=variant(_two, margin=lambda i: rise(i, _four(i), sign=1))),
    ),
)
