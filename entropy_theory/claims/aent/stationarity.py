r"""Suboptimality against the norm of a gradient, shared by AEnt's Propositions 1 (II) and 2.

For a prompt q the gap is :math:`V^*(q) - V(q)`. :math:`A^*` holds the right responses, which have the
largest return. :math:`C(q)` is the largest :math:`\pi(y|q)` over y in :math:`A^*`. The text at hand
does not show the paper's own constants. This :math:`C(q)`, like :math:`C_\lambda` of Lemma 6, is the
constant that its argument gives. The bounds take it as an argument, so that another can be put in, and
a smaller one only weakens a bound.

Shapes: logits [batch, prompts, states, tokens], rewards [batch, prompts, responses].
"""

from collections.abc import Callable

import numpy as np

from entropy_theory.claims.aent import token_mdp as mdp
from entropy_theory.claims.extensions.gradient_entropy_bounds import value_gradient
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.terms import is_term

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
