r"""Entropy Mechanism, Theorem 2: under the natural policy gradient entropy moves by -eta Cov(log pi, A).

The natural gradient divides by the Fisher information of the responses. For tabular logits that is
block-diagonal, d(s) (diag pi - pi pi^T) at state s, and the gradient there is d(s) pi A: so dz = eta A
solves for the step at every state, with no factor d(s), whatever the length of the responses. (Other
solutions, such as that of the pseudo-inverse, differ by a constant per state, which softmax ignores.)
Hence, at every state and for every eta > 0,

    |H(pi'|s) - H(pi|s) + eta Cov_s(log pi, A)| <= (1/4)(1 + log n) eta^2 ||A(s, .)||_2^2:

a first order with this remainder, as printed and for all states. How the entropy of whole responses
moves under it is extension.sequence-covariance-npg.
"""

from __future__ import annotations

from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, remainder_bound
from entropy_theory.claims.entropy_mechanism.theorem_1 import (
    rate_along,
    state_error,
    state_proof,
    state_remainder,
)
from entropy_theory.claims.entropy_mechanism.tree_induction import value_steps
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    advantage,
    decidable,
    is_natural_gradient,
    trees,
    visits,
)
from entropy_theory.verification import Cases, Claim, Mutant, Statement, Step, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import Convergence, variant


def _step(i: Cases) -> Reals:
    return advantage(i.logits, i.reward)


def _rate(i: Cases) -> Reals:
    return rate_along(i, _step(i))


def natural_steps() -> tuple[Step, ...]:
    """dz = eta A solves (Fisher) dz = eta (gradient) at every state; follows `value_steps`."""
    return (
        symbolic.identity(
            "score of a token", "E_a[1_k - pi_k] = 0 and Cov(1_k, 1_l) = E[1_k 1_l] - pi_k pi_l",
            _score,
        ),
        symbolic.identity(
            "Fisher information",
            "scores of two positions: E_a[u E_b[w]] = 0, as the later one has mean zero given the past; "
            "so the Fisher matrix has the blocks d(s)(diag pi - pi pi^T)",
            _cross_block, uses=("score of a token",),
            axioms=("the Fisher matrix is the mean of score times score over responses",),
        ),
        symbolic.identity(
            "natural gradient", "(diag pi - pi pi^T) A = pi (A - E A) = pi A with A = Q - E Q: "
            "dz = eta A solves d(s)(diag pi - pi pi^T) dz = eta d(s) pi A",
            _solution, uses=("Fisher information", "policy gradient"),
        ),
    )


def _score() -> list[symbolic.Expression]:
    m = symbolic.Moments("", indicators="k l")
    k, other = m["k"], m["l"]
    scores = (k - m.expect(k)) * (other - m.expect(other))
    return [m.expect(k - m.expect(k)),
            m.expect(scores) - (m.expect(k * other) - m.expect(k) * m.expect(other))]


def _cross_block() -> symbolic.Expression:
    # w is the score at a later state given the token taken here: its conditional mean is zero.
    m = symbolic.Moments("u")
    later = symbolic.Moments("", indicators="k")
    mean_of_later = later.expect(later["k"] - later.expect(later["k"]))
    return m.expect(m["u"] * mean_of_later)


def _solution() -> symbolic.Expression:
    # Row a of (diag pi - pi pi^T) A is pi_a (A_a - E A); both sides are divided by pi_a > 0.
    m = symbolic.Moments("Q")
    own = m["Q"] - m.expect(m["Q"])
    return (own - m.expect(own)) - own


def _covariance_of_step() -> symbolic.Expression:
    import sympy

    # Any solution is A plus a constant c, which has no covariance.
    m = symbolic.Moments("L A")
    eta, constant = sympy.symbols("eta c")
    return -m.covariance(m["L"], eta * (m["A"] + constant)) + eta * m.covariance(m["L"], m["A"])


_statement = Statement(
    latex=r"$\mathcal H(\pi^{k+1}|s) - \mathcal H(\pi^k|s) \approx -\eta\,"
          r"\mathrm{Cov}_{a\sim\pi}(\log\pi, A)$ under the exact natural policy gradient, at every "
          r"state: the error is at most $\frac14(1+\log n)\,\eta^2\lVert A(s,\cdot)\rVert_2^2$.",
    margin=lambda i: state_error(i, _step(i), _rate(i)),
    beyond=lambda i: (is_natural_gradient(i.logits, i.reward, _step(i)),),
    proof=state_proof(
        symbolic.identity(
            "rate", "-Cov(log pi, eta (A + c)) = -eta Cov(log pi, A)", _covariance_of_step,
            uses=("natural gradient",),
        ),
        *value_steps(), *natural_steps(),
    ),
)

theorem_2 = Claim(
    id="entropy-mechanism.theorem-2",
    source="Entropy Mechanism, Theorem 2",
    title="Entropy change under the natural policy gradient",
    scope="tabular token tree, exact natural gradient, one step, with its remainder; entropy of each "
          "state",
    source_text="not in sources",
    statement=_statement,
    instances=trees(LEARNING_RATE, reward="graded"),
    convergence=Convergence(
        remainder=lambda i, size: state_remainder(i, size, _step(i), _rate(i)), order=2,
        bound=lambda i, size: decidable(remainder_bound(size * _step(i))),
    ),
    mutants=(
        Mutant(name="plus instead of minus",
               statement=variant(_statement, margin=lambda i: state_error(i, _step(i), -_rate(i)))),
        Mutant(name="a factor pi (the policy gradient's rate)",
               statement=variant(_statement, margin=lambda i: state_error(
                   i, _step(i), rate_along(i, ar.softmax(i.logits) * _step(i))))),
        Mutant(name="a factor d(s)",
               statement=variant(_statement, margin=lambda i: state_error(
                   i, _step(i), visits(i.logits)[..., 0] * _rate(i)))),
        Mutant(name="a bound ten times smaller",
               statement=variant(_statement, margin=lambda i: state_error(
                   i, _step(i), _rate(i), share=10))),
    ),
)
