r"""AEnt, Lemma 6: a small regularized gradient means a small soft gap.

.. math::

    V_\lambda^{\pi^*_\lambda}(q) - V_\lambda^\pi(q) \le \|\nabla V_\lambda(D)\|_2^2 / (2 \lambda
    C_\lambda(q)).

The constant is "specified in the proof", but the displays of the proof are not readable. Three
constants make it true. Here :math:`S_q` holds the prefixes of responses to q, and P and :math:`P^*` are
the probabilities of visiting a prefix under :math:`\pi` and under :math:`\pi^*_\lambda`.

.. math::

    \text{by state}\quad C = (1/|D|^2) \min_s P(s)^2 \min_a \pi(a|s)^2 / P^*(s)

    \text{by ratio}\quad C = (1/(|D|^2 |S_q|)) \min_s P(s) \min_{s,a} \pi(a|s)^2 / \max_s (P^*(s)/P(s))

    \text{by response}\quad C = (1/|D|^2) (\min_y \pi(y|q))^2

The first constant is the largest. The second follows Mei et al. (2020), Lemma 15, as the printed proof
does. All three are true with 4 in place of 2 (`extension.soft-gap`). The printed route uses
:math:`\operatorname{KL} \le \|.\|_\infty^2 / 2` (Mei et al., Lemma 27), where
:math:`\operatorname{range}^2/8` is true.

The constants by ratio and by response are at most :math:`|A|^{-2h}`. The constant by state may be
larger, for example :math:`|A|^{-(h+1)}` for the uniform policy and large :math:`\lambda`. But at the
root it is at most :math:`\min_a \pi(a|q)^2 / |D|^2`, and so at most :math:`|A|^{-2}/|D|^2`. So the
lemma is qualitatively right, and quantitatively vacuous for an LLM.
"""

from collections.abc import Callable

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.lemma_5 import soft_gap
from entropy_theory.claims.aent.stationarity import square_of_soft_gradient
from entropy_theory.claims.aent.token_mdp import COEFFICIENT, soft_policy, trees
from entropy_theory.verification import arithmetic as ar

Constant = Callable[[vf.Cases], ar.Reals]
"""An instance to C_lambda(q), one number per prompt [..., prompts]."""


@vf.definition
def visits(logits: ar.Reals) -> ar.Reals:
    """P(s)."""
    return ar.token_tree(logits).visitation(ar.softmax(logits))


@vf.definition
def soft_visits(logits: ar.Reals, reward: ar.Reals, coefficient: ar.Reals) -> ar.Reals:
    """P*(s): the visits of the soft policy."""
    best = soft_policy(logits, reward, coefficient)
    return ar.token_tree(best).visitation(ar.softmax(best))


def _on_states(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals]:
    """(P(s), P*(s), min_a pi(a|s)), each [..., prompts, states]."""
    return (visits(i.logits), soft_visits(i.logits, i.reward, i.coefficient),
            ar.smallest(ar.softmax(i.logits)))


@vf.definition
def soft_constant(logits: ar.Reals, reward: ar.Reals, coefficient: ar.Reals) -> ar.Reals:
    """min_s P(s)^2 min_a pi(a|s)^2 / P*(s)."""
    least = ar.smallest(ar.softmax(logits))
    return ar.smallest((visits(logits) * least) ** 2 / soft_visits(logits, reward, coefficient))


def by_state(i: vf.Cases) -> ar.Reals:
    """min_s P^2 min_a pi^2 / P*, over |D|^2."""
    return soft_constant(i.logits, i.reward, i.coefficient) / i.logits.shape[1] ** 2


def by_ratio(i: vf.Cases) -> ar.Reals:
    """min_s P min pi^2 min_s (P/P*) / |S_q|, over |D|^2."""
    own, best, least = _on_states(i)
    factors = ar.smallest(own) * ar.smallest(least) ** 2 * ar.smallest(own / best)
    return factors / ar.total(0 * own + 1) / i.logits.shape[1] ** 2


def by_response(i: vf.Cases) -> ar.Reals:
    """(min_y pi(y))^2, over |D|^2."""
    tree = ar.token_tree(i.logits)
    least = ar.smallest(tree.response_probabilities(ar.softmax(i.logits)))
    return (least / i.logits.shape[1]) ** 2


def room(i: vf.Cases, *constants: Constant, factor: int = 2) -> ar.Reals:
    """||grad V_lambda(D)||^2 - factor lambda C (soft gap), for each constant and prompt."""
    gap = soft_gap(i.logits, i.reward, i.coefficient)
    scaled_gap = factor * i.coefficient[..., None] * gap
    size = square_of_soft_gradient(i.logits, i.reward, i.coefficient)[..., None]
    return np.concatenate([size - constant(i) * scaled_gap for constant in constants], axis=-1)


# The local ascents are left to `extension.soft-gap`, which is stronger.
INSTANCES = trees(COEFFICIENT, reward="graded", prompts=2, ascend=False, rewards=vf.ANY)

lemma_6 = vf.Claim(
    id="aent.lemma-6",
    source="AEnt, Lemma 6 (A.39)",
    reading=vf.Reading(
        "precise", "where and is specified in the proof.",
        "Lemma 6, Appendix A.3; its display is lost in the text"),
    title="Soft gap bounded by the squared regularized gradient",
    scope="tabular token trees, one a prompt, exact expectation",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"$V_\lambda^{\pi^*_\lambda}(q) - V_\lambda^{\pi_\theta}(q) \le \lVert\nabla "
              r"V_\lambda(\mathcal D)\rVert_2^2/(2\lambda C_\lambda(q))$, where $|\mathcal D|^2 "
              r"C_\lambda$ is any of $\min_s P(s)^2\min_a\pi(a|s)^2/P^*(s)$, $\min_s "
              r"P(s)\,\min_{s,a}\pi(a|s)^2\,\min_s\frac{P(s)}{P^*(s)}/|\mathcal S|$ and "
              r"$\min_y\pi(y)^2$; with $\pi^*_\lambda = \mathrm{softmax}(Q^*_\lambda/\lambda)$, and "
              r"$\nabla V_\lambda$ by Lemma 3.",
        margin=lambda i: room(i, by_state, by_ratio, by_response),
    ),
    instances=INSTANCES,
    mutants=(
        vf.mutant("max_a pi(a|s) instead of min_a", margin=lambda i: room(i, _with_likeliest)),
    ),
)


def _with_likeliest(i: vf.Cases) -> ar.Reals:
    own, best, _ = _on_states(i)
    top = ar.largest(ar.softmax(i.logits))
    return ar.smallest((own * top) ** 2 / best) / i.logits.shape[1] ** 2
