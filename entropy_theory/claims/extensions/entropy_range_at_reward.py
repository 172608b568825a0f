r"""Extension: what performance says about entropy, and what it leaves open.

For every policy over n actions, m of them right, with R the probability of a right answer,

    h(R) <= H <= h(R) + R log m + (1 - R) log(n - m).

Tight at both ends, and every value between is attained: H = h(R) + R H(. | right) + (1 - R) H(. | wrong),
and the two conditional entropies range freely over [0, log m] and [0, log(n - m)]. So entropy does not
determine performance (with two actions it leaves R or 1 - R), and R = 1 leaves any H in [0, log m]. The
upper end is the curve on which symmetric runs stay (``extension.symmetric-curve``).
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.entropy_mechanism.one_right_answer import (
    chain_rule,
    failure,
    performance,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Statement,
    Step,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.terms import definition

SOME_WRONG = Condition(latex="some action is wrong", value=lambda i: ~np.all(i.correct, axis=-1))
SOME_CERTAINTY = "a distribution on one action has entropy 0"


@definition
def binary(right: Reals, wrong: Reals) -> Reals:
    """h(R) from both probabilities, so that neither is lost in a difference from 1."""
    return -right * np.log(right) - wrong * np.log(wrong)


@definition
def widest(logits: Reals, correct: Mask) -> Reals:
    """R log m + (1 - R) log(n - m)."""
    one = 0 * logits + ar.constant(1, like=logits)
    # Where every action is right the other factor is 0, and log 1 does for it.
    n_wrong = ar.maximum(ar.total(one, ~correct), one[..., 0])
    return (performance(logits, correct) * np.log(ar.total(one, correct))
            + failure(logits, correct) * np.log(n_wrong))


def _sides(i: Cases, share: int = 1) -> Reals:
    """(H - h(R), h(R) + R log m + (1 - R) log(n - m) - H)."""
    below = binary(performance(i.logits, i.correct), failure(i.logits, i.correct))
    entropy = ar.entropy(i.logits)
    return np.stack([entropy - below, below + widest(i.logits, i.correct) / share - entropy], axis=-1)


def group_entropy() -> tuple[Step, ...]:
    """Steps: the entropy of k actions lies between 0 and log k, with equality for equal ones."""

    def uniform() -> symbolic.Expression:
        import sympy

        k, log_k = sympy.symbols("k log_k", positive=True)
        return k * (1 / k) * log_k - log_k

    def shares_sum() -> symbolic.Expression:
        import sympy

        k = sympy.Symbol("k", positive=True)
        m = symbolic.Moments("r")  # under the uniform distribution on the k actions: sum = k E
        return (k * (1 / k - m.expect(m["r"]))).subs(m.expect(m["r"]), 1 / k)

    return (
        smt.lemma(
            "one action's part", "0 <= -r log r, and -r log r - r log k = r log(1/(k r)) <= 1/k - r",
            "r k part log_r log_ratio inverse",
            lambda v: [v.r > 0, v.r <= 1, v.k >= 1, v.log_r <= 0, v.inverse * v.k * v.r == 1,
                       v.log_ratio <= v.inverse - 1],
            lambda v: smt.all_of(-v.r * v.log_r >= 0,
                                 v.k * v.r * v.log_ratio <= 1 - v.k * v.r),
            axioms=("log x <= x - 1", "log is increasing, log 1 = 0", "0 log 0 = 0"),
        ),
        symbolic.identity("the parts' bounds", "sum_a (1/k - r_a) = 0 where sum_a r_a = 1", shares_sum),
        symbolic.identity("equal actions", "r_a = 1/k gives -sum r_a log r_a = log k", uniform),
        smt.lemma(
            "entropy of a group", "0 <= H(r) <= log k for k actions", "H log_k surplus bound",
            lambda v: [v.H >= 0, v.H - v.log_k == v.surplus, v.surplus <= v.bound, v.bound == 0],
            lambda v: smt.all_of(v.H >= 0, v.log_k >= v.H),
            uses=("one action's part", "the parts' bounds", "equal actions"),
            axioms=("inequalities of terms add up",),
        ),
    )


_statement = Statement(
    latex=r"$h(R) \le H \le h(R) + R\log m + (1-R)\log(n-m)$, with $R = \pi(\mathcal A^*)$; both ends "
          r"and every value between are attained.",
    margin=_sides,
    conditions=(SOME_WRONG,),
    proof=(
        chain_rule(),
        *group_entropy(),
        smt.lemma(
            "assembly", "H - h(R) = R H1 + (1 - R) H2 with 0 <= H1 <= log m, 0 <= H2 <= log(n - m); "
            "equality at H1 = H2 = 0 and at H1 = log m, H2 = log(n - m)", "H h R H1 H2 log_m log_k",
            lambda v: [v.R >= 0, v.R <= 1, v.h + v.R * v.H1 + (1 - v.R) * v.H2 == v.H,
                       v.H1 >= 0, v.H2 >= 0, v.log_m >= v.H1, v.log_k >= v.H2],
            lambda v: smt.all_of(
                v.h <= v.H, v.h + v.R * v.log_m + (1 - v.R) * v.log_k >= v.H,
                smt.implies(smt.all_of(v.H1 == 0, v.H2 == 0), v.h == v.H),
                smt.implies(smt.all_of(v.log_m == v.H1, v.log_k == v.H2),
                            v.h + v.R * v.log_m + (1 - v.R) * v.log_k == v.H)),
            uses=("chain rule", "entropy of a group"),
            axioms=(SOME_CERTAINTY, "entropy is continuous on the connected set of distributions with "
                    "this R, so it takes every value between two that it takes"),
        ),
    ),
)

entropy_range_at_reward = Claim(
    id="extension.entropy-range-at-reward",
    source="Extension of Entropy Mechanism (the R-H law)",
    title="The entropies compatible with a given performance",
    scope="one softmax policy, exact",
    statement=_statement,
    instances=bandit_instances(actions=(2, 7)),
    mutants=(
        Mutant(name="an upper end half as far",
               statement=variant(_statement, margin=lambda i: _sides(i, share=2))),
        Mutant(name="the least entropy is h(R) + R log m",
               statement=variant(_statement, margin=lambda i: _sides(i)[..., 0] - (
                   performance(i.logits, i.correct) * np.log(ar.total(
                       0 * i.logits + ar.constant(1, like=i.logits), i.correct))))),
        Mutant(name="performance 1/2 or more leaves at most log m",
               statement=variant(_statement, margin=lambda i: np.where(
                   ar.less(2 * failure(i.logits, i.correct), ar.constant(1, like=i.logits)),
                   np.log(ar.total(0 * i.logits + ar.constant(1, like=i.logits), i.correct))
                   - ar.entropy(i.logits), ar.constant(1, like=i.logits)))),
    ),
)
