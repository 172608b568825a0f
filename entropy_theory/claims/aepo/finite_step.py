r"""AEPO, section 4.1: the effect of a finite step, against its first order ("~" in Theorem 4.3).

The exact expected step is :math:`d_T = 1_{A^*} \pi^T - P_T \pi`, and it changes entropy by
:math:`dH(T) = H(z + \eta d_T) - H(z)`. The statement is that where :math:`F(1) < 0`, a temperature
:math:`T > 1` leaves more entropy: :math:`dH(T) \ge dH(1)`. F is the rate of `aepo.theorem-4.3a`. To
first order this is Corollary 4.4. For a finite learning rate it is false, also where plain REINFORCE
does lower entropy, :math:`dH(1) < 0`. The step towards a flatter policy overshoots. The smallest
integer counterexamples found, with :math:`A^* = \{2, 3\}`, are by learning rate

::

    eta   20       15       12       10       8         7          6
    w     (1,1,2)  (1,1,3)  (1,2,4)  (1,2,6)  (1,6,12)  (1,13,22)  (1,87,114).

The threshold is 4 or less. Take two right answers alone with gap x between them, and T = inf. A step
takes x to :math:`x - \eta \tanh(x/2)`. This is further from 0 than before once
:math:`\eta > 2x/\tanh(x/2)`, which is just above 4 near :math:`x = 0`. A third, wrong action of
vanishing probability makes :math:`F(1) < 0` and :math:`dH(1) < 0`. For :math:`\eta \le 4` no violation
is known (see the experiment), but no proof excludes one. In longer searches the smallest value of
:math:`(dH(T) - dH(1))/(\eta (F(T) - F(1)))` approached :math:`1 - \eta/4`.

The repair is exact: :math:`dH(T) > dH(1)` for every learning rate below

.. math::

    4 (F(T) - F(1)) / ((1 + \log n)(\|d_T\|^2 + \|d_1\|^2)).

This is positive where :math:`F(1) < 0` (`aepo.corollary-4.4-high`).
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import (
    ENTROPY_FALLS,
    rate,
    remainder_bound,
    unit_step,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.search import Effort, search

TEMPERATURE = vf.Scalar(name="temperature", low=1.01, high=100.0, grid=(8, 2), range=vf.POSITIVE)
LEARNING_RATE = vf.Scalar(name="learning_rate", low=2.0**-6, high=32.0, grid=(20, Fraction(1, 32)),
                          range=vf.POSITIVE)
CALM_RATE = vf.Scalar(name="learning_rate", low=0.1, high=4.0, grid=(4, 1), range=vf.POSITIVE)


def change(i: vf.Cases, temperature: ar.Reals | None = None) -> ar.Reals:
    """dH(T), exact."""
    step = unit_step(i.logits, i.correct, temperature)
    return ar.entropy_change(i.logits, ar.per_action(i.learning_rate) * step)


def _gain(i: vf.Cases) -> ar.Reals:
    """dH(T) - dH(1)."""
    return change(i, i.temperature) - change(i)


def _below_threshold(i: vf.Cases) -> ar.Reals:
    """``eta (F(T) - F(1)) - (1/4)(1 + log n) eta^2 (||d_T||^2 + ||d_1||^2)``."""
    eta = ar.per_action(i.learning_rate)
    first = rate(i.logits, i.correct, i.temperature) - rate(i.logits, i.correct)
    bound = (remainder_bound(eta * unit_step(i.logits, i.correct, i.temperature))
             + remainder_bound(eta * unit_step(i.logits, i.correct)))
    return i.learning_rate * first - bound


HOT = vf.Condition(latex="$T > 1$", value=lambda i: i.temperature - 1)
FALLS_EXACTLY = vf.Condition(latex="dH(1) < 0", value=lambda i: -change(i))
SMALL_STEP = vf.Condition(
    latex=r"$\eta < 4(F(T) - F(1))/((1 + \log n)(\lVert d_T\rVert^2 + \lVert d_1\rVert^2))$",
    value=_below_threshold,
)

_statement = vf.Statement(
    latex=r"For $T > 1$ and $F(1) < 0$ the exact changes satisfy $\Delta H(T) \ge \Delta H(1)$, whatever "
          r"the learning rate.",
    margin=_gain,
    conditions=(HOT, ENTROPY_FALLS),
)
_where_it_falls = vf.variant(_statement, conditions=(*_statement.conditions, FALLS_EXACTLY))

def _calm() -> tuple[bool, str]:
    """The adversary on eta <= 4: random policies, hot temperatures, local ascent."""
    found = search(_where_it_falls, vf.bandit_instances(TEMPERATURE, CALM_RATE, actions=(3, 6)),
                   Effort(largest_total=7, random_cases=60_000, ascents=1, seconds=1.5), seed=4)
    return found[0].outcome == "pass", f"{found[0].cases} cases with eta <= 4: {found[0].detail}"


finite_step = vf.Claim(
    id="aepo.finite-step",
    source="AEPO, Theorem 4.3 and Corollary 4.4, for the exact change of entropy",
    reading=vf.Reading(
        "inferred", r"\Delta H_k(T) \approx H(\theta_{k+1}) - H(\theta_k)",
        "Theorem 4.3, which speaks of the first order, not of a real step"),
    title="A higher temperature leaves more entropy after one real step",
    scope="one tabular state, exact expectation, one step of any size",
    statement=_statement,
    instances=vf.bandit_instances(TEMPERATURE, LEARNING_RATE),
    witnesses=(
        {"weights": [1, 1, 2], "correct": [False, True, True], "temperature": 8, "learning_rate": 20},
        {"weights": [1, 6, 12], "correct": [False, True, True], "temperature": 10,
         "learning_rate": 8},
        {"weights": [1, 87, 114], "correct": [False, True, True], "temperature": 10,
         "learning_rate": 6},
    ),
    repair=vf.Statement(
        latex=r"For $T > 1$, $F(1) < 0$ and $\eta < 4(F(T) - F(1))/((1 + \log n)"
              r"(\lVert d_T\rVert^2 + \lVert d_1\rVert^2))$: $\Delta H(T) > \Delta H(1)$.",
        margin=_gain,
        relation=">",
        conditions=(HOT, ENTROPY_FALLS, SMALL_STEP),
    ),
    repair_is="hypothesis",
    repair_note=r"for $\eta < 4(F(T) - F(1))/((1 + \log n)(\lVert d_T\rVert^2 + \lVert d_1\rVert^2))$",
    experiments=(
        vf.experiment("eta <= 4", "no violation of the printed statement is found up to eta = 4", _calm),
    ),
    mutants=(
        vf.Mutant(name="F(1) < 0 dropped, eta <= 4", statement=vf.without(_statement,
                                                                          ENTROPY_FALLS.latex),
                  instances=vf.bandit_instances(TEMPERATURE, CALM_RATE)),
    ),
)
