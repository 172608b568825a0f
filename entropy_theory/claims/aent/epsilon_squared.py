r"""AEnt, after Proposition 2: regularization improves the bound's "dependence on eps" to
:math:`\varepsilon^2`.

For one prompt, let :math:`\varepsilon` be the norm of the gradient that each proposition is about. The
two bounds on the gap are

.. math::

    B_1(\varepsilon) = \sqrt{h} \varepsilon / C \quad\text{Proposition 1 (II)}

    B_2(\varepsilon) = \varepsilon^2 / (2 \lambda C_\lambda) + \lambda L \quad\text{Proposition 2}

    L = h \log|A| - \log|A^*|

The text says that the dependence on :math:`\varepsilon` improves, which is so, and that the bias
:math:`\lambda L` is the price. It does not claim that anything is left once the price is paid, and that
is what we judge. It is read as :math:`B_2(\varepsilon) \le B_1(\varepsilon)`, so that the whole bound
improves.

This is false. As :math:`\varepsilon \to 0`, B1 tends to 0 and B2 to :math:`\lambda L > 0`. With
:math:`c = \sqrt{h}/C` and :math:`k = 1/(2 \lambda C_\lambda)` the exact crossover is

.. math::

    B_2 \le B_1\quad \text{ iff}\quad (2 k \varepsilon - c)^2 \le c^2 - 4 k \lambda L.

This is an interval of :math:`\varepsilon`. It is empty unless :math:`h C_\lambda \ge 2 L C^2`, where
:math:`\lambda` enters through :math:`P^*` only.

- With one token and at most half of the answers right, :math:`B_2 > B_1` for every policy,
  :math:`\varepsilon` and :math:`\lambda`.
- With one right response of any length, B1 is smaller wherever B2 is below the largest gap, 1. What
  holds instead is :math:`B_2 \ge \min(1, B_1)`.

An improvement is possible where right answers are dense. With two right answers of three, :math:`\pi`
uniform, :math:`\lambda = 1/2` and :math:`\varepsilon = 1/6`, B2 is 0.453 and B1 is 0.5. Without the
bias, B2 is the smaller one for :math:`\varepsilon` up to :math:`c/k = 2 \lambda C_\lambda \sqrt{h}/C`.

The constants C and :math:`C_\lambda` are the largest that the printed proofs allow, and a smaller
:math:`C_\lambda` only makes B2 worse. With the :math:`4 \lambda` of `extension.soft-suboptimality` for
:math:`2 \lambda` the first bullet fails. There, with one of two tokens right, :math:`\pi` uniform and
the best :math:`\lambda`, B2 is :math:`1.67 \varepsilon` and B1 is :math:`2 \varepsilon`.
"""

import dataclasses
from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.lemma_6 import soft_constant
from entropy_theory.claims.aent.stationarity import entropy_bias, largest_right_probability
from entropy_theory.claims.aent.token_mdp import COEFFICIENT, returns, trees
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import implies

# ---------------------------------------------------------------- numbers


def _parts(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals, ar.Real]:
    """(C, 2 lambda C_lambda, lambda L, sqrt(h)), one number per instance."""
    reward = returns(i.correct, i.logits)
    horizon = ar.constant(1, like=i.logits) * ar.token_tree(i.logits).horizon
    return (
        largest_right_probability(i.logits, reward),
        2 * i.coefficient * soft_constant(i.logits, reward, i.coefficient),
        entropy_bias(i.logits, reward, i.coefficient),
        np.sqrt(horizon),
    )


def improvement(i: vf.Cases) -> ar.Reals:
    """B1 - B2, times 2 lambda C_lambda C > 0."""
    c, scale, bias, root = _parts(i)
    return scale * root * i.epsilon - c * (i.epsilon**2 + scale * bias)


def _void_or_worse(i: vf.Cases) -> ar.Reals:
    """The larger of B2 - 1 and B2 - B1, each times a positive number."""
    _, scale, bias, _ = _parts(i)
    return ar.maximum(i.epsilon**2 + scale * (bias - 1), -improvement(i))


@vf.definition
def linear_coefficient(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """c = sqrt(h)/C: the bound of Proposition 1 (II) is B1 = c eps."""
    return np.sqrt(ar.token_tree(logits).horizon) / largest_right_probability(logits, reward)


@vf.definition
def square_coefficient(logits: ar.Reals, reward: ar.Reals, coefficient: ar.Reals) -> ar.Reals:
    """k = 1/(2 lambda C_lambda): the bound of Proposition 2 is B2 = k eps^2 + lambda L."""
    return 1 / (2 * coefficient * soft_constant(logits, reward, coefficient))


def _bounds(i: vf.Cases) -> tuple[vf.Term, ...]:
    """``B2 >= min(1, B1)``, and ``B2 <= B1`` exactly where
    ``(2 k eps - c)^2 <= c^2 - 4 k lambda L``.
    """
    reward = returns(i.correct, i.logits)
    bias = entropy_bias(i.logits, reward, i.coefficient)
    c = linear_coefficient(i.logits, reward)
    k = square_coefficient(i.logits, reward, i.coefficient)
    first, second = c * i.epsilon, k * i.epsilon**2 + bias
    inside = (2 * k * i.epsilon - c) ** 2 <= c**2 - 4 * k * bias
    return (ar.minimum(1, first) <= second, implies(second <= first, inside),
            implies(inside, second <= first))


# ---------------------------------------------------------------- instances

EPSILON = vf.Scalar(name="epsilon", low=1e-3, high=4.0,
                    grid=(Fraction(1, 2), Fraction(1, 10), Fraction(1, 6)), range=vf.POSITIVE)


def _instances() -> vf.Instances:
    """Token trees; where the first response is right, it is the only one in half of the cases."""
    drawn = trees(COEFFICIENT, EPSILON)

    def alone(correct: object) -> ar.Mask:
        given = np.asarray(correct)
        only = np.zeros(given.shape, dtype=bool)
        only[..., 0] = True
        return np.where(given[..., :1], only, given)

    def sample(generator: np.random.Generator, size: int) -> vf.Batch:
        batch = drawn.sample(generator, size)
        return {**batch, "correct": alone(batch["correct"])}

    def one(case: vf.Instance) -> vf.Instance:
        return {**case, "correct": alone(case["correct"]).tolist()}

    return dataclasses.replace(drawn, sample=sample, strategy=drawn.strategy.map(one))


ONE_RIGHT = vf.Condition(latex="a single right response",
                         value=lambda i: np.equal(ar.total(returns(i.correct, i.logits)), 1))

# ---------------------------------------------------------------- claim

# Two of three answers right: B2 = 0.453, B1 = 0.5.
DENSE = {"weights": [[1, 1, 1]], "correct": [True, True, False], "coefficient": Fraction(1, 2),
         "epsilon": Fraction(1, 6)}
# One right response of nine: B2 < B1, both far above 1.
LARGE = {"weights": [[1, 1, 1]] * 4, "correct": [True] + [False] * 8, "coefficient": 2,
         "epsilon": Fraction(4, 5)}

epsilon_squared = vf.Claim(
    id="aent.epsilon-squared",
    source="AEnt, Section 3, after Proposition 2, with the bias that it names as the price",
    reading=vf.Reading(
        "inferred", "the above bound’s dependence on improves to",
        "Section 3, after Proposition 2, which names the bias as its price and does not compare the "
        "sums"),
    title="With its bias counted, the bound in epsilon squared is below the bound in epsilon",
    scope="tabular token tree, one prompt; comparison of two upper bounds",
    statement=vf.Statement(
        latex=r"Entropy regularization improves the bound's dependence from $\epsilon$ to $\epsilon^2$: "
              r"$\epsilon^2/(2\lambda C_\lambda) + \lambda h\log\frac{|\mathcal A|}{|\mathcal "
              r"A^*|^{1/h}} \le \sqrt h\,\epsilon/C$.",
        margin=improvement,
    ),
    instances=_instances(),
    witnesses=(
        {"weights": [[1, 1]], "correct": [True, False], "coefficient": 1, "epsilon": Fraction(1, 2)},
        DENSE, LARGE,
    ),
    repair=vf.Statement(
        latex=r"With a single right response (returns 0 and 1) the regularized bound is at most "
              r"$c\epsilon$, $c = \sqrt h/C$, exactly where $(2k\epsilon - c)^2 \le c^2 - 4k\lambda L$, "
              r"$k = 1/(2\lambda C_\lambda)$ and $\lambda L$ the bias; and it is never below $\min(1, "
              r"c\epsilon)$, whatever $\epsilon$ and $\lambda$.",
        margin=_void_or_worse,
        beyond=_bounds,
        conditions=(ONE_RIGHT,),
    ),
    repair_note="for one right response: the exact crossover, and the regularized bound is never the "
                "useful one",
    mutants=(
        vf.mutant("several right responses allowed", conditions=(),
                  instances=vf.listed_instances([DENSE], "two of three answers right")),
    ),
)
