r"""Extension of AEPO and the Entropy Mechanism to shared parameters: when the tabular sign survives.

The logits of many states depend on shared parameters with the Jacobian J. The parameters make a step
along :math:`J^T g`, where g is the step in a table. With the kernel :math:`K = J J^T` and G the
gradient of the (weighted) entropy of the states in the logits, entropy moves at the rate

.. math::

    \langle G, K g\rangle = \sum_{s,s'} G_s^T K_{ss'} g_{s'}.

A table has :math:`c \langle G, g\rangle`. The two differ by at most :math:`|(K - c I) g| |G|`. So they
have the same sign if

.. math::

    \|K - c I\| |G| |g| < c |\langle G, g\rangle|.

This makes the orthonormality of logit gradients quantitative, which AEPO assumes (B.4). It bounds how
far from it a network may be, so that a theorem about tables still gives the direction of its entropy.
The claim is searched and proved for every matrix K with :math:`|(K - c I) g|` itself, which is at most
:math:`\|K - c I\| |g|`. The kernel's file also proves that :math:`\langle G, K g\rangle` is the
entropy's rate for any differentiable parametrization.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.drawn_fields import sample_logits
from entropy_theory.verification.formula.limits import (
    TIME,
    entry,
    for_every,
    has_derivative,
    implies,
)
from entropy_theory.verification.formula.terms import PROMPTS
from entropy_theory.verification.instances import drawn_by

SCALE = vf.Scalar(name="scale", low=0.01, high=100.0, grid=(1, Fraction(1, 2)), range=vf.POSITIVE)
"""c, the kernel of a table: each logit moves by c times its own gradient."""


@vf.definition
def inner(x: ar.Reals, y: ar.Reals) -> ar.Reals:
    """The sum of products over the logits of all states."""
    return ar.total(ar.total(x * y))


def entropy_slope(i: vf.Cases) -> ar.Reals:
    """G: the gradient of the summed entropy of the states, [B, states, actions]."""
    return ar.entropy_gradient(i.logits)


@vf.definition
def kernel_times(kernel: ar.Reals, step: ar.Reals) -> ar.Reals:
    """K g: how a gradient step of the shared parameters moves each logit."""
    return ar.total(ar.total(kernel * step[..., None, None, :, :]))


def moved(i: vf.Cases) -> ar.Reals:
    """K g for the instance's K and g."""
    return kernel_times(i.kernel, i.step)


def rate(i: vf.Cases) -> ar.Reals:
    """<G, K g>."""
    return inner(entropy_slope(i), moved(i))


def tabular_rate(i: vf.Cases) -> ar.Reals:
    """<G, g>: the rate of a table, per unit c."""
    return inner(entropy_slope(i), i.step)


def defect(i: vf.Cases) -> ar.Reals:
    """(K - c I) g: what a table would not do."""
    return moved(i) - i.scale[..., None, None] * i.step


def _room(i: vf.Cases) -> ar.Reals:
    """(c <G, g>)^2 - |(K - c I) g|^2 |G|^2."""
    off, slope = defect(i), entropy_slope(i)
    return (i.scale * tabular_rate(i)) ** 2 - inner(off, off) * inner(slope, slope)


CLOSE = vf.Condition(latex=r"$|(K - cI)\,g|\,|G| < c\,|\langle G, g\rangle|$", value=_room)


# ------------------------------------------------------------------ instances


def _kernel(jacobian: np.ndarray, states: int, actions: int) -> np.ndarray:
    """J J^T as [..., states, actions, states, actions], from J as [..., logits, parameters]."""
    product = jacobian @ np.swapaxes(jacobian, -1, -2)
    return product.reshape(*product.shape[:-2], states, actions, states, actions)


def _sample(generator: np.random.Generator, size: int) -> vf.Batch:
    states, actions = int(generator.integers(1, 4)), int(generator.integers(2, 5))
    n = states * actions
    logits = sample_logits(generator, size * states, actions).reshape(size, states, actions)
    noise = np.exp(generator.uniform(-6, 1, (size, 1, 1))) * generator.standard_normal((size, n, n))
    jacobian = np.exp(generator.uniform(-1, 1, (size, 1, 1))) * (np.eye(n) + noise / np.sqrt(n))
    # Some steps go along the entropy's gradient, up to noise, where the condition is met.
    slope = np.asarray(ar.entropy_gradient(logits))
    free = generator.standard_normal(logits.shape)
    share = generator.choice([0.0, 0.1, 1.0], size=(size, 1, 1))
    sign = generator.choice([-1.0, 1.0], size=(size, 1, 1))
    return {"logits": logits, "kernel": _kernel(jacobian, states, actions),
            "step": sign * slope + share * 0.1 * free,
            "scale": np.sum(jacobian * jacobian, axis=(-1, -2)) / n}


def _enumerate(largest_total: int) -> Iterator[vf.Batch]:
    """Two states of two actions; the identity with one entry of the Jacobian changed."""
    weights, kernels, steps = [], [], []
    for largest in range(2, max(2, largest_total // 4) + 1):
        for w in ((1, largest), (largest, 1)):
            for place in range(16):
                for value in (0.25, -0.25):
                    for step in ((1, 0, 0, 0), (0, 1, 0, 0), (1, -1, 0, 0), (1, -1, -1, 1)):
                        matrix = np.eye(4)
                        matrix[divmod(place, 4)] += value
                        weights.append([w, (1, 2)])
                        kernels.append(_kernel(matrix, 2, 2))
                        steps.append(np.reshape(step, (2, 2)))
    yield {"weights": np.array(weights), "kernel": np.array(kernels),
           "step": np.array(steps, dtype=float), "scale": np.ones(len(steps))}


INSTANCES = vf.Instances(
    strategy=drawn_by(_sample), sample=_sample, enumerate=_enumerate,
    movable=("logits", "kernel", "step"),
    families="1-3 states of 2-4 actions, as many parameters as logits; Jacobians from the identity to "
             "noise, steps along the entropy's gradient and free ones",
    parameters=vf.Parameters(fields=(
        vf.Parameter(name="logits", axes=(PROMPTS, vf.ACTIONS)),
        vf.Parameter(name="kernel", axes=(PROMPTS, vf.ACTIONS, PROMPTS, vf.ACTIONS)),
        vf.Parameter(name="step", axes=(PROMPTS, vf.ACTIONS)),
        vf.Parameter(name="scale", range=SCALE.range),
    )),
)


def _is_the_rate(i: Any) -> tuple[vf.Term, ...]:
    """On any curve of logits that starts as the shared parameters move them, <G, K g> is the rate."""

    def one(path: vf.Term) -> vf.Term:
        start = entry(path, vf.constant(0))
        moves = moved(i)
        return implies(
            has_derivative(lambda t: entry(path, t), 0, moves),
            has_derivative(lambda t: ar.total(ar.entropy(entry(path, t))), 0,
                           inner(ar.entropy_gradient(start), moves)))

    return (for_every("path", (TIME, PROMPTS, vf.ACTIONS), one),)


kernel_sign = vf.Claim(
    id="extension.kernel-sign",
    source="Extension of AEPO, Assumption B.4, and Entropy Mechanism, Theorem 1 (any parametrization)",
    title="The tabular sign of the entropy change survives where (K - cI) g is short",
    scope="any differentiable parametrization, several states, first order",
    statement=vf.Statement(
        latex=r"If $|(K - cI)\,g|\,|G| < c\,|\langle G, g\rangle|$, $G$ the entropy's gradient in the "
              r"logits of all states, the entropy's rate $\langle G, K g\rangle$ under shared parameters "
              r"has the sign of the tabular one, $\langle G, g\rangle$.",
        margin=lambda i: rate(i) * tabular_rate(i),
        relation=">",
        conditions=(CLOSE,),
        beyond=_is_the_rate,
    ),
    instances=INSTANCES,
    mutants=(
        vf.mutant("the condition dropped", conditions=()),
    ),
)
