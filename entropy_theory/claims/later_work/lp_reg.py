r"""Lp-Reg (arXiv 2510.03222): a pull of unlikely tokens to a proxy policy.

The proxy q is the policy without its least likely tokens, rescaled. It keeps the tokens
:math:`K = \{\pi_a \ge \text{floor} \cdot \max \pi\}`, so that :math:`q/\pi = 1/\pi(K)` there. Tokens
are held if they are unlikely, wrong and in K. The pull of the paper and that of its code differ.

- Paper, Eq. 6: a held token brings the penalty :math:`\operatorname{KL}(q \| \pi)` of its state, whose
  step is :math:`q - \pi`. It never raises entropy. Its rate is :math:`-\sum_K \pi_a (c_a - C)/\pi(K)`,
  with :math:`c_a = \pi_a (\log \pi_a + H)` and :math:`C = \mathbb E c`, and the likelier tokens K have a
  share of at least 0.
- Code: the held token alone has the score :math:`q/\pi - 1`, one number for all that are held. It adds
  :math:`-(1/\pi(K) - 1) \sum_{\text{held}} \pi_a (c_a - C)` to the rate of entropy. Held tokens below
  :math:`e^{-H}` do not lower entropy. Others may.

So the likelier held tokens decide, and the proxy alone sharpens the policy.
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


@vf.definition
def rare(logits: ar.Reals) -> ar.Mask:
    """pi_a < e^{-H}."""
    return ar.less(relative_log_prob(logits), 0 * logits)


def _held(i: vf.Cases) -> ar.Mask:
    return held(i.logits, i.correct, i.floor, i.level)


def _pull(i: vf.Cases, tokens: ar.Mask) -> ar.Reals:
    """The rate of entropy by the code's pull of these tokens, coefficient 1, times pi(K)."""
    return (1 - kept_mass(i.logits, i.floor)) * raised(i.logits, tokens)


SOME_HELD = some(_held, "some token is held")

lp_reg = vf.Claim(
    id="later-work.lp-reg",
    source="Lp-Reg (arXiv 2510.03222), the pull to the proxy",
    reading=vf.Reading(
        "inferred",
        "then serves as a soft regularization target to shield these valuable tokens from elimination "
        "via KL divergence",
        "abstract; that the pull holds entropy up is our reading, and Eq. 6 and the code are judged"),
    title="Lp-Reg's pull of unlikely tokens to the proxy does not lower entropy",
    scope="one tabular state, rewards 0 and 1, on-policy, exact expectation, first order; judged: the "
          "abstract, Eq. 6 and the public code",
    statement=vf.Statement(
        latex=r"$K=\{\pi_a\ge f\max\pi\}$, $0\le f\le1$: scores $1/\pi(K)-1$ on the wrong answers of "
              r"$K$ with $\pi_a\le t$, $0\le t\le1$, do not lower the rate of entropy.",
        margin=lambda i: _pull(i, _held(i)),
        conditions=(SOME_HELD,),
    ),
    instances=vf.bandit_instances(FLOOR, LEVEL),
    repair=vf.Statement(
        latex=r"Those of them with $\pi_a<e^{-H}$ do not. The paper's step $q-\pi$, "
              r"$q=\pi 1_K/\pi(K)$, never raises entropy.",
        margin=lambda i: _pull(i, _held(i) & rare(i.logits)),
        beyond=lambda i: (
            raised(i.logits, kept(i.logits, i.floor)) <= 0,
            moves_entropy(
                i.logits, to_proxy(i.logits, i.floor),
                raised(i.logits, kept(i.logits, i.floor)) / kept_mass(i.logits, i.floor))),
    ),
    repair_is="correction",
    repair_note="held tokens below $e^{-H}$ alone do not; the paper's own step never raises entropy",
    mutants=(
        vf.mutant("wherever they are", margin=lambda i: _pull(i, _held(i))),
    ),
)
