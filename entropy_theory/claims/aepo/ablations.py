r"""Lemmas that AEPO's ablations share: without "positives only at T != 1" the right answers draw apart.

An expected step of ablation (2) or (3) moves the right answers by dz_a = x pi_a + y pi^T_a, with
x = eta kappa (1 - p) from GRPO and y >= 0 from the extra term, and every wrong logit down. So z_i >= z_j
gives dz_i >= dz_j among the right answers: exactly, for any temperature, weight and step size, their
conditional distribution q = pi( . | A*) moves towards its likeliest answers, and H(q) never rises.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import (
    EXP_INCREASES,
    MEAN_VALUE,
    SUM_OF_SIGNS,
    covariance_as_pairs,
    unit_step,
)
from entropy_theory.claims.extensions.solved_face import conditional_entropy
from entropy_theory.verification import Step, smt, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals


def advantage_step(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """sum_a pi^T_a (1_{A*}(a) - P_T)(e_a - pi) = pi^T (1_{A*} - P_T): the centered reward."""
    tempered = ar.softmax(logits, temperature)
    # 1 - P_T is summed over the wrong answers, so that it keeps its digits near a solved state.
    right, wrong = ar.total(tempered, correct), ar.total(tempered, ~correct)
    return tempered * np.where(correct, ar.per_action(wrong), -ar.per_action(right))


def plain_step(logits: Reals, correct: Mask) -> Reals:
    """grad p = pi (1_{A*} - p): expected GRPO, and REINFORCE at T = 1, per unit weight."""
    return advantage_step(logits, correct, 1 + 0 * logits[..., 0])


def conditional_entropy_fall(logits: Reals, correct: Mask, step: Reals) -> Reals:
    """H(q) - H(q') on the right answers, without cancellation in floats."""
    if ar.is_exact(logits):
        return conditional_entropy(logits, correct) - conditional_entropy(logits + step, correct)
    far = np.where(correct, logits, np.min(logits, axis=-1, keepdims=True) - 1e4)
    return -ar.entropy_change(far, np.where(correct, step, 0.0))


def right_pairs(logits: Reals, correct: Mask, step: Reals) -> Reals:
    """min over pairs of right answers of (z_i - z_j)(dz_i - dz_j)."""
    both = correct[..., :, None] & correct[..., None, :] & ~np.eye(correct.shape[-1], dtype=bool)
    products = ((logits[..., :, None] - logits[..., None, :])
                * (step[..., :, None] - step[..., None, :]))
    kept = np.where(both, products, 0 * products)
    return ar.smallest(kept.reshape(*kept.shape[:-2], -1))


def draws_apart(moves: Step) -> tuple[Step, ...]:
    """H(q) never rises and tends to log k; ``moves`` gives dz_a = x pi_a + y pi^T_a on A*.

    The last step is called "collapse to the ties".
    """

    apart = smt.lemma(
        "right answers draw apart", "(z_i - z_j)(dz_i - dz_j) >= 0 for all right i, j",
        "x y zi zj pi pj ti tj",
        lambda v: [v.x >= 0, v.y >= 0,
                   smt.implies(v.zi <= v.zj, smt.all_of(v.pi <= v.pj, v.ti <= v.tj)),
                   smt.implies(v.zj <= v.zi, smt.all_of(v.pj <= v.pi, v.tj <= v.ti))],
        lambda v: (v.zi - v.zj) * (v.x * (v.pi - v.pj) + v.y * (v.ti - v.tj)) >= 0,
        uses=(moves.name,), axioms=(EXP_INCREASES + ", pi^T likewise",),
    )
    return (
        symbolic.softmax_rule(),
        moves,
        apart,
        symbolic.entropy_slope("conditional entropy slope",
                               "along dz: dH(q)/ds = -Cov_q(log q, dz)"),
        covariance_as_pairs(),
        smt.lemma(
            "pairs on the way",
            "with u = z + s dz, log q_i - log q_j = u_i - u_j: (u_i - u_j)(dz_i - dz_j) >= 0 for s >= 0",
            "x y zi zj pi pj ti tj s d",
            lambda v: [*apart.premises(v),
                       apart.instance(**{name: getattr(v, name) for name in apart.variables}),
                       v.d == v.x * (v.pi - v.pj) + v.y * (v.ti - v.tj), v.s >= 0],
            lambda v: (v.zi - v.zj + v.s * v.d) * v.d >= 0,
            uses=("right answers draw apart",),
        ),
        smt.lemma(
            "conditional entropy falls", "H(q') <= H(q), for any step size", "slope S before after",
            lambda v: [2 * v.slope == -v.S, v.S >= 0,
                       smt.implies(v.slope <= 0, v.after <= v.before)],
            lambda v: v.after <= v.before,
            uses=("conditional entropy slope", "covariance as pairs", "pairs on the way"),
            axioms=(SUM_OF_SIGNS, MEAN_VALUE),
        ),
        smt.lemma(
            "unbounded push",
            "S_N = sum of x + y exceeds every B: no logit has moved by more than S_N, so while S_N "
            "<= B each x + y is at least some d > 0, and N d <= S_N",
            "N d S B",
            lambda v: [v.d > 0, v.N * v.d <= v.S, v.N * v.d > v.B],
            lambda v: v.S > v.B,
            uses=(moves.name,),
            axioms=("x pi_a + y pi^T_a <= x + y, and a wrong logit falls by at most x + y; logits in a "
                    "bounded set keep 1 - p above some e > 0",),
        ),
        smt.lemma(
            "gap of the likeliest right answer",
            "pi_1 - pi_a >= (r/m)(1 - E) for right answers with e^{-(z_1 - z_a)} <= E < 1 (and "
            "e^{-(z_1 - z_a)/T} <= E), where pi(A*), pi^T(A*) >= r: the gap grows by at least g (x + "
            "y), g > 0; so does the likeliest right logit, while the wrong ones fall",
            "x y m r E p1 pa t1 ta g",
            lambda v: [v.x >= 0, v.y >= 0, v.m >= 1, v.r > 0, v.E > 0, v.E < 1,
                       v.m * v.p1 >= v.r, v.pa <= v.E * v.p1, v.m * v.t1 >= v.r, v.ta <= v.E * v.t1,
                       v.g * v.m == v.r * (1 - v.E)],
            lambda v: smt.all_of(v.g > 0, v.x * (v.p1 - v.pa) + v.y * (v.t1 - v.ta)
                                 >= v.g * (v.x + v.y)),
            uses=("right answers draw apart",),
            axioms=("the likeliest of m right answers has at least the m-th part of pi(A*), which "
                    "stays above some r > 0 because Phi (``extension.entropy-ceiling``) never falls: "
                    "right logits rise, wrong ones fall",
                    "right answers draw apart, so that one E < 1 serves all steps"),
        ),
        smt.lemma(
            "collapse to the ties",
            "every gap below the k likeliest right answers, and the one to the wrong answers, "
            "exceeds every bound: pi tends to the uniform policy on those k, and H to log k",
            "gap start g S B",
            lambda v: [v.gap >= v.start + v.g * v.S, v.g > 0, v.g * v.S > v.B - v.start],
            lambda v: v.gap > v.B,
            uses=("unbounded push", "gap of the likeliest right answer", "conditional entropy falls"),
            axioms=("entropy is continuous on the simplex", "ties are kept: equal logits move equally"),
        ),
    )


def rewards_only(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """AEPO's own term, R instead of the advantage."""
    return unit_step(logits, correct, temperature)
