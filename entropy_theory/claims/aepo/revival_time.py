r"""AEPO, Section 4.1: high temperature counteracts a collapse. True, after a time like e^{D/T}.

On the solved face (all m answers right, dz = eta (q^T - q), T > 1, eta <= 2) let D be the gap between
the likeliest answer and the next, and V = e^{D/T}. At every step and for any m,

    z_1 - z_a falls by at most 2 eta (m - 1) / V,         so V falls by at most 2 eta (m - 1)/T.

For m = 2 it also falls by at least eta c(D)/(T + eta), with
c(D) = 2 (1 - e^{-D(1 - 1/T)}) / ((1 + e^{-D/T})(1 + e^{-D})), which increases with D. So the number N of
steps from the gap D down to D_N obeys

    T/(2 eta) (e^{D/T} - e^{D_N/T})  <=  N  <=  (T + eta)/(eta c(D_N)) (e^{D/T} - e^{D_N/T}):

a policy that collapsed does revive, after a time exponential in its log-odds over T_high.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import HIGH_TEMPERATURE
from entropy_theory.claims.extensions.long_runs import constant, entropies, steps_to
from entropy_theory.claims.extensions.solved_face import (
    face_step,
    order_is_kept,
    speed,
    two_answer_entropy,
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
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Real, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment

STEPS = 8


def top_gap(logits: Reals) -> Reals:
    """z_1 - z_2: the likeliest answer above the next (0 for a tie)."""
    if ar.is_exact(logits):
        ordered = logits
        for _ in range(logits.shape[-1] - 1):  # bubble sort, so that overlapping balls stay enclosed
            for k in range(logits.shape[-1] - 1):
                low = ar.minimum(ordered[..., k], ordered[..., k + 1])
                high = ar.maximum(ordered[..., k], ordered[..., k + 1])
                ordered = np.concatenate([ordered[..., :k], low[..., None], high[..., None],
                                          ordered[..., k + 2:]], axis=-1)
    else:
        ordered = np.sort(logits, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


def slowness(gap: Reals | Real, temperature: Reals | Real) -> Reals:
    """c(D) = f_T(D) e^{D/T}."""
    return speed(gap, temperature) * np.exp(gap / temperature)


def largest_fall(logits: Reals, temperature: Reals) -> Reals:
    """An upper bound of the fall of the likeliest answer's gap to any other, per unit learning rate."""
    step = face_step(logits, temperature)
    if ar.is_exact(logits):
        # Whichever answer is the likeliest: the largest fall over pairs, upper one first.
        rows, fall = logits[0], None
        top = max(range(len(rows)), key=lambda a: float(rows[a].mid()))
        for a in range(len(rows)):
            this = step[0, a] - step[0, top]
            fall = this if fall is None else fall.max(this)
        return np.array([fall], dtype=object)
    is_top = np.arange(logits.shape[-1]) == np.argmax(logits, axis=-1)[..., None]
    others = np.where(is_top, 0.0, step)
    # The steps sum to zero, which keeps the digits of q_1 - q^T_1 near a deterministic policy.
    return np.max(np.where(is_top, -np.inf, others), axis=-1) + np.sum(others, axis=-1)


def _slowest(i: Cases, share: int = 1) -> Reals:
    """2 (m - 1)/V minus the largest fall of a gap per unit learning rate."""
    limit = 2 * (i.logits.shape[-1] - 1) * np.exp(-top_gap(i.logits) / i.temperature)
    return limit / share - largest_fall(i.logits, i.temperature)


def _both_bounds(i: Cases, base: Reals | None = None) -> Reals:
    """Room in both bounds on N = 1..8 steps of two answers, divided by e^{D/T}."""
    temperature, rate = i.temperature, i.learning_rate
    start = top_gap(i.logits)
    scale = np.exp(-start / (temperature if base is None else base))
    fallen, rooms = 0 * start, []
    for steps in range(1, STEPS + 1):
        fallen = fallen + rate * speed(start - fallen, temperature)
        loss = -np.expm1(-fallen / (temperature if base is None else base))
        c = slowness(start - fallen, temperature)
        rooms += [2 * steps * rate / temperature * scale - loss,
                  loss - steps * rate * c / (temperature + rate) * scale]
    return np.stack(rooms, axis=-1)


def _revives(i: Cases) -> Reals:
    return np.concatenate([_slowest(i)[..., None], _both_bounds(i)], axis=-1)


def _proof() -> tuple[Step, ...]:
    def two_answers() -> symbolic.Expression:
        import sympy

        u, w = sympy.symbols("u w", positive=True)  # e^{-D/T}, e^{-D}
        step = (1 - u) / (1 + u) - (1 - w) / (1 + w)
        return step + 2 * (u - w) / ((1 + u) * (1 + w))

    def slope() -> symbolic.Expression:
        import sympy

        # As a function of D: u = e^{-D/T} and w = e^{-D} have du = -u/T, dw = -w.
        u, w, t = sympy.symbols("u w T", positive=True)
        c = 2 * (1 - w / u) / ((1 + u) * (1 + w))
        terms = (1 - 1 / t) * w / (u - w) + (u / t) / (1 + u) + w / (1 + w)
        return sympy.together(sympy.diff(c, u) * (-u / t) - sympy.diff(c, w) * w - c * terms)

    fall = smt.lemma(
        "fall of a gap", "(z_1 - z_a) falls by at most 2 eta (m - 1) e^{-D/T} in a step",
        "eta q1 qa p1 pa W k E drop",
        lambda v: [v.eta > 0, v.k >= 1, v.E > 0, v.k * v.E >= v.W, v.p1 * (1 + v.W) == 1, v.W > 0,
                   v.q1 <= 1, v.qa >= 0, v.pa <= 1 - v.p1,
                   v.drop == v.eta * ((v.q1 - v.p1) + (v.pa - v.qa))],
        lambda v: v.drop <= 2 * v.eta * v.k * v.E,
        axioms=("q^T_1 = 1/(1 + W) with W = sum_{a > 1} e^{-(z_1 - z_a)/T} <= (m - 1) e^{-D/T}",),
    )
    up = smt.lemma(
        "V falls slowly", "V' >= V - 2 eta (m - 1)/T", "eta q1 qa p1 pa W k E drop T V moved",
        lambda v: [*fall.premises(v), fall.instance(**{n: getattr(v, n) for n in fall.variables}),
                   v.T > 1, v.V > 0, v.V * v.E == 1, v.moved >= v.V * (1 - v.drop / v.T)],
        lambda v: v.moved >= v.V - 2 * v.eta * v.k / v.T,
        uses=("fall of a gap",), axioms=("e^{-x} >= 1 - x: V' = e^{(D - drop)/T} >= V (1 - drop/T)",),
    )
    down = smt.lemma(
        "V falls surely", "for two answers V - V' >= eta c/(T + eta)", "eta T V f c moved",
        lambda v: [v.eta > 0, v.T > 1, v.V > 0, v.f >= 0, v.f <= 1, v.c == v.f * v.V,
                   v.moved * (1 + v.eta * v.f / v.T) <= v.V],
        lambda v: (v.V - v.moved) * (v.T + v.eta) >= v.eta * v.c,
        uses=("speed of two answers",),
        axioms=("e^x >= 1 + x: V' (1 + eta f/T) <= V", "0 <= f < 1: a difference of two tanh"),
    )
    return (
        symbolic.identity("speed of two answers",
                          "dD = -eta f, f = tanh(D/2) - tanh(D/(2T)) = 2 (e^{-D/T} - e^{-D})/((1 + "
                          "e^{-D/T})(1 + e^{-D})), and c = f e^{D/T}", two_answers),
        *order_is_kept(),
        fall, up, down,
        symbolic.identity("slope of log c", "with u = e^{-D/T}, w = e^{-D}: c'/c = (1 - 1/T) w/(u - w) "
                          "+ (u/T)/(1 + u) + w/(1 + w)", slope),
        smt.lemma("c increases", "c'/c > 0 for T > 1, D > 0", "T u w one two three",
                  lambda v: [v.T > 1, v.w > 0, v.u > v.w, v.one * (v.u - v.w) == (1 - 1 / v.T) * v.w,
                             v.two * (1 + v.u) * v.T == v.u, v.three * (1 + v.w) == v.w],
                  lambda v: v.one + v.two + v.three > 0,
                  uses=("slope of log c",), axioms=("e^{-D/T} > e^{-D}",)),
        smt.lemma(
            "number of steps",
            "T (V - V_N)/(2 eta (m - 1)) <= N, and for m = 2 N <= (T + eta)(V - V_N)/(eta c(D_N))",
            "N eta T k V last c sum_up sum_down",
            lambda v: [v.N >= 1, v.eta > 0, v.T > 1, v.k >= 1, v.c >= 0,
                       v.last >= v.V - v.sum_up, v.sum_up * v.T <= v.N * 2 * v.eta * v.k,
                       v.last <= v.V - v.sum_down, v.sum_down * (v.T + v.eta) >= v.N * v.eta * v.c],
            lambda v: smt.all_of(v.T * (v.V - v.last) <= 2 * v.eta * v.k * v.N,
                                 v.N * v.eta * v.c <= (v.T + v.eta) * (v.V - v.last)),
            uses=("V falls slowly", "V falls surely", "c increases", "order is kept"),
            axioms=("a sum of N terms lies between N times its smallest and N times its largest; the gap "
                    "falls, not below 0, so that c(D_k) >= c(D_N)",),
        ),
    )


def _known_times() -> tuple[bool, str]:
    """Steps from gaps 4, 6, 8 up to H = 0.35 at T = 1.25, eta = 0.5."""
    found, shown = [], True
    for gap, known in ((4.0, 59), (6.0, 252), (8.0, 1043)):
        path = entropies((gap, 0.0), (True, True), constant(1.25), steps=known + 1)
        steps = steps_to(path, 0.35)
        last = _gap_of(path[steps - 1])
        fall = np.exp(gap / 1.25) - np.exp(last / 1.25)
        low = 1.25 / (2 * 0.5) * fall
        high = 1.75 / (0.5 * float(slowness(np.float64(last), np.float64(1.25)))) * fall
        shown = shown and steps == known and low <= steps - 1 <= high
        found.append(f"D={gap:.0f}: {steps} (bounds {low:.0f} to {high:.0f}; e^(D/T) = "
                     f"{np.exp(gap / 1.25):.0f})")
    return shown, "steps to H >= 0.35 at T = 1.25, eta = 0.5: " + ", ".join(found)


def _gap_of(entropy: float) -> float:
    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if two_answer_entropy(np.float64(middle)) > entropy else (low, middle)
    return low


_statement = Statement(
    latex=r"On the solved face, for $T > 1$ and $\eta \le 2$: each step lowers $z_1 - z_a$ by at "
          r"most $2\eta(m-1)e^{-D/T}$. For two answers the number $N$ of steps from the gap $D$ to "
          r"$D_N$ obeys $\frac{T}{2\eta}(e^{D/T} - e^{D_N/T}) \le N \le "
          r"\frac{T+\eta}{\eta\,c(D_N)}(e^{D/T} - e^{D_N/T})$.",
    margin=_revives,
    proof=_proof(),
)

revival_time = Claim(
    id="aepo.revival-time",
    source="AEPO, Section 4.1 (collapse can be counteracted) and Figure 2",
    title="A collapsed policy revives, after a time like e^{D/T} (solved tabular state)",
    scope="one tabular state on which every action is right, exact expectation, along 8 steps; the "
          "number of steps for two answers",
    statement=_statement,
    instances=bandit_instances(
        HIGH_TEMPERATURE,
        Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1, Fraction(1, 2), 2)),
        actions=(2, 6), correct=False,
    ),
    experiments=(experiment("times from gaps 4, 6 and 8", "exact runs revive within the bounds",
                            _known_times),),
    mutants=(
        Mutant(name="the factor m - 1 halved",
               statement=variant(_statement, margin=lambda i: _slowest(i, share=2))),
        Mutant(name="a time like e^D",
               statement=variant(_statement, margin=lambda i: _both_bounds(
                   i, base=1 + 0 * i.temperature))),
        Mutant(name="revival below T = 1 too", statement=variant(_statement, margin=_both_bounds),
               instances=bandit_instances(
                   Scalar(name="temperature", low=0.1, high=0.95, grid=(Fraction(1, 2),)),
                   Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1,)),
                   actions=(2, 6), correct=False)),
    ),
)
