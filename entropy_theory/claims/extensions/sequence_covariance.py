r"""Extension of the Entropy Mechanism: the entropy of whole responses moves by a covariance over
them.

Responses y of any length have token-tabular logits, the reward :math:`R(y)` and
:math:`H = -\sum_y \pi(y) \log \pi(y)`. For any direction x of the logits, with :math:`\mathbb E x_t`
the mean of x over the tokens of the t-th state on the way,

.. math::

    dH = -\operatorname{Cov}_y(\log \pi(y), \sum_t (x_t - \mathbb E x_t)).

The natural policy gradient has :math:`x = A(s, a)`, and :math:`\sum_t A_t = R(y) - V` telescopes. So

.. math::

    dH = -\eta \operatorname{Cov}_y(\log \pi(y), A(y)),\quad A(y) = R(y) - V.

Theorem 2 with whole responses as actions is right, although the step is taken token by token.

The policy gradient has :math:`x = d(s) \pi(a|s) A(s, a)`, which does not telescope into
:math:`\pi(y) A(y)`. Theorem 1 with whole responses as actions is wrong from two tokens on, since the
gradient of token logits is not that of response logits. All are exact rates, for trees of any shape.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    action_covariance,
    advantage,
    entropy_rate,
    expected_reward,
    gradient_formula,
    is_natural_gradient,
    policy_gradient,
    response_advantage,
    response_covariance,
    summed,
    trees,
    weighted_response_advantage,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import along, has_derivative, has_gradient

sequence_covariance_npg = vf.Claim(
    id="extension.sequence-covariance-npg",
    source="Extension of Entropy Mechanism, Theorem 2",
    title="Entropy of responses under the natural gradient is a covariance over responses",
    scope="tabular token tree, exact natural gradient, first order; entropy per response",
    statement=vf.Statement(
        latex=r"Under the natural policy gradient of token logits, "
              r"$d\mathcal H/d\eta = -\mathrm{Cov}_y(\log\pi(y), A(y))$ with $A(y) = R(y) - V$, for "
              r"responses of any length.",
        margin=lambda i: entropy_rate(i.logits, advantage(i.logits, i.reward))
        + response_covariance(i.logits, response_advantage(i.logits, i.reward)),
        beyond=lambda i: (
            is_natural_gradient(i.logits, i.reward, advantage(i.logits, i.reward)),
            has_derivative(
                lambda t: ar.response_entropy(along(i.logits, t, advantage(i.logits, i.reward))), 0,
                -response_covariance(i.logits, response_advantage(i.logits, i.reward))),
        ),
        relation="==",
    ),
    instances=trees(reward="graded"),
    mutants=(
        vf.mutant("covariances of the states, summed (Lemma 1 as printed)",
                  margin=lambda i: entropy_rate(
                      i.logits, advantage(i.logits, i.reward))
                      + action_covariance(i.logits, advantage(i.logits, i.reward))),
    ),
)


def _gradient_margin(i: vf.Cases, of_responses: ar.Reals) -> ar.Reals:
    """Rate under the exact gradient (from the responses) plus a covariance over responses."""
    return (entropy_rate(i.logits, policy_gradient(i.logits, i.reward))
            + response_covariance(i.logits, of_responses))


sequence_covariance_pg = vf.Claim(
    id="extension.sequence-covariance-pg",
    source="Extension of Entropy Mechanism, Theorem 1",
    title="Entropy of responses under the policy gradient is a covariance over responses",
    scope="tabular token tree, exact gradient, first order; entropy per response",
    statement=vf.Statement(
        latex=r"Under the policy gradient of token logits, $d\mathcal H/d\eta = "
              r"-\mathrm{Cov}_y(\log\pi(y), \sum_t(x_t - \mathbb E x_t))$ with "
              r"$x_t = d(s_t)\,\pi(a_t|s_t) A(s_t,a_t)$, for responses of any length.",
        margin=lambda i: _gradient_margin(
            i, summed(i.logits, gradient_formula(i.logits, i.reward))),
        beyond=lambda i: (
            has_gradient(lambda z: expected_reward(z, i.reward), i.logits,
                         policy_gradient(i.logits, i.reward)),
            has_derivative(
                lambda t: ar.response_entropy(along(i.logits, t, policy_gradient(i.logits, i.reward))), 0,
                -response_covariance(i.logits, summed(i.logits, gradient_formula(i.logits, i.reward)))),
        ),
        relation="==",
    ),
    instances=trees(reward="graded"),
    mutants=(
        vf.mutant("pi(y) A(y), responses as actions",
                  margin=lambda i: _gradient_margin(i, weighted_response_advantage(i.logits, i.reward))),
    ),
)
