r"""Extension: two prompts that share a parameter may keep their entropy for ever.

There are two prompts of two answers, the first one right. One parameter :math:`\theta` gives the logits
:math:`(\theta, 0)` of one prompt and :math:`(b - \theta, 0)` of the other, with :math:`b > 0`. So
:math:`p_1 = \sigma(\theta)` and :math:`p_2 = \sigma(b - \theta)`, and a gain at one prompt is a loss at
the other. :math:`J = (p_1 + p_2)/2` has the slope

.. math::

    J' = (\sigma'(\theta) - \sigma'(b - \theta))/2.

It points to :math:`\theta = b/2`, where J is largest, :math:`J(b/2) = \sigma(b/2) < 1`. With
:math:`\theta = b/2 + d`,

.. math::

    d/dt d = -f(d),\quad e = e^{b/2},\quad u = e^d,

    f(d) = e u (u^2 - 1)(e^2 - 1) / (2 (1 + e u)^2 (u + e)^2),

and :math:`f(d)` is between c d and d/4 for :math:`0 \le d \le d_0`. So exact policy gradient tends to
b/2 from every start, for learning rates up to 4 without a finite sum. Both entropies tend to
:math:`h(\sigma(b/2)) > 0 = \log |A^*|`.

For one state with its own logits, three facts hold (`extension.varying-step-sizes`,
`extension.entropy-ceiling`): :math:`p_k \to 1`, :math:`\limsup H_k \le \log |A^*|`, and no entropy
exceeds the ceiling of the start. All three fail here, although J never falls and no parameters are
better. Started at a large :math:`\theta`, prompt 1 loses reward and regains entropy at every step. So
these limits are not to be expected of a network where prompts conflict.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.varying_step_sizes import has_no_finite_sum
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits
from entropy_theory.verification.instances import drawn_by


@vf.definition
def chance(logit: ar.Reals) -> ar.Reals:
    """The probability of the first of two answers whose logits are this and 0, sigma."""
    return 1 / (1 + np.exp(-logit))


@vf.definition
def mean_chance(theta: ar.Reals, offset: ar.Reals) -> ar.Reals:
    """J: the mean reward of the two prompts."""
    return (chance(theta) + chance(offset - theta)) / 2


@vf.definition
def reward_slope(theta: ar.Reals, offset: ar.Reals) -> ar.Reals:
    """dJ/dtheta, as sigma' = sigma (1 - sigma)."""
    return (chance(theta) * chance(-theta) - chance(offset - theta) * chance(theta - offset)) / 2


@vf.definition
def after_shared_step(theta: ar.Reals, offset: ar.Reals, learning_rate: ar.Reals) -> ar.Reals:
    """The parameter after an exact step of policy gradient."""
    return theta + learning_rate * reward_slope(theta, offset)


def _approaches(i: vf.Cases, factor: int = 1) -> ar.Reals:
    """How much nearer to b/2 a step comes, and how far from it on the same side it stays."""
    off = i.theta - i.offset / 2
    after = after_shared_step(i.theta, i.offset, factor * i.learning_rate) - i.offset / 2
    return np.stack([off * (off - after), off * after], axis=-1)


def _ends_between(i: Any) -> tuple[vf.Term, ...]:
    middle = i.offset / 2

    def run_from(start: Any, rates: vf.Term) -> Callable[[vf.Term], vf.Term]:
        return lambda k: limits.run(
            lambda j, theta: after_shared_step(theta, i.offset, limits.entry(rates, j)), start, k)

    def entropy_of(logit: Callable[[vf.Term], Any]) -> vf.Term:
        return limits.tends_to(lambda k: ar.binary_entropy(chance(logit(k))),
                               ar.binary_entropy(chance(middle)))

    def ends(path: Callable[[vf.Term], vf.Term]) -> vf.Term:
        rewards = limits.tends_to(lambda k: mean_chance(path(k), i.offset), chance(middle))
        return (limits.tends_to(path, middle) & rewards & entropy_of(path)
                & entropy_of(lambda k: i.offset - path(k)))

    def allowed(rates: vf.Term) -> vf.Term:
        return limits.at_every_step(
            lambda k: (limits.entry(rates, k) >= 0) & (limits.entry(rates, k) <= 4))

    return (
        limits.has_derivative(lambda theta: mean_chance(theta, i.offset), i.theta,
                              reward_slope(i.theta, i.offset)),
        mean_chance(i.theta, i.offset) <= mean_chance(middle, i.offset),
        vf.elementwise("equal", mean_chance(middle, i.offset), chance(middle)),
        (chance(middle) < 1) & (ar.binary_entropy(chance(middle)) > 0),
        limits.for_every("rates", (limits.STEPS,), lambda rates: limits.implies(
            has_no_finite_sum(lambda k: limits.entry(rates, k)), ends(run_from(i.theta, rates))),
            given=allowed),
    )


def _sample(generator: np.random.Generator, size: int) -> vf.Batch:
    return {"theta": np.exp(generator.uniform(-2, 2, size)) * generator.standard_normal(size),
            "offset": np.exp(generator.uniform(-4, 2, size)),
            "learning_rate": np.exp(generator.uniform(-4, np.log(4), size))}


def _enumerate(largest_total: int) -> Iterator[vf.Batch]:
    rows = list(itertools.product((0, 1, 2, -1, 4), (1, 2), (1, 4)))[:4 * largest_total]
    yield dict(zip(("theta", "offset", "learning_rate"), np.array(rows, dtype=float).T, strict=True))


_statement = vf.Statement(
    latex=r"Let two prompts have two answers each, the first one right, and the logits $(\theta, 0)$ "
          r"and $(b - \theta, 0)$, $b > 0$. Then the mean reward obeys $J(\theta) \le J(b/2) = "
          r"\sigma(b/2) < 1$, $\sigma$ the logistic function. Let exact policy gradient take learning "
          r"rates in $[0, 4]$ that have no finite sum. Then $\theta_k$ tends to $b/2$ from every start, "
          r"and $J$ to $\sigma(b/2)$. Both entropies tend to $h(\sigma(b/2)) > 0 = \log|\mathcal A^*|$, "
          r"$h$ the binary entropy.",
    margin=_approaches,
    beyond=_ends_between,
)

conflicting_prompts = vf.Claim(
    id="extension.conflicting-prompts",
    source="Extension of AEPO and Entropy Mechanism to prompts that share parameters",
    title="Where two prompts pull a shared parameter apart, entropy may stay above log |A*| in the limit",
    scope="two prompts of two answers, one shared parameter, exact expectation, learning rates up to 4, "
          "one step and the limit",
    statement=_statement,
    instances=vf.Instances(
        strategy=drawn_by(_sample), sample=_sample, enumerate=_enumerate,
        movable=("theta",), families="a normal parameter, offsets from e^-4 to e^2",
        parameters=vf.Parameters(fields=(
            vf.Parameter(name="theta"), vf.Parameter(name="offset", range=vf.POSITIVE),
            vf.Parameter(name="learning_rate",
                         range=vf.Range(low=0, open_low=True, high=4)))),
    ),
    mutants=(
        vf.Mutant(name="steps ten times as long", statement=vf.variant(
            _statement, margin=lambda i: _approaches(i, factor=10))),
    ),
)
