r"""Extension of the Entropy Mechanism, Lemma 1: entropy's rate for any differentiable
parametrization.

At one state the logits depend on parameters :math:`\theta` in any differentiable way, such as a
network's. The score :math:`\nabla \log \pi_a` is the gradient of the log-probability in the parameters.
For any motion dtheta,

.. math::

    dH = -\operatorname{Cov}(\log \pi, \langle \nabla \log \pi, d\theta\rangle).

Nothing in it is tabular. Both factors can be measured on sampled actions, from their log-probabilities
before and after a small step. It rests on :math:`\mathbb E[\nabla \log \pi] = 0` alone. Tabular logits
with :math:`d\theta = dz` give Lemma 1 at one state. With responses of a token tree as the actions it
gives the response entropy.

It is searched with two shared parameters, :math:`\text{logits } = \text{ base } + \theta_1 x + \theta_2
y` for features x and y of the actions. It is proved for any number of parameters and any differentiable
logits.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import policy
from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    TIME,
    entry,
    for_every,
    has_derivative,
    implies,
)

FIRST = vf.Vector(name="first_feature", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)
SECOND = vf.Vector(name="second_feature", low=-2.0, high=2.0, grid=(0, 1), range=vf.ANY)
PACE = vf.Scalar(name="pace", low=0.05, high=20.0, grid=(1, Fraction(1, 2)), range=vf.POSITIVE)
"""How fast the second parameter moves, in units of the first."""


def log_probability_rate(i: vf.Cases) -> ar.Reals:
    """<grad log pi_a, dtheta>: the score of each action along the motion (1, pace)."""
    return _score(i.logits, i.first_feature, i.second_feature, i.pace)


@vf.definition
def _score(
    logits: ar.Reals, first_feature: ar.Reals, second_feature: ar.Reals, pace: ar.Reals
) -> ar.Reals:
    """<grad log pi_a, dtheta> where the two shared parameters move by (1, pace)."""
    p = ar.softmax(logits)
    return ar.centered(p, first_feature) + ar.per_action(pace) * ar.centered(p, second_feature)


def entropy_rate(i: vf.Cases, rate: ar.Reals) -> ar.Reals:
    """d(-sum pi log pi), when log pi moves at the given rate."""
    return _product_rule(i.logits, rate)


@vf.definition
def _product_rule(logits: ar.Reals, rate: ar.Reals) -> ar.Reals:
    """-sum pi rate log pi - sum pi rate: the derivative of -sum pi log pi where log pi moves at a
    rate."""
    p, log_p = ar.softmax(logits), ar.log_softmax(logits)
    return -ar.total(p * rate * log_p) - ar.total(p * rate)


def _residual(i: vf.Cases) -> ar.Reals:
    """Entropy's rate plus Cov(log pi, <grad log pi, dtheta>)."""
    p, rate = ar.softmax(i.logits), log_probability_rate(i)
    return entropy_rate(i, rate) + ar.covariance(p, ar.log_softmax(i.logits), rate)


def _with_probability(i: vf.Cases) -> ar.Reals:
    p, rate = ar.softmax(i.logits), log_probability_rate(i)
    return entropy_rate(i, rate) + ar.covariance(p, p, rate)


def _along_any_curve(i: Any) -> tuple[vf.Term, ...]:
    """Say it of any differentiable curve of logits, which is what a curve of a network's parameters
    makes."""

    def on_every_curve(rate: Callable[[vf.Term, vf.Term], vf.Term]) -> vf.Term:
        """Where the logits move at some velocity from time 0 on, what follows."""
        return for_every("path", (TIME, vf.ACTIONS), lambda path: for_every(
            "velocity", (vf.ACTIONS,), lambda velocity: implies(
                has_derivative(lambda t: entry(path, t), 0, velocity), rate(path, velocity))))

    def score(path: vf.Term, velocity: vf.Term) -> vf.Term:
        return ar.centered(ar.softmax(entry(path, vf.constant(0))), velocity)

    def covariance(path: vf.Term, velocity: vf.Term) -> vf.Term:
        here = entry(path, vf.constant(0))
        return ar.covariance(ar.softmax(here), ar.log_softmax(here), score(path, velocity))

    return (
        on_every_curve(lambda path, velocity: has_derivative(
            lambda t: ar.log_softmax(entry(path, t)), 0, score(path, velocity))),
        on_every_curve(lambda path, velocity: has_derivative(
            lambda t: ar.entropy(entry(path, t)), 0, -covariance(path, velocity))),
    )


def network_gap(seed: int, size: float = 2.0**-12) -> float:
    """|difference quotient of H + Cov| at a random network, a hidden layer of tanh units."""
    generator = np.random.default_rng(seed)
    first, second = generator.standard_normal((6, 4)), generator.standard_normal((9, 6))
    inputs = generator.standard_normal(4)
    moves = generator.standard_normal(first.shape), generator.standard_normal(second.shape)

    def log_pi(t: float) -> np.ndarray:
        hidden = np.tanh((first + t * moves[0]) @ inputs)
        return policy.log_softmax((second + t * moves[1]) @ hidden)

    here = log_pi(0.0)
    score = (log_pi(size) - log_pi(-size)) / (2 * size)
    entropies = [-float(np.exp(x) @ x) for x in (log_pi(size), log_pi(-size))]
    p = np.exp(here)
    covariance = float(p @ ((here - p @ here) * (score - p @ score)))
    return abs((entropies[0] - entropies[1]) / (2 * size) + covariance)


def _network() -> tuple[bool, str]:
    worst = max(network_gap(seed) for seed in range(20))
    return worst < 1e-5, f"largest |dH + Cov| over 20 networks and directions: {worst:.1e}"


score_covariance = vf.Claim(
    id="extension.score-covariance",
    source="Extension of Entropy Mechanism, Lemma 1",
    title="Entropy moves by a covariance with the score, for any parametrization (one state)",
    scope="any differentiable parametrization, one state, first order",
    statement=vf.Statement(
        latex=r"Along any differentiable motion of the parameters, $d\mathcal H = "
              r"-\mathrm{Cov}_\pi(\log\pi, \langle\nabla_\theta\log\pi, d\theta\rangle)$.",
        margin=_residual,
        relation="==",
        beyond=_along_any_curve,
    ),
    instances=vf.bandit_instances(PACE, actions=(2, 6), correct=False, vectors=(FIRST, SECOND)),
    experiments=(
        vf.experiment("a small network", "20 random networks with six tanh units and nine actions, "
                      "random directions of all 78 weights: central differences of "
                      "H agree with -Cov to 1e-5",
                      _network),
    ),
    mutants=(
        vf.mutant("the probability in place of its logarithm", margin=_with_probability),
    ),
)
