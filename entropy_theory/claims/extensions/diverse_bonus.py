r"""Extension: a bonus on the entropy among the right answers (update rule ``diverse-bonus``).

At one state with policy :math:`\pi` and right answers :math:`A^*`, :math:`p = \pi(A^*)` and q is
:math:`\pi` given :math:`A^*`. The surprise of a right answer is :math:`x_a = -(\log q_a + H(q))`, with
:math:`x = 0` elsewhere and :math:`\mathbb E_q x = 0`. The bonus in score form,
:math:`\mathbb E_\pi[x \nabla \log \pi]`, moves the logits by

.. math::

    d_a = \pi_a x_a,\quad \text{ which is } p \nabla H(q).

It leaves the logits of wrong answers where they are. So it raises :math:`H(q)` at the rate
:math:`\sum \pi_a^2 x_a^2 / p`, strictly unless right answers are equally likely. It has two other
effects, to first order and per unit of step.

- The reward changes by :math:`-(1 - p) p^2 \operatorname{Cov}_q(q, \log q)`, a price, since common
  right answers give more than rare ones take. It is at most :math:`(1 - p) p^2 H(q)`, and zero once all
  answers are right.
- The full entropy changes by :math:`p \sum S_a \tilde S_a`, with :math:`S = \pi (\log \pi + H)` and
  :math:`\tilde S` that of q, as under a clamped bonus (`extension.clamped-bonus`). This is never
  negative where no wrong answer is likelier than a right one. Elsewhere it may be.

Under the natural gradient the bonus moves right logits by :math:`c x_a` itself. For every c, exactly,
the odds of a right answer are then multiplied by :math:`\mathbb E_q e^{c x} \ge 1`, and q is tempered,
:math:`q \sim q^{1 - c}`. For :math:`0 < c \le 1` neither reward nor :math:`H(q)` falls. To first order
the reward stays, :math:`H(q)` rises by :math:`\operatorname{Var}_q(\log q)`, and the full entropy by
:math:`p \operatorname{Var}_q(\log q)`.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.clamped_bonus import rate, renormalized
from entropy_theory.claims.extensions.natural_entropy_bonus import STRENGTH
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import equal, has_derivative, has_gradient, implies

SOURCE = "Extension: a bonus on the entropy among right answers"


@vf.definition
def right_mass(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """p, the probability of a right answer."""
    return ar.total(ar.softmax(logits), correct)


@vf.definition
def diversity(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """H(q), the entropy of the policy given a right answer."""
    depth = logits - ar.largest(logits, correct)[..., None]
    depth = np.where(correct, depth, 0 * depth)
    return np.log(ar.total(np.exp(depth), correct)) - ar.mean(renormalized(logits, correct), depth)


@vf.definition
def surprise(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """x_a = -(log q_a + H(q)) at right answers, zero elsewhere."""
    x = -ar.centered(renormalized(logits, correct), logits)
    return np.where(correct, x, 0 * x)


@vf.definition
def diverse_step(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """d_a = pi_a x_a, the step of the plain gradient."""
    return ar.softmax(logits) * surprise(logits, correct)


@vf.definition
def diversity_rate(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """What the step adds to H(q): E_q[pi x^2]."""
    x = surprise(logits, correct)
    return ar.total(renormalized(logits, correct) * x * diverse_step(logits, correct))


@vf.definition
def spread(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Var_q(log q)."""
    q = renormalized(logits, correct)
    return ar.covariance(q, logits, logits)


@vf.definition
def reward_rate(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """What the step adds to p: -(1 - p) p^2 Cov_q(q, log q)."""
    q, p = renormalized(logits, correct), right_mass(logits, correct)
    return -right_mass(logits, ~correct) * p * p * ar.covariance(q, q, logits)


def _along(i: Any, t: Any, direction: Any) -> Any:
    return i.logits + ar.per_action(t) * direction


def _equally_likely(i: Any) -> vf.Term:
    return equal(ar.largest(i.logits, i.correct), ar.smallest(i.logits, i.correct))


# ------------------------------------------------------------------ it raises the entropy among them


def _is_the_gradient(i: Any) -> tuple[vf.Term, ...]:
    step, p = diverse_step(i.logits, i.correct), right_mass(i.logits, i.correct)
    rises = diversity_rate(i.logits, i.correct)
    return (
        has_gradient(lambda z: diversity(z, i.correct), i.logits, step / ar.per_action(p)),
        has_derivative(lambda t: diversity(_along(i, t, step), i.correct), 0, rises),
        equal(ar.total(step), 0),
        implies(equal(rises, 0), _equally_likely(i)),
    )


diverse_bonus = vf.Claim(
    id="extension.diverse-bonus",
    source=SOURCE,
    title="A bonus on surprise among right answers is the gradient of their entropy, and raises it",
    scope="one tabular state, plain gradient, first order",
    statement=vf.Statement(
        latex=r"The step $d_a = \pi_a x_a$ on $A^*$, $x_a = -(\log q_a + H(q))$, is $p\,\nabla H(q)$: it "
              r"adds $\mathbb E_q[\pi x^2] \ge 0$ to $H(q)$, zero only where right answers are equally "
              r"likely.",
        margin=lambda i: diversity_rate(i.logits, i.correct),
        beyond=_is_the_gradient,
    ),
    instances=vf.bandit_instances(),
    mutants=(
        vf.mutant("it rises as under the natural gradient, by Var_q(log q)",
                  margin=lambda i: diversity_rate(i.logits, i.correct) - spread(i.logits, i.correct)),
    ),
)

# ------------------------------------------------------------------ what it does to the reward


def _price(i: vf.Cases) -> ar.Reals:
    """The price, and what is left of its bound (1 - p) p^2 H(q)."""
    p, wrong = right_mass(i.logits, i.correct), right_mass(i.logits, ~i.correct)
    price = -reward_rate(i.logits, i.correct)
    return np.stack([price, wrong * p * p * diversity(i.logits, i.correct) - price], axis=-1)


diverse_bonus_price = vf.Claim(
    id="extension.diverse-bonus-price",
    source=SOURCE,
    title="A bonus on the entropy among right answers costs no reward (plain gradient)",
    scope="one tabular state, plain gradient, first order",
    statement=vf.Statement(
        latex=r"The step $d_a = \pi_a x_a$ on $A^*$ does not lower the reward $p$, to first order.",
        margin=lambda i: reward_rate(i.logits, i.correct),
    ),
    instances=vf.bandit_instances(),
    repair=vf.Statement(
        latex=r"The step adds $-(1-p)\,p^2\,\mathrm{Cov}_q(q, \log q)$ to $p$, between $-(1-p)\,p^2 "
              r"H(q)$ and $0$; it is $0$ only where right answers are equally likely, or all answers "
              r"are right.",
        margin=_price,
        beyond=lambda i: (
            has_derivative(
                lambda t: right_mass(_along(i, t, diverse_step(i.logits, i.correct)), i.correct), 0,
                reward_rate(i.logits, i.correct)),
            implies(equal(reward_rate(i.logits, i.correct), 0),
                    _equally_likely(i) | np.all(i.correct, axis=-1)),
        ),
    ),
    repair_note=r"a price of at most $(1-p)\,p^2 H(q)$, which vanishes as all answers become right",
)

# ------------------------------------------------------------------ what it does to the full entropy


def _full_rate(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    return right_mass(logits, correct) * rate(logits, correct)


NO_WRONG_LIKELIER = vf.Condition(
    latex="no wrong answer is likelier than a right one",
    value=lambda i: np.all(
        i.correct | ~ar.less(ar.smallest(i.logits, i.correct)[..., None], i.logits), axis=-1),
)

diverse_bonus_full_entropy = vf.Claim(
    id="extension.diverse-bonus-full-entropy",
    source=SOURCE,
    title="A bonus on the entropy among right answers never lowers the full entropy (plain gradient)",
    scope="one tabular state, plain gradient, first order",
    statement=vf.Statement(
        latex=r"The step $d_a = \pi_a x_a$ on $A^*$ does not lower the entropy of the whole policy, to "
              r"first order.",
        margin=lambda i: _full_rate(i.logits, i.correct),
    ),
    instances=vf.bandit_instances(),
    repair=vf.Statement(
        latex=r"Where no wrong answer is likelier than a right one it adds "
              r"$p\sum_{A^*} S_a\tilde S_a \ge 0$.",
        margin=lambda i: _full_rate(i.logits, i.correct),
        conditions=(NO_WRONG_LIKELIER,),
        beyond=lambda i: (has_derivative(
            lambda t: ar.entropy(_along(i, t, diverse_step(i.logits, i.correct))), 0,
            _full_rate(i.logits, i.correct)),),
    ),
    repair_is="hypothesis",
    repair_note="no wrong answer is likelier than a right one",
    mutants=(
        vf.mutant("it adds as much as to the entropy among right answers",
                  margin=lambda i: _full_rate(i.logits, i.correct) - diversity_rate(i.logits, i.correct),
                  beyond=None),
    ),
)

# ------------------------------------------------------------------ under the natural gradient


@vf.definition
def natural_step(logits: ar.Reals, correct: ar.Mask, strength: ar.Reals) -> ar.Reals:
    """c x_a."""
    return ar.per_action(strength) * surprise(logits, correct)


@vf.definition
def odds_growth(logits: ar.Reals, correct: ar.Mask, strength: ar.Reals) -> ar.Reals:
    """E_q e^{c x}: by what the odds of a right answer are multiplied."""
    return ar.mean(renormalized(logits, correct), np.exp(natural_step(logits, correct, strength)))


def _gains(i: vf.Cases) -> ar.Reals:
    """The gain in H(q), and the factor on the odds less 1."""
    moved = i.logits + natural_step(i.logits, i.correct, i.strength)
    one = ar.constant(1, like=i.logits)
    return np.stack([diversity(moved, i.correct) - diversity(i.logits, i.correct),
                     odds_growth(i.logits, i.correct, i.strength) - one], axis=-1)


def _natural_rates(i: Any) -> tuple[vf.Term, ...]:
    x, p = surprise(i.logits, i.correct), right_mass(i.logits, i.correct)
    moved = i.logits + natural_step(i.logits, i.correct, i.strength)
    growth = odds_growth(i.logits, i.correct, i.strength)
    varies = spread(i.logits, i.correct)
    return (
        equal(right_mass(moved, i.correct), p * growth / (1 - p + p * growth)),
        has_derivative(lambda c: right_mass(_along(i, c, x), i.correct), 0, 0 * p),
        has_derivative(lambda c: diversity(_along(i, c, x), i.correct), 0, varies),
        has_derivative(lambda c: ar.entropy(_along(i, c, x)), 0, p * varies),
    )


diverse_bonus_natural = vf.Claim(
    id="extension.diverse-bonus-natural",
    source=SOURCE,
    title="Under the natural gradient a bonus on the entropy among right answers costs no reward",
    scope="one softmax policy, natural gradient, one step of any size up to strength 1",
    statement=vf.Statement(
        latex=r"For $0 < c \le 1$ the step $c\,x_a$ on $A^*$ multiplies the odds of a right answer by "
              r"$\mathbb E_q e^{cx} \ge 1$ and does not lower $H(q)$. To first order it leaves $p$, and "
              r"adds $\mathrm{Var}_q(\log q)$ to $H(q)$ and $p\,\mathrm{Var}_q(\log q)$ to the full "
              r"entropy.",
        margin=_gains,
        beyond=_natural_rates,
    ),
    instances=vf.bandit_instances(STRENGTH),
    mutants=(
        vf.mutant("the reward stays exactly", relation="==", beyond=None,
                  margin=lambda i: odds_growth(
                      i.logits, i.correct, i.strength) - ar.constant(1, like=i.logits)),
    ),
)
