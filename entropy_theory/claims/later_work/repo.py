r"""REPO (arXiv 2603.11682, ICLR 2026): advantages that fall with a token's log-probability.

REPO replaces A by :math:`A - \beta (\log \pi + H)`. To the field it is a way around the entropy bonus,
which needs the logits of the whole vocabulary. In expectation over on-policy samples it is the bonus.
The step is :math:`\pi (A - \mathbb E A) + \beta \nabla H`, and so the rate of entropy is that of A plus
:math:`\beta |\nabla H|^2`.

REPO-R is the form in use. It has :math:`A (1 - \zeta \log \pi)` where :math:`A > 0` and
:math:`A (1 + \zeta \log \pi)` where :math:`A < 0`, which is :math:`A - \zeta |A| \log \pi`. With
:math:`c = \pi (\log \pi + H)` it adds :math:`\zeta \operatorname{Cov}_\pi(|A| \log \pi, c)` to the
rate. If :math:`|A|` is the same for all tokens, as with rewards 1 and -1, this is not negative. With
the centered advantage of rewards 0 and 1 it can be, since right answers weigh :math:`1 - p` and wrong
ones p. The clip of weights at 0 is left out. It acts where :math:`\zeta` is over :math:`1/|\log \pi|`
of a wrong answer.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import own_covariance
from entropy_theory.claims.entropy_mechanism.sign_rules import plain_covariance
from entropy_theory.claims.entropy_mechanism.token_contributions import relative_log_prob
from entropy_theory.claims.extensions.loss_coefficient import SCORE, expected_step, moves_entropy
from entropy_theory.verification import arithmetic as ar

STRENGTH = vf.Scalar(name="strength", low=0.01, high=5.0, grid=(1,), range=vf.POSITIVE)


def _repo_step(i: vf.Cases) -> ar.Reals:
    advantage = i.score - ar.per_action(i.strength) * relative_log_prob(i.logits)
    return expected_step(i.logits, advantage)


def _beside_bonus(i: vf.Cases, sign: int = 1) -> ar.Reals:
    bonus = ar.per_action(i.strength) * ar.entropy_gradient(i.logits)
    return _repo_step(i) - expected_step(i.logits, i.score) - sign * bonus


repo = vf.Claim(
    id="later-work.repo",
    source="REPO (arXiv 2603.11682), the modified advantage",
    reading=vf.Reading(
        "precise", "A_REPO(s,a) = A(s,a) - beta L(s,a)",
        "as quoted elsewhere; L is the log-probability minus its mean"),
    title="In expectation REPO is the entropy bonus",
    scope="one tabular state, on-policy, exact expectation, first order; judged: the formula as quoted "
          "elsewhere",
    statement=vf.Statement(
        latex=r"The expected step of $A-\beta(\log\pi+H)$, $\beta>0$, is that of $A$ plus "
              r"$\beta\nabla H$, and the rate of entropy is that of $A$ plus $\beta\|\nabla H\|^2$.",
        margin=_beside_bonus,
        relation="==",
        beyond=lambda i: (moves_entropy(i.logits, _repo_step(i), i.strength * ar.total(
            own_covariance(i.logits) * own_covariance(i.logits))
            - plain_covariance(i.logits, i.score)),),
    ),
    instances=vf.bandit_instances(STRENGTH, correct=False, vectors=(SCORE,)),
    mutants=(
        vf.mutant("a bonus of the other sign", margin=lambda i: _beside_bonus(i, sign=-1)),
    ),
)

# ---------------------------------------------------------------- the rescaled form


@vf.definition
def sized(logits: ar.Reals, size: ar.Reals) -> ar.Reals:
    """Cov_pi(|A| log pi, c), what REPO-R adds to the rate of entropy per unit of zeta."""
    return ar.covariance(ar.softmax(logits), size * ar.log_softmax(logits), own_covariance(logits))


def _centered_size(i: vf.Cases) -> ar.Reals:
    """|1_{A*} - p|."""
    p = ar.total(ar.softmax(i.logits), i.correct)
    return np.where(i.correct, ar.per_action(1 - p), ar.per_action(p))


def _equal_size(i: vf.Cases) -> ar.Reals:
    return 0 * i.logits + ar.constant(1, like=i.logits)


def _rescaled(i: vf.Cases) -> ar.Reals:
    sign = np.where(i.correct, _equal_size(i), -_equal_size(i))
    return expected_step(i.logits, sign - ar.per_action(i.strength) * ar.log_softmax(i.logits))


repo_rescaled = vf.Claim(
    id="later-work.repo-rescaled",
    source="REPO (arXiv 2603.11682), the rescaled form REPO-R",
    reading=vf.Reading(
        "precise", "", "Appendix D.2 as in SkyRL's code; the paper's own text is not at hand"),
    title="REPO-R never lowers the rate of entropy",
    scope="one tabular state, rewards 0 and 1, on-policy, exact expectation, first order; judged: the "
          "public code",
    statement=vf.Statement(
        latex=r"$A-\zeta|A|\log\pi$ with $A=1_{\mathcal A^*}-p$, $\zeta>0$ and no weight clipped, has at "
              r"least the rate of entropy that $A$ has.",
        margin=lambda i: sized(i.logits, _centered_size(i)),
    ),
    instances=vf.bandit_instances(STRENGTH),
    repair=vf.Statement(
        latex=r"With $A=1$ on right and $-1$ on wrong answers it has: the rate rises by "
              r"$\zeta\,\mathrm{Cov}_\pi(\log\pi,c)\ge0$.",
        margin=lambda i: sized(i.logits, _equal_size(i)),
        beyond=lambda i: (moves_entropy(
            i.logits, _rescaled(i), i.strength * sized(i.logits, _equal_size(i)) - plain_covariance(
                i.logits, np.where(i.correct, _equal_size(i), -_equal_size(i)))),),
    ),
    repair_note="rewards 1 and -1 in place of centered ones: then all advantages are of one size",
    mutants=(
        vf.mutant("strictly, uniform policies too", relation=">",
                  margin=lambda i: sized(i.logits, _equal_size(i))),
    ),
)
