r"""Review of the Entropy Mechanism: do the points (R, H) of the interventions stay on the fitted
curve?

It is the review's first comment, read at one state with 0/1 rewards and the natural policy gradient.
This rule adds one number to every right logit. So the policy q on the right answers and the policy w on
the wrong ones stay as they are. From its start a run has the curve
:math:`H = h(R) + R H(q) + (1 - R) H(w)`. Clip-Cov leaves the logit of an action where it is. The base
rule's step to the same performance is the comparison. Per unit learning rate and to first order,
sparing action a moves entropy by

.. math::

    dH = \pi_a A_a (\log \pi_a - \text{mean of } \log \pi
    \text{ over the actions of its kind, right or wrong})

    dH = R (1 - R) q_a (\log q_a + H(q)) \quad\text{for a right answer},

    dH = -R (1 - R) w_a (\log w_a + H(w)) \quad\text{for a wrong one}.

Staying on the curve means :math:`dH = 0`, and it fails. It fails even for the action with the largest
:math:`K_a = (\log \pi_a + H) A_a` of its kind. This is the likeliest right answer, since A is the same
for all of them, or the least likely wrong one. What holds instead (exact, first order): if this action
is spared, the point leaves the curve upwards. It stays on the curve if the answers of its kind are
equally likely.

Clip-Cov itself picks at random inside its band of K, and can land below. Take the probabilities .5, .3
and 20 x .01, the first two right. The band [.03, .15] holds the second alone (the K are .187, .085 and
2.38), and sparing it has :math:`dH = -.019`. Over a kind dH adds up to 0. So an action picked at random
among all of its kind stays on the curve on average.

The law fitted to runs without intervention is therefore not evidence for the ceiling of runs with
one. The simulations (figure of interventions on the curve) have larger steps, samples and other
base rules.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import equal, for_every, has_derivative


@vf.definition
def advantage(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The reward, 0 or 1, minus its mean R: the natural gradient's step per unit learning rate."""
    one = 0 * logits + ar.constant(1, like=logits)
    return ar.centered(ar.softmax(logits), np.where(correct, one, 0 * one))


@vf.definition
def mean_of_kind(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Mean logit of the right answers at a right one, of the wrong answers at a wrong one."""
    p = ar.softmax(logits)
    right = ar.total(p * logits, correct) / ar.total(p, correct)
    wrong = ar.total(p * logits, ~correct) / ar.total(p, ~correct)
    return np.where(correct, ar.per_action(right), ar.per_action(wrong))


@vf.definition
def off_the_curve(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """pi_a A_a (log pi_a - mean of its kind): dH of sparing action a, for each a."""
    lead = logits - mean_of_kind(logits, correct)
    return ar.softmax(logits) * advantage(logits, correct) * lead


@vf.definition
def of_likeliest_right(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """dH of sparing the right answer that is likeliest among the right."""
    p = ar.softmax(logits)
    lead = ar.largest(logits, correct) - ar.total(p * logits, correct) / ar.total(p, correct)
    return ar.total(p, ~correct) * ar.largest(p, correct) * lead


@vf.definition
def of_rarest_wrong(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """dH of sparing the wrong answer that is least likely among the wrong."""
    p = ar.softmax(logits)
    lag = ar.total(p * logits, ~correct) / ar.total(p, ~correct) - ar.smallest(logits, ~correct)
    return ar.total(p, correct) * ar.smallest(p, ~correct) * lag


def _of_largest(i: vf.Cases) -> ar.Reals:
    return np.stack([of_likeliest_right(i.logits, i.correct), of_rarest_wrong(i.logits, i.correct)],
                    axis=-1)


def _off_the_curve(i: vf.Cases) -> ar.Reals:
    return off_the_curve(i.logits, i.correct)


def _any_right(i: vf.Cases) -> ar.Reals:
    change = _off_the_curve(i)
    return np.where(i.correct, change, 0 * change)


def spared(i: vf.Cases, size: ar.Reals) -> ar.Reals:
    """Logits after a step of this size in which one action's stays where it is; an action a row."""
    step = advantage(i.logits, i.correct)[..., None, :]
    left_out = np.where(ar.same_action(i.logits), 0 * step, step)
    return i.logits[..., None, :] + ar.per_action(ar.per_action(size)) * left_out


def _odds(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    p = ar.softmax(logits)
    return ar.total(p, correct) / ar.total(p, ~correct)


def base_at_equal_performance(i: vf.Cases, size: ar.Reals) -> ar.Reals:
    """Logits of the base rule, which adds one number to the right ones, where it performs as `spared`."""
    right = i.correct[..., None, :]
    growth = _odds(spared(i, size), right) / _odds(i.logits, i.correct)[..., None]
    added = np.where(right, ar.per_action(np.log(growth)), 0 * i.logits[..., None, :])
    return i.logits[..., None, :] + added


def _derivation(i: vf.Cases) -> tuple[vf.Term, ...]:
    """Equal performance, dH as the derivative of the difference, its largest value, and its sum."""
    right, change = i.correct[..., None, :], _off_the_curve(i)
    likeliest = i.correct & ~ar.less(i.logits, ar.per_action(ar.largest(i.logits, i.correct)))
    rarest = ~i.correct & ~ar.less(ar.per_action(ar.smallest(i.logits, ~i.correct)), i.logits)
    of_likeliest = ar.per_action(of_likeliest_right(i.logits, i.correct))
    of_rarest = ar.per_action(of_rarest_wrong(i.logits, i.correct))
    return (
        for_every("size", (), lambda t: equal(
            ar.total(ar.softmax(spared(i, t)), right),
            ar.total(ar.softmax(base_at_equal_performance(i, t)), right)).all()),
        has_derivative(
            lambda t: ar.entropy(spared(i, t)) - ar.entropy(base_at_equal_performance(i, t)), 0, change
        ).all(),
        equal(np.where(likeliest, change, of_likeliest), of_likeliest).all(),
        equal(np.where(rarest, change, of_rarest), of_rarest).all(),
        equal(ar.total(change, i.correct), 0),
        equal(ar.total(change, ~i.correct), 0),
    )


points_on_the_curve = vf.Claim(
    id="entropy-mechanism.points-on-the-curve",
    source="Review of Entropy Mechanism, first major comment (Clip-Cov on or off the fitted curve)",
    reading=vf.Reading(
        "inferred",
        "the manuscript does not verify whether the new (H,R) points remain on the original fitted "
        "curve", "a review of the paper, first major comment: no sentence of the paper"),
    title="Sparing the likeliest right or the least likely wrong answer, Clip-Cov stays on its base "
          "rule's curve of performance against entropy",
    scope="one tabular state, rewards 0 and 1, natural policy gradient, first order",
    statement=vf.Statement(
        latex=r"At equal performance Clip-Cov's entropy is the base rule's, to first order, where it "
              r"spares the right answer that is likeliest among the right, or the wrong one least "
              r"likely among the wrong: $dH = 0$.",
        margin=_of_largest,
        relation="==",
        conditions=(vf.SOME_WRONG,),
    ),
    instances=vf.bandit_instances(),
    repair=vf.Statement(
        latex=r"Sparing action $a$ moves entropy, at equal performance and to first order, by $dH = "
              r"\pi_a A_a (\log\pi_a - \overline{\log\pi})$, the mean over the actions of its kind, "
              r"right or wrong. $dH \ge 0$ for the right answer that is likeliest among the right and "
              r"the wrong one least likely among the wrong. Over each kind $dH$ adds up to 0.",
        margin=_of_largest,
        conditions=(vf.SOME_WRONG,),
        beyond=_derivation,
    ),
    repair_note="to first order, at equal performance, sparing the likeliest right or the least likely "
                "wrong answer never lowers entropy",
    mutants=(
        vf.mutant("any right answer may be spared", margin=_any_right),
    ),
    # Probabilities .5, .3 and 20 x .01.
    witnesses=({"weights": [50, 30] + 20 * [1], "correct": [True, True] + 20 * [False]},),
)
