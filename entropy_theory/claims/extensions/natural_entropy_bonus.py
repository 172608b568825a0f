r"""Extension: a natural-gradient entropy bonus is tempering, and up to strength 1 it never errs.

With natural-gradient steps of size eta a bonus lambda H moves logits by dz = -c log pi, c = eta lambda.
To first order entropy rises by c Var_pi(log pi) >= 0, zero only where pi is uniform. Exactly, the new
policy is softmax((1 - c) z): pi tempered at T = 1/(1 - c). Entropy along softmax(b z) has the slope
-b Var(z), so

    H(softmax((1 - c) z)) >= H(softmax(z)) for every z and 0 < c <= 1,

with uniform pi reached at c = 1. Beyond 1 the order of the actions is reversed and the guarantee ends:
for n >= 3 and every c > 1 a policy with one very unlikely action loses entropy.
"""

from __future__ import annotations

from fractions import Fraction

from entropy_theory.claims.aepo.tempered_reinforce import MEAN_VALUE, SUM_OF_SIGNS
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
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.statement import Range
from entropy_theory.verification.formula.terms import definition

STRENGTH = Scalar(name="strength", low=0.001, high=1.0, grid=(1, Fraction(1, 2), Fraction(1, 10)),
                  range=Range(low=0, open_low=True, high=1))


@definition
def natural_bonus_step(logits: Reals, strength: Reals) -> Reals:
    """The step -c log pi."""
    return -ar.per_action(strength) * ar.log_softmax(logits)


def rise(i: Cases) -> Reals:
    """Exact entropy change of the step -c log pi."""
    return ar.entropy_change(i.logits, natural_bonus_step(i.logits, i.strength))


def _first_order() -> symbolic.Expression:
    import sympy

    m, c = symbolic.Moments("L"), sympy.Symbol("c")
    log_p = m["L"]
    slope = m.derivative(-m.expect(log_p), -c * log_p, {log_p: -c * (log_p - m.expect(log_p))})
    return slope - c * m.covariance(log_p, log_p)


def _is_tempering() -> symbolic.Expression:
    import sympy

    z, c, log_normalizer = sympy.symbols("z c A")
    # z + dz and (1 - c) z differ by the constant c A, which softmax ignores.
    return (z - c * (z - log_normalizer)) - ((1 - c) * z + c * log_normalizer)


def _slope_in_b() -> symbolic.Expression:
    """H = A(b) - b E z with dA/db = E z."""
    import sympy

    m = symbolic.Moments("z")
    b, normalizer, z = sympy.Symbol("b"), sympy.Symbol("A"), m["z"]
    mean = m.expect(z)
    slope = m.derivative(normalizer - b * mean, z, {b: sympy.Integer(1), normalizer: mean})
    return slope + b * m.covariance(z, z)


def _pairs() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("z")
    one, two = sympy.symbols("z1 z2")
    return 2 * m.covariance(m["z"], m["z"]) - m.expect_pairs((one - two) ** 2, {"z": one}, {"z": two})


_statement = Statement(
    latex=r"For $0 < \eta\lambda \le 1$ the step $\Delta z = -\eta\lambda\log\pi$ never lowers entropy: "
          r"$H(z+\Delta z) \ge H(z)$; to first order it adds $\eta\lambda\,\mathrm{Var}_\pi(\log\pi)$.",
    margin=rise,
    beyond=lambda i: (has_derivative(
        lambda c: ar.entropy(i.logits + natural_bonus_step(i.logits, c)), 0,
        ar.covariance(ar.softmax(i.logits), ar.log_softmax(i.logits), ar.log_softmax(i.logits))),),
    proof=(
        symbolic.softmax_rule(),
        symbolic.identity("first order", "the slope of entropy along -c log pi is c Var(log pi)",
                          _first_order, uses=("softmax rule",)),
        symbolic.identity("variance as pairs", "2 Var(z) = sum_ij p_i p_j (z_i - z_j)^2", _pairs),
        smt.lemma("only at uniform", "where Var(log pi) = 0 every pi_i p_j (log pi_i - log pi_j)^2 is 0: "
                  "all log pi are equal", "pi pj Li Lj term",
                  lambda v: [v.pi > 0, v.pj > 0, v.term == v.pi * v.pj * (v.Li - v.Lj) ** 2, v.term == 0],
                  lambda v: v.Li == v.Lj, uses=("variance as pairs",), axioms=(SUM_OF_SIGNS,)),
        symbolic.identity("tempering", "z - c log pi = (1 - c) z + c A: softmax at T = 1/(1 - c)",
                          _is_tempering),
        symbolic.identity("slope in b", "d/db H(softmax(b z)) = -b Var(z)", _slope_in_b,
                          uses=("softmax rule",)),
        smt.lemma("falls in b", "for 0 <= b: -b Var(z) <= 0", "b V S slope",
                  lambda v: [v.b >= 0, 2 * v.V == v.S, v.S >= 0, v.slope == -v.b * v.V],
                  lambda v: v.slope <= 0,
                  uses=("slope in b", "variance as pairs"), axioms=(SUM_OF_SIGNS,)),
        smt.lemma("assembly", "0 < c <= 1 gives 0 <= 1 - c < 1, so H at b = 1 - c is at least H at "
                  "b = 1; and the first order c Var is >= 0", "c b V H_b H_1",
                  lambda v: [v.c > 0, v.c <= 1, v.b == 1 - v.c, v.V >= 0,
                             smt.implies(smt.all_of(v.b >= 0, v.b <= 1), v.H_b >= v.H_1)],
                  lambda v: smt.all_of(v.H_b >= v.H_1, v.c * v.V >= 0),
                  uses=("first order", "only at uniform", "tempering", "falls in b"),
                  axioms=(MEAN_VALUE,)),
    ),
)

natural_entropy_bonus = Claim(
    id="extension.natural-entropy-bonus",
    source="Extension: entropy bonus under the natural gradient",
    title="A natural-gradient entropy bonus of strength at most 1 never lowers entropy",
    scope="one softmax policy, one step of the bonus alone, of any size up to strength 1",
    statement=_statement,
    instances=bandit_instances(STRENGTH, correct=False),
    mutants=(
        Mutant(name="strengths up to 2", statement=variant(_statement),
               instances=bandit_instances(
                   Scalar(name="strength", low=1.01, high=2.0, grid=(2, Fraction(3, 2))),
                   correct=False)),
        Mutant(name="sign of the bonus flipped",
               statement=variant(_statement, margin=lambda i: ar.entropy_change(
                   i.logits, ar.per_action(i.strength) * ar.log_softmax(i.logits)))),
        Mutant(name="entropy rises by at least its first order",
               statement=variant(_statement, margin=lambda i: rise(i) - i.strength * ar.covariance(
                   ar.softmax(i.logits), i.logits, i.logits))),
    ),
)
