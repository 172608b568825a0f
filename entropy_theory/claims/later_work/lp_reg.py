r"""Lp-Reg (arXiv 2510.03222): a pull of unlikely tokens to a proxy policy.

The proxy q is the policy without its least likely tokens, rescaled. It keeps the tokens
:math:`K = \{\pi_a \ge \text{floor} \cdot \max \pi\}`, so that :math:`q/\pi = 1/\pi(K)` there. In the
authors' code the pull acts on unlikely tokens of bad answers. It has the score :math:`q/\pi - 1`, one
number for all that are held, and adds :math:`-(1/\pi(K) - 1) \sum_{\text{held}} \pi_a (c_a - C)` to the
rate of entropy. Here :math:`c_a = \pi_a (\log \pi_a + H)` and :math:`C = \mathbb E c`.

- If the held tokens are below :math:`e^{-H}`, the pull does not lower entropy. Elsewhere it may.
- A pull of all tokens, the gradient :math:`q - \pi` of :math:`-\operatorname{KL}(q \| \pi)`, never
  raises entropy. Its rate is :math:`-\sum_K \pi_a (c_a - C)/\pi(K)`, and the likelier tokens K have a
  share of at least 0.

So which tokens are held decides, and the proxy alone sharpens the policy.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.token_contributions import relative_log_prob, some
from entropy_theory.claims.extensions.loss_coefficient import moves_entropy
from entropy_theory.claims.later_work.stare import LEVEL, raised
from entropy_theory.verification import arithmetic as ar

FLOOR = vf.Scalar(name="floor", low=0.01, high=1.0, grid=(Fraction(1, 2), Fraction(1, 4)),
                  range=vf.Range(low=0, high=1))


@vf.definition
def kept(logits: ar.Reals, floor: ar.Reals) -> ar.Mask:
    """K, the tokens whose probability is at least this share of the largest."""
    policy = ar.softmax(logits)
    return ~ar.less(policy, ar.per_action(floor * ar.largest(policy)))


@vf.definition
def held(logits: ar.Reals, correct: ar.Mask, floor: ar.Reals, level: ar.Reals) -> ar.Mask:
    """Wrong answers of the proxy of at most this probability."""
    return kept(logits, floor) & ~correct & ~ar.less(ar.per_action(level), ar.softmax(logits))


@vf.definition
def kept_mass(logits: ar.Reals, floor: ar.Reals) -> ar.Reals:
    """pi(K)."""
    return ar.total(ar.softmax(logits), kept(logits, floor))


@vf.definition
def to_proxy(logits: ar.Reals, floor: ar.Reals) -> ar.Reals:
    """q - pi."""
    policy, mass = ar.softmax(logits), kept_mass(logits, floor)
    return np.where(kept(logits, floor), policy / ar.per_action(mass), 0 * policy) - policy


def _held(i: vf.Cases) -> ar.Mask:
    return held(i.logits, i.correct, i.floor, i.level)


def _pull(i: vf.Cases) -> ar.Reals:
    """The rate of entropy by the pull of the held tokens, coefficient 1, times pi(K)."""
    return (1 - kept_mass(i.logits, i.floor)) * raised(i.logits, _held(i))


SOME_HELD = some(_held, "some token is held")
HELD_ARE_RARE = vf.Condition(
    latex=r"held tokens have $\pi_a<e^{-H}$",
    value=lambda i: ~np.any(
        _held(i) & ~ar.less(relative_log_prob(i.logits), 0 * i.logits), axis=-1))

lp_reg = vf.Claim(
    id="later-work.lp-reg",
    source="Lp-Reg (arXiv 2510.03222), the pull to the proxy",
    reading=vf.Reading(
        "inferred",
        "then serves as a soft regularization target to shield these valuable tokens from elimination "
        "via KL divergence", "abstract; that the pull holds entropy up is our reading"),
    title="Lp-Reg's pull of unlikely tokens to the proxy does not lower entropy",
    scope="one tabular state, rewards 0 and 1, on-policy, exact expectation, first order; judged: the "
          "abstract and the public code",
    statement=vf.Statement(
        latex=r"$K=\{\pi_a\ge f\max\pi\}$, $0\le f\le1$: scores $1/\pi(K)-1$ on the wrong answers of "
              r"$K$ with $\pi_a\le t$, $0\le t\le1$, do not lower the rate of entropy.",
        margin=_pull,
        conditions=(SOME_HELD,),
    ),
    instances=vf.bandit_instances(FLOOR, LEVEL),
    repair=vf.Statement(
        latex=r"They do not if every such answer has $\pi_a<e^{-H}$. The step $q-\pi$, "
              r"$q=\pi 1_K/\pi(K)$, never raises entropy.",
        margin=_pull,
        conditions=(SOME_HELD, HELD_ARE_RARE),
        beyond=lambda i: (
            raised(i.logits, kept(i.logits, i.floor)) <= 0,
            moves_entropy(
                i.logits, to_proxy(i.logits, i.floor),
                raised(i.logits, kept(i.logits, i.floor)) / kept_mass(i.logits, i.floor))),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: held tokens are below $e^{-H}$; a pull of all tokens never raises entropy",
    mutants=(
        vf.mutant("wherever they are", conditions=(SOME_HELD,)),
    ),
)
