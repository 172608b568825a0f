r"""Extension of AEPO: on the solved face temperature steers entropy both ways, ties aside.

One state whose m answers are all right, dz = eta (q^T - q) with eta <= 2. For every nonuniform q:

- F(T) has the sign of T - 1;
- the range of the logits falls strictly for T > 1, grows strictly for T < 1, and rests at T = 1;
- two logits that differ by D move apart or together by at most (eta/2) max(1, 1/T) D: tied answers
  stay tied for ever, and for eta <= 2 their order stays.

Hence a constant T > 1 leads to the uniform policy (H -> log m), and a constant T < 1 to the uniform
policy on the k likeliest answers (H -> log k). Every entropy between log k and log m is passed, none
below log k: from (2, 2, 1) no sequence of temperatures brings H below log 2.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE
from entropy_theory.claims.extensions.long_runs import constant, entropies
from entropy_theory.claims.extensions.solved_face import (
    TANH,
    at_rate,
    face_rate,
    face_step,
    order_is_kept,
    range_fall,
    sign_of_rate,
    top_gap_law,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Scalar,
    Statement,
    Step,
    bandit_instances,
    smt,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment

SMALL_RATE = Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1, Fraction(1, 2), 2))


def _step(i: Cases) -> Reals:
    return ar.per_action(i.learning_rate) * face_step(i.logits, i.temperature)


def _pairs(values: Reals) -> Reals:
    return values[..., :, None] - values[..., None, :]


def _over_pairs(values: Reals) -> Reals:
    return ar.smallest(values.reshape(*values.shape[:-2], -1))


def _lipschitz(i: Cases, share: int = 1) -> Reals:
    """(eta/2) max(1, 1/T) |z_i - z_j| - |dz_i - dz_j|, the smallest over pairs."""
    most = i.learning_rate * ar.maximum(0 * i.temperature + 1, 1 / i.temperature) / (2 * share)
    room = most[..., None, None] * np.abs(_pairs(i.logits)) - np.abs(_pairs(_step(i)))
    return _over_pairs(room)


def _both_ways(i: Cases) -> Reals:
    hotter = i.temperature - 1
    return np.stack([hotter * face_rate(i.logits, i.temperature),
                     hotter * range_fall(i.logits, _step(i)), _lipschitz(i)], axis=-1)


def _every_pair_draws_together(i: Cases) -> Reals:
    """The smallest fall of |z_i - z_j| over pairs, for T > 1; the order is kept."""
    step = _pairs(_step(i))
    sign = np.sign(_pairs(i.logits)) if not ar.is_exact(i.logits) else _sign(_pairs(i.logits))
    return (i.temperature - 1) * _over_pairs(-sign * step)


def _sign(values: Reals) -> Reals:
    return np.where(ar.less(values, 0 * values), -1, np.where(ar.less(0 * values, values), 1, 0))


def _limits(sign: smt.Lemma, gap: smt.Lemma) -> tuple[smt.Lemma, ...]:
    return (
        smt.lemma(
            "finitely many steps",
            "while the range is >= L > 0 a constant T > 1 takes off at least d > 0 a step: N d <= R - L; "
            "so H -> log m. For T < 1 the same with the gap below the top, which exceeds every bound",
            "N d start last bound",
            lambda v: [v.N >= 0, v.d > 0, v.last <= v.start - v.N * v.d, v.last >= v.bound],
            lambda v: v.N * v.d <= v.start - v.bound,
            uses=("top gap",),
            axioms=("q, its closure included, runs through a compact set on which the change of a gap "
                    "is continuous and not zero: it has a smallest value d > 0",),
        ),
        smt.lemma(
            "floor of ties", "k tied likeliest answers have H >= -log q_1 >= log k, for ever",
            "H top k log_top log_k",
            lambda v: [v.k >= 1, v.top > 0, v.k * v.top <= 1, -v.log_top <= v.H,
                       v.log_top <= -v.log_k],
            lambda v: v.log_k <= v.H,
            uses=("order is kept",),
            axioms=("H = E[-log q] >= -log q_1", "log is increasing: k q_1 <= 1 gives log q_1 <= -log k"),
        ),
        smt.lemma(
            "pairs", "|dz_i - dz_j| <= (eta/2) max(1, 1/T) |z_i - z_j|", "T eta D t u s sT move most",
            lambda v: [
                v.T > 0, v.eta > 0, v.D >= 0, v.s > 0, v.s <= 1, v.sT > 0, v.sT <= 1,
                v.t >= 0, v.u >= 0, 2 * v.t <= v.D, 2 * v.u * v.T <= v.D,
                v.move == v.eta * (v.sT * v.u - v.s * v.t),
                v.most >= v.eta / 2, v.most * v.T >= v.eta / 2,
            ],
            lambda v: smt.all_of(v.move <= v.most * v.D, -v.move <= v.most * v.D),
            uses=("difference of probabilities",), axioms=(TANH,),
        ),
        smt.lemma(
            "assembly", "(T - 1) F(T) and (T - 1) times the fall of the range are positive",
            "T F F1 k1 kT g1 gT eta q1 qa r1 ra R hot cold fall",
            lambda v: [
                v.T > 0, v.T != 1, *sign.premises(at_rate(v)), sign.instance(**vars(at_rate(v))),
                *gap.premises(v), gap.instance(**{name: getattr(v, name) for name in gap.variables}),
                # The range is the gap between the likeliest and the least likely answer.
                v.fall == -v.eta * (v.q1 * (v.r1 - 1) - v.qa * (v.ra - 1)),
                smt.implies(v.T > 1, v.hot == 1), smt.implies(v.T < 1, v.cold == 1),
            ],
            lambda v: smt.all_of((v.T - 1) * v.F > 0, (v.T - 1) * v.fall > 0),
            uses=("sign of the rate", "top gap", "order is kept", "pairs", "finitely many steps",
                  "floor of ties"),
        ),
    )


def _proof() -> tuple[Step, ...]:
    rate, gap = sign_of_rate(), top_gap_law()
    return (*rate, *gap, *order_is_kept(), *_limits(rate[-1], gap[-1]))


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


_statement = Statement(
    latex=r"On the solved face, for $\eta \le 2$: $F(T)$ and the fall of the logits' range have the sign "
          r"of $T - 1$ (zero only at $T = 1$ or a uniform $q$), and $|\Delta z_i - \Delta z_j| \le "
          r"\frac\eta2\max(1, \frac1T)|z_i - z_j|$. So a constant $T > 1$ leads to $H = \log m$, a "
          r"constant $T < 1$ to $\log k$ with $k$ the number of likeliest answers, below which no "
          r"temperatures lead.",
    margin=_both_ways,
    proof=_proof(),
)

face_controllability = Claim(
    id="extension.face-controllability",
    source="Extension of AEPO, Corollary 4.4 (a state that is solved)",
    title="On the solved face temperature steers entropy both ways, except across ties",
    scope="one tabular state on which every action is right, exact expectation, one step, "
          "and so every one; the limit",
    statement=_statement,
    instances=bandit_instances(TEMPERATURE, SMALL_RATE, actions=(2, 6), correct=False),
    experiments=(experiment("both ends", "600 exact steps reach the two limits, and ties hold the "
                            "entropy up", _to_the_ends),),
    mutants=(
        Mutant(name="every pair draws together for T > 1, apart for T < 1",
               statement=variant(_statement, margin=_every_pair_draws_together)),
        Mutant(name="high temperature lowers entropy",
               statement=variant(_statement, margin=lambda i: -(i.temperature - 1)
                                 * face_rate(i.logits, i.temperature))),
        Mutant(name="the range moves the other way",
               statement=variant(_statement, margin=lambda i: -(i.temperature - 1)
                                 * range_fall(i.logits, _step(i)))),
        Mutant(name="a Lipschitz constant of half the size",
               statement=variant(_statement, margin=lambda i: _lipschitz(i, share=2))),
    ),
)
