"""What AEnt's Propositions 1 (II) and 2 share: suboptimality against the norm of a gradient.

Per prompt q: gap(q) = V*(q) - V(q), the set A* of right responses (those of the largest return) and
C(q) = the largest pi(y|q) over y in A*. The text at hand does not show the paper's own constants: this
C(q), like C_lambda of Lemma 6, is the one that its argument gives. It is an argument of the bounds, so
that another can be put in; a smaller one only weakens a bound. Shapes: logits [batch, prompts, states,
tokens], rewards [batch, prompts, responses].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from entropy_theory.claims.aent import token_mdp as mdp
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
from entropy_theory.claims.extensions.gradient_entropy_bounds import value_gradient
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification import smt, symbolic
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Step
from entropy_theory.verification.formula.terms import definition, is_term

Constant = Callable[[Reals, Reals], Reals]
"""(logits, reward) -> C(q) [batch, prompts]."""


# ---------------------------------------------------------------- numbers


@definition
def is_right(reward: Reals) -> Mask:
    """The right responses: those of the largest return.

    Exact data that agree as doubles are equal.
    """
    if is_term(reward):
        return np.equal(reward, ar.largest(reward)[..., None])
    doubles = np.asarray(
        np.frompyfunc(lambda r: float(getattr(r, "mid", lambda: r)()), 1, 1)(reward)
        if ar.is_exact(reward) else reward, dtype=float,
    )
    return doubles == np.max(doubles, axis=-1, keepdims=True)


@definition
def number_right(reward: Reals) -> Reals:
    """|A*|: the number of right responses."""
    return ar.total(mdp.returns(is_right(reward), reward))


@definition
def gap(logits: Reals, reward: Reals) -> Reals:
    """V* - V = sum_y pi(y) (R* - R(y))."""
    responses = ar.token_tree(logits).response_probabilities(ar.softmax(logits))
    return ar.mean(responses, ar.largest(reward)[..., None] - reward)


@definition
def largest_right_probability(logits: Reals, reward: Reals) -> Reals:
    """C(q): the probability of the likeliest right response."""
    responses = ar.token_tree(logits).response_probabilities(ar.softmax(logits))
    return ar.largest(np.where(is_right(reward), responses, 0 * responses))


@definition
def square_of_gradient(logits: Reals, reward: Reals) -> Reals:
    """||grad V(D)||_2^2, V(D) the mean over prompts."""
    gradient = value_gradient(logits, reward) / logits.shape[-3]
    return mdp.norm_squared(gradient, axes=3)


@definition
def square_of_soft_gradient(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """||grad V_lambda(D)||_2^2."""
    gradient = mdp.gradient(logits, reward, coefficient) / logits.shape[-3]
    return mdp.norm_squared(gradient, axes=3)


@definition
def entropy_bias(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """lambda (h log|A| - log|A*|) = lambda h log(|A|/|A*|^{1/h})."""
    tree = ar.token_tree(logits)
    sparsity = tree.horizon * ar.log_of(tree.n_tokens, like=logits) - np.log(number_right(reward))
    return mdp.spread(coefficient, sparsity) * sparsity


# ---------------------------------------------------------------- shared proof steps


def _telescope() -> symbolic.Expression:
    import sympy

    # After k tokens the advantages add up to E + V - V0 (E: reward so far); the next is e + W - V.
    so_far, value, start, e, after = sympy.symbols("E V V_0 e W")
    return (so_far + value - start) + (e + after - value) - ((so_far + e) + after - start)


def _pairs() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("x")
    one, two = sympy.symbols("x1 x2")
    return m.covariance(m["x"], m["x"]) - m.expect_pairs((one - two) ** 2, {"x": one}, {"x": two}) / 2


CAUCHY_SCHWARZ = smt.lemma(
    "Cauchy-Schwarz", "(x_1 + ... + x_k)^2 <= k (x_1^2 + ... + x_k^2)", "k S N W",
    # Under the uniform distribution: E x = S/k, E x^2 = N/k, W = E (x_i - x_j)^2 >= 0.
    lambda v: [v.k >= 1, v.W >= 0, 2 * (v.N * v.k - v.S * v.S) == v.W * v.k * v.k],
    lambda v: v.k * v.N >= v.S * v.S,
    uses=("variance as pairs",), axioms=(SUM_OF_SIGNS,),
)
PREFIX = smt.lemma(
    "prefixes are likelier", "P_t = d(s_t) pi(a_t|s_t) >= C, as C = P_t times later probabilities",
    "P C later", lambda v: [v.P >= 0, v.later >= 0, v.later <= 1, v.P * v.later == v.C],
    lambda v: smt.all_of(v.C <= v.P, v.C >= 0),
    axioms=("the likeliest right response is a sequence of tokens: transitions are deterministic",),
)
STEP = smt.lemma(
    "one token", "C A_t <= |D| |g_t|, with |D| g_t = P_t A_t the gradient's entry; A_t < 0 included",
    "C P later A g size D",
    lambda v: [v.P >= 0, v.later >= 0, v.later <= 1, v.P * v.later == v.C, v.D >= 1,
               v.D * v.g == v.P * v.A, v.size >= v.g, v.size >= -v.g,
               PREFIX.instance(P=v.P, C=v.C, later=v.later)],
    lambda v: v.D * v.size >= v.C * v.A,
    uses=("all levels", "prefixes are likelier"),
)


def path_steps() -> tuple[Step, ...]:
    """C gap <= |D| sum of the |g_t| along a right response, and Cauchy-Schwarz."""
    return (
        *mdp.gradient_steps(),
        symbolic.identity(
            "telescope", "along a response sum_t A(s_t, a_t) = R(y) - V(q); for a right one it is "
            "the gap", _telescope, axioms=("induction over the tokens of the response",),
        ),
        PREFIX, STEP,
        symbolic.identity("variance as pairs",
                          "E x^2 - (E x)^2 = (1/2) E (x_i - x_j)^2, i and j independent", _pairs),
        CAUCHY_SCHWARZ,
    )
