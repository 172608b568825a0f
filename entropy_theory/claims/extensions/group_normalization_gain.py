r"""Extension: the expected GRPO step is kappa(p) times the gradient of p.

G independent responses, rewards 1 on A* and 0 elsewhere, advantages (R - mean)/std within the group (0
where all rewards are equal). For every policy, A* and G >= 2, exactly,

    E[(1/G) sum_i A_i (delta_{a_i} - pi)] = kappa grad p,      (grad p)_a = pi_a (1_{A*} - p),
    kappa = E_{k ~ Bin(G, p)} sqrt(k/G (1 - k/G)) / (p (1 - p)),

times sqrt((G - 1)/G) if the deviation divides by G - 1. The advantages of a group sum to zero, so the
baseline pi drops out; given that k are right, a right response is a draw of q = pi( . | A*) and a wrong
one of q_W = pi( . | wrong), and the group's mean is s_k (q - q_W), s_k the deviation.

Bounds, for G >= 3 (kappa = 1 for G = 2):

    max(2 (1 - 1/G), sqrt(G - 1)((1 - p)^{G-2} + p^{G-2})) <= kappa
        <= min(sqrt(G - 1), sqrt((1 - 1/G)/(p (1 - p)))),

so kappa -> sqrt(G - 1) as p -> 0 or 1: GRPO's gradient vanishes there no faster than that of p.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS, unit_step
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Condition, variant

GROUPS = (2, 3, 4)
BOUND_GROUPS = (4, 8, 16, 64)


def gain(right: Reals, wrong: Reals, group_size: int, ddof: int = 0) -> Reals:
    """kappa from p and 1 - p; the division by p (1 - p) is done term by term."""
    one, total = 0 * right + ar.constant(1, like=right), 0 * right
    for k in range(1, group_size):
        deviation = np.sqrt(one * (k * (group_size - k))) / group_size
        total = total + math.comb(group_size, k) * deviation * (
            right ** (k - 1) * wrong ** (group_size - k - 1))
    return total * np.sqrt(one * (group_size - 1) / group_size) if ddof else total


def enumerated_step(logits: Reals, correct: Mask, group_size: int, ddof: int) -> Reals:
    """The expectation over all n^G groups of (1/G) sum_i A_i (delta_{a_i} - pi), one group at a time."""
    n = logits.shape[-1]
    policy = ar.softmax(logits)
    groups = np.array(list(itertools.product(range(n), repeat=group_size)))
    chance = np.prod(policy[..., groups], axis=-1)
    one = ar.constant(1, like=logits)
    reward = np.where(correct[..., groups], one, 0 * one)
    centered = reward - np.sum(reward, axis=-1, keepdims=True) / group_size
    variance = np.sum(centered * centered, axis=-1, keepdims=True) / (group_size - ddof)
    hits = np.sum(correct[..., groups], axis=-1, keepdims=True)
    mixed = (hits > 0) & (hits < group_size)
    advantage = np.where(mixed, centered / np.sqrt(np.where(mixed, variance, one)), 0 * one)
    weight = chance[..., None] * advantage / group_size
    flat = weight.reshape(*weight.shape[:-2], -1)
    drawn = (groups.reshape(-1)[:, None] == np.arange(n)).astype(int)
    return flat @ drawn - np.sum(flat, axis=-1)[..., None] * policy


def _residual(i: Cases, kappa: Callable[[Reals, Reals, int, int], Reals]) -> Reals:
    """Enumerated step minus kappa grad p, for each G, each ddof and each action."""
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    gradient = unit_step(i.logits, i.correct)
    return np.concatenate([
        enumerated_step(i.logits, i.correct, size, ddof)
        - ar.per_action(kappa(right, wrong, size, ddof)) * gradient
        for size in GROUPS for ddof in (0, 1)
    ], axis=-1)


def _advantages_sum_to_zero() -> symbolic.Expression:
    import sympy

    k, size, s = sympy.symbols("k G s", positive=True)
    mean = k / size
    return sympy.simplify(k * (1 - mean) / s + (size - k) * (0 - mean) / s)


def _mean_of_group() -> symbolic.Expression:
    import sympy

    # With x = k/G and s^2 = x (1 - x): weights of q and of q_W in (1/G) sum_i A_i delta_{a_i}.
    x, q, q_w = sympy.symbols("x q q_W", positive=True)
    s = sympy.sqrt(x * (1 - x))
    return sympy.simplify(x * (1 - x) / s * q + (1 - x) * (0 - x) / s * q_w - s * (q - q_w))


def _difference_of_conditionals() -> list[symbolic.Expression]:
    import sympy

    p, pi, mean_s = sympy.symbols("p pi S", positive=True)
    kappa = mean_s / (p * (1 - p))
    on_correct = mean_s * (pi / p - 0) - kappa * pi * (1 - p)
    on_wrong = mean_s * (0 - pi / (1 - p)) - kappa * pi * (0 - p)
    return [sympy.simplify(on_correct), sympy.simplify(on_wrong)]


def _other_deviation() -> symbolic.Expression:
    import sympy

    # Var with G - 1 is Var with G times G/(G - 1), so that advantages shrink by sqrt((G - 1)/G).
    v, size = sympy.symbols("v G", positive=True)
    centered = sympy.Symbol("d")
    other = v * size / (size - 1)
    return sympy.simplify((centered / sympy.sqrt(other)) ** 2
                          - (centered / sympy.sqrt(v)) ** 2 * (size - 1) / size)


_statement = Statement(
    latex=r"$\mathbb E\big[\frac1G\sum_i \hat A_i(\delta_{a_i} - \pi)\big] = \kappa\nabla p$ with "
          r"$\kappa = \mathbb E_{k\sim\mathrm{Bin}(G,p)}\sqrt{\frac kG(1-\frac kG)}/(p(1-p))$, times "
          r"$\sqrt{(G-1)/G}$ for the deviation over $G - 1$; for every $G \ge 2$.",
    margin=lambda i: _residual(i, gain),
    relation="==",
    proof=(
        symbolic.identity("baseline", "sum_i A_i = 0 in every group: the term -pi drops out",
                          _advantages_sum_to_zero),
        symbolic.identity(
            "mean of a group", "given k right: E[(1/G) sum_i A_i delta_{a_i}] = s_k (q - q_W), "
            "s_k^2 = (k/G)(1 - k/G); no step where k is 0 or G", _mean_of_group,
            uses=("baseline",),
            axioms=("given which responses are right, they are independent draws of q, and the others "
                    "of q_W",),
        ),
        symbolic.identity("deviation over G - 1", "A^2 is multiplied by (G - 1)/G", _other_deviation),
        symbolic.identity(
            "assembly", "E[s_k](q - q_W) = kappa grad p, kappa = E[s_k]/(p (1 - p)), on A* and off it",
            _difference_of_conditionals, uses=("mean of a group", "deviation over G - 1"),
            axioms=("the number of right responses is binomial(G, p)",
                    "q = pi/p on A*, q_W = pi/(1 - p) off it"),
        ),
    ),
)

group_normalization_gain = Claim(
    id="extension.group-normalization-gain",
    source="Extension of AEPO, section 3.1 (GRPO's advantage)",
    title="The expected GRPO step is kappa(p) times the gradient of the reward",
    scope="one tabular state, groups of G independent samples, exact expectation",
    statement=_statement,
    instances=bandit_instances(actions=(2, 3)),
    mutants=(
        Mutant(name="the deviation over G - 1 like that over G",
               statement=variant(_statement, margin=lambda i: _residual(
                   i, lambda right, wrong, size, ddof: gain(right, wrong, size)))),
        Mutant(name="kappa = 1/sqrt(p (1 - p)), as if the group were infinite",
               statement=variant(_statement, margin=lambda i: _residual(
                   i, lambda right, wrong, size, ddof: 1 / np.sqrt(right * wrong)),
                   conditions=(Condition(latex="some action is wrong",
                                         value=lambda i: ~np.all(i.correct, axis=-1)),))),
    ),
)

# ---------------------------------------------------------------- bounds


def _room(i: Cases, factor: int = 1) -> Reals:
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    rows = []
    for size in BOUND_GROUPS:
        kappa, one = gain(right, wrong, size), 0 * right + ar.constant(1, like=right)
        root = np.sqrt(one * (size - 1))
        rows += [
            kappa - factor * (2 * one - 2 * one / size),
            kappa - root * (wrong ** (size - 2) + right ** (size - 2)),
            root - kappa,
            # kappa^2 p (1 - p) <= 1 - 1/G
            one - one / size - kappa * kappa * right * wrong,
        ]
    return np.stack(rows, axis=-1)


def _coefficients() -> symbolic.Expression:
    import sympy

    size, k = sympy.symbols("G k", integer=True, positive=True)
    return sympy.gammasimp(
        sympy.binomial(size, k) * k * (size - k)
        / (sympy.binomial(size - 2, k - 1) * size * (size - 1))) - 1


def _ends() -> symbolic.Expression:
    import sympy

    # k = 1 and k = G - 1: C(G, k) sqrt(k (G - k))/G = sqrt(G - 1).
    size = sympy.Symbol("G", positive=True)
    return size * sympy.sqrt(size - 1) / size - sympy.sqrt(size - 1)


_bounds = Statement(
    latex=r"For $G \ge 3$: $\max\big(2(1-\frac1G), \sqrt{G-1}\,((1-p)^{G-2}+p^{G-2})\big) \le \kappa "
          r"\le \min\big(\sqrt{G-1}, \sqrt{(1-\frac1G)/(p(1-p))}\big)$.",
    margin=_room,
    conditions=(Condition(latex="some action is wrong", value=lambda i: ~np.all(i.correct, axis=-1)),),
    proof=(
        symbolic.identity(
            "coefficients",
            "k (G - k) C(G, k) = G (G - 1) C(G - 2, k - 1); summed with p^k (1 - p)^{G-k} this gives "
            "E[k (G - k)] = G (G - 1) p (1 - p)",
            _coefficients, axioms=("binomial theorem",),
        ),
        smt.lemma(
            "one term", "x = k (G - k), 1 <= k <= G - 1, s = sqrt(x), r = sqrt(G - 1): "
            "2 x <= G s and r s <= x", "k G x s r",
            lambda v: [v.k >= 1, v.k <= v.G - 1, v.x == v.k * (v.G - v.k), v.s >= 0, v.s * v.s == v.x,
                       v.r > 0, v.r * v.r == v.G - 1],
            lambda v: smt.all_of(2 * v.x <= v.G * v.s, v.r * v.s <= v.x),
        ),
        symbolic.identity("the ends", "the terms k = 1, G - 1 of kappa are sqrt(G - 1)(1 - p)^{G-2} "
                          "and sqrt(G - 1) p^{G-2}", _ends),
        smt.lemma(
            "assembly",
            "with S = E[s_k] = kappa p (1 - p), X = E[k (G - k)]: 2 X <= G (G S), r G S <= X, "
            "S^2 <= X/G^2 (Cauchy-Schwarz)", "G p kappa S X r ends rest",
            lambda v: [v.G >= 3, v.p > 0, v.p < 1, v.kappa * v.p * (1 - v.p) == v.S, v.S > 0,
                       v.G * (v.G - 1) * v.p * (1 - v.p) == v.X, v.r > 0, v.r * v.r == v.G - 1,
                       2 * v.X <= v.G * v.G * v.S, v.r * v.G * v.S <= v.X,
                       v.G * v.G * v.S * v.S <= v.X, v.kappa == v.ends + v.rest, v.rest >= 0],
            lambda v: smt.all_of(v.G * v.kappa >= 2 * (v.G - 1), v.kappa <= v.r, v.kappa >= v.ends,
                                 v.G * v.kappa * v.kappa * v.p * (1 - v.p) <= v.G - 1),
            uses=("coefficients", "one term", "the ends"),
            axioms=(SUM_OF_SIGNS, "(E s)^2 <= E s^2"),
        ),
    ),
)

group_normalization_bounds = Claim(
    id="extension.group-normalization-bounds",
    source="Extension of AEPO, section 3.1 (GRPO's advantage)",
    title="GRPO's gain lies between 2 (1 - 1/G) and sqrt(G - 1), which it reaches at p = 0 and 1",
    scope="one prompt, groups of G independent responses, exact expectation",
    statement=_bounds,
    instances=bandit_instances(actions=(2, 4)),
    mutants=(
        Mutant(name="a lower bound twice as large",
               statement=variant(_bounds, margin=lambda i: _room(i, factor=2))),
        Mutant(name="kappa <= 2",
               statement=variant(_bounds, margin=lambda i: 2 - gain(
                   ar.total(ar.softmax(i.logits), i.correct),
                   ar.total(ar.softmax(i.logits), ~i.correct), 8))),
    ),
)
