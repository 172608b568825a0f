r"""AEnt, Section 4.1: clamping the entropy reduces the bias that it brings.

One state, n tokens, m right ones (reward 1, else 0). An entropy bonus on k tokens of which m' are right
has the optimum softmax(r/lambda) on them, which gives away

    B(k, m') = (k - m') / (m' e^{1/lambda} + k - m')            (1 if m' = 0)

of the value 1; Lemma 5 bounds it by lambda log(k/m'). Section 1 says without a condition that the
clamped entropy "enjoys decreased bias". Read: with the k likeliest tokens kept, B(k, m') <= B(n, m).
False: the cut may take right tokens. Section 4.1 names the condition itself ("a smaller response space
with denser optimality generally leads to reduced bias"), and it is the exact rule; but nothing makes
the top set denser:

    B(k, m') <= B(n, m)  exactly when  m'/k >= m/n,

and so does the bound. It holds whenever all right tokens are kept; not if only some are.

The reading is that of a policy restricted to the kept set (a frozen set). For AEnt's own objective,
whose kept set moves with the policy, the optimum is never more biased: `extension.clamped-optimum`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from entropy_theory.claims.aent.token_mdp import COEFFICIENT, likeliest, midpoints
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Scalar,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant

REMOVED = Scalar(
    name="removed_fraction", low=0.05, high=0.95, grid=(Fraction(1, 2), Fraction(1, 3))
)


def kept_tokens(logits: Reals, removed_fraction: Reals) -> np.ndarray:
    """The likeliest tokens: floor(p n) are removed; among ties the higher index goes first."""
    n = logits.shape[-1]
    kept = n - np.floor(midpoints(removed_fraction) * n + 1e-9)
    order = np.argsort(-midpoints(logits), axis=-1, kind="stable")
    return np.argsort(order, axis=-1) < kept[..., None]


def bias(n_tokens: Reals, n_right: Reals, coefficient: Reals) -> Reals:
    """B: value that softmax(r/lambda) on these tokens gives away; one right answer or more exists."""
    wrong = n_tokens - n_right
    return wrong / (n_right * np.exp(1 / coefficient) + wrong)


def _counts(i: Cases) -> tuple[Reals, Reals, Reals, Reals]:
    """(n, m, k, m') as numbers of the instance's arithmetic."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    kept = kept_tokens(i.logits, i.removed_fraction)
    return (ar.total(one), ar.total(one, i.correct), ar.total(one, kept),
            ar.total(one, kept & i.correct))


def _less_biased(i: Cases) -> Reals:
    """B(n, m) - B(k, m')."""
    n, m, k, kept_right = _counts(i)
    return bias(n, m, i.coefficient) - bias(k, kept_right, i.coefficient)


def _denser(i: Cases) -> Reals:
    """m' n - m k: whether right tokens are denser among the kept ones."""
    n, m, k, kept_right = _counts(i)
    return kept_right * n - m * k


def _no_tie_at_the_cut(i: Cases) -> Mask:
    kept = kept_tokens(i.logits, i.removed_fraction)
    z = midpoints(i.logits)
    least = np.min(np.where(kept, z, np.inf), axis=-1)
    return least > np.max(np.where(kept, -np.inf, z), axis=-1)


def _optimum() -> symbolic.Expression:
    """softmax(r/lambda) on k tokens: the wrong ones' share, with E = e^{1/lambda}, e^0 = 1."""
    import sympy

    k, m, e = sympy.symbols("k m E", positive=True)
    value = m * e / (m * e + (k - m))
    return sympy.together((1 - value) - (k - m) / (m * e + k - m))


OPTIMUM = symbolic.identity(
    "regularized optimum",
    "1 - E[r] under softmax(r/lambda) is (k - m)/(m e^{1/lambda} + k - m)",
    _optimum,
)
MONOTONE = smt.lemma(
    "bias falls with density",
    "B = (1 - rho)/(rho E + 1 - rho), rho = m/k, E = e^{1/lambda}: B1 <= B2 exactly when "
    "rho1 >= rho2",
    "rho1 rho2 E B1 B2",
    lambda v: [v.rho1 >= 0, v.rho1 <= 1, v.rho2 >= 0, v.rho2 <= 1, v.E > 1,
               v.B1 * (v.rho1 * v.E + 1 - v.rho1) == 1 - v.rho1,
               v.B2 * (v.rho2 * v.E + 1 - v.rho2) == 1 - v.rho2],
    lambda v: smt.all_of(smt.implies(v.rho1 >= v.rho2, v.B1 <= v.B2),
                         smt.implies(v.B1 <= v.B2, v.rho1 >= v.rho2)),
    uses=("regularized optimum",), axioms=("e^{1/lambda} > 1",),
)

_no_tie = Condition(latex="no tie at the cut", value=_no_tie_at_the_cut)
_printed = Statement(
    latex=r"With the bonus on the likeliest tokens only, the regularized optimum gives away no more "
          r"value: $B(k, m') \le B(n, m)$.",
    margin=_less_biased,
    conditions=(_no_tie,),
)
_repaired = Statement(
    latex=r"$B(k, m') \le B(n, m)$ if and only if $m'/k \ge m/n$: $(B(n,m) - B(k,m'))(m'n - mk) \ge 0$, "
          r"$= 0$ only where both factors are; in particular whenever every right token is kept.",
    margin=lambda i: _less_biased(i) * _denser(i),
    conditions=(_no_tie,),
    proof=(
        OPTIMUM,
        MONOTONE,
        smt.lemma(
            "assembly",
            "with rho = m'/k, rho' = m/n: B(k, m') <= B(n, m) exactly when m' n >= m k; and m' = m, "
            "k <= n gives B(k, m') <= B(n, m)",
            "m n m1 k E kept full rho1 rho2",
            lambda v: [v.E > 1, v.n >= v.k, v.k >= 1, v.m >= 1, v.m <= v.n, v.m1 >= 0, v.m1 <= v.k,
                       v.m1 <= v.m, v.rho1 * v.k == v.m1, v.rho2 * v.n == v.m,
                       v.rho1 >= 0, v.rho1 <= 1, v.rho2 >= 0, v.rho2 <= 1,
                       v.kept * (v.rho1 * v.E + 1 - v.rho1) == 1 - v.rho1,
                       v.full * (v.rho2 * v.E + 1 - v.rho2) == 1 - v.rho2,
                       MONOTONE.instance(rho1=v.rho1, rho2=v.rho2, E=v.E, B1=v.kept, B2=v.full)],
            lambda v: smt.all_of((v.full - v.kept) * (v.m1 * v.n - v.m * v.k) >= 0,
                                 smt.implies(v.m1 * v.n >= v.m * v.k, v.kept <= v.full),
                                 smt.implies(v.kept <= v.full, v.m1 * v.n >= v.m * v.k),
                                 smt.implies(v.m1 == v.m, v.kept <= v.full)),
            uses=("bias falls with density",),
        ),
    ),
)

clamping_reduces_bias = Claim(
    id="aent.clamping-reduces-bias",
    source="AEnt, Section 1 ('enjoys decreased bias'), without Section 4.1's 'denser optimality'",
    title="Clamping to the likeliest tokens reduces the bias of the entropy bonus, whatever is cut",
    scope="one tabular state, optimum of the regularized objective on a fixed kept set",
    statement=_printed,
    instances=bandit_instances(COEFFICIENT, REMOVED),
    repair=_repaired,
    repair_is="instead",
    repair_note="Section 4.1's own condition: exactly where right tokens are denser among the kept ones "
                "(all of them kept: always)",
    # The right token is cut; one of two right tokens is cut, and the rest is thinner than before.
    witnesses=(
        {"weights": [1, 2], "correct": [True, False], "coefficient": 1,
         "removed_fraction": Fraction(1, 2)},
        {"weights": [1, 2, 3], "correct": [True, False, True], "coefficient": 1,
         "removed_fraction": Fraction(1, 3)},
    ),
    mutants=(
        Mutant(name="one kept right token is enough", statement=variant(
            _printed, conditions=(_no_tie, Condition(
                latex="a right token is kept", value=lambda i: _counts(i)[3])))),
        Mutant(name="the likeliest token is right, so clamping helps", statement=variant(
            _printed, conditions=(_no_tie, Condition(
                latex="the likeliest token is right",
                value=lambda i: np.take_along_axis(i.correct, likeliest(i.logits), -1)[..., 0])))),
        Mutant(name="sparser kept sets help", statement=variant(
            _repaired, margin=lambda i: -_less_biased(i) * _denser(i))),
    ),
)
