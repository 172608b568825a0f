r"""Extension of AEPO: a collapse that GRPO causes among the right answers is temporary.

At one state with m right answers of n, the steps are exact expected steps of GRPO (weight
:math:`\kappa \ge 0`) and tempered REINFORCE (:math:`\alpha = 1`) at :math:`T > 1` and
:math:`\eta \le 2`. The policies :math:`\pi` and :math:`\pi^T` given a right answer are q and
:math:`q^T`. Let R be the range of the right logits, the gap between the likeliest and the least likely
right answer. Let B be the least likely right logit minus the largest wrong one. Two facts are exact.

- B never falls. Every wrong logit falls, and
  :math:`dz_b = \kappa \pi_b (1 - p) + P_T (q^T_b - \pi_b) \ge 0`, as :math:`q^T_b \ge q_b \ge \pi_b` for
  :math:`T > 1`.
- :math:`R' - R \le \eta [(\kappa + 1)(n - m) e^{-B-R} - P_T (e^{-R/T}/m - e^{-R})]`.

GRPO draws the right answers apart by :math:`e^{-R}` at most. Temperature brings them together by
:math:`e^{-R/T}`, which is far more once R is large. So R falls at every step above

.. math::

    R_c = \log(m (1 + (\kappa + 1)(n - m) e^{-B}/P_T)) / (1 - 1/T).

So R is bounded, and entropy stays away from zero for any :math:`T > 1`. Moreover :math:`1 - p \to 0`,
so GRPO fades. Meanwhile the least likely right answer keeps gaining,
:math:`q^T_b - q_b \ge (e^{-R/T} - e^{-R})/m^2`. Hence :math:`R \to 0` and :math:`H \to \log m` at a
constant :math:`T > 1`. AEPO's switch stays at :math:`T_{\text{high}}` while the entropy is below its
target, and so comes back to every target below log m. But a collapse may last for a time like
:math:`e^{R/T}` (`aepo.revival-time`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import HIGH_TEMPERATURE
from entropy_theory.claims.extensions.entropy_ceiling import after_step, count
from entropy_theory.claims.extensions.long_runs import entropies, switch
from entropy_theory.claims.extensions.solved_face import range_on
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits

GRPO_WEIGHT = vf.Scalar(name="grpo_weight", low=0.01, high=10.0, grid=(1,), range=vf.Range(low=0))
LEARNING_RATE = vf.Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1, 2),
                          range=vf.Range(low=0, open_low=True, high=2))
WITHOUT_GRPO = {"weights": [1, 2, 3], "correct": [True, True, False], "temperature": 2,
                "learning_rate": 1, "grpo_weight": 0}


def _after(i: vf.Cases) -> ar.Reals:
    return after_step(i.logits, i.correct, i.temperature, i.grpo_weight, i.learning_rate)


def range_change(i: vf.Cases) -> ar.Reals:
    """R' - R."""
    return range_on(_after(i), i.correct) - range_on(i.logits, i.correct)


@vf.definition
def drift(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, grpo_weight: ar.Reals) -> ar.Reals:
    """The bound on the change of the range, per unit learning rate.

    It is ``(kappa + 1)(n - m) e^{-B-R} - P_T (e^{-R/T}/m - e^{-R})``.
    """
    m, others = count(logits, correct), count(logits, ~correct)
    spread = range_on(logits, correct)
    # (n - m) e^{-B-R}, as B + R is the likeliest right logit minus the largest wrong one.
    wrong = others * np.exp(ar.largest(logits, ~correct) - ar.largest(logits, correct))
    mass = ar.total(ar.softmax(logits, temperature), correct)
    together = np.exp(-spread / temperature) / m - np.exp(-spread)
    return (grpo_weight + 1) * wrong - mass * together


def _room(i: vf.Cases) -> ar.Reals:
    """The bound on R' - R minus R' - R, per unit learning rate."""
    bound = drift(i.logits, i.correct, i.temperature, i.grpo_weight)
    return bound - range_change(i) / i.learning_rate


@vf.definition
def lead(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """B: the least likely right logit minus the largest wrong one."""
    return ar.smallest(logits, correct) - ar.largest(logits, ~correct)


@vf.definition
def lead_of_likeliest(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The likeliest right logit minus the largest wrong one."""
    return ar.largest(logits, correct) - ar.largest(logits, ~correct)


def _lead(i: vf.Cases, of: Callable[[ar.Reals, ar.Mask], ar.Reals] = lead) -> ar.Reals:
    """The gain of the least likely right logit on the wrong ones in a step."""
    return of(_after(i), i.correct) - of(i.logits, i.correct)


def _collapse_ends(i: Any) -> tuple[vf.Term, ...]:
    """At a constant temperature and bounded weights R tends to 0, and entropy to log m."""

    def ends(weights: vf.Term) -> vf.Term:
        def path(k: vf.Term) -> vf.Term:
            return limits.run(lambda j, z: after_step(
                z, i.correct, i.temperature, limits.entry(weights, j), i.learning_rate), i.logits, k)

        return (limits.tends_to(lambda k: range_on(path(k), i.correct), 0)
                & limits.tends_to(lambda k: ar.entropy(path(k)), np.log(count(i.logits, i.correct))))

    return (limits.for_every("most", (), lambda most: limits.for_every(
        "weights", (limits.STEPS,), ends,
        given=lambda weights: limits.at_every_step(
            lambda k: (limits.entry(weights, k) >= 0) & (limits.entry(weights, k) <= most)))),)


def _down_and_back() -> tuple[bool, str]:
    two = (1, 1, 0, 0, 0, 0)
    found, shown = [], True
    for start in ((0.0, 2.0, 3.0, 0.0, 0.0, 0.0), (0.0, 3.0, 3.0, 0.0, 0.0, 0.0)):
        path = entropies(start, two, switch(0.35), learning_rate=2.0, steps=500, grpo=True)
        low = min(range(len(path)), key=path.__getitem__)
        shown = shown and path[low] < 0.1 and max(abs(h - 0.35) for h in path[-50:]) < 0.06
        found.append(f"{path[low]:.4f} at step {low}, {path[-1]:.3f} at step 500")
    return shown, ("GRPO in groups of 8 and AEPO, eta 2, T 1.25/0.8, target 0.35, two of six right: "
                   "lowest entropy " + "; ".join(found))


transient_collapse = vf.Claim(
    id="extension.transient-collapse",
    source="Extension of AEPO, Section 4.2 (GRPO and AEPO's term together, one tabular state)",
    title="A collapse that GRPO causes among the right answers is temporary (one tabular state)",
    scope="one tabular state, exact expectation, one step, and so every one; the limit",
    statement=vf.Statement(
        latex=r"With GRPO of any weight $\kappa \ge 0$ and $T > 1$, $\eta \le 2$: the lead $B$ of the "
              r"least likely right logit over the wrong ones never shrinks, and the range $R$ of the "
              r"right logits obeys $R' - R \le \eta[(\kappa+1)(n-m)e^{-B-R} - P_T(\frac1m e^{-R/T} - "
              r"e^{-R})]$. At a constant $T$ and bounded $\kappa_k$, $R$ tends to 0: no collapse among "
              r"the right answers lasts, and $H_k \to \log m$.",
        margin=lambda i: np.stack([_room(i), _lead(i)], axis=-1),
        conditions=(vf.SOME_WRONG,),
        beyond=_collapse_ends,
    ),
    instances=vf.bandit_instances(HIGH_TEMPERATURE, LEARNING_RATE, GRPO_WEIGHT, actions=(2, 6)),
    witnesses=(WITHOUT_GRPO,),
    experiments=(vf.experiment(
        "down and back", "GRPO sharpens the right answers, then temperature revives them",
        _down_and_back),),
    mutants=(
        vf.mutant("the likeliest right answer never falls behind",
                  margin=lambda i: _lead(i, of=lead_of_likeliest)),
    ),
)
