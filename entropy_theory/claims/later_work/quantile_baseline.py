r"""QAE (arXiv 2509.22611), Section 4.3: the baseline b as "a linear knob" of the entropy change.

In the setting there, a response is one action and :math:`A_b = r - b` with r in {0, 1}. It has
"first-order logit updates of a softmax policy", and :math:`dH = -\eta \operatorname{Cov}_\pi(\log \pi,
\pi (r - b))`. So dH rises strictly in b, because :math:`\operatorname{Cov}(\log \pi, \pi) > 0`.
Proposition 4.2, "two-sided entropy safety", takes :math:`b = 0` for the least and :math:`b = 1` for the
largest entropy change.

It is read for the update that the paper makes, a policy gradient with advantage :math:`r - b`. Its
expected logit step is :math:`\sum_a \pi_a (r_a - b)(e_a - \pi) = \pi (r - \mathbb E r)`. So b drops
out, because :math:`\mathbb E[\nabla \log \pi] = 0`. The identity of Cui et al. has the centered
advantage in it, and holds for :math:`b = \mathbb E r` alone. So the proposition's inequalities hold,
and all with equality. A quantile changes the speed of a prompt (`extension.loss-binary-rewards`) and
the noise of a group.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.sign_rules import NOT_UNIFORM
from entropy_theory.claims.entropy_mechanism.token_contributions import first_order
from entropy_theory.claims.extensions.loss_coefficient import expected_step, moves_entropy
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every

BASELINE = vf.Scalar(name="baseline", low=0.01, high=1.0, grid=(1, Fraction(1, 2)),
                     range=vf.Range(low=0, high=1))


@vf.definition
def with_baseline(correct: ar.Mask, baseline: ar.Reals) -> ar.Reals:
    """r - b, r = 1 on right answers."""
    return np.where(correct, 1 - ar.per_action(baseline), -ar.per_action(baseline))


@vf.definition
def printed_change(logits: ar.Reals, advantage: ar.Reals) -> ar.Reals:
    """-Cov_pi(log pi, pi A)."""
    policy = ar.softmax(logits)
    return -ar.covariance(policy, ar.log_softmax(logits), policy * advantage)


def _success(i: vf.Cases) -> ar.Reals:
    return ar.total(ar.softmax(i.logits), i.correct)


def _change(i: vf.Cases, baseline: ar.Reals) -> ar.Reals:
    return first_order(i.logits, expected_step(i.logits, with_baseline(i.correct, baseline)))


quantile_baseline = vf.Claim(
    id="later-work.quantile-baseline",
    source="QAE (arXiv 2509.22611), Section 4.3, Proposition 4.2",
    reading=vf.Reading(
        "precise", "Hence ∆H(q;b) = −η Fq(b) is strictly increasing in b∈[0,1]",
        "Section 4.3, for the update with advantage r - b; ICLR 2026 text"),
    title="The baseline is a linear knob of the entropy change (QAE)",
    scope="one response as one action, rewards 0 and 1, on-policy, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Advantage $r-b$, $b\in[0,1]$: the first-order entropy change is "
              r"$-\mathrm{Cov}_\pi(\log\pi,\pi(r-b))$.",
        margin=lambda i: _change(i, i.baseline) - printed_change(
            i.logits, with_baseline(i.correct, i.baseline)),
        relation="==",
        conditions=(NOT_UNIFORM,),
    ),
    instances=vf.bandit_instances(BASELINE),
    repair=vf.Statement(
        latex=r"For every baseline $b$ it is $-\mathrm{Cov}_\pi(\log\pi,\pi(r-\mathbb E\,r))$: neither "
              r"the step nor the entropy change depends on $b$.",
        margin=lambda i: _change(i, i.baseline) - printed_change(
            i.logits, with_baseline(i.correct, _success(i))),
        relation="==",
        conditions=(NOT_UNIFORM,),
        beyond=lambda i: (
            for_every("other", (), lambda b: vf.elementwise(
                "equal", expected_step(i.logits, with_baseline(i.correct, b)),
                expected_step(i.logits, with_baseline(i.correct, i.baseline))).all()),
            moves_entropy(
                i.logits, expected_step(i.logits, with_baseline(i.correct, i.baseline)),
                printed_change(i.logits, with_baseline(i.correct, _success(i)))),
        ),
    ),
    repair_is="correction",
    repair_note="the expected reward in place of b: the baseline drops out, and Proposition 4.2 holds "
                "with equality",
    mutants=(
        vf.mutant("an advantage that is not centered", margin=lambda i: _change(
            i, i.baseline) - printed_change(i.logits, with_baseline(i.correct, 0 * i.baseline))),
    ),
)
