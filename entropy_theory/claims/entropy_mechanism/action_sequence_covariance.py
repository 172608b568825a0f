r"""Entropy Mechanism, "Empirical verification": is the covariance of actions that of responses?

The slide equates, under on-policy PG, two covariances. Over actions it has :math:`\operatorname{Cov}_{a
\sim \pi(.|s)}(\log \pi(a|s), \pi(a|s) A(s, a))`. Over responses it has :math:`\operatorname{Cov}_{y
\sim \pi(.|x)}(\log \pi(y|x), \pi(y|x) A(y, x))`. For responses of several tokens, the first is read as
the sum over the states that a response visits, :math:`\sum_s d(s) \operatorname{Cov}_s`, with
:math:`d(s)` the probability of visiting s.

For one token both sides are the same expression. From two tokens on they differ, and no
normalization by length helps. Take the tree with weights 1:1, then 1:1 or 1:2, with reward 1 if the
first token is the second of the two, else 0. There *every* covariance of actions is zero, and that
of responses is not.

An equality holds for every direction x of the token logits. With :math:`u = x - \mathbb E x` and
:math:`H(sa)` the entropy still to come after token a,

.. math::

    \sum_s d(s) \operatorname{Cov}_s(\log \pi(a|s) - H(sa), x) = \operatorname{Cov}_y(\log \pi(y),
    \sum_t u_t).

The policy gradient has :math:`x = d(s) \pi(a|s) A(s, a)`. Both sides are minus the rate of entropy.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.lemma_1 import FIRST_TOKEN_REWARDED
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    action_covariance,
    entropy_to_go,
    gradient_formula,
    response_covariance,
    summed,
    trees,
    weighted_advantage,
    weighted_response_advantage,
)
from entropy_theory.verification import arithmetic as ar

SMALLEST = {"weights": [[1, 1], [1, 1], [1, 2]], "reward": [0, 0, 1, 1]}
"""Reward 1 iff the first token is the second one; only behind it the policy is not uniform."""


def of_actions(i: vf.Cases) -> ar.Reals:
    """sum_s d(s) Cov_s(log pi, pi A)."""
    return action_covariance(i.logits, weighted_advantage(i.logits, i.reward))


def of_responses(i: vf.Cases) -> ar.Reals:
    """Cov_y(log pi(y), pi(y) A(y))."""
    return response_covariance(i.logits, weighted_response_advantage(i.logits, i.reward))


def _direction(i: vf.Cases) -> ar.Reals:
    return gradient_formula(i.logits, i.reward)


def _with_entropy_ahead(i: vf.Cases, x: ar.Reals, sign: int = 1) -> ar.Reals:
    """sum_s d(s) Cov_s(log pi - sign H(sa), x)."""
    ahead = ar.log_softmax(i.logits) - sign * entropy_to_go(i.logits)
    return action_covariance(i.logits, x, ahead)


def _along_responses(i: vf.Cases, x: ar.Reals) -> ar.Reals:
    """Cov_y(log pi(y), sum_t (x_t - E x_t))."""
    return response_covariance(i.logits, summed(i.logits, x))


action_sequence_covariance = vf.Claim(
    id="entropy-mechanism.action-sequence-covariance",
    source="Entropy Mechanism, Empirical verification (Fig. 8)",
    reading=vf.Reading(
        "precise",
        r"\text{Cov}_{\mathbf{y} \sim \pi_\theta(\cdot | \mathbf{x})} (\log \pi_\theta(\mathbf{y} | "
        r"\mathbf{x}), \pi_\theta(\mathbf{y} | \mathbf{x}) \cdot A(\mathbf{y}, \mathbf{x}))",
        "slide 'Empirical Verification'; the sum over states on the left, weighted by $d(s)$, is ours"),
    title="Covariance over actions as covariance over responses",
    scope="tabular token tree, exact expectation",
    statement=vf.Statement(
        latex=r"$\mathbb E_{s\sim d_\pi}\mathrm{Cov}_{a\sim\pi}(\log\pi(a|s), \pi(a|s) A(s,a)) = "
              r"\mathrm{Cov}_{y\sim\pi}(\log\pi(y), \pi(y) A(y))$ for responses of any length.",
        margin=lambda i: of_actions(i) - of_responses(i),
        relation="==",
    ),
    instances=trees(reward="graded"),
    repair=vf.Statement(
        latex=r"$\sum_s d(s)\,\mathrm{Cov}_s(\log\pi - \mathcal H(sa), x) = \mathrm{Cov}_y(\log\pi(y), "
              r"\sum_t (x_t - \mathbb E x_t))$ for the policy gradient's $x = d\,\pi A$; for one token "
              r"it is the printed equality.",
        margin=lambda i: _with_entropy_ahead(i, _direction(i)) - _along_responses(i, _direction(i)),
        relation="==",
    ),
    repair_note=r"takes the entropy to come from $\log\pi$ and puts the factor $d(s)$ on $\pi A$ on the "
                r"left; puts the sum of the centered token steps in place of $\pi(y) A(y)$ on the right",
    mutants=(
        vf.mutant("entropy to come left out",
                  margin=lambda i: _with_entropy_ahead(
                      i, _direction(i), 0) - _along_responses(i, _direction(i))),
    ),
    witnesses=(SMALLEST, FIRST_TOKEN_REWARDED),
)
