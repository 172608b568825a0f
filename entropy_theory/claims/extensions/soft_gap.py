r"""Extension of AEnt, Lemma 6: twice sharper, and then tight.

.. math::

    V_\lambda^{\pi^*_\lambda}(q) - V_\lambda^\pi(q) \le \|\nabla V_\lambda(D)\|_2^2 / (4 \lambda
    C_\lambda(q)),

    C_\lambda(q) = (1/|D|^2) \min_s P(s)^2 \min_a \pi(a|s)^2 / P^*(s).

The printed bound has 2 for 4. The printed route bounds :math:`\operatorname{KL}(\pi \| \pi')` by
:math:`\|u - c\|_\infty^2/2`, and this by :math:`\|u - c\|_2^2/2`. But :math:`\operatorname{KL} \le
\operatorname{range}(u)^2/8`, and :math:`\operatorname{range}^2 \le 2 \|u - c\|_2^2`. Equality is
approached with one state, two tokens, :math:`\pi` uniform, returns (1, 0) and :math:`\lambda` tending
to infinity.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aent.lemma_6 import by_response, by_state, room
from entropy_theory.claims.aent.token_mdp import COEFFICIENT, trees


def _tight() -> tuple[bool, str]:
    """Gap over bound for ``pi = (1/2, 1/2)``, ``r = (1, 0)``:
    ``lambda log cosh(1/(2 lambda)) 8 lambda``.
    """
    from flint import arb

    ratios = [lam * (1 / (2 * lam)).cosh().log() * 8 * lam for lam in map(arb, (1, 10, 1000))]
    return bool(ratios[-1] > 1 - 1e-6) and bool(ratios[-1] < 1), ", ".join(
        r.str(8, radius=False) for r in ratios)


soft_gap = vf.Claim(
    id="extension.soft-gap",
    source="Extension of AEnt, Lemma 6",
    title="The soft gap is at most half of Lemma 6's bound as reconstructed",
    scope="tabular token trees, one a prompt, exact gradient",
    statement=vf.Statement(
        latex=r"$V_\lambda^{\pi^*_\lambda}(q) - V_\lambda^{\pi}(q) \le \lVert\nabla V_\lambda(\mathcal "
              r"D)\rVert_2^2/(4\lambda C_\lambda(q))$, $C_\lambda(q) = |\mathcal D|^{-2}\min_s "
              r"P^\pi(s|q)^2\min_a\pi(a|s)^2/P^{\pi^*_\lambda}(s|q)$; with $\pi^*_\lambda = "
              r"\mathrm{softmax}(Q^*_\lambda/\lambda)$, and $\nabla V_\lambda$ by Lemma 3.",
        margin=lambda i: room(i, by_state, factor=4),
    ),
    instances=trees(COEFFICIENT, reward="graded", prompts=2, rewards=vf.ANY),
    witnesses=(
        {"weights": [[[1, 1]]], "reward": [[1, 0]], "coefficient": 10},
    ),
    experiments=(
        vf.experiment("tight", "gap/bound at pi = (1/2, 1/2), returns (1, 0) and lambda = 1, 10, 1000 "
                      "tends to 1", _tight),
    ),
    mutants=(
        vf.mutant("the least response probability itself, not its square",
                  margin=lambda i: room(i, lambda j: by_response(j) ** (1 / 2), factor=4)),
    ),
)
