r"""Extension of AEPO: a collapse that GRPO causes among the right answers is temporary.

One state, m right answers of n, exact expected steps of GRPO (weight kappa >= 0) and tempered
REINFORCE (alpha = 1) at T > 1, eta <= 2. Let R be the range of the right logits (the gap between
the likeliest and the least likely right answer) and B the least likely right logit minus the
largest wrong one. Exactly:

- B never falls: dz_b = kappa pi_b (1 - p) + P_T (q^T_b - pi_b) >= 0, as q^T_b >= q_b >= pi_b for T
  > 1, and every wrong logit falls;
- R' - R <= eta [(kappa + 1)(n - m) e^{-B-R} - P_T (e^{-R/T}/m - e^{-R})].

GRPO draws the right answers apart by e^{-R} at most, temperature brings them together by e^{-R/T},
which is far more once R is large: above R_c = log(m (1 + (kappa + 1)(n - m) e^{-B}/P_T)) / (1 -
1/T) the range falls at every step. So R is bounded, and entropy stays away from zero however weak
the temperature. Since moreover 1 - p -> 0, GRPO fades while the least likely right answer keeps
gaining, q^T_b - q_b >= (e^{-R/T} - e^{-R})/m^2: hence R -> 0 and H -> log m at a constant T > 1.
AEPO's switch stays at T_high while the entropy is below its target, and so comes back to every
target below log m; but a collapse may last long, a time like e^{R/T} (``aepo.revival-time``).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import HIGH_TEMPERATURE
from entropy_theory.claims.extensions.entropy_ceiling import SOME_WRONG, aepo_step, learns
from entropy_theory.claims.extensions.long_runs import entropies, switch
from entropy_theory.claims.extensions.solved_face import conditional, order_is_kept
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
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment

GRPO_WEIGHT = Scalar(name="grpo_weight", low=0.01, high=10.0, grid=(1,))
LEARNING_RATE = Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1, 2))


def _range(logits: Reals, correct: Mask) -> Reals:
    return ar.largest(logits, correct) - ar.smallest(logits, correct)


def range_change(i: Cases) -> Reals:
    """R' - R; the order of the right logits is kept."""
    if ar.is_exact(i.logits):
        step = aepo_step(i.logits, i.correct, i.temperature, i.grpo_weight)
        moved = i.logits + ar.per_action(i.learning_rate) * step
        return _range(moved, i.correct) - _range(i.logits, i.correct)
    pi, tempered = ar.softmax(i.logits), ar.softmax(i.logits, i.temperature)
    p, wrong, mass = ar.total(pi, i.correct), ar.total(pi, ~i.correct), ar.total(tempered, i.correct)
    q, hot = conditional(i.logits, i.correct), conditional(i.logits, i.correct, i.temperature)
    rows = np.arange(len(q))
    top = np.argmax(np.where(i.correct, i.logits, -np.inf), axis=-1)
    bottom = np.argmin(np.where(i.correct, i.logits, np.inf), axis=-1)
    # q_1 - q^T_1 is summed over the others, which keeps its digits near a deterministic policy.
    rise = hot - q
    top_fall = np.sum(rise, axis=-1, where=np.arange(q.shape[-1]) != top[:, None])
    apart = (i.grpo_weight * p + mass) * wrong * (q[rows, top] - q[rows, bottom])
    together = np.where(top == bottom, 0.0, mass * (top_fall + rise[rows, bottom]))
    return i.learning_rate * (apart - together)


def _room(i: Cases, shared: bool = True) -> Reals:
    """The bound on R' - R minus R' - R, per unit learning rate; without 1/m if not ``shared``."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    m, others = ar.total(one, i.correct), ar.total(one, ~i.correct)
    spread = _range(i.logits, i.correct)
    # (n - m) e^{-B-R}, as B + R is the likeliest right logit minus the largest wrong one.
    wrong = others * np.exp(ar.largest(i.logits, ~i.correct) - ar.largest(i.logits, i.correct))
    mass = ar.total(ar.softmax(i.logits, i.temperature), i.correct)
    together = np.exp(-spread / i.temperature) / (m if shared else 1) - np.exp(-spread)
    return (i.grpo_weight + 1) * wrong - mass * together - range_change(i) / i.learning_rate


def _lead(i: Cases, of: Callable[[Reals, Mask], Reals] = ar.smallest) -> Reals:
    """A lower bound of what the least likely right logit gains on the wrong ones in a step."""
    step = aepo_step(i.logits, i.correct, i.temperature, i.grpo_weight)
    moved = i.logits + ar.per_action(i.learning_rate) * step
    before = of(i.logits, i.correct) - ar.largest(i.logits, ~i.correct)
    return of(moved, i.correct) - ar.largest(moved, ~i.correct) - before


def _proof() -> tuple[Step, ...]:
    def right_step() -> symbolic.Expression:
        import sympy

        kappa, p, q, hot, mass = sympy.symbols("kappa p q_a q^T_a P_T")
        step = kappa * p * q * (1 - p) + mass * hot - mass * p * q
        return step - ((kappa * p + mass) * (1 - p) * q + mass * (hot - q))

    gain = smt.lemma(
        "gain of the weakest right answer",
        "q^T_b - q_b >= (e^{-R/T} - e^{-R})/m^2 >= 0",
        "m sx sy x y hot q",
        # sx = sum e^{z_a - z_b} and sy = sum e^{(z_a - z_b)/T} over A*, x = e^R, y = e^{R/T}.
        lambda v: [v.m >= 1, v.y >= 1, v.x >= v.y, v.sy >= 1, v.sx - v.sy >= v.x - v.y,
                   v.sx <= v.m * v.x, v.sy <= v.m * v.y, v.hot * v.sy == 1, v.q * v.sx == 1],
        lambda v: smt.all_of((v.hot - v.q) * v.m * v.m * v.x * v.y >= v.x - v.y, v.hot >= v.q),
        axioms=("e^g >= e^{g/T} for g >= 0: the likeliest right answer has g = R, no term exceeds "
                "e^R or e^{R/T}",),
    )
    lead = smt.lemma(
        "the weakest right answer rises", "dz_b >= 0, so that B does not fall", "kappa p q hot mass step",
        lambda v: [v.kappa >= 0, v.p > 0, v.p < 1, v.mass > 0, v.q > 0, v.hot >= v.q,
                   v.step == (v.kappa * v.p + v.mass) * (1 - v.p) * v.q + v.mass * (v.hot - v.q)],
        lambda v: v.step >= 0,
        uses=("step of a right answer", "gain of the weakest right answer", "wrong logits"),
    )
    change = smt.lemma(
        "change of the range", "R' - R <= eta [(kappa + 1)(1 - p) - P_T (q^T_b - q_b)]",
        "eta kappa p mass q1 qb t1 tb change",
        lambda v: [v.eta > 0, v.kappa >= 0, v.p > 0, v.p < 1, v.mass > 0, v.mass <= 1,
                   v.qb > 0, v.q1 >= v.qb, v.q1 <= 1, v.t1 <= v.q1,
                   v.change == v.eta * ((v.kappa * v.p + v.mass) * (1 - v.p) * (v.q1 - v.qb)
                                        + v.mass * (v.t1 - v.q1) - v.mass * (v.tb - v.qb))],
        lambda v: v.change <= v.eta * ((v.kappa + 1) * (1 - v.p) - v.mass * (v.tb - v.qb)),
        uses=("step of a right answer", "order is kept"),
        axioms=("the likeliest right answer loses probability when T rises above 1: q^T_1 <= q_1",
                "GRPO only draws right answers apart, so the order is kept with it too"),
    )
    bound = smt.lemma(
        "bound on the range",
        "R' - R <= eta [(kappa + 1) k e^{-B-R} - P_T (e^{-R/T}/m - e^{-R})], k = n - m",
        "eta kappa p mass q1 qb t1 tb change k m far hot cold W S",
        lambda v: [*change.premises(v),
                   change.instance(**{name: getattr(v, name) for name in change.variables}),
                   v.k >= 1, v.m >= 1, v.far > 0, v.W > 0, v.S >= 1, v.k * v.far >= v.W,
                   (1 - v.p) * (v.W + v.S) == v.W, v.m * v.tb >= v.hot, v.qb <= v.cold],
        lambda v: v.change <= v.eta * ((v.kappa + 1) * v.k * v.far
                                       - v.mass * (v.hot / v.m - v.cold)),
        uses=("change of the range",),
        axioms=("in units of the likeliest right weight: the right weights sum to S >= 1, the "
                "wrong ones to W <= (n - m) e^{-B-R}; q^T_b >= e^{-R/T}/m and q_b <= e^{-R}",),
    )
    return (
        *learns(),
        symbolic.identity(
            "step of a right answer",
            "dz_a = (kappa p + P_T)(1 - p) q_a + P_T (q^T_a - q_a), with pi_a = p q_a, pi^T_a = "
            "P_T q^T_a",
            right_step),
        gain,
        lead,
        *order_is_kept(),
        change,
        bound,
        smt.lemma(
            "above R_c the range falls",
            "e^{R (1 - 1/T)} > m (1 + (kappa + 1) k e^{-B}/P_T) gives R' < R",
            "eta kappa k m mass lead hot cold change ratio",
            lambda v: [v.eta > 0, v.kappa >= 0, v.k >= 1, v.m >= 1, v.mass > 0, v.lead > 0, v.cold > 0,
                       v.hot == v.ratio * v.cold,
                       v.ratio * v.mass > v.m * (v.mass + (v.kappa + 1) * v.k * v.lead),
                       v.change <= v.eta * ((v.kappa + 1) * v.k * v.lead * v.cold
                                            - v.mass * (v.hot / v.m - v.cold))],
            lambda v: v.change < 0,
            uses=("bound on the range",), axioms=("e^{-B-R} = e^{-B} e^{-R}",),
        ),
        smt.lemma(
            "the range stays bounded", "R <= M = max(R_0, R_c + eta (kappa + 1)) gives R' <= M",
            "R M Rc push change",
            lambda v: [v.R <= v.M, v.Rc + v.push <= v.M, v.push >= 0, v.change <= v.push,
                       smt.implies(v.Rc < v.R, v.change < 0)],
            lambda v: v.R + v.change <= v.M,
            uses=("above R_c the range falls", "change of the range", "right mass at T",
                  "the weakest right answer rises"),
            axioms=("one R_c serves all steps: it falls as B and P_T rise, and B >= B_0, P_T >= P_min",),
        ),
        smt.lemma(
            "the range vanishes",
            "where R >= r and 1 - p is small, R' - R <= -eta P_min d/2: so R -> 0, H -> log m",
            "eta kappa p mass least rise d change",
            lambda v: [v.eta > 0, v.kappa >= 0, v.least > 0, v.mass >= v.least, v.d > 0, v.rise >= v.d,
                       2 * (v.kappa + 1) * (1 - v.p) <= v.least * v.d,
                       v.change <= v.eta * ((v.kappa + 1) * (1 - v.p) - v.mass * v.rise)],
            lambda v: 2 * v.change <= -v.eta * v.least * v.d,
            uses=("change of the range", "gain of the weakest right answer", "few steps stay wrong",
                  "the range stays bounded"),
            axioms=("(e^{-R/T} - e^{-R})/m^2 has a positive minimum d on r <= R <= M",
                    "all but finitely many steps have 2 (kappa + 1)(1 - p) <= P_min d; below r the range "
                    "grows by at most eta (kappa + 1)(1 - p), which tends to 0"),
        ),
    )


def _down_and_back() -> tuple[bool, str]:
    two = (1, 1, 0, 0, 0, 0)
    found, shown = [], True
    for start in ((0.0, 2.0, 3.0, 0.0, 0.0, 0.0), (0.0, 3.0, 3.0, 0.0, 0.0, 0.0)):
        path = entropies(start, two, switch(0.35), learning_rate=2.0, steps=500, grpo=True)
        low = min(range(len(path)), key=path.__getitem__)
        shown = shown and path[low] < 0.1 and max(abs(h - 0.35) for h in path[-50:]) < 0.06
        found.append(f"{path[low]:.4f} at step {low}, {path[-1]:.3f} at step 500")
    return shown, ("GRPO in groups of 8 and AEPO, eta 2, T 1.25/0.8, target 0.35, two of six right: "
                   "lowest entropy " + "; ".join(found))


_statement = Statement(
    latex=r"With GRPO of any weight $\kappa \ge 0$ and $T > 1$, $\eta \le 2$: the least likely "
          r"right logit never falls behind the wrong ones, and the range $R$ of the right logits "
          r"obeys $R' - R \le \eta[(\kappa+1)(n-m)e^{-B-R} - P_T(\frac1m e^{-R/T} - e^{-R})]$. "
          r"At a constant $T$ and $\kappa$, $R$ stays bounded and tends to 0: no collapse among the "
          r"right answers lasts, and $H_k \to \log m$.",
    margin=lambda i: np.stack([_room(i), _lead(i)], axis=-1),
    conditions=(SOME_WRONG,),
    proof=_proof(),
)

transient_collapse = Claim(
    id="extension.transient-collapse",
    source="Extension of AEPO, Section 4.2 (GRPO and AEPO's term together, one tabular state)",
    title="A collapse that GRPO causes among the right answers is temporary, for a time like e^{R/T} "
          "(one tabular state)",
    scope="one tabular state, exact expectation, one step, and so every one; the limit",
    statement=_statement,
    instances=bandit_instances(HIGH_TEMPERATURE, LEARNING_RATE, GRPO_WEIGHT, actions=(2, 6)),
    experiments=(experiment(
        "down and back", "GRPO sharpens the right answers, then temperature revives them",
        _down_and_back),),
    mutants=(
        Mutant(name="without the factor 1/m",
               statement=variant(_statement, margin=lambda i: _room(i, shared=False))),
        Mutant(name="the likeliest right answer never falls behind",
               statement=variant(_statement, margin=lambda i: _lead(i, of=ar.largest))),
        Mutant(name="low temperatures do the same", statement=variant(_statement, margin=_lead),
               instances=bandit_instances(
                   Scalar(name="temperature", low=0.1, high=0.95, grid=(Fraction(1, 2),)),
                   LEARNING_RATE, GRPO_WEIGHT, actions=(2, 6))),
        Mutant(name="the range falls at every step",
               statement=variant(_statement, margin=lambda i: -range_change(i))),
    ),
)
