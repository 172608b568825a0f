r"""Extension of AEnt, Proposition 1 (I), to networks: entropy bounds the policy gradient.

One state, rewards in [0, 1]. Whatever the logits depend on, if they move at the velocity v, the expected
reward V moves at the rate <grad V, v> with

    |dV/dt| <= H |v|_2 / (2 sqrt2 log 2).

So if the logits are a function of parameters whose Jacobian has operator norm at most G, the gradient
with respect to the parameters, which is the largest rate of a step of length one, has

    ||grad_theta V||_2 <= G H / (2 sqrt2 log 2).

The kernel's file proves this too (`any_parametrization`), and NetworkGradients.v the
same for responses of h tokens whose states share all their parameters. G = 1 where logits are
parameters, and the constant is the best one then (extension.gradient-entropy-l2). So no policy gradient
of a network whose Jacobian stays bounded survives the collapse of entropy.
"""

from __future__ import annotations

from typing import Any

from entropy_theory.verification import Cases, Claim, Mutant, Statement, bandit_instances
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.drawn_fields import GRADED_REWARD, Vector
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.limits import (
    TIME,
    entry,
    for_every,
    has_derivative,
    implies,
)
from entropy_theory.verification.formula.statement import ANY
from entropy_theory.verification.formula.terms import ACTIONS, Term, constant

VELOCITY = Vector(name="velocity", low=-3.0, high=3.0, grid=(0, 1, -1), range=ANY)


@definition
def reward_rate(logits: Reals, reward: Reals, velocity: Reals) -> Reals:
    """<grad V, v> = Cov_pi(r, v): how fast the expected reward moves where the logits move at v."""
    return ar.covariance(ar.softmax(logits), reward, velocity)


def _room(i: Cases) -> Reals:
    """H^2 |v|^2 - 8 (log 2)^2 (dV/dt)^2."""
    rate, entropy = reward_rate(i.logits, i.reward, i.velocity), ar.entropy(i.logits)
    log_2 = ar.log_of(2, like=rate)
    return entropy**2 * ar.total(i.velocity * i.velocity) - 8 * log_2**2 * rate**2


def _on_any_curve(i: Any) -> tuple[Term, ...]:
    """Say it of any differentiable curve of logits, which is what a curve of a network's parameters
    makes."""

    def one(path: Term) -> Term:
        start = entry(path, constant(0))
        return implies(
            has_derivative(lambda t: entry(path, t), 0, i.velocity),
            has_derivative(lambda t: ar.mean(ar.softmax(entry(path, t)), i.reward), 0,
                           reward_rate(start, i.reward, i.velocity)))

    return (for_every("path", (TIME, ACTIONS), one),)


_statement = Statement(
    latex=r"If the logits move at the velocity $v$, $|\mathrm dV/\mathrm dt| \le H\,\lVert v\rVert_2 / "
          r"(2\sqrt2\log 2)$; so $\lVert\nabla_\theta V\rVert_2 \le G\,H/(2\sqrt2\log 2)$ for logits "
          r"whose Jacobian has operator norm at most $G$.",
    margin=_room,
    beyond=_on_any_curve,
)

gradient_entropy_network = Claim(
    id="extension.gradient-entropy-network",
    source="Extension of AEnt, Proposition 1 (I), to any differentiable parametrization",
    title="Entropy bounds a network's policy gradient at one state, by its Jacobian's norm over "
          "2 sqrt2 log 2",
    scope="any differentiable parametrization, one state, rewards in [0, 1], exact expectation",
    statement=_statement,
    instances=bandit_instances(correct=False, vectors=(VELOCITY, GRADED_REWARD)),
    witnesses=({"weights": [1, 1], "velocity": [1, -1], "reward": [1, 0]},),
    mutants=(
        Mutant(name="the variance of the reward in place of the covariance with the velocity",
               statement=variant(_statement, margin=lambda i: ar.entropy(i.logits)**2
                                 * ar.total(i.velocity * i.velocity)
                                 - ar.covariance(ar.softmax(i.logits), i.reward, i.reward))),
    ),
)
