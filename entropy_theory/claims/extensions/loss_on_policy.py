r"""Losses of the ratio: which are the same on policy.

Losses of the ratio :math:`r = \pi/\pi_{\text{old}}` have the coefficient A at :math:`r = 1`, for any
options that are positive, with clips and :math:`\delta` below 1. So on policy they are one loss, plain
policy gradient (`extension.loss-coefficient`).

They differ in the slope of the coefficient in r. It is A in PPO, CISPO, CE-GPPO, DPPO and SAPO, which
keeps the expectation right off policy. It is :math:`(k - \lambda) A` in VESPO, -beta in DRO, and 0 in
TOPR where :math:`A > 0`.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.loss_coefficient import SCORE
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


def _option(name: str, largest: float | None = None) -> vf.Scalar:
    kept = vf.POSITIVE if largest is None else vf.Range(
        low=0, open_low=True, high=1, open_high=True)
    return vf.Scalar(name=name, low=0.05, high=largest or 5.0, grid=(Fraction(1, 2),), range=kept)


OPTIONS = (_option("clip_low", 0.9), _option("clip_high", 0.9), _option("kept_low"),
           _option("kept_high"), _option("delta", 0.9), _option("tau"), _option("power"),
           _option("decay"), _option("beta"),
           vf.Scalar(name="shift", low=0.05, high=5.0, grid=(Fraction(1, 2),), range=vf.ANY))


@vf.definition
def ce_gppo(r: ar.Reals, score: ar.Reals, clip_low: ar.Reals, clip_high: ar.Reals,
            kept_low: ar.Reals, kept_high: ar.Reals) -> ar.Reals:
    """CE-GPPO's coefficients; with nothing kept beyond the clip those of PPO."""
    low, high = 1 - ar.per_action(clip_low), 1 + ar.per_action(clip_high)
    rises = np.where(ar.less(high, r), ar.per_action(kept_high) * high, r)
    falls = np.where(ar.less(r, low), ar.per_action(kept_low) * low, r)
    return score * np.where(ar.less(0 * score, score), rises, falls)


@vf.definition
def cispo(r: ar.Reals, clip_low: ar.Reals, clip_high: ar.Reals) -> ar.Reals:
    """CISPO's weight clip(r, 1 - eps_low, 1 + eps_high)."""
    return ar.minimum(ar.maximum(r, 1 - ar.per_action(clip_low)), 1 + ar.per_action(clip_high))


@vf.definition
def dppo(policy: ar.Reals, old: ar.Reals, score: ar.Reals, delta: ar.Reals) -> ar.Reals:
    """DPPO's r A, and 0 where pi has moved along A by more than delta."""
    along = np.where(ar.less(0 * score, score), policy - old, old - policy)
    return np.where(ar.less(ar.per_action(delta), along), 0 * score, policy / old * score)


@vf.definition
def gate(r: ar.Reals, tau: ar.Reals) -> ar.Reals:
    """SAPO's weight r f'(r) = 4 r s (1 - s), s = sigmoid(tau (r - 1))."""
    decay = np.exp(-ar.per_action(tau) * (r - 1))
    return 4 * r * decay / (1 + decay) ** 2


@vf.definition
def bump(r: ar.Reals, power: ar.Reals, decay: ar.Reals) -> ar.Reals:
    """VESPO's weight phi(r) = r^k exp(lambda (1 - r))."""
    return np.exp(ar.per_action(power) * np.log(r) + ar.per_action(decay) * (1 - r))


@vf.definition
def topr(r: ar.Reals, score: ar.Reals) -> ar.Reals:
    """TOPR's A where A > 0, min(r, 1) A elsewhere."""
    return np.where(ar.less(0 * score, score), score, ar.minimum(r, 0 * r + 1) * score)


@vf.definition
def dro(r: ar.Reals, score: ar.Reals, beta: ar.Reals) -> ar.Reals:
    """DRO's A - beta log r."""
    return score - ar.per_action(beta) * np.log(r)


def coefficients(i: vf.Cases, policy: ar.Reals, old: ar.Reals) -> dict[str, ar.Reals]:
    """Return the coefficients of tokens of probability pi, and pi_old when sampled, by loss."""
    r, zero = policy / old, 0 * i.tau
    return {
        "grpo": ce_gppo(r, i.score, i.clip_low, i.clip_high, zero, zero),
        "ce-gppo": ce_gppo(r, i.score, i.clip_low, i.clip_high, i.kept_low, i.kept_high),
        "cispo": cispo(r, i.clip_low, i.clip_high) * i.score,
        "dppo": dppo(policy, old, i.score, i.delta),
        "sapo": gate(r, i.tau) * i.score,
        "vespo": bump(r, i.power, i.decay) * i.score,
        "topr": topr(r, i.score),
        "dro": dro(r, i.score, i.beta),
    }


def _departures(i: vf.Cases) -> ar.Reals:
    """Each loss's coefficients minus the advantage, where the old logits are larger by a constant."""
    old = ar.softmax(i.logits + ar.per_action(i.shift))
    found = coefficients(i, ar.softmax(i.logits), old)
    return np.concatenate([s - i.score for s in found.values()], axis=-1)


def _slopes(i: vf.Cases) -> tuple[vf.Term, ...]:
    """The slopes at ratio 1 of SAPO's weight, of VESPO's and of DRO's penalty."""
    def slope(weight: Callable[[vf.Term], ar.Reals], value: ar.Reals) -> vf.Term:
        return has_derivative(
            lambda t: weight(ar.per_action(t) + 0 * i.score), 1, value + 0 * i.score).all()

    return (
        slope(lambda r: gate(r, i.tau), ar.per_action(0 * i.tau + 1)),
        slope(lambda r: bump(r, i.power, i.decay), ar.per_action(i.power - i.decay)),
        slope(lambda r: dro(r, i.score, i.beta), ar.per_action(-i.beta)),
    )


def _without_the_factor(i: vf.Cases) -> ar.Reals:
    one = 0 * i.score + ar.constant(1, like=i.score)
    return gate(one, i.tau) * i.score / 4 - i.score


loss_on_policy = vf.Claim(
    id="extension.loss-on-policy",
    source="ours: GRPO with PPO's clip, CE-GPPO, CISPO, DPPO, SAPO, VESPO, TOPR, DRO",
    title="On policy eight losses of the ratio have one coefficient, the advantage",
    scope="one tabular state, one token, ratio 1; slopes in the ratio there",
    statement=vf.Statement(
        latex=r"Where old and present logits differ by a constant, the coefficients of PPO's clip, "
              r"CE-GPPO, CISPO, DPPO (total variation), SAPO, VESPO, TOPR and DRO are $A$, for all "
              r"positive options ($\epsilon,\delta<1$). At ratio 1 the weight of SAPO has the slope 1 in "
              r"the ratio, that of VESPO $k-\lambda$, the coefficient of DRO $-\beta$.",
        margin=_departures,
        relation="==",
        beyond=_slopes,
    ),
    instances=vf.bandit_instances(*OPTIONS, actions=(2, 4), correct=False, vectors=(SCORE,)),
    mutants=(
        vf.mutant("SAPO's gate without its factor 4", margin=_without_the_factor),
    ),
)
