r"""AEPO, Section 6.2, ablation (3): with advantages on the tempered samples entropy collapses.
True.

One state, exact expected steps. For groups of G samples of pi^T the normalized advantages give
kappa_T sum_a pi^T_a (1_{A*}(a) - P_T)(e_a - pi), with kappa_T > 0 a function of P_T; and since the
centered rewards have mean zero under pi^T the term in pi vanishes:

    dz = eta kappa_T pi^T (1_{A*} - P_T) = eta kappa_T T grad P_T,

GRPO for the policy softmax(z/T). On the right answers dz_a is proportional to pi^T_a, in the order
of z_a, whatever T: temperature has lost its grip. Exactly, for every start, temperature schedule,
weight and step size the entropy H(q) on the right answers never rises, and H_k -> log k, k the
number of tied likeliest right answers (k = 1, a full collapse, unless there is an exact tie). On
the solved face nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from entropy_theory.claims.aepo.ablation_2 import GRPO_WEIGHT
from entropy_theory.claims.aepo.ablations import (
    advantage_step,
    conditional_entropy_fall,
    draws_apart,
    plain_step,
    rewards_only,
    right_pairs,
)
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, TEMPERATURE
from entropy_theory.claims.extensions.entropy_ceiling import SOME_WRONG, gap
from entropy_theory.claims.extensions.long_runs import entropies, switch
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Scalar,
    Statement,
    Step,
    bandit_instances,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment

STEPS = 4


def _step(
    logits: Reals, i: Cases, temperature: Reals,
    term: Callable[[Reals, Mask, Reals], Reals] = advantage_step,
) -> Reals:
    extra = ar.per_action(i.advantage_weight) * term(logits, i.correct, temperature)
    return ar.per_action(i.learning_rate) * (
        ar.per_action(i.grpo_weight) * plain_step(logits, i.correct) + extra)


def _right_answers_draw_apart(i: Cases) -> Reals:
    """Falls of H(q), pairs of right answers, growth of Phi, as T and 1/T alternate."""
    logits, found = i.logits, []
    for k in range(STEPS):
        step = _step(logits, i, 1 / i.temperature if k % 2 else i.temperature)
        found += [conditional_entropy_fall(logits, i.correct, step),
                  right_pairs(logits, i.correct, step)]
        logits = logits + step
    found.append(gap(logits, i.correct) - gap(i.logits, i.correct))
    return np.stack(found, axis=-1)


def _moves() -> Step:
    def residual() -> list[symbolic.Expression]:
        import sympy

        # Under pi^T: A indicates A*, a one action; the score of action b is e_b - pi.
        m = symbolic.Moments("", indicators="A a")
        right, hot = m.expect(m["A"]), m.expect(m["a"])
        pi, t = sympy.symbols("pi_a T")
        step = m.expect((m["A"] - right) * (m["a"] - pi))
        gradient = m.derivative(right, m["a"] / t, {})  # d P_T / d z_a: z/T moves along e_a/T
        return [step - (m.expect(m["A"] * m["a"]) - right * hot), step - t * gradient]

    return symbolic.identity(
        "advantages leave pi out",
        "sum_b pi^T_b (1_{A*}(b) - P_T)(e_b - pi) = pi^T (1_{A*} - P_T) = T grad P_T: dz_a = x "
        "pi_a + y pi^T_a on A*, x = eta kappa (1 - p), y = eta kappa_T (1 - P_T), and wrong logits "
        "fall", residual, uses=("softmax rule",),
        axioms=("E over groups of normalized advantages = kappa_T sum_a pi^T_a (R_a - P_T)(e_a - "
                "pi), kappa_T > 0 bounded away from 0 (2 (G - 1)/G at least) and infinity",))


def _collapses() -> tuple[bool, str]:
    start, right = np.log([4.0, 3.0, 2.0, 1.0]), (1, 1, 0, 0)
    run: dict[str, Any] = {"learning_rate": 1.0, "steps": 400}
    held = entropies(start, right, switch(0.5), **run)
    lost = entropies(start, right, switch(0.5), advantage=True, **run)
    tied = entropies(np.log([2.0, 2.0, 1.0]), (1, 1, 0), switch(0.35), advantage=True, **run)
    shown = (abs(held[-1] - 0.5) < 0.03 and lost[-1] < 0.35 and max(lost[-100:]) < 0.4
             and lost[-1] < lost[200] and min(tied) > np.log(2))
    return shown, (f"target 0.5 from (4,3,2,1), A* = {{1,2}}, T 1.25/0.8: rewards {held[-1]:.4f}; "
                   f"advantages {lost[100]:.4f}, {lost[200]:.4f}, {lost[400]:.4f} after 100, 200, "
                   f"400 steps; tied (2,2,1), target 0.35: {tied[-1]:.4f} (log 2 = 0.6931)")


_statement = Statement(
    latex=r"With centered or group-normalized advantages on samples of $\pi^T$ the entropy "
          r"$H(q_k)$ on the right answers never rises, for any temperatures, $\eta$ and weights; "
          r"and, these staying in a bounded range, $H_k \to \log k$, $k$ the number of likeliest "
          r"right answers: collapse, up to ties.",
    margin=_right_answers_draw_apart,
    conditions=(SOME_WRONG,),
    proof=draws_apart(_moves()),
)

ablation_3 = Claim(
    id="aepo.ablation-3",
    source="AEPO, Section 6.2 and Eq. (3) (Table 3)",
    title="With advantages instead of rewards on tempered samples entropy collapses, up to ties (one "
          "tabular state)",
    scope="one tabular state, exact expectation, along 4 steps and in the limit",
    statement=_statement,
    instances=bandit_instances(
        TEMPERATURE, LEARNING_RATE, GRPO_WEIGHT,
        Scalar(name="advantage_weight", low=0.1, high=10.0, grid=(1,)), actions=(2, 6),
    ),
    experiments=(experiment(
        "advantages lose the target",
        "400 exact steps: rewards hold the target, advantages fall through it", _collapses),),
    mutants=(
        Mutant(name="rewards instead of advantages",
               statement=variant(_statement, margin=lambda i: conditional_entropy_fall(
                   i.logits, i.correct, _step(i.logits, i, i.temperature, rewards_only)))),
        Mutant(name="the whole entropy never rises",
               statement=variant(_statement, margin=lambda i: -ar.entropy_change(
                   i.logits, _step(i.logits, i, i.temperature)))),
        Mutant(name="entropy on the right answers never falls",
               statement=variant(_statement, margin=lambda i: -conditional_entropy_fall(
                   i.logits, i.correct, _step(i.logits, i, i.temperature)))),
    ),
)
