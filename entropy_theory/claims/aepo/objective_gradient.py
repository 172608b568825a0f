r"""AEPO, Section 3.1: the printed objective and the printed gradient do not belong together.

The printed objective is :math:`J = \mathbb E_o \sum_{t=1}^{|o|} R(q, o)`. Its printed gradient is
:math:`\mathbb E_o \sum_t \nabla \log \pi(o_t | o_{<t}) R(q, o)`. But the sum in J only multiplies R by
the length, so :math:`J = \mathbb E[|o| R]` and :math:`\nabla J = \mathbb E[|o| R \sum_t \nabla \log
\pi]`. For responses of one length h this is h times the printed gradient. For different lengths it is
another direction, and the printed gradient can even be a descent direction of the printed J.

Repair: the sum belongs to the gradient alone. The printed gradient is that of E[R] (as in Appendix
B).

A response ends with token 1 or at the horizon. Its reward, in [0, 1], stands at the token that ends
it.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.response_length import (
    REWARD,
    ending_reward,
    lengths,
    longest,
    policy_update,
    rewards,
    spread,
)
from entropy_theory.verification import arithmetic as ar


def _gradients(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals]:
    """(grad of E[|o| R], grad of E[R], the printed gradient), for each state and token."""
    tree, p, score = ar.token_tree(i.logits), ar.softmax(i.logits), rewards(i.logits, i.reward)
    return (tree.expectation_gradient(p, tree.edge_reward(score * lengths(i.logits))),
            tree.expectation_gradient(p, ending_reward(i.logits, i.reward)),
            policy_update(i.logits, score))


def _printed(i: vf.Cases) -> ar.Reals:
    of_objective, _, printed = _gradients(i)
    return of_objective - printed


def _repaired_residual(i: vf.Cases) -> ar.Reals:
    _, of_reward, printed = _gradients(i)
    return of_reward - printed


def _times_length(i: vf.Cases) -> ar.Reals:
    of_objective, _, printed = _gradients(i)
    length = longest(i.logits, rewards(i.logits, i.reward))
    return of_objective - length[..., None, None] * printed


def _spread(i: vf.Cases) -> ar.Reals:
    return spread(i.logits, rewards(i.logits, i.reward))


def _where_of_one_length(i: vf.Cases) -> ar.Reals:
    """`_times_length`, and zero where the right responses have several lengths."""
    are_equal = ~ar.less(_spread(i), 0 * _spread(i))
    residual = _times_length(i)
    return np.where(are_equal[..., None, None], residual, 0 * residual)


_statement = vf.Statement(
    latex=r"$\nabla\,E_o\sum_{t=1}^{|o|} R(q,o) = "
          r"E_o\sum_{t=1}^{|o|}\nabla\log\pi(o_t|q,o_{<t})\,R(q,o)$.",
    margin=_printed,
    relation="==",
)

ONE_LENGTH = vf.Condition(
    latex="all responses with a reward above zero have the same length h", value=_spread, relation=">=")

objective_gradient = vf.Claim(
    id="aepo.objective-gradient",
    source="AEPO, Section 3.1 (objective and its policy gradient)",
    reading=vf.Reading(
        "literal",
        r"\nabla_\theta \mathcal{J}_{REINFORCE}(\theta) = \mathbb{E}_{q \sim P(Q), o \sim "
        r"\pi_\theta(O|q)} \sum_{t=1}^{|o|} [\nabla_\theta \log \pi_\theta(o_t|q, o_{<t}) \cdot R(q, "
        "o)]", "Section 3.1"),
    title="The printed policy gradient is the gradient of the printed objective",
    scope="tabular token tree with responses of several lengths, exact expectation, gradient",
    statement=_statement,
    instances=vf.tree_instances(tokens=(2, 3), horizon=(1, 2), reward=None, vectors=(REWARD,)),
    repair=vf.Statement(
        latex=r"$E_o\sum_t\nabla\log\pi(o_t|q,o_{<t})R$ is $d(s)\,\pi(a|s)\,(Q(s,a) - V(s))$, the "
              r"formula for the gradient of $E_o[R]$, for any lengths; where all responses with a "
              r"reward above zero have the length $h$, the same formula for $E_o[R|o|]$, the printed "
              r"objective, is $h$ times it.",
        margin=lambda i: np.concatenate([_repaired_residual(i), _where_of_one_length(i)], axis=-1),
        relation="==",
    ),
    repair_is="correction",
    repair_note="without the sum over t in the objective (or for one length, up to the factor h)",
    mutants=(
        vf.Mutant(name="equal lengths make the two equal",
                  statement=vf.variant(_statement, conditions=(ONE_LENGTH,))),
    ),
)
