r"""Extension: for two actions the best constant in the remainder of the first order is K_2 = 1/2.

R = H(z + d) - H(z) + Cov(z, d) depends on the gap x = z_1 - z_2 alone, along which

    H''(x) = -s (1 - s)(1 + x (1 - 2s)) = -(1 - x tanh(x/2))/(4 cosh(x/2)^2),    s = pi_1.

|H''| <= 1/4, because 2 w tanh w <= 2 + sinh(w)^2 for w = |x|/2, and (d_1 - d_2)^2 <= 2 ||d||^2; so
|R| <= (1/4) ||d||^2. At x = 0, d = (1, -1) both are equalities to second order.
"""

from __future__ import annotations

from entropy_theory.claims.aepo.expansion import TAYLOR
from entropy_theory.claims.extensions.remainder_constant import no_smaller, room
from entropy_theory.verification import Claim, Mutant, Statement, bandit_instances, smt, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.claim import variant


def _curvature() -> list[symbolic.Expression]:
    """H'' in the gap x = z_1 - z_2, with s = pi_1 and 1/(4 s (1 - s)) = cosh(x/2)^2."""
    import sympy

    x = sympy.Symbol("x", real=True)
    s = 1 / (1 + sympy.exp(-x))
    entropy = sympy.log(1 + sympy.exp(-x)) + x * (1 - s)
    second = sympy.diff(entropy, x, 2)
    claimed = -s * (1 - s) * (1 + x * (1 - 2 * s))
    hyperbolic = 4 * s * (1 - s) * sympy.cosh(x / 2) ** 2 - 1
    odd = (2 * s - 1) - sympy.tanh(x / 2)
    exponentials = [e.rewrite(sympy.exp) for e in (second - claimed, hyperbolic, odd)]
    return [sympy.simplify(e) for e in exponentials]


_statement = Statement(
    latex=r"For $n=2$ the best constant is $K_2=\frac12$: $|R|\le\frac14\lVert d\rVert^2$, and no "
          r"smaller one holds.",
    margin=lambda i: room(i, ar.constant(1, i.step) / 2),
    beyond=lambda i: (no_smaller(ar.constant(1, i.step) / 2),),
    proof=(
        symbolic.identity("curvature in the gap", "H'' = -s (1 - s)(1 + x (1 - 2s)) = -(1 - x tanh(x/2))/"
                          "(4 cosh(x/2)^2), x = z_1 - z_2", _curvature,
                          axioms=("H = log(1 + e^-x) + x (1 - s)",)),
        smt.lemma("curvature bound", "|H''| <= 1/4, from 2 w tanh w <= 2 + sinh(w)^2, w = |x|/2",
                  "w t sh c curve",
                  lambda v: [v.w >= 0, v.t >= 0, v.t <= 1, v.sh >= v.w, v.c == 1 + v.sh * v.sh,
                             v.curve * 4 * v.c == -(1 - 2 * v.w * v.t)],
                  lambda v: smt.all_of(4 * v.curve <= 1, -4 * v.curve <= 1),
                  uses=("curvature in the gap",),
                  axioms=("0 <= tanh w <= 1 and sinh w >= w for w >= 0, cosh^2 = 1 + sinh^2",)),
        smt.lemma("assembly", "dx^2 = (d_1 - d_2)^2 <= 2 ||d||^2 gives |R| <= ||d||^2/4; at x = 0, d = "
                  "(1, -1), any valid K has 4 s (1 - s) = 1 <= 2 K", "d1 d2 R s K",
                  lambda v: [(v.d1 - v.d2) ** 2 >= 8 * v.R, (v.d1 - v.d2) ** 2 >= -8 * v.R,
                             # -Q = s (1 - s) dx^2 <= K ||d||^2 at s = 1/2, dx = 2, ||d||^2 = 2.
                             2 * v.s == 1, v.s * (1 - v.s) * 4 <= v.K * 2],
                  lambda v: smt.all_of(v.d1 * v.d1 + v.d2 * v.d2 >= 4 * v.R,
                                       v.d1 * v.d1 + v.d2 * v.d2 >= -4 * v.R, 2 * v.K >= 1),
                  uses=("curvature bound",), axioms=(TAYLOR, "R(t d)/t^2 tends to Q(d)/2")),
    ),
)

remainder_constant_two_actions = Claim(
    id="extension.remainder-constant-two-actions",
    source="Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1",
    title="The best remainder constant for two actions",
    scope="one softmax policy over two actions, one logit step of any size",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True, actions=(2, 2)),
    mutants=(
        Mutant(name="49/100 for 1/2", statement=variant(
            _statement, margin=lambda i: room(i, 49 * ar.constant(1, i.step) / 100))),
        Mutant(name="1/2 for three actions too", statement=variant(_statement),
               instances=bandit_instances(correct=False, step=True, actions=(3, 3))),
    ),
)
