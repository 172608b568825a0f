r"""Extension: along an entropy level set the reward never falls.

For any parameters, an objective J has the gradient g and an entropy H the gradient h. Take from g
its component along h,

.. math::

    \text{step } = g - (\langle g, h\rangle/\langle h, h\rangle) h.

To first order the step keeps H, and J rises at the rate :math:`|\text{step}|^2 \ge 0`. It vanishes
exactly where g vanishes along every direction that keeps H. These are the stationary points of J at
that entropy, and where h is not zero, g is a multiple of h there. So on a curve that follows the step H
is constant and J never falls. To first order, holding entropy has no price but the rest points, and it
does not by itself stop learning. This is true of any differentiable J and H of any parameters, such as
a network and responses of any length.

A step of finite size leaves the level set by no more than its square. At one state with n tabular
logits, :math:`|H(z + d) - H(z)| \le \tfrac12(5/8 + \tfrac15 \log n) |d|^2` along
:math:`d = \eta \text{ step}`, for any :math:`\eta`. The first order is gone, and the rest is at most
that of any step (`extension.remainder-constant`). A controller that projects exactly at every step has
to take back this drift, which per step is of order :math:`\eta^2`.

The claim is searched at one state with tabular logits and graded rewards. Both sides are multiplied
by <h, h>, so that nothing is divided where the policy is uniform.
"""

from typing import Any

import numpy as np

from entropy_theory import policy
from entropy_theory import verification as vf
from entropy_theory.claims.extensions.remainder_constant import curvature_constant
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    TIME,
    entry,
    equal,
    for_every,
    has_derivative,
    implies,
)


@vf.definition
def reward_gradient(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """grad E[r] = pi (r - E r)."""
    p = ar.softmax(logits)
    return p * ar.centered(p, reward)


@vf.definition
def scaled_step(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """<h, h> times the reward's gradient g minus its component along the entropy's gradient h."""
    g, h = reward_gradient(logits, reward), ar.entropy_gradient(logits)
    return ar.per_action(ar.total(h * h)) * g - ar.per_action(ar.total(g * h)) * h


@vf.definition
def level_step(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """The reward's gradient g minus its component along the entropy's gradient h; g where h is zero."""
    g, h = reward_gradient(logits, reward), ar.entropy_gradient(logits)
    square = ar.total(h * h)
    return g - ar.per_action(np.where(square > 0, ar.total(g * h) / square, 0)) * h


@vf.definition
def performance(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """J = E[r]."""
    return ar.mean(ar.softmax(logits), reward)


def _residuals(i: vf.Cases) -> ar.Reals:
    """<h, step>, and <h, h> <g, step> - |step|^2 for the step times <h, h>."""
    g, h = reward_gradient(i.logits, i.reward), ar.entropy_gradient(i.logits)
    step = scaled_step(i.logits, i.reward)
    return np.stack([ar.total(h * step),
                     ar.total(h * h) * ar.total(g * step) - ar.total(step * step)], axis=-1)


def _reward_rate(i: vf.Cases) -> ar.Reals:
    """<h, h> <g, step>: the reward's rate along the flow, times <h, h>^2."""
    g, h = reward_gradient(i.logits, i.reward), ar.entropy_gradient(i.logits)
    # A product of two sums minus a square: summed over pairs, so that no sign drowns.
    minors = g[..., :, None] * h[..., None, :] - h[..., :, None] * g[..., None, :]
    return np.sum(np.sum(minors * minors, axis=-1), axis=-1) / 2


def _natural_projection(i: vf.Cases) -> ar.Reals:
    """<h, step> with the component taken under the policy's weights."""
    p = ar.softmax(i.logits)
    g, h = reward_gradient(i.logits, i.reward), ar.entropy_gradient(i.logits)
    step = (ar.per_action(ar.total(p * h * h)) * g - ar.per_action(ar.total(p * g * h)) * h)
    return ar.total(h * step)


# ------------------------------------------------------------------ derivatives and curves


def _first_order(i: Any) -> tuple[vf.Term, ...]:
    """The step's rates, and its rest points."""
    z, h = i.logits, ar.entropy_gradient(i.logits)
    g, step = reward_gradient(z, i.reward), level_step(z, i.reward)

    def stationary(direction: vf.Term) -> vf.Term:
        return implies(equal(ar.total(h * direction), 0), equal(ar.total(g * direction), 0))

    still = equal(step, 0).all()
    everywhere = for_every("direction", (vf.ACTIONS,), stationary)
    return (
        has_derivative(lambda t: ar.entropy(z + ar.per_action(t) * step), 0, 0),
        has_derivative(lambda t: performance(z + ar.per_action(t) * step, i.reward), 0,
                       ar.total(step * step)),
        implies(still, everywhere),
        implies(everywhere, still),
    )


def _along_the_flow(i: Any) -> tuple[vf.Term, ...]:
    """On every curve that follows the step."""

    def later(path: vf.Term, start: vf.Term, stop: vf.Term) -> vf.Term:
        here, there = entry(path, start), entry(path, stop)
        same = equal(ar.entropy(there), ar.entropy(here))
        before, after = performance(here, i.reward), performance(there, i.reward)

        def rises(moment: vf.Term) -> vf.Term:
            still = equal(level_step(entry(path, moment), i.reward), 0).all()
            return implies((start < stop) & ~still, before < after)

        return same & (before <= after) & for_every(
            "moment", (), rises, given=lambda moment: (start <= moment) & (moment <= stop))

    def follows(path: vf.Term) -> vf.Term:
        return for_every("time", (), lambda time: has_derivative(
            lambda t: entry(path, t), time, level_step(entry(path, time), i.reward)))

    def holds(path: vf.Term) -> vf.Term:
        return for_every("start", (), lambda start: for_every(
            "stop", (), lambda stop: later(path, start, stop), given=lambda stop: start <= stop))

    return (for_every("path", (TIME, vf.ACTIONS), lambda path: implies(follows(path), holds(path))),)


# ------------------------------------------------------------------ a run


def _runs() -> tuple[bool, str]:
    """Eight starts of six actions at once, along Runge-Kutta steps of size 0.05 of the flow."""
    starts = [(g.standard_normal(6), g.random(6)) for g in map(np.random.default_rng, range(8))]
    logits, reward = (np.array(column) for column in zip(*starts, strict=True))

    def total(values: np.ndarray) -> np.ndarray:
        return np.sum(values, axis=-1, keepdims=True)

    def velocity(z: np.ndarray) -> np.ndarray:
        p = policy.softmax(z)
        g = p * (reward - total(p * reward))
        h = -p * (np.log(p) + policy.entropy(z)[:, None])
        return g - total(g * h) / total(h * h) * h

    rewards, entropies, size = [], [], 0.05
    for _ in range(4000):
        rewards.append(total(policy.softmax(logits) * reward)[:, 0])
        entropies.append(policy.entropy(logits))
        a = velocity(logits)
        b = velocity(logits + size / 2 * a)
        c = velocity(logits + size / 2 * b)
        d = velocity(logits + size * c)
        logits = logits + size / 6 * (a + 2 * b + 2 * c + d)
    drift = float(np.max(np.abs(np.array(entropies) - entropies[0])))
    fall = float(-np.min(np.diff(rewards, axis=0)))
    gain = float(np.min(rewards[-1] - rewards[0]))
    return drift < 1e-7 and fall < 1e-12 and gain > 0.02, (
        f"8 starts, 4,000 Runge-Kutta steps: H drifts by at most {drift:.1e}, the largest fall of J is "
        f"{fall:.1e}, the smallest gain {gain:.3f}")


# ------------------------------------------------------------------ claims

_INSTANCES = vf.bandit_instances(actions=(2, 6), correct=False, vectors=(vf.GRADED_REWARD,))

level_set_step = vf.Claim(
    id="extension.level-set-step",
    source="Extension (entropy control, tabular)",
    title="A step along an entropy level set never lowers the reward, to first order",
    scope="one tabular state, rewards in [0, 1], first order",
    statement=vf.Statement(
        latex=r"The step $g - \frac{\langle g,h\rangle}{\langle h,h\rangle}h$ ($g$ at the uniform "
              r"policy, where $h = 0$) keeps $\mathcal H$ to first order, $\langle g, "
              r"\mathrm{step}\rangle = \lVert\mathrm{step}\rVert^2 \ge 0$, and it vanishes exactly "
              r"where no direction that keeps $\mathcal H$ to first order changes $J$.",
        margin=_residuals,
        relation="==",
        beyond=_first_order,
    ),
    instances=_INSTANCES,
    mutants=(
        vf.mutant("the component taken under the policy's weights", margin=_natural_projection),
    ),
)

level_set_flow = vf.Claim(
    id="extension.level-set-flow",
    source="Extension (entropy control, tabular)",
    title="On the flow along an entropy level set the reward never falls",
    scope="one tabular state, rewards in [0, 1], continuous time",
    statement=vf.Statement(
        latex=r"On a curve of logits with $\dot z = g - \frac{\langle g,h\rangle}{\langle h,h\rangle}h$ "
              r"(with $\dot z = g$ at the uniform policy, where $h = 0$) the entropy is constant and "
              r"$J$ never falls; it rises over every stretch of time in which the velocity is not "
              r"always zero.",
        margin=_reward_rate,
        beyond=_along_the_flow,
    ),
    instances=_INSTANCES,
    experiments=(
        vf.experiment("eight runs", "six actions with graded rewards: along 4,000 Runge-Kutta steps of "
                      "size 0.05 entropy drifts by less than 1e-7, reward never falls "
                      "and gains more than 0.02",
                      _runs),
    ),
    mutants=(
        vf.mutant("the flow with the component added instead of taken away",
                  margin=lambda i: -ar.total(
                      reward_gradient(i.logits, i.reward) * ar.entropy_gradient(i.logits))),
    ),
)

# ------------------------------------------------------------------ steps of a size

SIZE = vf.Scalar(name="size", low=0.01, high=1e3, grid=(1, 10, 100), range=vf.POSITIVE)
"""The step's size over the squared length of the entropy's gradient."""


def _drift_room(i: vf.Cases, constant: ar.Real) -> ar.Reals:
    """Half the constant times |d|^2, less the change of entropy, for d of any size along the step."""
    step = ar.per_action(i.size) * scaled_step(i.logits, i.reward)
    return constant * ar.total(step * step) / 2 - np.abs(ar.entropy_change(i.logits, step))


def _constant(i: vf.Cases) -> ar.Real:
    return curvature_constant(i.logits.shape[-1], i.logits)


level_set_drift = vf.Claim(
    id="extension.level-set-drift",
    source="Extension (entropy control, tabular)",
    title="A step of size eta along an entropy level set leaves it by an order of eta squared",
    scope="one tabular state of at least three actions (two have no such step), rewards in [0, 1], one "
          "step of any size",
    statement=vf.Statement(
        latex=r"For $d = \eta\bigl(g - \frac{\langle g,h\rangle}{\langle h,h\rangle}h\bigr)$ of any "
              r"size, at a policy that is not uniform ($h \ne 0$): $|\mathcal H(z+d)-\mathcal H(z)| \le "
              r"\frac12(\frac58+\frac15\log n)\lVert d\rVert^2$.",
        margin=lambda i: _drift_room(i, _constant(i)),
    ),
    instances=vf.bandit_instances(SIZE, actions=(3, 6), correct=False, vectors=(vf.GRADED_REWARD,)),
)
