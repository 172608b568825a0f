r"""AEnt, Lemma 3: the gradient of the entropy-regularized value.

The :math:`|D|` prompts are drawn uniformly, and :math:`d_q(s)` is the probability of passing through s
given the prompt q. With the regularized advantage :math:`A_\lambda` the lemma is

.. math::

    dV_\lambda(D)/d\theta(s, a) = (1/|D|) d_q(s) \pi(a|s) A_\lambda(s, a) \quad\text{(A.16)}

    A_\lambda(s, a) = Q_\lambda(s, a) - \lambda \log \pi(a|s) - V_\lambda(s)

It is exact. We reconstructed it with :math:`-\lambda \log \pi` inside :math:`A_\lambda`, as in Mei et
al. With :math:`A = Q_\lambda - V_\lambda` the formula is wrong, and each state's advantages do not even
average to zero. The printed formula sums over time steps. On a tree each state has one time.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import (
    ANY_COEFFICIENT,
    gradient,
    regularized_value,
    regularized_values,
    response_gradient,
    spread,
    trees,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_gradient


def direct(i: vf.Cases) -> ar.Reals:
    """d/dtheta of the prompts' mean of sum_y pi(y) (R(y) - lambda log pi(y)), over the responses.

    The derivative of -lambda log pi(y) adds -lambda to each response's weight.
    """
    scale = spread(i.coefficient, i.reward)
    log_response = ar.token_tree(i.logits).sum_along(ar.log_softmax(i.logits))
    weight = i.reward - scale * (log_response + 1)
    return response_gradient(i.logits, weight) / i.logits.shape[1]


def by_advantage(i: vf.Cases) -> ar.Reals:
    """(A.16)."""
    return gradient(i.logits, i.reward, i.coefficient) / i.logits.shape[1]


def _residual(i: vf.Cases, formula: vf.Margin = by_advantage) -> ar.Reals:
    return direct(i) - formula(i)


def _unregularized_advantage(i: vf.Cases) -> ar.Reals:
    """(A.16) with A = Q_lambda - V_lambda, the entropy of the present token left out."""
    tree, policy = ar.token_tree(i.logits), ar.softmax(i.logits)
    values, with_bonus = regularized_values(i.logits, i.reward, i.coefficient)
    action_values = with_bonus + spread(i.coefficient, i.logits) * ar.log_softmax(i.logits)
    advantage = action_values - values[..., None]
    return tree.visitation(policy)[..., None] * policy * advantage / i.logits.shape[1]


lemma_3 = vf.Claim(
    id="aent.lemma-3",
    source="AEnt, Lemma 3 (A.10, A.16)",
    reading=vf.Reading(
        "precise", "Lemma 3 (Entropy regularized softmax policy gradient).",
        "Appendix A.1; its display is lost in the text"),
    title="Entropy-regularized softmax policy gradient",
    scope="tabular token trees, one a prompt, exact expectation",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"$\partial V_\lambda^{\pi}(\mathcal D)/\partial\theta_{s,a} = \sum_t "
              r"P^\pi_t(s)\,\pi(a|s)\,A_\lambda^{\pi,t}(s,a)$, $A_\lambda = Q_\lambda - \lambda\log\pi "
              r"- V_\lambda$; in $P^\pi_t(s)$ the prompt is drawn from $\mathcal D$.",
        margin=_residual,
        beyond=lambda i: (has_gradient(
            lambda z: np.sum(regularized_value(z, i.reward, i.coefficient), axis=-1) / i.logits.shape[1],
            i.logits, by_advantage(i)),),
        relation="==",
    ),
    instances=trees(ANY_COEFFICIENT, reward="graded", prompts=2, ascend=False, rewards=vf.ANY),
    symbolic=True,
    mutants=(
        vf.mutant("A = Q - V without -lambda log pi",
                  margin=lambda i: _residual(i, _unregularized_advantage)),
    ),
)
