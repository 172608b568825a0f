r"""AEPO, section 4.1 and Figure 2: "the increase typically occurring more gradually than the
decrease".

"Typically" excuses exceptions, so no counterexample refutes the sentence. We judge whether it is a
rule, and give the hypothesis that makes it one. F, c and C are those of `aepo.theorem-4.3a`. It is read
without "typically" on the solved face, where all actions in play are correct. There :math:`F > 0` for
:math:`T > 1` and :math:`F < 0` for :math:`T < 1`. At one policy and the paper's
:math:`T_{\text{high}} = 6/5` and :math:`T_{\text{low}} = 4/5`, the statement is
:math:`F(T_{\text{high}}) \le |F(T_{\text{low}})|`. With :math:`h(b) = \mathbb E_{\pi^{1/b}} c` and
:math:`b = 1/T` it is

.. math::

    h(1) - h(1 - \alpha) \le h(1 + \beta) - h(1)

    \alpha = 1 - 1/T_{\text{high}} = 1/6,\quad \beta = 1/T_{\text{low}} - 1 = 1/4

So the low temperature is simply further away in 1/T.

It is false for concentrated policies. For two actions with logit gap x, h is proportional to
:math:`\tanh(b x/2)`, which is concave. Equally far in 1/T, the *increase* is the faster one at every
gap. That :math:`\beta > \alpha` makes up for this only up to :math:`x = 2.367` (probability .914). The
smallest integer counterexample is (1, 11).

The repair is exact, for any number of actions and any :math:`T_{\text{high}} > 1 > T_{\text{low}}`. Let
the logits have a range :math:`R \le 1` with :math:`e^{2 R \alpha} + e^{-2 R \beta} \le 2`
(:math:`R \le .986` at the paper's temperatures). Then
:math:`F(T_{\text{high}}) \le |F(T_{\text{low}})|`. The reason is that c then increases with z, so
:math:`h' = \operatorname{Cov}_b(z, c)` is a sum of nonnegative pairs. Each pair changes by a factor of
at most :math:`e^{2 R |b - 1|}`. So the observation ("typically") belongs to policies of high entropy.
At collapsed policies, which the high temperature is meant for, the increase is the faster one.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess, unit_step
from entropy_theory.verification import arithmetic as ar

HIGH = vf.Scalar(name="temperature_high", low=1.02, high=1.3, grid=(Fraction(6, 5),),
                 range=vf.Range(low=1, open_low=True))
LOW = vf.Scalar(name="temperature_low", low=0.6, high=0.98, grid=(Fraction(4, 5),),
                range=vf.Range(low=0, open_low=True, high=1, open_high=True))


@vf.definition
def rate_on_solved_face(logits: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """F(T) where every action is correct."""
    return -ar.total(ar.softmax(logits, temperature) * excess(logits))


def _in_full(i: Any) -> tuple[vf.Term, ...]:
    """F(T_high) <= |F(T_low)|, and their signs: what the margin is the difference of."""
    rises = rate_on_solved_face(i.logits, i.temperature_high)
    falls = rate_on_solved_face(i.logits, i.temperature_low)
    return rises >= 0, falls <= 0, rises <= np.abs(falls)


def _surplus(i: vf.Cases) -> ar.Reals:
    """|F(T_low)| - F(T_high) = sum (pi^low + pi^high - 2 pi)(c - C); the part with pi is zero."""
    policy = ar.softmax(i.logits)
    low = ar.softmax(i.logits, i.temperature_low) - policy
    high = ar.softmax(i.logits, i.temperature_high) - policy
    return ar.total((low + high) * excess(i.logits))


def _distances(i: vf.Cases) -> tuple[ar.Reals, ar.Reals]:
    """The distances alpha = 1 - 1/T_high and beta = 1/T_low - 1."""
    return 1 - 1 / i.temperature_high, 1 / i.temperature_low - 1


@vf.definition
def logit_range(logits: ar.Reals) -> ar.Reals:
    """R, the difference between the largest and the smallest logit."""
    return ar.largest(logits) - ar.smallest(logits)


def _range(i: vf.Cases) -> ar.Reals:
    return logit_range(i.logits)


def _flat_enough(i: vf.Cases) -> ar.Reals:
    alpha, beta = _distances(i)
    spread = 2 * _range(i)
    return 2 - (np.exp(spread * alpha) + np.exp(-spread * beta))


FURTHER = vf.Condition(
    latex=r"$1/T_{low} - 1 \ge 1 - 1/T_{high}$",
    value=lambda i: _distances(i)[1] - _distances(i)[0], relation=">=",
)
NARROW = vf.Condition(latex=r"$R \le 1$", value=lambda i: 1 - _range(i), relation=">=")
FLAT = vf.Condition(latex=r"$e^{2R\alpha} + e^{-2R\beta} \le 2$", value=_flat_enough, relation=">=")


def moved(weights: tuple[int, ...], temperature: float, steps: int = 20) -> float:
    """Change of entropy over a run of exact steps on the solved face, learning rate 1/2."""
    start = np.log(np.array([weights], dtype=float))
    logits, everything = start, np.ones(start.shape, dtype=bool)
    for _ in range(steps):
        logits = logits + unit_step(logits, everything, np.array([temperature])) / 2
    return float((ar.entropy(logits) - ar.entropy(start))[0])


def _runs() -> tuple[bool, str]:
    flat = [moved((1, 3), 1.2), moved((1, 3), 0.8)]
    steep = [moved((1, 11), 1.2), moved((1, 11), 0.8)]
    shown = 0 < 1.5 * flat[0] < -flat[1] and 0 < -1.5 * steep[1] < steep[0]
    return shown, (f"from (1, 3): {flat[0]:+.3f} at T = 1.2, {flat[1]:+.3f} at T = 0.8; "
                   f"from (1, 11): {steep[0]:+.3f} and {steep[1]:+.3f}")


_repaired = vf.Statement(
    latex=r"The same if the logits have a range $R \le 1$ with "
          r"$e^{2R\alpha} + e^{-2R\beta} \le 2$, $\alpha = 1 - 1/T_{\mathrm{high}}$, "
          r"$\beta = 1/T_{\mathrm{low}} - 1$.",
    margin=_surplus,
    # The first one follows from the others, unless the policy is uniform.
    conditions=(FURTHER, NARROW, FLAT),
    beyond=_in_full,
)

asymmetry = vf.Claim(
    id="aepo.asymmetry",
    source="AEPO, section 4.1 (Figure 2)",
    reading=vf.Reading(
        "inferred", "with the increase typically occurring more gradually than the decrease",
        "Section 4.1: 'typically', where the statement says always"),
    title="On a solved state high temperature never raises entropy faster than low temperature lowers "
          "it",
    scope="one tabular state on which every action is right, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Where every action is correct, $F(T_{\mathrm{high}}) \le |F(T_{\mathrm{low}})|$ "
              r"for $1/T_{\mathrm{low}} - 1 \ge 1 - 1/T_{\mathrm{high}}$, such as $T = 6/5$ and $4/5$.",
        margin=_surplus,
        conditions=(FURTHER,),
    ),
    instances=vf.bandit_instances(HIGH, LOW, correct=False),
    witnesses=(
        {"weights": [1, 11], "temperature_high": Fraction(6, 5), "temperature_low": Fraction(4, 5)},
    ),
    repair=_repaired,
    repair_is="hypothesis",
    repair_note=r"what 'typically' can mean: the logits have a range $R \le 1$ with "
                r"$e^{2R\alpha} + e^{-2R\beta} \le 2$ (a policy of high entropy; $R \le .986$ for "
                "$T = 6/5$ and $4/5$)",
    experiments=(
        vf.experiment("runs as in Figure 2",
                      "in 20 exact steps at learning rate 1/2 from weights 1:3, T = 0.8 lowers entropy "
                      "more than T = 1.2 raises it; from 1:11 it lowers entropy less", _runs),
    ),
    mutants=(
        vf.Mutant(name="R <= 1 alone, at any two temperatures",
                  statement=vf.without(_repaired, FLAT.latex)),
    ),
)
