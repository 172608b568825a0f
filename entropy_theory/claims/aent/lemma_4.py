r"""AEnt, Lemma 4: the performance difference of two policies, with entropy.

For any policies :math:`\pi` and :math:`\pi'`, any :math:`\lambda` and any state,

.. math::

    V'_\lambda(s) - V_\lambda(s) = \sum_{u \text{ later}} d'(u) ( \sum_a \pi'(a|u) \{Q_\lambda(u, a) -
    \lambda \log \pi'(a|u)\} - V_\lambda(u) ).

Here d'(u) is the probability that :math:`\pi'` passes through u from s, and :math:`Q_\lambda` and
:math:`V_\lambda` are those of :math:`\pi`. It is exact, and :math:`\lambda = 0` is the usual lemma. The
logarithm is that of :math:`\pi'`. With log :math:`\pi` instead the identity fails.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import (
    ANY_COEFFICIENT,
    regularized_value,
    regularized_values,
    spread,
    trees,
)
from entropy_theory.verification import arithmetic as ar

STEP = vf.Vector(name="step", low=-4.0, high=4.0, grid=(0, 1, -1), range=vf.ANY)


def _difference(i: vf.Cases) -> ar.Reals:
    return (regularized_value(i.logits + i.step, i.reward, i.coefficient)
            - regularized_value(i.logits, i.reward, i.coefficient))


def _right_side(i: vf.Cases, own_visits: bool = False) -> ar.Reals:
    """The sum over states; with ``own_visits`` the visitation of pi is used by mistake."""
    tree, scale = ar.token_tree(i.logits), spread(i.coefficient, i.logits)
    values, with_bonus = regularized_values(i.logits, i.reward, i.coefficient)
    action_values = with_bonus + scale * ar.log_softmax(i.logits)
    moved = i.logits + i.step
    log_policy = ar.log_softmax(moved)
    expected = ar.mean(ar.softmax(moved), action_values - scale * log_policy)
    visits = tree.visitation(ar.softmax(i.logits if own_visits else moved))
    return ar.total(visits * (expected - values))


lemma_4 = vf.Claim(
    id="aent.lemma-4",
    source="AEnt, Lemma 4 (A.17)",
    reading=vf.Reading(
        "precise", "the performance difference between any two policies and is",
        "Lemma 4, Appendix A.1; its display is lost in the text"),
    title="Performance difference with entropy",
    scope="token tree, any two softmax policies, exact expectation",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"$V_\lambda^{\pi'}(q) - V_\lambda^{\pi}(q) = \sum_t\mathbb "
              r"E_{s_t\sim\pi'}\big[\sum_a\pi'(a|s_t)\{Q_\lambda^{\pi}(s_t,a) - "
              r"\lambda\log\pi'(a|s_t)\} - V_\lambda^{\pi}(s_t)\big]$.",
        margin=lambda i: _difference(i) - _right_side(i),
        relation="==",
    ),
    instances=trees(ANY_COEFFICIENT, reward="graded", vectors=(STEP,), ascend=False, rewards=vf.ANY),
    symbolic=True,
    mutants=(
        vf.mutant("states visited by pi instead of pi'",
                  margin=lambda i: _difference(i) - _right_side(i, own_visits=True)),
    ),
)
