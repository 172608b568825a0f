r"""Extension of AEnt, Proposition 1 (II): the same bound with a smaller constant.

The constant is :math:`\sqrt{h (n - 1)/n}` in place of :math:`\sqrt{h}`. It is for a tabular softmax
policy over n tokens, with h tokens per response, a data set D and any returns.

.. math::

    V^*(q) - V(q) \le |D| \sqrt{h (n - 1)/n} \|\nabla V(D)\|_2 / C(q).

A state's block of the gradient adds up to zero. So an entry g of it has :math:`g^2 \le ((n - 1)/n)`
times the sum of squares of the block. Equality holds for one token, one right answer and equal
probabilities of the wrong ones. For :math:`h = 2` and two tokens the factor is 1, so there the bound
holds without any :math:`\sqrt{h}`.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aent.proposition_1ii import (
    INSTANCES,
    NO_ROOT,
    NO_ROOT_THREE_TOKENS,
    room,
)
from entropy_theory.claims.extensions.gradient_entropy_bounds import is_gradient_over_prompts
from entropy_theory.verification import arithmetic as ar


def _room(i: vf.Cases) -> ar.Reals:
    """``n/(n - 1)`` times ``[|D|^2 h ((n - 1)/n) ||grad V||^2 - (C gap)^2]``."""
    tree = ar.token_tree(i.logits)
    n = tree.n_tokens
    factor = i.logits.shape[-3] ** 2 * tree.horizon * (n - 1)
    return room(i, factor=factor, share=n)


sharpened_stationarity = vf.Claim(
    id="extension.sharpened-stationarity",
    source="Extension of AEnt, Proposition 1 (II)",
    title="Suboptimality of an almost stationary policy, with the constant sqrt(h (n - 1)/n)",
    scope="tabular token trees, one a prompt, exact gradient",
    statement=vf.Statement(
        latex=r"$V^{*}(q) - V^{\pi}(q) \le |\mathcal D|\sqrt{h(n-1)/n}\,"
              r"\lVert\nabla V^{\pi}(\mathcal D)\rVert_2 / C(q)$, $n = |\mathcal A|$.",
        margin=_room,
        beyond=is_gradient_over_prompts,
    ),
    instances=INSTANCES,
    witnesses=(NO_ROOT, NO_ROOT_THREE_TOKENS, {"weights": [[[3, 1, 1]]], "reward": [[1, 0, 0]]}),
)
