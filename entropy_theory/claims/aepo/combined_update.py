r"""AEPO, Eq. 1: GRPO and tempered REINFORCE together. When does the sum raise entropy?

The expected GRPO step is kappa grad p (`extension.group-normalization-gain`), so its entropy rate is
kappa F(1), and the update of Eq. 1 with weight alpha has to first order the rate

    kappa F(1) + alpha F(T).

"If the policy entropy begins to collapse ..., we can counteract this downward trend by performing
updates using REINFORCE policy gradient of high-temperature samples", says the paper of Theorem 4.3.
Read: some weight alpha turns the fall into a rise. But F(T) > F(1) is not enough: F(T) may be negative
at every T, and then no alpha >= 0 raises entropy.

Repaired (exact): where F(1) < 0, kappa > 0 and alpha >= 0, the rate is positive exactly if F(T) > 0 (so
T > T0) and alpha > kappa |F(1)|/F(T). The exact change of entropy is then positive for every learning
rate below 4 (kappa F(1) + alpha F(T))/((1 + log n) ||step||^2). As kappa <= sqrt(G - 1) for groups of G,
alpha > sqrt(G - 1) |F(1)|/F(T) is enough whatever the difficulty of the prompt.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from entropy_theory.claims.aepo.corollary_4_4 import fall_with_one_answer
from entropy_theory.claims.aepo.expansion import remainder_steps
from entropy_theory.claims.aepo.tempered_reinforce import (
    ENTROPY_FALLS,
    rate,
    rate_of_step,
    remainder_bound,
    unit_step,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Scalar,
    Statement,
    bandit_instances,
    certify,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant

GRPO_WEIGHT = Scalar(name="grpo_weight", low=0.01, high=10.0, grid=(1, 3))
ALPHA = Scalar(name="alpha", low=0.01, high=50.0, grid=(1, 40))
LEARNING_RATE = Scalar(name="learning_rate", low=2.0**-10, high=4.0, grid=(1, Fraction(1, 64)))


def combined_step(i: Cases) -> Reals:
    """kappa grad p + alpha (1_{A*} pi^T - P_T pi), per unit learning rate."""
    grpo = unit_step(i.logits, i.correct)
    tempered = unit_step(i.logits, i.correct, i.temperature)
    return ar.per_action(i.grpo_weight) * grpo + ar.per_action(i.alpha) * tempered


def _parts(i: Cases) -> tuple[Reals, Reals, Reals]:
    """-Cov(z, step), F(T), and alpha F(T) - kappa |F(1)|."""
    first_order = -ar.covariance(ar.softmax(i.logits), i.logits, combined_step(i))
    tempered = rate(i.logits, i.correct, i.temperature)
    balance = i.alpha * tempered + i.grpo_weight * rate(i.logits, i.correct)
    return first_order, tempered, balance


def _exactly_when(i: Cases) -> Reals:
    """Both directions of "rate > 0 iff F(T) > 0 and alpha > kappa |F(1)|/F(T)"."""
    first_order, tempered, balance = _parts(i)
    enough = ar.minimum(tempered, balance)
    return np.stack([ar.maximum(-first_order, enough), ar.maximum(-enough, first_order)], axis=-1)


def _small_steps(i: Cases) -> Reals:
    """What `_exactly_when` says, and that entropy rises where eta rate > (1/4)(1 + log n)||eta s||^2."""
    step = ar.per_action(i.learning_rate) * combined_step(i)
    small = i.learning_rate * _parts(i)[2] - remainder_bound(step)
    rises = ar.maximum(-small, ar.entropy_change(i.logits, step))
    return np.concatenate([_exactly_when(i), rises[..., None]], axis=-1)


def _rates_add() -> symbolic.Expression:
    import sympy

    # Under pi, with values z, P = pi_a, Q = pi^T_a, A = 1_{A*}; grad p = A P - p P.
    m = symbolic.Moments("z P Q", indicators="A")
    z, P, Q, A = m["z"], m["P"], m["Q"], m["A"]
    p, mass, kappa, alpha = sympy.symbols("p P_T kappa alpha")
    plain, tempered = A * P - p * P, A * Q - mass * P
    whole = -m.covariance(z, kappa * plain + alpha * tempered)
    return whole - kappa * -m.covariance(z, plain) - alpha * -m.covariance(z, tempered)


_balance = smt.lemma(
    "balance", "for F(1) < 0 <= alpha: kappa F(1) + alpha F(T) > 0 iff F(T) > 0 and "
    "alpha > kappa |F(1)|/F(T)", "F1 FT kappa alpha least total",
    lambda v: [v.F1 < 0, v.kappa > 0, v.alpha >= 0, v.total == v.kappa * v.F1 + v.alpha * v.FT,
               smt.implies(v.FT > 0, v.least * v.FT == -v.kappa * v.F1)],
    lambda v: smt.all_of(
        smt.implies(v.total > 0, smt.all_of(v.FT > 0, v.alpha > v.least)),
        smt.implies(smt.all_of(v.FT > 0, v.alpha > v.least), v.total > 0)),
    uses=("rates add", "rate of a step"),
)

_rates = (
    symbolic.identity("rates add", "-Cov(z, kappa grad p + alpha d) is the sum of the two rates",
                      _rates_add, axioms=("(grad p)_a = pi_a (1_{A*} - p)",)),
    rate_of_step(),
    _balance,
)

_exact = Statement(
    latex=r"Where $F(1) < 0$: $\kappa F(1) + \alpha F(T) > 0$ iff $F(T) > 0$ and "
          r"$\alpha > \kappa|F(1)|/F(T)$.",
    margin=_exactly_when,
    conditions=(ENTROPY_FALLS,),
    proof=_rates,
)

_combined = Statement(
    latex=_exact.latex + r" Entropy then rises, exactly, in a step $\eta s$ with "
          r"$\eta < 4(\kappa F(1) + \alpha F(T))/((1 + \log n)\lVert s\rVert^2)$.",
    margin=_small_steps,
    conditions=(ENTROPY_FALLS,),
    proof=(
        *(step for step in remainder_steps() if not step.cross_check),
        *_rates,
        smt.lemma(
            "assembly",
            "|dH - eta total| <= (1/4)(1 + log n) eta^2 N, N = ||s||^2: dH > 0 below the threshold",
            "F1 FT kappa alpha least total dH eta N log_n",
            lambda v: [
                v.F1 < 0, v.kappa > 0, v.alpha > v.least, v.alpha >= 0, v.FT > 0,
                v.total == v.kappa * v.F1 + v.alpha * v.FT, v.least * v.FT == -v.kappa * v.F1,
                _balance.instance(F1=v.F1, FT=v.FT, kappa=v.kappa, alpha=v.alpha, least=v.least,
                                  total=v.total),
                v.eta > 0, v.N > 0, v.log_n >= 0, v.eta * (1 + v.log_n) * v.N < 4 * v.total,
                4 * (v.eta * v.total - v.dH) <= (1 + v.log_n) * v.eta * v.eta * v.N,
            ],
            lambda v: smt.all_of(v.total > 0, v.dH > 0),
            uses=("balance", "remainder"),
        ),
    ),
)

_printed = Statement(
    latex=r"Where GRPO lowers entropy, tempered REINFORCE at $T > 1$ with a large enough weight raises "
          r"it: $F(1) < 0$ implies $\sup_{\alpha > 0}\,(\kappa F(1) + \alpha F(T)) > 0$, that is "
          r"$F(T) > 0$.",
    margin=lambda i: rate(i.logits, i.correct, i.temperature),
    relation=">",
    conditions=(ENTROPY_FALLS,),
)

_INSTANCES = bandit_instances(
    Scalar(name="temperature", low=1.01, high=20.0, grid=(3,)), GRPO_WEIGHT, ALPHA, LEARNING_RATE,
    actions=(2, 6),
)


_MUTANTS = (
    Mutant(name="any alpha > 0, as Theorem 4.3 alone would have it",
           statement=variant(_combined, margin=lambda i: _parts(i)[0])),
    Mutant(name="F(T) > 0 is enough",
           statement=variant(_combined, margin=lambda i: ar.maximum(-_parts(i)[1], _parts(i)[0]))),
    Mutant(name="alpha > |F(1)|/F(T), kappa dropped",
           statement=variant(_combined, margin=lambda i: ar.maximum(
               -ar.minimum(_parts(i)[1], i.alpha * _parts(i)[1] + rate(i.logits, i.correct)),
               _parts(i)[0]))),
    Mutant(name="every learning rate",
           statement=variant(_combined, margin=lambda i: ar.maximum(
               -_parts(i)[2], ar.entropy_change(
                   i.logits, ar.per_action(i.learning_rate) * combined_step(i))))),
)

combined_update = Claim(
    id="extension.combined-update",
    source="Extension of AEPO, Eq. 1 and Theorem 4.3",
    title="GRPO plus tempered REINFORCE raises entropy iff T > T0 and alpha exceeds a threshold",
    scope="one tabular state, exact expectation, one step",
    statement=_combined,
    instances=_INSTANCES,
    mutants=_MUTANTS,
)

combined_update_printed = Claim(
    id="aepo.combined-update",
    source="AEPO, Eq. 1 with Theorem 4.3 and Corollary 4.4",
    title="Theorem 4.3 is enough for GRPO plus tempered REINFORCE to raise entropy",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_printed,
    instances=_INSTANCES,
    witnesses=(
        {"weights": [1, 2], "correct": [False, True], "temperature": 2, "grpo_weight": 1, "alpha": 1,
         "learning_rate": 1},
        # Some T does raise entropy here (T = 3), but T = 2 does not, whatever alpha.
        {"weights": [1, 1, 3], "correct": [True, False, True], "temperature": 2, "grpo_weight": 1,
         "alpha": 10, "learning_rate": 1},
    ),
    repair=_exact,
    repair_is="instead",
    repair_note="T > T0, so that F(T) > 0, and alpha > kappa |F(1)|/F(T)",
    negation=(
        certify.positive_on_box(
            "F(T) < 0 at every T >= 1", "at weights (1, 2), A* = {2}: -F(T) > 0 for all 1/T in [0, 1]",
            fall_with_one_answer, [(0.0, 1.0)],
        ),
        smt.lemma(
            "no weight helps", "F(1) < 0 and F(T) <= 0: kappa F(1) + alpha F(T) < 0 for all alpha >= 0",
            "F1 FT kappa alpha",
            lambda v: [v.F1 < 0, v.FT <= 0, v.kappa > 0, v.alpha >= 0],
            lambda v: v.kappa * v.F1 + v.alpha * v.FT < 0,
            uses=("F(T) < 0 at every T >= 1",),
        ),
    ),
    mutants=_MUTANTS[:2],
)
