r"""The entropy-regularized token MDP on a complete tree, shared by AEnt's statements.

A response y has h tokens, and each transition appends a token. The policy is tabular softmax. A
response has the return :math:`R(y)`, since rewards on the way only shift values along a path. The
probability of visiting a state s is :math:`d(s)`.

.. math::

    V_\lambda = \mathbb E[R] + \lambda H,\quad H = -\mathbb E \log \pi(y) = \sum_s d(s) H(\pi(.|s))

    A_\lambda(s, a) = Q_\lambda(s, a) - \lambda \log \pi(a|s) - V_\lambda(s)

    dV_\lambda/d\theta(s, a) = d(s) \pi(a|s) A_\lambda(s, a)

    \max_\pi V_\lambda = \lambda \log \sum_y e^{R(y)/\lambda} \quad\text{(backward log-sum-exp)}

Everything is written for floats and balls alike. The first axis is a batch, the second one prompts.
Proofs for every depth are inductions over the levels. Their machine-checked step goes from the
children of a state to the state itself. In it, the children's quantities are functions W and Y of
the token.
"""

import dataclasses
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.drawn_fields import GRADED_REWARD, Scalar, Vector
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.functions import operation
from entropy_theory.verification.formula.statement import ANY, POSITIVE, Range
from entropy_theory.verification.formula.terms import is_term
from entropy_theory.verification.instances import Instances
from entropy_theory.verification.tree_policies import tree_instances, with_rewards_in

COEFFICIENT = Scalar(
    name="coefficient", low=0.02, high=10.0, grid=(1, Fraction(1, 4)), range=POSITIVE
)
ANY_COEFFICIENT = dataclasses.replace(COEFFICIENT, range=ANY)
"""For statements with a proof that does not need lambda > 0."""


def trees(
    *scalars: Scalar,
    reward: Literal["correct", "graded"] | None = "correct",
    prompts: int | None = None,
    vectors: tuple[Vector, ...] = (),
    ascend: bool = True,
    rewards: Range = GRADED_REWARD.range,
) -> Instances:
    """Token trees at three sizes, as there are very many: each way of looking has its own.

    Hypothesis draws up to 3 tokens, 3 long; the random search up to 3 tokens, 2 long; all small integer
    weights are tried on one prompt's binary trees, 2 long. Without ``ascend`` (identities) no local
    ascent is made. The statement is about graded rewards in ``rewards``; those drawn are in [0, 1].
    """

    def up_to(tokens: int, horizon: int, most_prompts: int | None) -> Instances:
        return tree_instances(
            *scalars, tokens=(2, tokens), horizon=(1, horizon), reward=reward, vectors=vectors,
            prompts=None if most_prompts is None else (1, most_prompts))

    searched = up_to(3, 2, prompts)
    return dataclasses.replace(
        searched, strategy=up_to(3, 3, prompts).strategy,
        enumerate=up_to(2, 2, prompts and 1).enumerate,
        movable=searched.movable if ascend else (),
        parameters=searched.parameters and with_rewards_in(searched.parameters, rewards))


def norm_squared(values: Reals, axes: int = 2) -> Reals:
    """Sum of squares over the last ``axes`` axes."""
    squares = values * values
    for _ in range(axes):
        squares = np.sum(squares, axis=-1)
    return squares


# ---------------------------------------------------------------- numbers


def spread(scalar: Reals, like: Reals) -> Reals:
    """A scalar per instance, shaped to broadcast over all further axes of ``like``."""
    given: Any = scalar if is_term(scalar) else np.asarray(scalar)
    return given[(..., *[None] * (np.ndim(like) - np.ndim(given)))]


def midpoints(values: Reals) -> np.ndarray:
    """Floats, or the midpoints of balls: for ranking and counting only."""
    if not ar.is_exact(values):
        return np.asarray(values, dtype=float)
    return np.vectorize(lambda ball: float(ball.mid()), otypes=[float])(values)


def likeliest(logits: Reals) -> np.ndarray:
    """Index [..., 1] of the likeliest token, the first one among ties."""
    return np.argmax(midpoints(logits), axis=-1)[..., None]


def returns(correct: Mask, like: Reals) -> Reals:
    """The 0/1 returns of a mask of right responses, in the arithmetic of ``like``."""
    one = ar.constant(1, like=like)
    return np.where(correct, one, 0 * one)


@definition
def regularized_edge(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """r - lambda log pi on each (state, token), the return put on the last token."""
    tree, log_policy = ar.token_tree(logits), ar.log_softmax(logits)
    return tree.edge_reward(reward) - spread(coefficient, logits) * log_policy


def regularized_values(logits: Reals, reward: Reals, coefficient: Reals) -> tuple[Reals, Reals]:
    """(V_lambda [..., states], Q_lambda - lambda log pi [..., states, tokens])."""
    edge = regularized_edge(logits, reward, coefficient)
    return ar.token_tree(logits).values(ar.softmax(logits), edge)


def value(logits: Reals, reward: Reals) -> Reals:
    """V: the expected return."""
    probabilities = ar.token_tree(logits).response_probabilities(ar.softmax(logits))
    return ar.mean(probabilities, reward)


@definition
def regularized_value(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """V_lambda at the root: the expected return plus lambda times the entropy of responses."""
    entropies = ar.response_entropy(logits)
    return value(logits, reward) + spread(coefficient, entropies) * entropies


def entropy(logits: Reals) -> Reals:
    """H: the entropy of the response, which is the sum of the token entropies on the way."""
    return ar.response_entropy(logits)


@definition
def gradient(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """dV_lambda/dlogits: d(s) pi(a|s) A_lambda(s, a) (Lemma 3)."""
    edge = regularized_edge(logits, reward, coefficient)
    return ar.token_tree(logits).expectation_gradient(ar.softmax(logits), edge)


@definition
def response_gradient(logits: Reals, weight: Reals) -> Reals:
    """sum_y pi(y) weight(y) d log pi(y)/dlogits: REINFORCE, written out over the responses.

    An independent route to the gradients above: no values, no visitation.
    """
    tree, policy = ar.token_tree(logits), ar.softmax(logits)
    through = tree.sum_through(tree.response_probabilities(policy) * weight)
    return through - ar.total(through)[..., None] * policy


def optimal_value(reward: Reals) -> Reals:
    """V*: the largest return."""
    return ar.largest(reward)


def log_sum_exp(x: Reals) -> Reals:
    """log sum exp over the last axis, safe in floats."""
    top = x[..., :1] if ar.is_exact(x) else np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1)) + top[..., 0]


def soft_values(tree: TokenTree, reward: Reals, coefficient: Reals) -> tuple[Reals, Reals]:
    """(V*_lambda [..., states], Q*_lambda [..., states, tokens]) by backward log-sum-exp.

    The soft-optimal policy is softmax(Q*_lambda / lambda) at each state.
    """
    values: list[Reals] = []
    action_values: list[Reals] = []
    for level in reversed(tree.levels):
        shape = (*reward.shape[:-1], level.stop - level.start, tree.n_tokens)
        action_values.append((values[-1] if values else reward).reshape(shape))
        scale = spread(coefficient, action_values[-1])
        values.append(scale[..., 0] * log_sum_exp(action_values[-1] / scale))
    return np.concatenate(values[::-1], axis=-1), np.concatenate(action_values[::-1], axis=-2)


@operation(lambda logits, reward, coefficient: logits.axes[:-1])
def soft_value_at(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """V*_lambda(s) [..., states]: the largest regularized value from each state on."""
    return soft_values(TokenTree.of(logits), reward, coefficient)[0]


@operation(lambda logits, reward, coefficient: logits.axes)
def soft_policy(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """Logits Q*_lambda(s, a)/lambda [..., states, tokens] of the policy that attains it."""
    _, best = soft_values(TokenTree.of(logits), reward, coefficient)
    return best / spread(coefficient, best)
