r"""AEnt, Section 4.1: clamping the entropy reduces the bias that it brings.

The setting is one state with n tokens, m of them right (reward 1, else 0). An entropy bonus of weight
:math:`\lambda` on k tokens, m' of them right, has the optimum :math:`\operatorname{softmax}(r/\lambda)`
on these k. Of the value 1, this optimum gives away

.. math::

    B(k, m') = (k - m') / (m' e^{1/\lambda} + k - m')\quad (1 \text{ if } m' = 0)

Lemma 5 bounds it by :math:`\lambda \log(k/m')`. Section 1 says without a condition that the clamped
entropy "enjoys decreased bias". It is read for the k likeliest tokens kept, as
:math:`B(k, m') \le B(n, m)`.

This is false, since the cut may take right tokens. Section 4.1 names the condition itself ("a
smaller response space with denser optimality generally leads to reduced bias"). That condition is
the exact rule, but nothing makes the top set denser.

.. math::

    B(k, m') \le B(n, m)\quad \text{ exactly when}\quad m'/k \ge m/n

The bound of Lemma 5 falls exactly then, too. The condition holds whenever all right tokens are
kept. If only some are kept, it may fail.

The reading restricts the policy to a frozen kept set. In AEnt's own objective the kept set moves
with the policy, and its optimum is never more biased (`extension.clamped-optimum`).
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import COEFFICIENT, likeliest
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import implies

REMOVED = vf.Scalar(
    name="removed_fraction", low=0.05, high=0.95, grid=(Fraction(1, 2), Fraction(1, 3)),
    range=vf.Range(low=0, open_low=True, high=1, open_high=True),
)


def kept_tokens(logits: ar.Reals, removed_fraction: ar.Reals) -> ar.Mask:
    """The likeliest tokens: floor(p n) are removed; among ties the higher index goes first."""
    return ar.kept_tokens(logits, removed_fraction)


@vf.definition
def bias(n_tokens: ar.Reals, n_right: ar.Reals, coefficient: ar.Reals) -> ar.Reals:
    """B, the value that softmax(r/lambda) on these tokens gives away; one right answer or more exists."""
    wrong = n_tokens - n_right
    return wrong / (n_right * np.exp(1 / coefficient) + wrong)


def _counts(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals, ar.Reals]:
    """(n, m, k, m') as numbers of the instance's arithmetic."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    kept = kept_tokens(i.logits, i.removed_fraction)
    return (ar.constant(i.logits.shape[-1], like=i.logits), ar.total(one, i.correct), ar.total(one, kept),
            ar.total(one, kept & i.correct))


def _less_biased(i: vf.Cases) -> ar.Reals:
    """B(n, m) - B(k, m')."""
    n, m, k, kept_right = _counts(i)
    return bias(n, m, i.coefficient) - bias(k, kept_right, i.coefficient)


def _denser(i: vf.Cases) -> ar.Reals:
    """m' n - m k: whether right tokens are denser among the kept ones."""
    n, m, k, kept_right = _counts(i)
    return kept_right * n - m * k


def _no_tie_at_the_cut(i: vf.Cases) -> ar.Reals:
    """How far the least likely kept token is ahead of the removed ones; 1 if none is removed."""
    kept = kept_tokens(i.logits, i.removed_fraction)
    ahead = ar.smallest(i.logits, kept) - ar.largest(i.logits, ~kept)
    return np.where(np.all(kept, axis=-1), 1 + 0 * ahead, ahead)


_no_tie = vf.Condition(latex="no tie at the cut", value=_no_tie_at_the_cut)
_printed = vf.Statement(
    latex=r"With the bonus on the likeliest tokens only, the regularized optimum gives away no more "
          r"value: $B(k, m') \le B(n, m)$.",
    margin=_less_biased,
    conditions=(_no_tie,),
)
clamping_reduces_bias = vf.Claim(
    id="aent.clamping-reduces-bias",
    source="AEnt, Section 1 ('enjoys decreased bias'), without Section 4.1's 'denser optimality'",
    reading=vf.Reading(
        "inferred", "enjoys decreased bias compared to the original entropy",
        "Section 1, of 'the reasonable responses set'; Section 4.1 adds 'with denser optimality' and "
        "'generally'"),
    title="Clamping to the likeliest tokens reduces the bias of the entropy bonus, whatever is cut",
    scope="one tabular state, optimum of the regularized objective on a fixed kept set",
    statement=_printed,
    instances=vf.bandit_instances(COEFFICIENT, REMOVED),
    repair=vf.Statement(
        latex=r"With $B(n, m) = (n - m)/(m e^{1/\lambda} + n - m)$, which softmax$(r/\lambda)$ gives "
              r"away, and $m'$ right of the $k$ kept: $B(k, m') \le B(n, m)$ if and only if $m'/k \ge "
              r"m/n$: $(B(n,m) - B(k,m'))(m'n - mk) \ge 0$, $= 0$ only where both factors are; in "
              r"particular whenever every right token is kept.",
        margin=lambda i: _less_biased(i) * _denser(i),
        beyond=lambda i: (
            implies(vf.elementwise("equal", _less_biased(i), 0), vf.elementwise("equal", _denser(i), 0)),
            implies(vf.elementwise("equal", _denser(i), 0), vf.elementwise("equal", _less_biased(i), 0)),
            implies((~i.correct | kept_tokens(i.logits, i.removed_fraction)).all(),
                    vf.elementwise("less_equal", 0, _less_biased(i))),
        ),
    ),
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
        vf.Mutant(name="the likeliest token is right, so clamping helps", statement=vf.variant(
            _printed, conditions=(_no_tie, vf.Condition(
                latex="the likeliest token is right",
                value=lambda i: np.take_along_axis(i.correct, likeliest(i.logits), -1)[..., 0])))),
    ),
)
