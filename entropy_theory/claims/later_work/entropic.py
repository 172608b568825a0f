r"""EntroPIC (arXiv 2511.15248): entropy held by the weights of positive and negative samples.

Positive samples weigh :math:`1 + \alpha` and negative ones :math:`1 - \alpha`, with :math:`\alpha` from
a PI controller of entropy. Rewards are 1 and -1. The authors' code applies the weights to tokens of
probability above a threshold t (.95). It is read for one state and the exact expectation, where
positives and negatives push along one line (`later-work.entrocraft`).

- With all tokens weighed, :math:`(1 + \alpha) d_+ + (1 - \alpha) d_- = d_+ + d_-`. So :math:`\alpha`
  has no effect.
- With tokens above a threshold weighed, :math:`\alpha` adds
  :math:`\sum_{\pi_a \ge t} \pi_a (e_a - \pi)` to the step, whatever the rewards. It adds
  :math:`-\alpha \sum_{\pi_a \ge t} \pi_a (c_a - C)` to the rate of entropy, and the sum is not
  negative. So a larger :math:`\alpha` never raises the rate, at any policy and threshold, as the
  controller supposes.

So the threshold makes :math:`\alpha` work, not the sign of the samples.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess
from entropy_theory.claims.extensions.loss_coefficient import expected_step, moves_entropy
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every

THRESHOLD = vf.Scalar(name="threshold", low=0.01, high=1.0, grid=(Fraction(1, 2), Fraction(1, 5)),
                      range=vf.Range(low=0, high=1))


@vf.definition
def likely(logits: ar.Reals, threshold: ar.Reals) -> ar.Mask:
    """Tokens whose probability is at least the threshold."""
    return ~ar.less(ar.softmax(logits), ar.per_action(threshold))


@vf.definition
def lever(logits: ar.Reals, threshold: ar.Reals) -> ar.Reals:
    """The rate of entropy per unit of alpha: -sum over likely tokens of pi_a (c_a - C)."""
    return -ar.total(ar.softmax(logits) * excess(logits), likely(logits, threshold))


def _signed(correct: ar.Mask, like: ar.Reals) -> ar.Reals:
    one = 0 * like + ar.constant(1, like=like)
    return np.where(correct, one, -one)


def _weighed(i: vf.Cases, alpha: vf.Term) -> ar.Reals:
    """(1 + alpha) on right and -(1 - alpha) on wrong answers."""
    return _signed(i.correct, i.logits) + ar.per_action(alpha) + 0 * i.logits


def _added(i: vf.Cases) -> ar.Reals:
    """The step that a unit of alpha adds."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    return expected_step(i.logits, np.where(likely(i.logits, i.threshold), one, 0 * one))


entropic = vf.Claim(
    id="later-work.entropic",
    source="EntroPIC (arXiv 2511.15248), the weights of positive and negative samples",
    reading=vf.Reading(
        "precise",
        "adaptively adjusts the influence of positive and negative samples by dynamically tuning their "
        "loss coefficients",
        "abstract, with the public code's threshold; the theorems' text is not at hand"),
    title="EntroPIC's lever moves nothing on all tokens, and does not raise entropy on likely ones",
    scope="one tabular state, rewards 1 and -1, on-policy, exact expectation, first order; judged: the "
          "abstract and the public code",
    statement=vf.Statement(
        latex=r"Weights $1+\alpha$ on right and $1-\alpha$ on wrong answers: on all tokens the expected "
              r"step does not depend on $\alpha$; on those with $\pi_a\ge t\in[0,1]$ alone, $\alpha\ge0$ "
              r"adds $-\alpha\sum_{\pi_a\ge t}\pi_a(c_a-C)\le0$ to the rate of entropy.",
        margin=lambda i: -lever(i.logits, i.threshold),
        beyond=lambda i: (
            for_every("alpha", (), lambda alpha: vf.elementwise(
                "equal", expected_step(i.logits, _weighed(i, alpha)),
                expected_step(i.logits, _signed(i.correct, i.logits))).all()),
            moves_entropy(i.logits, _added(i), lever(i.logits, i.threshold)),
        ),
    ),
    instances=vf.bandit_instances(THRESHOLD),
    mutants=(
        vf.mutant("unlikely tokens weighed", margin=lambda i: ar.total(
            ar.softmax(i.logits) * excess(i.logits), ~likely(i.logits, i.threshold))),
    ),
)
