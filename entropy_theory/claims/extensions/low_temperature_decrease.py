r"""Extension of AEPO, Corollary 4.4: when a low temperature lowers entropy more than :math:`T = 1`, at
every T.

F is the rate of `aepo.theorem-4.3a`. For every z in :math:`R^n`, correct set :math:`A^*` and
:math:`0 < T < 1`, if :math:`F(1) < 0` and :math:`\pi^T(A^*) \ge \pi(A^*)`, then :math:`F(T) \le F(1)`.

The corollary's second half has only the first hypothesis. It fails where a low temperature makes right
answers rare (`aepo.corollary-4.4-low`). The repair is exact and global. With :math:`P_T = \pi^T(A^*)`,
:math:`F(T) = P_T G(T)`. The rate G for a fixed number of positives has :math:`G(T) \le G(1) < 0`
(`aepo.fixed-positives`), and so

.. math::

    F(T) = P_T G(T) \le P_T G(1) \le P_1 G(1) = F(1).

The second hypothesis holds at every :math:`T < 1` if each right answer is at least as likely as each
wrong one.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import ENTROPY_FALLS, LOW_TEMPERATURE, rate
from entropy_theory.verification import arithmetic as ar


def _right_more_often(i: vf.Cases) -> ar.Reals:
    """pi^T(A*) - pi(A*)."""
    tempered = ar.softmax(i.logits, i.temperature)
    return ar.total(tempered - ar.softmax(i.logits), i.correct)


RIGHT_MORE_OFTEN = vf.Condition(
    latex=r"$\pi^T(\mathcal A^*) \ge \pi(\mathcal A^*)$", value=_right_more_often, relation=">=",
)

_statement = vf.Statement(
    latex=r"If $F(1) < 0$ and $\pi^T(\mathcal A^*) \ge \pi(\mathcal A^*)$, then $F(T) \le F(1)$, for "
          r"every $T < 1$.",
    # F(1) - F(T).
    margin=lambda i: rate(i.logits, i.correct) - rate(i.logits, i.correct, i.temperature),
    conditions=(ENTROPY_FALLS, RIGHT_MORE_OFTEN),
)

low_temperature_decrease = vf.Claim(
    id="extension.low-temperature-decrease",
    source="Extension of AEPO, Corollary 4.4, second half",
    title="Where plain REINFORCE lowers entropy, a low temperature that makes right answers no rarer "
          "lowers it at least as much",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_statement,
    instances=vf.bandit_instances(LOW_TEMPERATURE),
    mutants=(
        vf.Mutant(name="right answers may become rarer",
                  statement=vf.without(_statement, RIGHT_MORE_OFTEN.latex)),
    ),
)
