r"""Extension of the Entropy Mechanism, Lemma 1: the entropy of responses moves by a covariance of log
:math:`\pi`.

It is for any policy over responses of h tokens that is, token by token, a softmax of logits
:math:`z_s`. These may depend in any differentiable way on the trained parameters (tables, networks that
all states share). With :math:`v = dz`,

.. math::

    dH = -\operatorname{Cov}_y(\log \pi(y), d \log \pi(y)),\quad d \log \pi(y) = \sum_t (v_t - \mathbb E
    v_t).

State by state, with :math:`H(sa)` the entropy to come, it is :math:`\sum_s d(s)
\{-\operatorname{Cov}_s(\log \pi, v) + \operatorname{Cov}_s(H(sa), v)\}`. Nothing is assumed about how
the logits of different states move together. Lemma 1 as printed for one token is the case
:math:`h = 1`. Theorems 1 and 2 are cases of v.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    STEP,
    action_covariance,
    entropy_rate,
    entropy_to_go,
    response_covariance,
    summed,
    trees,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    TIME,
    entry,
    for_every,
    has_derivative,
    implies,
)


def _residual(i: vf.Cases) -> ar.Reals:
    return entropy_rate(i.logits, i.step) + response_covariance(
        i.logits, summed(i.logits, i.step))


def _by_state(i: vf.Cases) -> ar.Reals:
    """The same rate, state by state."""
    ahead = entropy_to_go(i.logits) - ar.log_softmax(i.logits)
    return entropy_rate(i.logits, i.step) - action_covariance(i.logits, i.step, ahead)


def _log_response(logits: Any) -> Any:
    return ar.token_tree(logits).sum_along(ar.log_softmax(logits))


def _along_any_curve(i: Any) -> tuple[vf.Term, ...]:
    """Say it of any differentiable curve of logits at all states, which is what trained parameters
    make."""

    def on_every_curve(rate: Any) -> vf.Term:
        return for_every("path", (TIME, vf.STATES, vf.ACTIONS), lambda path: for_every(
            "velocity", (vf.STATES, vf.ACTIONS), lambda velocity: implies(
                has_derivative(lambda t: entry(path, t), 0, velocity),
                rate(path, entry(path, vf.constant(0)), velocity))))

    return (
        on_every_curve(lambda path, here, velocity: has_derivative(
            lambda t: _log_response(entry(path, t)), 0, summed(here, velocity))),
        on_every_curve(lambda path, here, velocity: has_derivative(
            lambda t: ar.response_entropy(entry(path, t)), 0,
            -response_covariance(here, summed(here, velocity)))),
    )


response_entropy_identity = vf.Claim(
    id="extension.response-entropy-identity",
    source="Extension of Entropy Mechanism, Lemma 1",
    title="The entropy of responses moves by a covariance over them, for any parametrization",
    scope="any differentiable parametrization, responses of h tokens, first order",
    statement=vf.Statement(
        latex=r"Along any differentiable curve of the logits of all states, with $v$ their velocity, "
              r"$d\mathcal H = -\mathrm{Cov}_y(\log\pi(y), d\log\pi(y))$, where $d\log\pi(y) = "
              r"\sum_t (v_t - \mathbb E v_t)$; it is $\sum_s d(s)\{-\mathrm{Cov}_s(\log\pi, v) + "
              r"\mathrm{Cov}_s(\mathcal H(sa), v)\}$ too.",
        margin=lambda i: np.stack([_residual(i), _by_state(i)], axis=-1),
        relation="==",
        beyond=_along_any_curve,
    ),
    instances=trees(reward=None, vectors=(STEP,)),
    mutants=(
        vf.mutant("states frozen: without the entropy to come",
                  margin=lambda i: entropy_rate(i.logits, i.step) + action_covariance(i.logits, i.step)),
    ),
)
