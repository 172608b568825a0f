r"""Extension of AEnt, Proposition 1 (II): the same bound with sqrt(h (n - 1)/n) for sqrt(h).

For a tabular softmax policy over n tokens, h tokens a response, data set D, any returns:

    V*(q) - V(q) <= |D| sqrt(h (n - 1)/n) ||grad V(D)||_2 / C(q).

A state's block of the gradient adds up to zero, so that an entry g of it has g^2 <= ((n - 1)/n) times
the sum of squares of the block. Equality: one token, one right answer, equal probabilities of the wrong
ones. For h = 2 and two tokens the factor is 1: there the bound holds without any sqrt(h).
"""

from __future__ import annotations

from entropy_theory.claims.aent.proposition_1ii import (
    INSTANCES,
    NO_ROOT,
    NO_ROOT_THREE_TOKENS,
    room,
)
from entropy_theory.claims.aent.stationarity import CAUCHY_SCHWARZ, path_steps
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
from entropy_theory.claims.extensions.gradient_entropy_bounds import is_gradient_over_prompts
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    listed_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant


def _room(i: Cases, over: int = 1, under: int = 1) -> Reals:
    """n/(n - 1) times [|D|^2 h ((n - 1)/n) ||grad V||^2 - (C gap)^2], the factor times under/over."""
    tree = ar.token_tree(i.logits)
    n = tree.n_tokens
    factor = i.logits.shape[-3] ** 2 * tree.horizon * (n - 1) * under
    return room(i, factor=factor, share=n * over)


def _block_sum() -> symbolic.Expression:
    # The block over d(s): pi_a (Q_a - V).
    m = symbolic.Moments("Q")
    return m.expect(m["Q"] - m.expect(m["Q"]))


BLOCK = smt.lemma(
    "entry of a block", "n g^2 <= (n - 1)(g^2 + rest), rest the squares of the n - 1 others, whose sum "
    "is -g",
    "g rest others n W k",
    lambda v: [v.n >= 2, v.k == v.n - 1, v.others == -v.g, v.W >= 0,
               2 * (v.rest * v.k - v.others * v.others) == v.W * v.k * v.k,
               CAUCHY_SCHWARZ.instance(k=v.k, S=v.others, N=v.rest, W=v.W)],
    lambda v: v.n * v.g * v.g <= (v.n - 1) * (v.g * v.g + v.rest),
    uses=("block adds up to zero", "Cauchy-Schwarz"),
)
_last = smt.lemma(
    "assembly", "C gap <= |D| S, S^2 <= h N with N = sum_t g_t^2, n N <= (n - 1) eps^2",
    "C gap D S N h W eps n",
    lambda v: [v.C >= 0, v.gap >= 0, v.D >= 1, v.S >= 0, v.h >= 1, v.W >= 0, v.eps >= 0, v.n >= 2,
               v.C * v.gap <= v.D * v.S, v.n * v.N <= (v.n - 1) * v.eps * v.eps,
               2 * (v.N * v.h - v.S * v.S) == v.W * v.h * v.h,
               CAUCHY_SCHWARZ.instance(k=v.h, S=v.S, N=v.N, W=v.W)],
    lambda v: v.n * (v.C * v.gap) * (v.C * v.gap) <= v.D * v.D * v.h * (v.n - 1) * v.eps * v.eps,
    uses=("telescope", "one token", "Cauchy-Schwarz", "entry of a block"), axioms=(SUM_OF_SIGNS,),
)

_statement = Statement(
    latex=r"$V^{*}(q) - V^{\pi}(q) \le |\mathcal D|\sqrt{h(n-1)/n}\,"
          r"\lVert\nabla V^{\pi}(\mathcal D)\rVert_2 / C(q)$, $n = |\mathcal A|$.",
    margin=_room,
    beyond=is_gradient_over_prompts,
    proof=(
        *path_steps(),
        symbolic.identity("block adds up to zero", "sum_a pi_a (Q_a - V) = 0", _block_sum),
        BLOCK, _last,
    ),
)

sharpened_stationarity = Claim(
    id="extension.sharpened-stationarity",
    source="Extension of AEnt, Proposition 1 (II)",
    title="Suboptimality of an almost stationary policy, with the constant sqrt(h (n - 1)/n)",
    scope="tabular token trees, one a prompt, exact gradient",
    statement=_statement,
    instances=INSTANCES,
    witnesses=(NO_ROOT, NO_ROOT_THREE_TOKENS, {"weights": [[[3, 1, 1]]], "reward": [[1, 0, 0]]}),
    mutants=(
        Mutant(name="one percent smaller still",
               statement=variant(_statement, margin=lambda i: _room(i, over=101, under=99)),
               instances=listed_instances(
                   [{"weights": [[[3, 1, 1]]], "reward": [[1, 0, 0]]}], "where equality holds")),
        Mutant(name="sqrt((n - 1)/n) without h",
               statement=variant(_statement, margin=lambda i: _room(
                   i, over=ar.token_tree(i.logits).horizon)),
               instances=listed_instances([NO_ROOT, NO_ROOT_THREE_TOKENS], "one right response")),
    ),
)
