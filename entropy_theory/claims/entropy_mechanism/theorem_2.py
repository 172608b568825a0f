r"""Entropy Mechanism, Theorem 2: under the natural policy gradient entropy moves by -eta Cov(log
:math:`\pi`, A).

The natural gradient divides by the Fisher information of the responses. For tabular logits it is
block-diagonal, with :math:`d(s) (\operatorname{diag} \pi - \pi \pi^T)` at state s, and the gradient
there is :math:`d(s) \pi A`. So :math:`dz = \eta A` solves for the step at every state, with no factor
:math:`d(s)`, for responses of any length. Other solutions, such as that of the pseudo-inverse, differ
by a constant per state, which softmax ignores. Hence, at every state and for every :math:`\eta > 0`,

.. math::

    |H(\pi'|s) - H(\pi|s) + \eta \operatorname{Cov}_s(\log \pi, A)| \le \tfrac14(1 + \log n) \eta^2
    \|A(s, .)\|_2^2.

So it holds as printed and for all states, as a first order with this remainder. The entropy of
whole responses is in `extension.sequence-covariance-npg`.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE
from entropy_theory.claims.entropy_mechanism.theorem_1 import rate_along, state_error
from entropy_theory.claims.entropy_mechanism.tree_rates import advantage, is_natural_gradient, trees
from entropy_theory.verification import arithmetic as ar


def _step(i: vf.Cases) -> ar.Reals:
    return advantage(i.logits, i.reward)


def _rate(i: vf.Cases) -> ar.Reals:
    return rate_along(i, _step(i))


theorem_2 = vf.Claim(
    id="entropy-mechanism.theorem-2",
    source="Entropy Mechanism, Theorem 2",
    reading=vf.Reading(
        "precise",
        r"-\eta \cdot \text{Cov}_{a \sim \pi_\theta^k(\cdot|s)} (\log \pi_\theta^k(a|s), A(s, a))",
        "Theorem 2, with a remainder for its '≈'"),
    title="Entropy change under the natural policy gradient",
    scope="tabular token tree, exact natural gradient, one step, with its remainder; entropy of each "
          "state",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"$\mathcal H(\pi^{k+1}|s) - \mathcal H(\pi^k|s) \approx -\eta\,"
              r"\mathrm{Cov}_{a\sim\pi}(\log\pi, A)$ under the exact natural policy gradient, at every "
              r"state: the error is at most $\frac14(1+\log n)\,\eta^2\lVert A(s,\cdot)\rVert_2^2$.",
        margin=lambda i: state_error(i, _step(i), _rate(i)),
        beyond=lambda i: (is_natural_gradient(i.logits, i.reward, _step(i)),),
    ),
    instances=trees(LEARNING_RATE, reward="graded"),
    symbolic=True,
    first_order=True,
    mutants=(
        vf.mutant("a factor pi (the policy gradient's rate)",
                  margin=lambda i: state_error(
                      i, _step(i), rate_along(i, ar.softmax(i.logits) * _step(i)))),
    ),
)
