r"""Extension: "the coefficients are algorithm-irrelevant" can be pure symmetry.

Start with equal logits among the m right and among the n - m wrong answers of a prompt. Every algorithm
whose expected update treats actions of a kind alike (permuting the logits of right actions, or of wrong
ones, permutes the update in the same way) stays, in exact steps of any size and for ever, on

    H = h(R) + R log m + (1 - R) log(n - m),

the largest entropy that its performance allows. Exact. REINFORCE, GRPO, natural gradient, entropy bonus
and tempered sampling are such algorithms: on one curve they differ in speed alone. Above R = m/n the
curve falls, dH/dR = log(m (1 - R)/((n - m) R)) < 0, so entropy determines performance there. It is no
law R = -a e^H + b (``entropy-mechanism.performance-law``), and a start that is not symmetric leaves it.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, unit_step
from entropy_theory.claims.entropy_mechanism.one_right_answer import (
    chain_rule,
    failure,
    gradient_step,
    performance,
)
from entropy_theory.claims.entropy_mechanism.sign_rules import illustration
from entropy_theory.claims.extensions.entropy_range_at_reward import SOME_WRONG, binary, widest
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
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant


def symmetric_start(i: Cases) -> Reals:
    """One logit for the right and one for the wrong actions."""
    return np.where(i.correct, ar.per_action(i.logits[..., 0]), ar.per_action(i.logits[..., 1]))


def _trained(i: Cases, logits: Reals, uneven: bool = False) -> Reals:
    """Logits after a mixed step (REINFORCE, tempered REINFORCE, entropy bonus) and a natural one."""
    rate = ar.per_action(i.learning_rate)
    mixed = (gradient_step(logits, i.correct) + unit_step(logits, i.correct, i.temperature)
             + ar.per_action(i.bonus) * ar.entropy_gradient(logits))
    logits = logits + rate * mixed
    natural = np.where(i.correct, ar.per_action(failure(logits, i.correct)),
                       -ar.per_action(performance(logits, i.correct)))
    if uneven:
        natural = natural * np.arange(1, logits.shape[-1] + 1)
    return logits + rate * natural


def _off_the_curve(i: Cases, logits: Reals) -> Reals:
    right, wrong = performance(logits, i.correct), failure(logits, i.correct)
    return ar.entropy(logits) - binary(right, wrong) - widest(logits, i.correct)


def _equal_shares() -> symbolic.Expression:
    """Conditional log-probabilities -log m and -log(n - m), put into the chain rule."""
    import sympy

    right, h, log_m, log_k = sympy.symbols("R h log_m log_k")
    m = symbolic.Moments("r s")
    parts = h - right * m.expect(m["r"]) - (1 - right) * m.expect(m["s"])
    equal = parts.subs({m.expect(m["r"]): -log_m, m.expect(m["s"]): -log_k})
    return equal - (h + right * log_m + (1 - right) * log_k)


def _curve_slope() -> symbolic.Expression:
    import sympy

    right, m, k = sympy.symbols("R m k", positive=True)
    curve = (-right * sympy.log(right) - (1 - right) * sympy.log(1 - right)
             + right * sympy.log(m) + (1 - right) * sympy.log(k))
    slope = sympy.log(m) + sympy.log(1 - right) - sympy.log(k) - sympy.log(right)
    return sympy.diff(curve, right) - slope


def same_curve() -> tuple[Step, ...]:
    """Symmetric starts stay symmetric, and symmetric policies lie on the curve."""
    return (
        smt.lemma(
            "equal logits stay equal",
            "u(swapped z)_a = u(z)_b for a swap of two actions a, b of a kind; where z_a = z_b the swap "
            "leaves z as it is, so u(z)_a = u(z)_b and z_a + u_a = z_b + u_b", "za zb ua ub ua_swapped",
            lambda v: [v.ua_swapped == v.ub, smt.implies(v.za == v.zb, v.ua_swapped == v.ua)],
            lambda v: smt.implies(v.za == v.zb, v.za + v.ua == v.zb + v.ub),
            axioms=("equal arguments give equal updates", "induction over steps"),
        ),
        chain_rule(),
        symbolic.identity(
            "on the curve", "r_a = 1/m among the right, 1/(n - m) among the wrong: "
            "H = h(R) + R log m + (1 - R) log(n - m)", _equal_shares,
            uses=("equal logits stay equal", "chain rule"),
            axioms=("equal logits have equal probabilities",),
        ),
    )


_statement = Statement(
    latex=r"From equal logits among the right and among the wrong answers, every permutation-equivariant "
          r"algorithm (exact expected steps) stays on $H = h(R) + R\log m + (1-R)\log(n-m)$.",
    margin=lambda i: _off_the_curve(i, _trained(i, symmetric_start(i))),
    relation="==",
    conditions=(SOME_WRONG,),
    proof=(
        *same_curve(),
        illustration(symbolic.identity(
            "slope", "dH/dR = log(m (1 - R)) - log((n - m) R)", _curve_slope)),
        illustration(smt.lemma(
            "one performance for one entropy",
            "for R > m/n, m (1 - R) < (n - m) R, so dH/dR < 0 and entropy determines performance",
            "R m k", lambda v: [v.m >= 1, v.k >= 1, v.R < 1, v.R * (v.m + v.k) > v.m],
            lambda v: v.m * (1 - v.R) < v.k * v.R,
            uses=("on the curve", "slope"), axioms=("log is increasing",),
        )),
    ),
)

symmetric_curve = Claim(
    id="extension.symmetric-curve",
    source="Extension of Entropy Mechanism, 'algorithm-irrelevant'",
    title="From a symmetric start all algorithms share one R-H curve",
    scope="one tabular state, exact expectation, along 2 steps of any size",
    statement=_statement,
    instances=bandit_instances(
        Scalar(name="learning_rate", low=0.05, high=4.0, grid=(1,)),
        TEMPERATURE,
        Scalar(name="bonus", low=0.01, high=4.0, grid=(1,)),
        actions=(2, 6),
    ),
    mutants=(
        Mutant(name="a start that is not symmetric",
               statement=variant(_statement, margin=lambda i: _off_the_curve(
                   i, _trained(i, i.logits)))),
        Mutant(name="an update that tells actions of a kind apart",
               statement=variant(_statement, margin=lambda i: _off_the_curve(
                   i, _trained(i, symmetric_start(i), uneven=True)))),
        Mutant(name="the term R log m is dropped",
               statement=variant(_statement, margin=lambda i: _off_the_curve(
                   i, _trained(i, symmetric_start(i))) + performance(
                       _trained(i, symmetric_start(i)), i.correct) * np.log(ar.total(
                           0 * i.logits + ar.constant(1, like=i.logits), i.correct)))),
    ),
)
