r"""The rate of entropy under a token loss: one formula for all.

An update rule is a coefficient :math:`s_a` of :math:`\nabla \log \pi(a)`. With tokens drawn from the
policy itself at one state, :math:`c_a = \pi_a (\log \pi_a + H)` and :math:`C = \mathbb E c`. The
expected step is :math:`\pi (s - \mathbb E s)`, and

.. math::

    dH/d \eta = -\operatorname{Cov}_\pi(s, c) = -\sum_a \pi_a s_a (c_a - C).

A number added to all s changes nothing. The rate is not positive if s is ordered like the policy, and
not negative if it is ordered in the opposite way, since :math:`c - C` changes sign once (`sign_rules`).
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.sign_rules import ordered, plain_covariance
from entropy_theory.claims.entropy_mechanism.token_contributions import first_order, score_step
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, has_derivative, implies

SCORE = vf.Vector(name="score", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)
"""s, or an advantage."""


def expected_step(logits: ar.Reals, score: ar.Reals) -> ar.Reals:
    """sum_a pi_a s_a (e_a - pi), per unit learning rate."""
    return score_step(logits, ar.softmax(logits) * score)


def moves_entropy(logits: ar.Reals, step: ar.Reals, rate: ar.Reals) -> vf.Term:
    """Entropy has this derivative along the step."""
    return has_derivative(lambda t: ar.entropy(logits + ar.per_action(t) * step), 0, rate)


def _products(values: ar.Reals, logits: ar.Reals) -> ar.Reals:
    return ((values[..., :, None] - values[..., None, :])
            * (logits[..., :, None] - logits[..., None, :]))


loss_coefficient = vf.Claim(
    id="extension.loss-coefficient",
    source="ours: every loss that multiplies grad log pi of a token by a coefficient",
    title="The rate of entropy under a token coefficient, and its sign if that is ordered as the policy",
    scope="one tabular state, on-policy, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Tokens of coefficient $s_a$: $dH/d\eta=-\mathrm{Cov}_\pi(s,c)$, "
              r"$c_a=\pi_a(\log\pi_a+H)$. A constant added to $s$ changes no step. If $s$ is ordered "
              r"like the policy, $dH/d\eta\le0$; if the other way round, $dH/d\eta\ge0$.",
        margin=lambda i: (first_order(i.logits, expected_step(i.logits, i.score))
                          + plain_covariance(i.logits, i.score)),
        relation="==",
        beyond=lambda i: (
            moves_entropy(i.logits, expected_step(i.logits, i.score),
                          -plain_covariance(i.logits, i.score)),
            for_every("baseline", (), lambda b: vf.elementwise(
                "equal", expected_step(i.logits, i.score - ar.per_action(b)),
                expected_step(i.logits, i.score)).all()),
            implies(ordered(_products(i.score, i.logits)) >= 0,
                    plain_covariance(i.logits, i.score) >= 0),
            implies(ordered(_products(-i.score, i.logits)) >= 0,
                    plain_covariance(i.logits, i.score) <= 0),
        ),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(SCORE,)),
    mutants=(
        vf.mutant("the covariance with log pi itself", margin=lambda i: (
            first_order(i.logits, expected_step(i.logits, i.score))
            + ar.covariance(ar.softmax(i.logits), i.score, i.logits))),
    ),
)
