r"""Extension of AEnt, Proposition 1 (I), to networks: entropy bounds the policy gradient.

It is for one state and rewards in [0, 1], and for logits that depend on anything. If the logits
move at the velocity v, the expected reward V moves at the rate <grad V, v> with

.. math::

    |dV/dt| \le H |v|_2 / (2 \sqrt2 \log 2).

Let the logits be a function of parameters whose Jacobian has operator norm at most G. The gradient
with respect to the parameters is the largest rate of a step of length one, so

.. math::

    \|\nabla_\theta V\|_2 \le G H / (2 \sqrt2 \log 2).

The kernel's file proves this too (`any_parametrization`). NetworkGradients.v proves the same for
responses of h tokens whose states share all their parameters. Where logits are parameters,
:math:`G = 1` and the constant is the best one (`extension.gradient-entropy-l2`). So no policy gradient
of a network whose Jacobian stays bounded survives the collapse of entropy.
"""

from typing import Any

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    TIME,
    entry,
    for_every,
    has_derivative,
    implies,
)

VELOCITY = vf.Vector(name="velocity", low=-3.0, high=3.0, grid=(0, 1, -1), range=vf.ANY)


@vf.definition
def reward_rate(logits: ar.Reals, reward: ar.Reals, velocity: ar.Reals) -> ar.Reals:
    """<grad V, v> = Cov_pi(r, v): how fast the expected reward moves where the logits move at v."""
    return ar.covariance(ar.softmax(logits), reward, velocity)


def _room(i: vf.Cases) -> ar.Reals:
    """H^2 |v|^2 - 8 (log 2)^2 (dV/dt)^2."""
    rate, entropy = reward_rate(i.logits, i.reward, i.velocity), ar.entropy(i.logits)
    log_2 = ar.log_of(2, like=rate)
    return entropy**2 * ar.total(i.velocity * i.velocity) - 8 * log_2**2 * rate**2


def _on_any_curve(i: Any) -> tuple[vf.Term, ...]:
    """Say it of any differentiable curve of logits, which is what a curve of a network's parameters
    makes."""

    def one(path: vf.Term) -> vf.Term:
        start = entry(path, vf.constant(0))
        return implies(
            has_derivative(lambda t: entry(path, t), 0, i.velocity),
            has_derivative(lambda t: ar.mean(ar.softmax(entry(path, t)), i.reward), 0,
                           reward_rate(start, i.reward, i.velocity)))

    return (for_every("path", (TIME, vf.ACTIONS), one),)


gradient_entropy_network = vf.Claim(
    id="extension.gradient-entropy-network",
    source="Extension of AEnt, Proposition 1 (I), to any differentiable parametrization",
    title="Entropy bounds how fast the reward moves, whatever moves the logits of one state",
    scope="any differentiable motion of the logits, one state, rewards in [0, 1], exact expectation",
    statement=vf.Statement(
        latex=r"If the logits move at the velocity $v$, $|\mathrm dV/\mathrm dt| \le H\,\lVert "
              r"v\rVert_2 / (2\sqrt2\log 2)$.",
        margin=_room,
        beyond=_on_any_curve,
    ),
    instances=vf.bandit_instances(correct=False, vectors=(VELOCITY, vf.GRADED_REWARD)),
    witnesses=({"weights": [1, 1], "velocity": [1, -1], "reward": [1, 0]},),
    mutants=(
        vf.mutant("the variance of the reward in place of the covariance with the velocity",
                  margin=lambda i: ar.entropy(i.logits)**2
                  * ar.total(i.velocity * i.velocity)
                  - ar.covariance(ar.softmax(i.logits), i.reward, i.reward)),
    ),
)
