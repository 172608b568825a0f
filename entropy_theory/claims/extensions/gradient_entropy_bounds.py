r"""Extension of AEnt, Proposition 1 (I): how far entropy bounds the policy gradient, with best
constants.

It is for every tree of responses of any length and any number of tokens, returns :math:`R(y)` in [0, 1]
and tabular softmax logits. With V the expected return and H the entropy of the response,

.. math::

    \|\nabla V\|_1 \le H/(2 \log 2),\quad \|\nabla V\|_2 \le H/(2 \sqrt2 \log 2),\quad \|\nabla
    V\|_\infty \le H/(4 \log 2).

No constant is smaller, since equality holds for one token, :math:`\pi = (1/2, 1/2)` and
:math:`R = (1, 0)`. In bits the first one is :math:`\|\nabla V\|_1 \le H/2`. AEnt prints the constant 2.
Means over prompts only average both sides.

Proof. The gradient's block at a state s is :math:`d(s) v` with :math:`v_a = \pi_a (Q_a - V)`. Let
:math:`P = \pi(Q > V)`. The positive entries of v add up to m, the negative ones to -m, and
:math:`m \le P (1 - P)`, as :math:`0 \le Q \le 1`. So :math:`\|v\|_1 = 2m`, :math:`\|v\|_2 \le \sqrt2 m`
and :math:`\|v\|_\infty \le m`. The entropy :math:`H(s)` is at least that of the event :math:`Q > V`,
and

.. math::

    h(P) = -P \log P - (1 - P) \log(1 - P) \ge 4 \log 2 P (1 - P).

The difference f of the two sides vanishes at 0 and 1/2, has :math:`f'(1/2) = 0`, and is concave, then
convex on [0, 1/2].
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import trees, value
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.functions import computed_by
from entropy_theory.verification.formula.limits import has_gradient

# ---------------------------------------------------------------- numbers


def _careful_gradient(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """Values are those of the regret, and differences are taken pair by pair.

    So a nearly deterministic policy keeps its small gradient.
    """
    tree, policy = ar.token_tree(logits), ar.softmax(logits)
    regret = reward - ar.largest(reward)[..., None]
    _, action_values = tree.values(policy, tree.edge_reward(regret))
    return tree.visitation(policy)[..., None] * policy * ar.centered(policy, action_values)


@vf.definition
@computed_by(_careful_gradient)
def value_gradient(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """grad V, at each state and token: d(s) pi(a|s) (Q(s, a) - V(s))."""
    tree = ar.token_tree(logits)
    return tree.expectation_gradient(ar.softmax(logits), tree.edge_reward(reward))


def is_gradient_over_prompts(i: vf.Cases) -> tuple[vf.Term, ...]:
    """The same over prompts: `value_gradient` over |D| is the gradient of the mean return V(D)."""
    prompts = i.logits.shape[-3]

    def mean_return(logits: ar.Reals) -> ar.Reals:
        return np.sum(value(logits, i.reward), axis=-1) / prompts

    return (has_gradient(mean_return, i.logits, value_gradient(i.logits, i.reward) / prompts),)


@vf.definition
def l1_norm(gradient: ar.Reals) -> ar.Reals:
    """The sum of the absolute values over states and tokens."""
    return np.sum(np.sum(np.abs(gradient), axis=-1), axis=-1)


@vf.definition
def square_of_l2_norm(gradient: ar.Reals) -> ar.Reals:
    """The sum of squares over states and tokens."""
    return np.sum(np.sum(gradient * gradient, axis=-1), axis=-1)


@vf.definition
def linf_norm(gradient: ar.Reals) -> ar.Reals:
    """The largest absolute value of a state and token."""
    return ar.largest(ar.largest(np.abs(gradient)))


def room_l1(i: vf.Cases) -> ar.Reals:
    """H - 2 log 2 ||grad V||_1."""
    norm = l1_norm(value_gradient(i.logits, i.reward))
    return ar.response_entropy(i.logits) - 2 * ar.log_of(2, like=norm) * norm


def room_l2(i: vf.Cases) -> ar.Reals:
    """H^2 - (2 sqrt2 log 2 ||grad V||_2)^2."""
    square = square_of_l2_norm(value_gradient(i.logits, i.reward))
    return ar.response_entropy(i.logits) ** 2 - 8 * ar.log_of(2, like=square) ** 2 * square


def room_linf(i: vf.Cases) -> ar.Reals:
    """H - 4 log 2 ||grad V||_inf."""
    norm = linf_norm(value_gradient(i.logits, i.reward))
    return ar.response_entropy(i.logits) - 4 * ar.log_of(2, like=norm) * norm


# ---------------------------------------------------------------- claims

INSTANCES = trees(reward="graded")
_HALF = {"weights": [[1, 1]], "reward": [1, 0]}


def _statement(norm: str, constant: str, room: vf.Margin) -> vf.Statement:
    return vf.Statement(
        latex=rf"For returns in $[0, 1]$: $\lVert\nabla V\rVert_{{{norm}}} \le {constant}\,"
              r"\mathcal H(\pi)$.",
        margin=room,
        # `value_gradient` is the gradient of the expected return.
        beyond=lambda i: (has_gradient(lambda z: value(z, i.reward), i.logits,
                                       value_gradient(i.logits, i.reward)),),
    )


def _claim(
    name: str, title: str, statement: vf.Statement, mutants: tuple[vf.Mutant, ...] = ()
) -> vf.Claim:
    return vf.Claim(
        id=f"extension.gradient-entropy-{name}",
        source="Extension of AEnt, Proposition 1 (I)",
        title=title,
        scope="tabular token tree, returns in [0, 1], exact gradient, entropy per response",
        statement=statement,
        instances=INSTANCES,
        witnesses=(_HALF,),
        mutants=mutants,
    )


def _room_of_last_token(i: vf.Cases) -> ar.Reals:
    """`room_l1` with the entropy of the last token only, in place of that of the response."""
    tree = ar.token_tree(i.logits)
    last = tree.levels[-1]
    visits = tree.visitation(ar.softmax(i.logits))[..., last]
    norm = l1_norm(value_gradient(i.logits, i.reward))
    return (np.sum(visits * ar.entropy(i.logits[..., last, :]), axis=-1)
            - 2 * ar.log_of(2, like=norm) * norm)


_l1 = _statement("1", r"\frac{1}{2\log 2}", room_l1)

gradient_entropy_l1 = _claim(
    "l1", "Entropy bounds the l1 norm of the policy gradient, constant 1/(2 log 2)", _l1,
    (vf.Mutant(name="the entropy of the last token only",
               statement=vf.variant(_l1, margin=_room_of_last_token)),))
gradient_entropy_l2 = _claim(
    "l2", "Entropy bounds the l2 norm of the policy gradient, constant 1/(2 sqrt2 log 2)",
    _statement("2", r"\frac{1}{2\sqrt2\log 2}", room_l2))
gradient_entropy_linf = _claim(
    "linf", "Entropy bounds the largest entry of the policy gradient, constant 1/(4 log 2)",
    _statement(r"\infty", r"\frac{1}{4\log 2}", room_linf))
