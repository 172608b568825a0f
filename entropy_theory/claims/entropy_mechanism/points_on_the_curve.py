r"""Review of the Entropy Mechanism, first comment: do the points (R, H) of the interventions stay on the
fitted curve?

Read at one state with 0/1 rewards and the natural policy gradient, whose exact runs are known: it adds
the same number to every right logit, so that the policy q on the right answers and the policy w on the
wrong ones stay as they are, and H = h(R) + R H(q) + (1 - R) H(w) is its curve from that start. Clip-Cov
leaves the logit of the action with the largest K_a = (log pi_a + H) A_a where it is: among the right
ones that is the likeliest (their A is one number), among the wrong ones the least likely. Relative to
the curve, at equal performance and per unit of what the selected logit does not do,

    likeliest right answer     dH = R q_a (log q_a + H(q)) >= 0,
    least likely wrong one     dH = -(1 - R) w_a (log w_a + H(w)) >= 0.

Read as staying on the curve, dH = 0: refuted. What holds instead (exact, first order): the point leaves
it upwards, or stays where answers of a kind are equally likely. The law fitted to runs without
intervention therefore says nothing about the ceiling of runs with one. The simulations (figure of
interventions on the curve) have larger steps, samples and other base rules.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.reward_improvement import conditional
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Statement,
    bandit_instances,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant

SOME_WRONG = Condition(latex="some action is wrong", value=lambda i: ~np.all(i.correct, axis=-1))


def _mean_logit(i: Cases, kind: Mask) -> Reals:
    return ar.total(conditional(i.logits, kind) * i.logits, kind)


def _right_spared(i: Cases) -> Reals:
    """R q_a (log q_a + H(q)) for the likeliest right answer a."""
    likeliest = ar.largest(conditional(i.logits, i.correct), i.correct)
    lead = ar.largest(i.logits, i.correct) - _mean_logit(i, i.correct)
    return ar.total(ar.softmax(i.logits), i.correct) * likeliest * lead


def _wrong_spared(i: Cases) -> Reals:
    """-(1 - R) w_a (log w_a + H(w)) for the least likely wrong answer a."""
    wrong = ~i.correct
    rarest = ar.smallest(conditional(i.logits, wrong), wrong)
    lag = _mean_logit(i, wrong) - ar.smallest(i.logits, wrong)
    return ar.total(ar.softmax(i.logits), wrong) * rarest * lag


def _off_the_curve(i: Cases) -> Reals:
    return np.stack([_right_spared(i), _wrong_spared(i)], axis=-1)


_statement = Statement(
    latex=r"At equal performance Clip-Cov's entropy is the base rule's: $dH = 0$, whichever action is "
          r"selected.",
    margin=_off_the_curve,
    relation="==",
    conditions=(SOME_WRONG,),
)

_upwards = Statement(
    latex=r"At equal performance Clip-Cov's entropy is at least the base rule's, to first order: "
          r"$dH \ge 0$, whichever action is selected.",
    margin=_off_the_curve,
    conditions=(SOME_WRONG,),
)

points_on_the_curve = Claim(
    id="entropy-mechanism.points-on-the-curve",
    source="Review of Entropy Mechanism, first major comment (Clip-Cov on or off the fitted curve)",
    title="Clip-Cov stays on its base rule's curve of performance against entropy",
    scope="one tabular state, rewards 0 and 1, natural policy gradient, first order",
    statement=_statement,
    instances=bandit_instances(),
    repair=_upwards,
    repair_is="instead",
    repair_note="it leaves the curve upwards: at equal performance it has the larger entropy",
    mutants=(
        Mutant(name="it leaves the curve downwards", statement=variant(
            _upwards, margin=lambda i: -_off_the_curve(i))),
        Mutant(name="by more than a percent", statement=variant(
            _upwards, margin=lambda i: _off_the_curve(i) - ar.constant(1, like=i.logits) / 100)),
    ),
)
