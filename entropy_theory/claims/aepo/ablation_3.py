r"""AEPO, Section 6.2, ablation (3): with advantages on the tempered samples entropy collapses. True.

The setting is one state with exact expected steps. For groups of G samples of :math:`\pi^T` the
normalized advantages give :math:`\kappa_T \sum_a \pi^T_a (1_{A^*}(a) - P_T)(e_a - \pi)`. Here
:math:`P_T = \pi^T(A^*)`, and :math:`\kappa_T > 0` is a function of :math:`P_T`. The centered rewards
have mean zero under :math:`\pi^T`, so the term in :math:`\pi` vanishes:

.. math::

    dz = \eta \kappa_T \pi^T (1_{A^*} - P_T) = \eta \kappa_T T \nabla P_T.

This is GRPO for the policy :math:`\operatorname{softmax}(z/T)`. On the right answers :math:`dz_a` is
proportional to :math:`\pi^T_a`, and so in the order of :math:`z_a` for every T. Temperature has lost
its grip. For every start, temperature schedule, weight and step size, the entropy :math:`H(q)` on the
right answers never rises.

Further, let temperatures stay between two positive bounds and the weights of the advantages above a
positive bound (GRPO's weights may be 0). Then :math:`H_k \to \log k`, with k the number of tied
likeliest right answers. Without an exact tie :math:`k = 1`, a full collapse. On the solved face, where
every answer is right, nothing moves.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.ablation_2 import GRPO_WEIGHT
from entropy_theory.claims.aepo.ablations import (
    centered_reward_step,
    conditional_entropy_fall,
    draw_apart,
    log_of_likeliest,
    plain_step,
    rewards_only,
)
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, TEMPERATURE
from entropy_theory.claims.extensions.long_runs import entropies, switch
from entropy_theory.claims.extensions.solved_face import conditional_entropy
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits


@vf.definition
def after_advantage_step(
    logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, grpo_weight: ar.Reals,
    advantage_weight: ar.Reals, learning_rate: ar.Reals,
) -> ar.Reals:
    """Logits after a step of GRPO and of advantages on samples of pi^T."""
    step = (ar.per_action(grpo_weight) * plain_step(logits, correct)
            + ar.per_action(advantage_weight) * centered_reward_step(logits, correct, temperature))
    return logits + ar.per_action(learning_rate) * step


def _after(logits: ar.Reals, i: Any, temperature: ar.Reals) -> ar.Reals:
    return after_advantage_step(logits, i.correct, temperature, i.grpo_weight, i.advantage_weight,
                                i.learning_rate)


def _in_the_long_run(i: Any) -> tuple[vf.Term, ...]:
    """For temperatures between two positive bounds, GRPO weights >= 0 and others bounded away from 0."""

    def holds(temperatures: vf.Term, grpo_weights: vf.Term, weights: vf.Term) -> vf.Term:
        def step(k: vf.Term, z: vf.Term) -> vf.Term:
            return after_advantage_step(z, i.correct, limits.entry(temperatures, k),
                                        limits.entry(grpo_weights, k), limits.entry(weights, k),
                                        i.learning_rate)

        def path(k: vf.Term) -> vf.Term:
            return limits.run(step, i.logits, k)

        return (limits.at_every_step(lambda k: conditional_entropy(step(k, path(k)), i.correct)
                                     <= conditional_entropy(path(k), i.correct))
                & limits.tends_to(lambda k: ar.entropy(path(k)), log_of_likeliest(i.logits, i.correct)))

    def schedule(
        name: str, of: Callable[[vf.Term], vf.Term], given: Callable[[vf.Term], vf.Term]
    ) -> vf.Term:
        return limits.for_every(name, (limits.STEPS,), of, given=lambda entries: limits.at_every_step(
            lambda k: given(limits.entry(entries, k))))

    return (limits.for_every("lowest", (), lambda lowest: limits.for_every(
        "highest", (), lambda highest: schedule("temperatures", lambda temperatures: schedule(
            "grpo_weights", lambda grpo_weights: schedule(
                "weights", lambda weights: holds(temperatures, grpo_weights, weights),
                lambda weight: weight >= lowest), lambda weight: weight >= 0),
            lambda temperature: (temperature >= lowest) & (temperature <= highest))),
        given=lambda lowest: lowest > 0),)


def _other_term(
    i: vf.Cases, sign: int, term: Callable[[ar.Reals, ar.Mask, ar.Reals], ar.Reals]
) -> ar.Reals:
    """H(q) - H(q') for a step with another term, or the advantage's with the sign."""
    step = (ar.per_action(i.grpo_weight) * plain_step(i.logits, i.correct)
            + ar.per_action(i.advantage_weight) * term(i.logits, i.correct, i.temperature))
    after = i.logits + ar.per_action(i.learning_rate) * step
    return sign * conditional_entropy_fall(i.logits, after, i.correct)


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


ablation_3 = vf.Claim(
    id="aepo.ablation-3",
    source="AEPO, Section 6.2 and Eq. (3) (Table 3)",
    reading=vf.Reading("inferred", "this variant fails to prevent entropy collapse",
                       "Section 6.2, of a run: an observation, no law"),
    title="With advantages instead of rewards on tempered samples entropy collapses, up to ties (one "
          "tabular state)",
    scope="one tabular state, exact expectation, every step and the limit",
    statement=vf.Statement(
        latex=r"With centered or group-normalized advantages on samples of $\pi^T$ the entropy $H(q_k)$ "
              r"on the right answers never rises, for any temperatures, $\eta$ and weights; and, $\eta$ "
              r"constant, temperatures staying between two positive bounds and the weights of the "
              r"advantages above a positive one, $H_k \to \log \ell$, $\ell$ the number of likeliest "
              r"right answers at the start: collapse, up to ties.",
        margin=lambda i: draw_apart(i.logits, _after(i.logits, i, i.temperature), i.correct),
        conditions=(vf.SOME_WRONG,),
        beyond=_in_the_long_run,
    ),
    instances=vf.bandit_instances(
        TEMPERATURE, LEARNING_RATE, GRPO_WEIGHT,
        vf.Scalar(name="advantage_weight", low=0.1, high=10.0, grid=(1,), range=vf.POSITIVE),
        actions=(2, 6),
    ),
    experiments=(vf.experiment(
        "advantages lose the target",
        "400 exact steps: rewards hold the target, advantages fall through it", _collapses),),
    mutants=(
        vf.mutant("rewards instead of advantages", margin=lambda i: _other_term(i, 1, rewards_only)),
        vf.mutant("the whole entropy never rises",
                  margin=lambda i: -ar.entropy_change(
                      i.logits, _after(i.logits, i, i.temperature) - i.logits)),
    ),
)
