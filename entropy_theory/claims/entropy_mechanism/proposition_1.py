r"""Entropy Mechanism, Proposition 1: under the policy gradient a logit moves by :math:`\eta` pi(a|s)
A(s, a).

For one state (a bandit) the exact gradient step is :math:`\eta \pi A`. In a response of several tokens
the exact gradient of :math:`J = \mathbb E_y[R(y)]` has a further factor, the probability :math:`d(s)`
of visiting the state:

.. math::

    dJ/dz_{s,a} = d(s) \pi(a|s) A(s, a).

So the proposition as printed, for every state s, holds at the first token only. The sign of each
logit's move is right, and its size is wrong. Deep states move less, by the probability of getting
there. A learning rate cannot replace :math:`d(s)`, since it is equal at all states. Sampled tokens do
weigh states by :math:`d(s)`.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    expected_reward,
    gradient_formula,
    policy_gradient,
    reward_through,
    trees,
    weighted_advantage,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_gradient


def _residual(i: vf.Cases, formula: ar.Reals) -> ar.Reals:
    return policy_gradient(i.logits, i.reward) - formula


def _return_for_advantage(i: vf.Cases) -> ar.Reals:
    """d(s) pi(a|s) Q(s, a): what the responses through (s, a) earn."""
    return reward_through(i.logits, i.reward)


proposition_1 = vf.Claim(
    id="entropy-mechanism.proposition-1",
    source="Entropy Mechanism, Proposition 1",
    reading=vf.Reading("precise", "", "Proposition 1, Appendix B, which is not in the text at hand"),
    title="Logit step of the policy gradient",
    scope="tabular token tree, exact gradient",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"$z^{k+1}_{s,a} - z^k_{s,a} = \eta\,\pi(a|s) A(s,a)$ under the exact policy gradient, at "
              r"every state: $\partial J/\partial z_{s,a} = \pi(a|s)A(s,a)$.",
        margin=lambda i: _residual(i, weighted_advantage(i.logits, i.reward)),
        relation="==",
    ),
    instances=trees(reward="graded"),
    symbolic=True,
    repair=vf.Statement(
        latex=r"$z^{k+1}_{s,a} - z^k_{s,a} = \eta\,d(s)\,\pi(a|s) A(s,a)$, d(s) the probability that a "
              r"response passes through s (1 for one token): it is the gradient of J.",
        margin=lambda i: _residual(i, gradient_formula(i.logits, i.reward)),
        beyond=lambda i: (has_gradient(lambda z: expected_reward(z, i.reward), i.logits,
                                       gradient_formula(i.logits, i.reward)),),
        relation="==",
    ),
    repair_is="correction",
    repair_note="adds the factor $d(s)$, the probability of visiting the state; it is 1 where responses "
                "have one token",
    mutants=(
        vf.mutant("Q instead of A", margin=lambda i: _residual(i, _return_for_advantage(i))),
    ),
)
