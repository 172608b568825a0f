r"""AEnt, Proposition 1 (I): policy entropy is an upper bound of the policy gradient.

It is for every tabular softmax policy on token trees. V is the expected return and H the response
entropy, both averaged over the data set. In any norm (the l1 norm is the largest),

.. math::

    \|\nabla V(D)\| \le 2 H(\pi).

It is true, with half the constant in every norm, if the return of a response (the sum of its rewards)
lies in [0, 1]. At each state :math:`H(s) \ge \sum_a \pi_a (1 - \pi_a)`. There the gradient's entry
:math:`d(s) \pi_a (Q_a - V)` is at most :math:`d(s) \pi_a (1 - \pi_a)` in size. The printed proof goes
by the softmax Jacobian, whose absolute entries sum to :math:`2 \sum_a \pi_a (1 - \pi_a)`. Its displays
are reconstructed from the text between them.

Mutants and an experiment show that each of four hypotheses is needed.

- The returns are in [0, 1]. If only each reward is, the length multiplies the bound.
- H is the sum of the token entropies, not their mean.
- The parameters are the logits. Features of norm G multiply the gradient by up to G.
- The gradient is the plain one. GRPO divides by the standard deviation of a group of G answers, and
  then the constant grows with G.

The best constants are in `extension.gradient-entropy-l1`, ``-l2`` and ``-linf``. The converse fails.
Where every response is right, the gradient is 0 and H may be log n.
"""

import math
from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import trees
from entropy_theory.claims.extensions.gradient_entropy_bounds import (
    is_gradient_over_prompts,
    l1_norm,
    value_gradient,
)
from entropy_theory.verification import arithmetic as ar


def _norm(i: vf.Cases) -> ar.Reals:
    """||grad V(D)||_1."""
    return np.sum(l1_norm(value_gradient(i.logits, i.reward)), axis=-1) / i.logits.shape[-3]


def _entropy(i: vf.Cases) -> ar.Reals:
    return np.sum(ar.response_entropy(i.logits), axis=-1) / i.logits.shape[-3]


def _room(i: vf.Cases, entropy_share: int = 1) -> ar.Reals:
    return 2 * _entropy(i) - entropy_share * _norm(i)


# ---------------------------------------------------------------- hypotheses that are needed

# The first token decides (probabilities 1/2), the others are nearly deterministic.
_SURE = [1000, 1]
_DECIDES = [[[1, 1], *([_SURE] * 6)]]
_FIRST = [1, 1, 1, 1, 0, 0, 0, 0]
_TERMINAL = {"weights": _DECIDES, "reward": [_FIRST]}


def grpo_norm(probability: ar.Ball, group: int) -> ar.Ball:
    """||E[GRPO gradient]||_1 = 2 E sqrt(k/G (1 - k/G)), k ~ Binomial(G, p), of one token with n = 2."""
    from flint import arb

    deviation = arb(0)
    for k in range(1, group):
        share = arb(k) / group
        weight = math.comb(group, k) * probability**k * (1 - probability) ** (group - k)
        deviation += weight * (share * (1 - share)).sqrt()
    return 2 * deviation


def _grpo() -> tuple[bool, str]:
    from flint import arb

    ratios = {}
    for group, p in ((8, Fraction(1, 10)), (64, Fraction(1, 60)), (1024, Fraction(1, 1000))):
        x = arb(p.numerator) / p.denominator
        binary = -x * x.log() - (1 - x) * (1 - x).log()
        ratios[group] = grpo_norm(x, group) / binary
    shown = ratios[8] < 2 and ratios[64] > 2 and ratios[1024] > 6
    return shown, ", ".join(f"G = {g}: {float(r.mid()):.3f}" for g, r in ratios.items())


proposition_1i = vf.Claim(
    id="aent.proposition-1i",
    source="AEnt, Proposition 1 (I)",
    reading=vf.Reading(
        "precise", "Policy entropy is an upper bound of the policy gradient: .",
        "Proposition 1 (I); its display is lost in the text"),
    title="Policy entropy bounds the policy gradient",
    scope="tabular token trees, returns in [0, 1], exact gradient, entropy per response",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"For returns in $[0, 1]$ and a softmax policy on logits: $\lVert\nabla V^{\pi}(\mathcal "
              r"D)\rVert_1 \le 2\,\mathcal H(\pi)$.",
        margin=_room,
        beyond=is_gradient_over_prompts,
    ),
    instances=trees(reward="graded", prompts=2),
    symbolic=True,
    experiments=(
        vf.experiment("GRPO-normalized gradient",
                      "for two answers, ||gradient||_1 / H of GRPO's expected gradient is below 2 for "
                      "G = 8, above it for 64, above 6 for 1024 (certified, at one p each)", _grpo),
    ),
    mutants=(
        vf.mutant("mean entropy per token",
                  margin=lambda i: _room(i, entropy_share=ar.token_tree(i.logits).horizon),
                  instances=vf.listed_instances([_TERMINAL], "three tokens, the first one decides")),
    ),
)
