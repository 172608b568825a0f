r"""AEPO, Section 6.1, ablation (2): with samples at :math:`T = 1` entropy "monotonically decreases".

The setting is one state, exact expected steps and GRPO of any weight :math:`\kappa \ge 0`. At
:math:`T = 1` AEPO's extra term is :math:`1_{A^*} \pi - p \pi = \pi (1_{A^*} - p) = \nabla p`, the very
direction of GRPO. So ablation (2) is GRPO with a larger step, and nothing in it can control entropy.

As printed it is false. Where a wrong answer is the likeliest, entropy rises first, as at weights (1, 2)
with :math:`A^* = \{1\}`.

The repair is for every start and step size. The entropy :math:`H(q)` of the policy on the right answers
never rises, and :math:`H_k \to \log k`, with k the number of tied likeliest right answers. This is 0, a
full collapse, unless there is an exact tie.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.ablations import (
    conditional_entropy_fall,
    draw_apart,
    log_of_likeliest,
    plain_step,
    rewards_only,
)
from entropy_theory.claims.aepo.tempered_reinforce import HIGH_TEMPERATURE, LEARNING_RATE
from entropy_theory.claims.extensions.long_runs import constant, entropies, switch
from entropy_theory.claims.extensions.solved_face import conditional_entropy
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits

GRPO_WEIGHT = vf.Scalar(name="grpo_weight", low=0.01, high=10.0, grid=(1,), range=vf.POSITIVE)


@vf.definition
def after_plain_step(
    logits: ar.Reals, correct: ar.Mask, grpo_weight: ar.Reals, learning_rate: ar.Reals
) -> ar.Reals:
    """Logits after a step eta (kappa + 1) grad p."""
    return logits + ar.per_action(learning_rate * (grpo_weight + 1)) * plain_step(logits, correct)


def _after(logits: Any, i: Any) -> Any:
    return after_plain_step(logits, i.correct, i.grpo_weight, i.learning_rate)


def _in_the_long_run(i: Any) -> tuple[vf.Term, ...]:
    """The entropy on the right answers never rises, and all of it tends to log k."""

    def path(k: vf.Term) -> vf.Term:
        return limits.run(lambda j, z: _after(z, i), i.logits, k)

    return (
        limits.at_every_step(lambda k: conditional_entropy(_after(path(k), i), i.correct)
                             <= conditional_entropy(path(k), i.correct)),
        limits.tends_to(lambda k: ar.entropy(path(k)), log_of_likeliest(i.logits, i.correct)),
    )


def _with_temperature(i: vf.Cases) -> ar.Reals:
    """The conditional entropy's fall, with AEPO's term at another temperature."""
    step = (ar.per_action(i.grpo_weight) * plain_step(i.logits, i.correct)
            + rewards_only(i.logits, i.correct, i.temperature))
    return conditional_entropy_fall(i.logits, i.logits + ar.per_action(i.learning_rate) * step, i.correct)


def _collapses() -> tuple[bool, str]:
    start, right = np.log([4.0, 3.0, 2.0, 1.0]), (1, 1, 0, 0)
    run: dict[str, Any] = {"learning_rate": 1.0, "steps": 400}
    ablated = entropies(start, right, constant(1.0), grpo=True, **run)
    full = entropies(start, right, switch(0.35), grpo=True, **run)
    tied = entropies(np.log([2.0, 2.0, 1.0]), (1, 1, 0), constant(1.0), grpo=True, **run)
    rises = entropies(np.log([1.0, 2.0]), (1, 0), constant(1.0), grpo=True, **run)
    shown = (ablated[-1] < 0.3 and ablated[-1] < ablated[len(ablated) // 2]
             and abs(full[-1] - 0.35) < 0.03 and abs(tied[-1] - np.log(2)) < 0.02
             and rises[1] > rises[0])
    return shown, (f"GRPO + REINFORCE at T = 1 from (4,3,2,1), A* = {{1,2}}: {ablated[200]:.4f} "
                   f"after 200 steps, {ablated[400]:.4f} after 400; AEPO's switch at 0.35 from "
                   f"there: {full[400]:.4f}; tied (2,2,1): {tied[400]:.4f}; from (1,2), A* = "
                   f"{{1}}: {rises[0]:.4f} rises to {rises[1]:.4f}")


ablation_2 = vf.Claim(
    id="aepo.ablation-2",
    source="AEPO, Section 6.1 and Eq. (2) (Table 3)",
    reading=vf.Reading(
        "inferred", "the policy entropy monotonically decreases during training, similar to GRPO",
        "Section 6.1, of a run: an observation, no law"),
    title="Without temperature entropy decreases at every step (one tabular state)",
    scope="one tabular state, exact expectation, one step; the repair for every step and the limit",
    statement=vf.Statement(
        latex=r"With REINFORCE samples at $T = 1$ the policy entropy decreases at every step.",
        margin=lambda i: -ar.entropy_change(i.logits, _after(i.logits, i) - i.logits),
        conditions=(vf.SOME_WRONG,),
    ),
    instances=vf.bandit_instances(LEARNING_RATE, GRPO_WEIGHT, actions=(2, 6)),
    witnesses=({"weights": [1, 2], "correct": [True, False], "learning_rate": 1, "grpo_weight": 1},),
    repair=vf.Statement(
        latex=r"With samples at $T = 1$ the entropy $H(q_k)$ on the right answers never rises, for any "
              r"$\eta, \kappa$; and, these constant, $H_k \to \log \ell$, $\ell$ the number of likeliest "
              r"right answers at the start.",
        margin=lambda i: draw_apart(i.logits, _after(i.logits, i), i.correct),
        conditions=(vf.SOME_WRONG,),
        beyond=_in_the_long_run,
    ),
    repair_note="for the entropy on the right answers; in the limit for all of it, up to ties",
    experiments=(vf.experiment(
        "collapse at T = 1",
        "in 400 exact steps T = 1 keeps collapsing where the switch holds its target, a tie stays, "
        "and a wrong favorite lets entropy rise", _collapses),),
    mutants=(
        vf.mutant("the same with tempered rewards", margin=_with_temperature,
                  instances=vf.bandit_instances(
                      LEARNING_RATE, GRPO_WEIGHT, HIGH_TEMPERATURE, actions=(2, 6))),
    ),
)
