r"""Extension: an entropy bonus with vanilla gradient steps, and how large they may be.

The bonus :math:`\lambda H` and a step of size :math:`\eta` move logits by :math:`dz = -c S`, with
:math:`c = \eta \lambda` and :math:`S = \pi (\log \pi + H) = -\nabla H`. To first order entropy rises by
:math:`c \|S\|^2 \ge 0`, which is zero only where :math:`\pi` is uniform. Exactly, entropy never falls,
at any policy, as long as

.. math::

    0 < c \le 2/K,\quad K \text{ any bound on } -Q(d)/\|d\|^2, \text{ here } K = 5/8 + \tfrac15 \log n.

The reason is :math:`H(z + dz) - H(z) \ge c \|S\|^2 - (K/2) c^2 \|S\|^2`. Larger steps overshoot. For
two actions the bound is 4 (as :math:`K_2 = 1/2` gives too), and it is sharp. There the logit gap x
becomes exactly :math:`x (1 - 2 c \pi_1 \pi_2)`. This is longer than x where :math:`c \pi_1 \pi_2 > 1`,
and so near the uniform policy for every :math:`c > 4`.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import own_covariance
from entropy_theory.claims.extensions.remainder_constant import curvature_constant
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, has_derivative, implies

SHARE = vf.Scalar(name="share", low=0.01, high=1.0, grid=(1, Fraction(1, 2)),
                  range=vf.Range(low=0, open_low=True, high=1))
"""c as a share of the largest step with a guarantee."""


@vf.definition
def bonus_step(logits: ar.Reals, strength: ar.Reals) -> ar.Reals:
    """The step -c S of strength c = eta lambda."""
    return -ar.per_action(strength) * own_covariance(logits)


@vf.definition
def squared_tilt(logits: ar.Reals) -> ar.Reals:
    """||S||_2^2."""
    return ar.total(own_covariance(logits) * own_covariance(logits))


def rise(i: vf.Cases, limit: ar.Real, sign: int = -1) -> ar.Reals:
    """Exact entropy change of the step -c S, with c = share * limit."""
    return ar.entropy_change(i.logits, bonus_step(i.logits, -sign * i.share * limit))


def _limit(i: vf.Cases) -> ar.Real:
    return 2 / curvature_constant(i.logits.shape[-1], i.logits)


def _product(logits: ar.Reals) -> ar.Reals:
    """pi_1 pi_2."""
    policy = ar.softmax(logits)
    return policy[..., 0] * policy[..., 1]


def _four(i: vf.Cases) -> ar.Real:
    return ar.constant(4, i.logits)


entropy_bonus = vf.Claim(
    id="extension.entropy-bonus",
    source="Extension: entropy bonus with vanilla gradient steps",
    title="An entropy bonus never lowers entropy, up to a step size",
    scope="one tabular state, one step of the bonus alone, any size up to a threshold",
    statement=vf.Statement(
        latex=r"For $0<\eta\lambda\le 2/(\frac58+\frac15\log n)$ the step $\Delta z=-\eta\lambda S$ "
              r"never lowers entropy; to first order it adds $\eta\lambda\lVert S\rVert_2^2$ (zero: "
              r"uniform).",
        margin=lambda i: rise(i, _limit(i)),
        beyond=lambda i: (
            for_every("c", (), lambda c: has_derivative(lambda t: ar.entropy(
                i.logits + ar.per_action(t) * bonus_step(i.logits, c)), 0, c * squared_tilt(i.logits))),
            implies(vf.elementwise("equal", squared_tilt(i.logits), 0),
                    vf.elementwise("equal", ar.softmax(i.logits), 1 / i.logits.shape[-1]).all()),
        ),
    ),
    instances=vf.bandit_instances(SHARE, correct=False),
    mutants=(
        vf.mutant("no limit on the step",
                  instances=vf.bandit_instances(
                      vf.Scalar(name="share", low=1.6, high=40.0, grid=(2, 8), range=vf.POSITIVE),
                      correct=False)),
    ),
)

entropy_bonus_two_actions = vf.Claim(
    id="extension.entropy-bonus-two-actions",
    source="Extension: entropy bonus with vanilla gradient steps",
    title="Two actions: the largest safe entropy bonus is 4",
    scope="one tabular state with two actions, one step of the bonus alone",
    statement=vf.Statement(
        latex=r"For two actions and $0<\eta\lambda\le4$ the step $\Delta z=-\eta\lambda S$ never lowers "
              r"entropy; above 4 it does wherever $\pi_1\pi_2>1/(\eta\lambda)$, save at the uniform "
              r"policy.",
        margin=lambda i: rise(i, _four(i)),
        beyond=lambda i: (for_every("c", (), lambda c: implies(
            ar.less(0 * c, c) & ar.less(1 / c, _product(i.logits))
            & ~vf.elementwise("equal", i.logits[..., 0], i.logits[..., 1]),
            ar.less(ar.entropy_change(i.logits, bonus_step(i.logits, c)), 0 * c))),),
    ),
    instances=vf.bandit_instances(SHARE, correct=False, actions=(2, 2)),
)
