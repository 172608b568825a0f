r"""Extension of the Entropy Mechanism: the entropy of whole responses moves by a covariance over them.

Token-tabular logits, responses y of any length with reward R(y), H = -sum_y pi(y) log pi(y). For any
direction x of the logits, with E x_t the mean of x over the tokens of the t-th state on the way,

    dH = -Cov_y(log pi(y), sum_t (x_t - E x_t)).

Natural policy gradient: x = A(s, a), and sum_t A_t = R(y) - V telescopes. So

    dH = -eta Cov_y(log pi(y), A(y)),       A(y) = R(y) - V:

Theorem 2 with whole responses as actions is right although the step is taken token by token.

Policy gradient: x = d(s) pi(a|s) A(s, a), which does not telescope into pi(y) A(y):

    dH = -eta Cov_y(log pi(y), sum_t (x_t - E x_t)).

Theorem 1 with whole responses as actions is wrong from two tokens on: the gradient of token logits is
not that of response logits. All are exact rates, for trees of any shape.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from entropy_theory.claims.entropy_mechanism.tree_induction import (
    INDUCTION,
    WrittenOutTree,
    conditional,
    entropy_steps,
    response_steps,
    value_steps,
    written_out,
)
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
    weighted_advantage,
    weighted_response_advantage,
)
from entropy_theory.verification import Cases, Claim, Mutant, Statement, Step, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import (
    along,
    has_derivative,
    has_gradient,
)


def telescope_steps() -> tuple[Step, ...]:
    """sum_t A(s_t, a_t) = R(y) - V along every response."""
    return (
        symbolic.identity(
            "telescope",
            "A(s, a) = r + V(sa) - V(s), and the sum below sa is (return below) - V(sa): "
            "together (return below s) - V(s); after the last token V is zero",
            _telescope, axioms=(INDUCTION,),
        ),
    )


def _telescope() -> list[symbolic.Expression]:
    import sympy

    r, v_child, v, below = sympy.symbols("r V_child V below")
    own, rest = r + v_child - v, below - v_child
    last = (r - v) - (r + 0 - v)
    return [own + rest - ((r + below) - v), last]


def _natural_assembly() -> list[symbolic.Expression]:
    # x = A has mean zero at each state, so x - E x = A, and the constant V has no covariance.
    import sympy

    m = symbolic.Moments("L R Q")
    value, own = sympy.Symbol("V"), m["Q"] - m.expect(m["Q"])
    return [m.expect(own), m.covariance(m["L"], m["R"] - value) - m.covariance(m["L"], m["R"])]


_any_direction = (*entropy_steps(), *response_steps())
_any_names = {step.name for step in _any_direction}

_natural = Statement(
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
    proof=(
        *_any_direction,
        *telescope_steps(),
        symbolic.identity(
            "assembly", "x = A, E x_t = 0, sum_t A_t = R(y) - V: dH = -Cov_y(log pi(y), R(y) - V) "
            "= -Cov_y(log pi(y), R(y))",
            _natural_assembly, uses=("responses", "telescope"),
        ),
    ),
)

sequence_covariance_npg = Claim(
    id="extension.sequence-covariance-npg",
    source="Extension of Entropy Mechanism, Theorem 2",
    title="Entropy of responses under the natural gradient is a covariance over responses",
    scope="tabular token tree, exact natural gradient, first order; entropy per response",
    statement=_natural,
    instances=trees(reward="graded"),
    mutants=(
        Mutant(name="pi(y) A(y) instead of A(y)",
               statement=variant(_natural, margin=lambda i: entropy_rate(
                   i.logits, advantage(i.logits, i.reward))
                   + response_covariance(i.logits, weighted_response_advantage(i.logits, i.reward)))),
        Mutant(name="covariances of the states, summed (Lemma 1 as printed)",
               statement=variant(_natural, margin=lambda i: entropy_rate(
                   i.logits, advantage(i.logits, i.reward))
                   + action_covariance(i.logits, advantage(i.logits, i.reward)))),
        Mutant(name="the step of the policy gradient",
               statement=variant(_natural, margin=lambda i: entropy_rate(
                   i.logits, gradient_formula(i.logits, i.reward))
                   + response_covariance(i.logits, response_advantage(i.logits, i.reward)))),
    ),
)


def _gradient_margin(i: Cases, of_responses: Reals) -> Reals:
    """Rate under the exact gradient (from the responses) plus a covariance over responses."""
    return (entropy_rate(i.logits, policy_gradient(i.logits, i.reward))
            + response_covariance(i.logits, of_responses))


def _gradient_assembly() -> symbolic.Expression:
    import sympy

    # One level, as for any x: P and A are the functions pi and A of the token, D(a) is H'(child).
    m = symbolic.Moments("L W P A D")
    visited, *sums = sympy.symbols("d l X")
    x = visited * m["P"] * m["A"]
    u = visited * (m["P"] * m["A"] - m.expect(m["P"] * m["A"]))
    slope = m.derivative(m.expect(m["W"] - m["L"]), x, {m["L"]: u, m["W"]: m["D"]})
    return conditional(m, (m["L"] + sums[0]) * (u + sums[1]), -m["D"], (sums[0], sums[1])) + slope


def _gradient_residuals(w: WrittenOutTree) -> Iterable[symbolic.Rational]:
    gradient = w.tree.expectation_gradient(w.p, w.tree.edge_reward(w.reward))
    entropy = w.entropy()
    rate = sum(w.derivative(entropy, s, a) * gradient[s, a] for s, a in np.ndindex(*gradient.shape))
    yield rate + w.response_covariance(gradient)


_vanilla = Statement(
    latex=r"Under the policy gradient of token logits, $d\mathcal H/d\eta = "
          r"-\mathrm{Cov}_y(\log\pi(y), \sum_t(x_t - \mathbb E x_t))$ with "
          r"$x_t = d(s_t)\,\pi(a_t|s_t) A(s_t,a_t)$, for responses of any length.",
    margin=lambda i: _gradient_margin(
        i, summed(i.logits, gradient_formula(i.logits, i.reward))),
    beyond=lambda i: (
        has_gradient(lambda z: expected_reward(z, i.reward), i.logits, policy_gradient(i.logits, i.reward)),
        has_derivative(
            lambda t: ar.response_entropy(along(i.logits, t, policy_gradient(i.logits, i.reward))), 0,
            -response_covariance(i.logits, summed(i.logits, gradient_formula(i.logits, i.reward)))),
    ),
    relation="==",
    proof=(
        *_any_direction,
        *(step for step in value_steps() if step.name not in _any_names),
        symbolic.identity(
            "assembly", "the same at x = d pi A, the exact gradient: u = d (pi A - E[pi A])",
            _gradient_assembly, uses=("responses", "policy gradient"), axioms=(INDUCTION,),
        ),
        written_out("policy gradient of responses, written out",
                    "grad H . grad J = -Cov_y on small trees, R(y) free", _gradient_residuals),
    ),
)

sequence_covariance_pg = Claim(
    id="extension.sequence-covariance-pg",
    source="Extension of Entropy Mechanism, Theorem 1",
    title="Entropy of responses under the policy gradient is a covariance over responses",
    scope="tabular token tree, exact gradient, first order; entropy per response",
    statement=_vanilla,
    instances=trees(reward="graded"),
    mutants=(
        Mutant(name="pi(y) A(y), responses as actions",
               statement=variant(_vanilla, margin=lambda i: _gradient_margin(
                   i, weighted_response_advantage(i.logits, i.reward)))),
        Mutant(name="x not centered at each state",
               statement=variant(_vanilla, margin=lambda i: _gradient_margin(
                   i, summed(i.logits, gradient_formula(i.logits, i.reward), about_mean=False)))),
        Mutant(name="x without the visits d(s)",
               statement=variant(_vanilla, margin=lambda i: _gradient_margin(
                   i, summed(i.logits, weighted_advantage(i.logits, i.reward))))),
    ),
)
