r"""Extension of AEPO: on the solved face temperature steers entropy both ways, ties aside.

One state whose m answers are all right, :math:`dz = \eta (q^T - q)` with :math:`\eta \le 2`. For every
nonuniform q:

- :math:`F(T)` has the sign of :math:`T - 1`;
- the range of the logits falls strictly for :math:`T > 1`, grows strictly for :math:`T < 1`, and rests
  at :math:`T = 1`;
- two logits that differ by D move apart or together by at most (eta/2) max(1, 1/T) D: tied answers stay
  tied for ever, and for :math:`\eta \le 2` their order stays.

Hence a constant :math:`T > 1` leads to the uniform policy (H -> log m), and a constant :math:`T < 1` to
the uniform policy on the k likeliest answers (H -> log k). Every entropy between log k and log m is
passed, none below log k: from (2, 2, 1) no sequence of temperatures brings H below log 2.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE
from entropy_theory.claims.extensions.long_runs import constant, entropies
from entropy_theory.claims.extensions.solved_face import face_rate, face_step, logit_range
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits

SMALL_RATE = vf.Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1, Fraction(1, 2), 2),
                       range=vf.Range(low=0, open_low=True, high=2))


def _step(i: vf.Cases) -> ar.Reals:
    return ar.per_action(i.learning_rate) * face_step(i.logits, i.temperature)


def _pairs(values: ar.Reals) -> ar.Reals:
    return values[..., :, None] - values[..., None, :]


def _lipschitz(i: vf.Cases) -> ar.Reals:
    """``(eta/2) max(1, 1/T) |z_i - z_j| - |dz_i - dz_j|``, for all pairs."""
    most = i.learning_rate * ar.maximum(0 * i.temperature + 1, 1 / i.temperature) / 2
    return most[..., None, None] * np.abs(_pairs(i.logits)) - np.abs(_pairs(_step(i)))


def _range_fall(i: vf.Cases) -> ar.Reals:
    return logit_range(i.logits) - logit_range(i.logits + _step(i))


def _both_ways(i: vf.Cases) -> ar.Reals:
    hotter = i.temperature - 1
    return np.stack([hotter * face_rate(i.logits, i.temperature), hotter * _range_fall(i),
                     _lipschitz(i)], axis=-1)


def _strictly_and_to_the_ends(i: Any) -> tuple[vf.Term, ...]:
    """Strict signs for T != 1 and q not uniform, limits at a constant T, and the floor log k."""
    hotter, uneven = i.temperature - 1, logit_range(i.logits) > 0
    ties = ~ar.less(i.logits, ar.per_action(ar.largest(i.logits)))
    log_ties = np.log(ar.total(0 * i.logits + 1, ties))

    def entropy_along(k: vf.Term, temperature: Callable[[vf.Term], vf.Term]) -> vf.Term:
        def step(j: vf.Term, z: vf.Term) -> vf.Term:
            return z + ar.per_action(i.learning_rate) * face_step(z, temperature(j))

        return ar.entropy(limits.run(step, i.logits, k))

    def constant_temperature(k: vf.Term) -> vf.Term:
        return entropy_along(k, lambda j: i.temperature)

    return (
        limits.implies((hotter * hotter > 0) & uneven,
                       (hotter * face_rate(i.logits, i.temperature) > 0) & (hotter * _range_fall(i) > 0)),
        limits.implies(hotter > 0, limits.tends_to(constant_temperature,
                                                   ar.log_of(i.logits.shape[-1], like=i.logits))),
        limits.implies(hotter < 0, limits.tends_to(constant_temperature, log_ties)),
        limits.for_every(
            "temperatures", (limits.STEPS,),
            lambda schedule: limits.at_every_step(
                lambda k: entropy_along(k, lambda j: limits.entry(schedule, j)) >= log_ties),
            given=lambda schedule: limits.at_every_step(lambda k: limits.entry(schedule, k) > 0)),
    )


def _to_the_ends() -> tuple[bool, str]:
    weights = np.log([4.0, 2.0, 1.0])
    every = (True, True, True)
    up = entropies(weights, every, constant(1.25), learning_rate=2.0, steps=600)
    down = entropies(weights, every, constant(0.8), learning_rate=2.0, steps=600)
    tied = entropies(np.log([2.0, 2.0, 1.0]), every, constant(0.5), learning_rate=2.0, steps=600)
    shown = (abs(up[-1] - np.log(3)) < 1e-6 and down[-1] < 0.01
             and tied[-1] < np.log(2) + 0.02 and min(tied) >= np.log(2))
    return shown, (f"600 steps from (4,2,1): T=1.25 -> {up[-1]:.6f} (log 3 = 1.098612), "
                   f"T=0.8 -> {down[-1]:.6f}; from (2,2,1) at T=0.5 -> {tied[-1]:.6f} (log 2 = 0.693147)")


face_controllability = vf.Claim(
    id="extension.face-controllability",
    source="Extension of AEPO, Corollary 4.4 (a state that is solved)",
    title="On the solved face temperature steers entropy both ways, except across ties",
    scope="one tabular state on which every action is right, exact expectation, one step, "
          "and so every one; the limit",
    statement=vf.Statement(
        latex=r"On the solved face, for $\eta \le 2$: $F(T)$ and the fall of the logits' range have the "
              r"sign of $T - 1$ (zero only at $T = 1$ or a uniform $q$), and $|\Delta z_i - \Delta z_j| "
              r"\le \frac\eta2\max(1, \frac1T)|z_i - z_j|$. So a constant $T > 1$ leads to $H = \log "
              r"m$, a constant $T < 1$ to $\log k$ with $k$ the number of likeliest answers, below "
              r"which no temperatures lead.",
        margin=_both_ways,
        beyond=_strictly_and_to_the_ends,
    ),
    instances=vf.bandit_instances(TEMPERATURE, SMALL_RATE, actions=(2, 6), correct=False),
    experiments=(vf.experiment("both ends", "600 exact steps reach the two limits, and ties hold the "
                               "entropy up", _to_the_ends),),
    mutants=(
        vf.mutant("high temperature lowers entropy",
                  margin=lambda i: -(i.temperature - 1) * face_rate(i.logits, i.temperature)),
    ),
)
