r"""AEPO, introduction: AEPO can approximate arbitrary functions of time. False: it has a speed
limit.

"Even theoretically capable of approximating" names neither a rate nor an error; arbitrary functions
include steps, and eight update steps for one is a choice made here. Any other number fails the same way
at a smaller learning rate.

One state, exact expected steps with GRPO of weight kappa, alpha = 1. Whatever the temperatures,

    |log H_{k+1} - log H_k| <= 2 eta (kappa + 1):

so at a given learning rate a faster function is not followed, such as a jump; nor is, at any learning
rate, a value above log|A*| (``extension.entropy-ceiling``). The bound holds for every softmax policy:
along a logit step of range rho, |dH/ds| = |Cov(log pi, dz)| <= rho H.

Repaired, on the solved face with two answers, T = 1.25/0.8 and eta <= 2: if the target's log-odds
D* move by at most delta a step, the error e_k = |D_k - D*_k| obeys e_{k+1} <= max(e_k - s_k, eta/8)
+ delta, s_k = eta |f_T(D_k)| the step that temperature allows there. So a target below log 2 that
is slower than s_k is followed within max(e_0, eta/8 + delta), and the entropy within a quarter of
that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory.claims.extensions.entropy_ceiling import SOME_WRONG, aepo_step, ceiling
from entropy_theory.claims.extensions.long_runs import entropies, switch
from entropy_theory.claims.extensions.solved_face import (
    entropy_per_gap,
    order_is_kept,
    speed,
    switch_temperature,
    towards_target,
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
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment

STEPS = 8
TEMPERATURE = Scalar(name="temperature", low=0.05, high=20.0, grid=(Fraction(5, 4), Fraction(4, 5)))
TARGET_GAP = Scalar(name="target_gap", low=0.05, high=6.0, grid=(1, 2))
LEARNING_RATE = Scalar(name="learning_rate", low=0.01, high=2.0, grid=(Fraction(1, 100), 1))
GRPO_WEIGHT = Scalar(name="grpo_weight", low=0.01, high=4.0, grid=(1,))
DRIFT = Scalar(name="drift", low=0.001, high=0.5, grid=(Fraction(1, 10),))


def _reach(i: Cases) -> Reals:
    """Room between 0.9 and 1.1 of the target and what eight steps can reach from here."""
    now, target = ar.entropy(i.logits), two_answer_entropy(i.target_gap)
    most = np.exp(2 * STEPS * i.learning_rate * (i.grpo_weight + 1))
    highest = ar.minimum(most * now, ceiling(i.logits, i.correct))
    return np.stack([highest - 9 * target / 10, 11 * target / 10 - now / most], axis=-1)


def _speed_limit(i: Cases, share: int = 1) -> Reals:
    """e^rho H - H' and e^rho H' - H, rho = 2 eta (kappa + 1)."""
    step = aepo_step(i.logits, i.correct, i.temperature, i.grpo_weight)
    now = ar.entropy(i.logits)
    then = ar.entropy(i.logits + ar.per_action(i.learning_rate) * step)
    most = np.exp(2 * i.learning_rate * (i.grpo_weight + 1) / share)
    return np.stack([most * now - then, most * then - now], axis=-1)


def _tracking(i: Cases, drift: int = 1, share: int = 8) -> Reals:
    """max(e - s, eta/8) + drift * delta - e'."""
    gap = ar.largest(i.logits) - ar.smallest(i.logits)
    target = i.target_gap
    is_low = ar.less(two_answer_entropy(gap), two_answer_entropy(target))
    move = -i.learning_rate * speed(gap, switch_temperature(is_low, gap))
    error = gap - target
    bound = ar.maximum(np.abs(error) - np.abs(move), i.learning_rate / share)
    # The target moves away by delta, the worse of its two directions: delta stands on both sides.
    return (bound - np.abs(error + move) + (drift - 1) * i.drift)[..., None]


def _repaired_margin(i: Cases) -> Reals:
    return np.concatenate([_speed_limit(i), _tracking(i)], axis=-1)


def _proof() -> tuple[Step, ...]:
    def any_center() -> symbolic.Expression:
        import sympy

        m = symbolic.Moments("L x")
        c = sympy.Symbol("c")
        return m.expect((m["L"] - m.expect(m["L"])) * (m["x"] - c)) - m.covariance(m["L"], m["x"])

    def twice() -> symbolic.Expression:
        m = symbolic.Moments("L")
        entropy = -m.expect(m["L"])
        return m.expect(entropy - m["L"]) - 2 * entropy

    _, towards = law = towards_target()
    return (
        symbolic.softmax_rule(),
        symbolic.entropy_slope(statement="along dz: dH/ds = -Cov(log pi, dz)"),
        symbolic.identity("any center", "Cov(log pi, dz) = E[(log pi + H)(dz - c)] for every c",
                          any_center),
        symbolic.identity("mean distance", "E[H - log pi] = 2 H", twice),
        smt.lemma(
            "each term", "|(log pi + H)(dz - c)| <= (rho/2)(H - log pi), c the middle of the range",
            "L H d rho",
            lambda v: [v.L <= 0, v.H >= 0, v.rho >= 0, 2 * v.d <= v.rho, -2 * v.d <= v.rho],
            lambda v: smt.all_of(2 * (v.L + v.H) * v.d <= v.rho * (v.H - v.L),
                                 -2 * (v.L + v.H) * v.d <= v.rho * (v.H - v.L)),
        ),
        smt.lemma(
            "range of a step", "every entry of kappa grad p + (1_{A*} pi^T - P_T pi) is within "
                               "+-(kappa + 1)",
            "kappa p P pi hot right entry",
            lambda v: [v.kappa >= 0, v.p >= 0, v.p <= 1, v.P >= 0, v.P <= 1, v.pi >= 0, v.pi <= 1,
                       v.hot >= 0, v.hot <= 1, v.right * (1 - v.right) == 0,
                       v.entry == v.kappa * v.pi * (v.right - v.p) + v.right * v.hot - v.P * v.pi],
            lambda v: smt.all_of(v.entry <= v.kappa + 1, -v.entry <= v.kappa + 1),
        ),
        smt.lemma(
            "speed limit of entropy", "|dH/ds| <= rho H, rho <= 2 eta (kappa + 1)",
            "slope H S rho eta kappa",
            lambda v: [v.H >= 0, v.eta > 0, v.kappa >= 0, v.rho <= 2 * v.eta * (v.kappa + 1),
                       v.S == 2 * v.H, 2 * v.slope <= v.rho * v.S, -2 * v.slope <= v.rho * v.S],
            lambda v: smt.all_of(v.slope <= 2 * v.eta * (v.kappa + 1) * v.H,
                                 -v.slope <= 2 * v.eta * (v.kappa + 1) * v.H),
            uses=("entropy slope", "any center", "mean distance", "each term", "range of a step"),
            axioms=("the triangle inequality for a finite sum",),
        ),
        *order_is_kept(),
        *law,
        smt.lemma(
            "one step of tracking", "e' <= max(e - s, eta/8) + delta",
            "D Dstar s eta f moved a b c delta next e",
            lambda v: [
                *towards.premises(v), towards.instance(**{n: getattr(v, n) for n in towards.variables}),
                v.delta >= 0, v.next - v.Dstar <= v.delta, v.Dstar - v.next <= v.delta,
                v.e >= v.D - v.Dstar, v.e >= v.Dstar - v.D,
            ],
            lambda v: smt.all_of(*(
                smt.any_of(side * (v.moved - v.next) <= v.e - v.s + v.delta,
                           8 * (side * (v.moved - v.next) - v.delta) <= v.eta) for side in (1, -1))),
            uses=("towards the target",),
        ),
        *entropy_per_gap(),
        smt.lemma(
            "slow targets are followed",
            "s >= delta at every step: e' <= max(e, eta/8 + delta), and |H - H*| <= e/4; and log H "
            "moves by at most rho a step",
            "e s eta delta moved bound dH slope",
            lambda v: [v.e >= 0, v.s >= v.delta, v.delta >= 0, v.eta > 0,
                       smt.any_of(v.moved <= v.e - v.s + v.delta, 8 * (v.moved - v.delta) <= v.eta),
                       v.moved >= 0, v.bound >= v.e, 8 * (v.bound - v.delta) >= v.eta,
                       4 * v.slope <= 1, v.dH <= v.slope * v.moved],
            lambda v: smt.all_of(v.moved <= v.bound, 4 * v.dH <= v.bound),
            uses=("one step of tracking", "entropy per gap", "speed limit of entropy"),
            axioms=("Gronwall: |d log H/ds| <= rho gives |log H' - log H| <= rho", "mean value theorem"),
        ),
    )


def _follows() -> tuple[bool, str]:
    start = np.log([6.0, 4.0, 0.02, 0.02])
    right = (1, 1, 0, 0)

    def worst(target: Callable[[int], float], since: int = 60, jump: int = 400) -> float:
        path = entropies(start, right, switch(target), steps=400)
        return max(abs(h - target(k)) for k, h in enumerate(path[:400])
                   if k >= since and not jump <= k < jump + 60)

    errors = {
        "step .2 to .5 (60 steps after it)": worst(lambda k: 0.2 if k < 200 else 0.5, jump=200),
        "ramp .2 to .6": worst(lambda k: 0.2 + 0.001 * k),
        "sine .4 +- .15, period 200": worst(lambda k: 0.4 + 0.15 * float(np.sin(np.pi * k / 100))),
    }
    fast = worst(lambda k: 0.4 + 0.15 * float(np.sin(np.pi * k / 4)))
    above = worst(lambda k: 1.0)
    found = [f"{name}: {error:.3f}" for name, error in errors.items()]
    shown = max(errors.values()) < 0.035 and fast > 0.1 and above > 0.25
    return shown, (f"largest error, eta 0.5, two right answers of four: {', '.join(found)}; sine "
                   f"of period 8: {fast:.3f}; constant 1.0, above log 2: {above:.3f}")


_statement = Statement(
    latex=r"From every start some temperatures bring the entropy within 10 % of any value below "
          r"$\log 2$ in eight steps (as a step function asks for).",
    margin=_reach,
    conditions=(SOME_WRONG,),
)

_repaired = Statement(
    latex=r"$|\log H_{k+1} - \log H_k| \le 2\eta(\kappa + 1)$ for any temperatures. On the solved "
          r"face with two answers, $T = 1.25/0.8$, $\eta \le 2$: $e_{k+1} \le \max(e_k - s_k, "
          r"\frac\eta8) + \delta$ for targets whose log-odds move by at most $\delta$ a step, $s_k "
          r"= \eta|f_T(D_k)|$; so those with $\delta \le s_k$ are followed within $\max(e_0, "
          r"\frac\eta8 + \delta)$.",
    margin=_repaired_margin,
    proof=_proof(),
)

tracking = Claim(
    id="aepo.tracking",
    source="AEPO, Section 1 (approximating arbitrary functions)",
    title="Entropy can follow a step function within eight steps (one tabular state)",
    scope="one tabular state, exact expectation, along 8 steps; the repair for every step of a solved "
          "state with two answers",
    statement=_statement,
    instances=bandit_instances(TEMPERATURE, TARGET_GAP, LEARNING_RATE, GRPO_WEIGHT, DRIFT,
                               actions=(2, 5)),
    repair=_repaired,
    repair_is="instead",
    repair_note="below log |A*|, and slower than temperature can move the entropy there (two answers)",
    experiments=(experiment(
        "step, ramp, sine",
        "slow targets below log 2 are followed, a fast sine and a target above log 2 are not",
        _follows),),
    mutants=(
        Mutant(name="an eighth of the speed limit",
               statement=variant(_repaired, margin=lambda i: _speed_limit(i, share=8))),
        Mutant(name="the error does not feel the target's motion",
               statement=variant(_repaired, margin=lambda i: _tracking(i, drift=0))),
        Mutant(name="entropy never rises",
               statement=variant(_repaired, margin=lambda i: ar.entropy(i.logits) - ar.entropy(
                   i.logits + ar.per_action(i.learning_rate) * aepo_step(
                       i.logits, i.correct, i.temperature, i.grpo_weight)))),
    ),
)
