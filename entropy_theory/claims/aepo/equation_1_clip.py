r"""AEPO, Eq. (1): the clip in the REINFORCE term, min[r R, clip(r, 1 - eps, 1 + eps) R], off-policy.

With R in {0, 1} the term is :math:`R \min(r, 1 + \varepsilon)`, for every ratio
:math:`r = \pi/\pi_{\text{old}} > 0`. The lower edge of the clip never acts. So a positive sample that
has become less likely is not kept from being raised again. This is exact. It is PPO's clip for an
advantage of one sign.

The printed equation has two more oddities. Its second term lacks the :math:`1/G \sum_i` over the G
responses that it draws, which the first term has. And r is taken with respect to
:math:`\pi_{\text{old}}` while the responses are drawn from :math:`\pi_{\text{old}}^T`, so r is not an
importance weight of them. On-policy (:math:`r = 1`) the gradient of a response is that of Section 4.2
times :math:`1/|o|`, and `aepo.length-factors` shows the effect of this factor. `aepo.equation-5` and
the claims on tempered REINFORCE are about Section 4.2, without the factor.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar

RATIO = vf.Scalar(name="ratio", low=0.01, high=10.0, grid=(1, Fraction(1, 2), 2), range=vf.POSITIVE)
EPSILON = vf.Scalar(name="epsilon", low=0.01, high=0.99, grid=(Fraction(1, 5),), range=vf.POSITIVE)


def _clipped(i: vf.Cases, reward: int = 1) -> ar.Reals:
    """min(r R, clip(r, 1 - eps, 1 + eps) R)."""
    inside = ar.maximum(1 - i.epsilon, ar.minimum(i.ratio, 1 + i.epsilon))
    return ar.minimum(reward * i.ratio, reward * inside)


equation_1_clip = vf.Claim(
    id="aepo.equation-1-clip",
    source="AEPO, Eq. (1), second term",
    reading=vf.Reading(
        "inferred", r"\text{clip}(r_{i,t}(\theta), 1-\epsilon, 1+\epsilon) R(q, o_i)",
        "Eq. (1), of which it is a consequence"),
    title="At reward 1 the clip of the REINFORCE term has an upper edge only",
    scope="one sampled token, off-policy",
    statement=vf.Statement(
        latex=r"For $R = 1$: $\min[rR, \mathrm{clip}(r, 1-\epsilon, 1+\epsilon)R] = \min(r, "
              r"1+\epsilon)$, for every ratio $r > 0$.",
        # The clipped term for R = 1 minus min(r, 1 + eps); for R = 0 both are zero.
        margin=lambda i: _clipped(i) - ar.minimum(i.ratio, 1 + i.epsilon),
        relation="==",
    ),
    instances=vf.bandit_instances(RATIO, EPSILON, correct=False, actions=(2, 2)),
    mutants=(
        vf.mutant("for R = -1 too",
                  margin=lambda i: _clipped(i, reward=-1) + ar.minimum(i.ratio, 1 + i.epsilon)),
    ),
)
