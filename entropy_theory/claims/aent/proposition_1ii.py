r"""AEnt, Proposition 1 (II): an almost stationary policy is almost optimal where :math:`C(q)` is not
small.

It is for a tabular softmax policy on token trees, with h tokens per response, a data set D and any
returns. :math:`C(q)` is the probability of the likeliest right response.

.. math::

    \|\nabla V(D)\|_2 \le \varepsilon\quad \text{ implies}\quad V^*(q) - V(q) \le |D| \sqrt{h}
    \varepsilon / C(q)

It is true. Along this response the advantages :math:`A_t` sum to the gap. The gradient has the entries
:math:`g_t = P_t A_t / |D|` with :math:`P_t \ge C(q)`, and Cauchy-Schwarz over h tokens gives
:math:`\sqrt{h}`. Advantages along a right response can be negative, so the proof needs absolute values.

The text at hand lacks the displays, and does not show whether the paper keeps :math:`|D|` and
:math:`\sqrt{h}` in :math:`C(q)`. Both are needed. Two examples fail without :math:`\sqrt{h}`, and hold
if any weight is one less. The first has two tokens, :math:`h = 3`, and weights 4:1, 4:1 and 5:1 along
the one right response. The second has three tokens, :math:`h = 2`, and weights 6:1:1 twice. For two
tokens and :math:`h = 2` it is true without :math:`\sqrt{h}`, by `extension.sharpened-stationarity`,
which has :math:`\sqrt{h (n - 1)/n}`.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aent.stationarity import (
    Constant,
    gap,
    largest_right_probability,
    square_of_gradient,
)
from entropy_theory.claims.aent.token_mdp import trees
from entropy_theory.claims.extensions.gradient_entropy_bounds import is_gradient_over_prompts
from entropy_theory.verification import arithmetic as ar


def room(
    i: vf.Cases, constant: Constant = largest_right_probability, factor: int | None = None, share: int = 1
) -> ar.Reals:
    """The margin factor eps^2 - share (C(q) gap(q))^2 for each prompt, with eps the norm itself.

    By default the factor is |D|^2 h.
    """
    if factor is None:
        factor = i.logits.shape[-3] ** 2 * ar.token_tree(i.logits).horizon
    product = constant(i.logits, i.reward) * gap(i.logits, i.reward)
    return factor * square_of_gradient(i.logits, i.reward)[..., None] - share * product * product


INSTANCES = trees(reward="graded", prompts=2, rewards=vf.ANY)
# The one right response is the first; weights (4, 1), (4, 1), (5, 1) at its three states.
NO_ROOT = {
    "weights": [[[4, 1], [4, 1], [1, 1], [5, 1], [1, 1], [1, 1], [1, 1]]],
    "reward": [[1, 0, 0, 0, 0, 0, 0, 0]],
}
NO_ROOT_THREE_TOKENS = {
    "weights": [[[6, 1, 1], [6, 1, 1], [1, 1, 1], [1, 1, 1]]], "reward": [[1] + [0] * 8],
}


proposition_1ii = vf.Claim(
    id="aent.proposition-1ii",
    source="AEnt, Proposition 1 (II)",
    reading=vf.Reading(
        "precise", "then given any query in dataset , the policy suboptimality on the query satisfies",
        "Proposition 1 (II); its display is lost in the text"),
    title="A small policy gradient bounds the suboptimality, where the right response is not rare",
    scope="tabular token trees, one a prompt, exact gradient",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"$\lVert\nabla V^{\pi}(\mathcal D)\rVert_2 \le \epsilon$ implies, for every $q \in "
              r"\mathcal D$, $V^{*}(q) - V^{\pi}(q) \le |\mathcal D|\sqrt h\,\epsilon / C(q)$ with "
              r"$C(q) = \max_{y \in \mathcal A^*(q)} \pi(y|q)$.",
        margin=room,
        beyond=is_gradient_over_prompts,
    ),
    instances=INSTANCES,
    symbolic=True,
    witnesses=(NO_ROOT, NO_ROOT_THREE_TOKENS),
    mutants=(
        vf.mutant("C(q) = 1: a small gradient alone is enough",
                  margin=lambda i: room(i, constant=lambda logits, reward: 0 * gap(logits, reward) + 1)),
    ),
)
