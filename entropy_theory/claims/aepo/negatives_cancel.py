r"""AEPO, Section 6.2: negative samples counteract the entropy effect of the positive ones.

The centered advantage on samples of :math:`\pi^T` is :math:`1_{A^*} - P_T`, and :math:`w_a = c_a - C`
as in Theorem 4.3. The first-order entropy effects of the positive and the negative samples are

.. math::

    E_+ = -\sum_{A^*} \pi^T_a (1 - P_T) w_a = (1 - P_T) F(T),\quad E_- = \sum_{\text{wrong}} \pi^T_a P_T
    w_a.

The statement is that E- has the opposite sign of E+. It is false, and at :math:`T = 1` always so unless
:math:`F(1) = 0`. There :math:`E_+ = (1 - p) F(1)` and :math:`E_- = p F(1)`, so the negatives have the
effect of the positives.

The repair is about *including* the negatives. They change the rate by
:math:`(E_+ + E_-) - F(T) = -P_T F_{\text{all}}(T)`, where :math:`F_{\text{all}}` is the rate of the
face where every action is right. This has the sign of :math:`1 - T`. It lowers entropy for
:math:`T > 1` and raises it for :math:`T < 1`, always against the temperature. On a solved state
(:math:`P_T = 1`) it cancels all of :math:`F(T)`. Elsewhere it may cancel a part, reinforce :math:`F(T)`
or overturn its sign.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.ablations import advantage_step
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, excess
from entropy_theory.verification import arithmetic as ar


def effects(i: vf.Cases) -> tuple[ar.Reals, ar.Reals]:
    """(E+, E-): entropy effects of positive and negative samples, per unit learning rate."""
    parts = advantage_step(i.logits, i.correct, i.temperature) * excess(i.logits)
    return -ar.total(parts, i.correct), -ar.total(parts, ~i.correct)


def _opposite(i: vf.Cases) -> ar.Reals:
    positive, negative = effects(i)
    return -positive * negative


def _against_the_temperature(i: vf.Cases) -> ar.Reals:
    """``(T - 1) P_T F_all(T)``, which is minus the change, times ``T - 1``."""
    tempered = ar.softmax(i.logits, i.temperature)
    # F_all(T) = -E_{pi^T}[c - C].
    face = -ar.mean(tempered, excess(i.logits))
    return (i.temperature - 1) * ar.total(tempered, i.correct) * face


_statement = vf.Statement(
    latex=r"Negative samples counteract the entropy effect of positive ones: $E_+ E_- \le 0$.",
    margin=_opposite,
    conditions=(vf.SOME_WRONG,),
)

negatives_cancel = vf.Claim(
    id="aepo.negatives-cancel",
    source="AEPO, Section 6.2",
    reading=vf.Reading(
        "precise",
        "when negative samples are included, the entropy-regularizing effect contributed by positive "
        "samples is counteracted", "Section 6.2"),
    title="Negative samples counteract the entropy effect of positive ones",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_statement,
    instances=vf.bandit_instances(TEMPERATURE),
    witnesses=({"weights": [1, 2], "correct": [True, False], "temperature": 1},),
    repair=vf.Statement(
        latex=r"Replacing $R$ by $R - P_T$ takes $P_T F_{all}(T)$ from the entropy rate, $F_{all}$ the "
              r"rate with every action right: $(T - 1)\,P_T F_{all}(T) \ge 0$.",
        margin=_against_the_temperature,
    ),
    repair_note="what including them takes away, $P_T F_{all}(T)$, has the sign of $T - 1$ or is 0",
    mutants=(
        vf.Mutant(name="for T > 1 the two effects are opposite",
                  statement=vf.variant(_statement, conditions=(
                      *_statement.conditions,
                      vf.Condition(latex="$T > 1$", value=lambda i: i.temperature - 1)))),
    ),
)
