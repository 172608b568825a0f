r"""Extension: the entropy change through second order, with a bound on what is left.

For every z, every step d, u = d - E_pi[d], rho = max d - min d:

.. math::

    H(z + d) - H(z) = -\operatorname{Cov}(\log \pi, d) - \tfrac12 \{\operatorname{Var}(d) +
    \mathbb E[(\log \pi + H) u^2]\} + R,

    |R| \le \rho^3 (2 + 7 \log n) / 24.

The quadratic form is :math:`Q(d) = -\operatorname{Var}(d) - \operatorname{Cov}(z, u^2)`. Along
:math:`z + t d` the third derivative is, in joint cumulants, :math:`H''' = -2 \mathbb E[u^3] -
\mathbb E[l u^3] + 3 \mathbb E[l u] \mathbb E[u^2]` with :math:`l = \log \pi + H`, and
:math:`E|l| \le 2H`, so

.. math::

    |\mathbb E u^3| \le \rho^3/4,\quad |\mathbb E[l u^3]| \le \rho^3 H,\quad |\mathbb E[l u]|
    \mathbb E[u^2] \le \rho H \rho^2/4.

The constant is not sharp.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


def first_order(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    """-Cov(log pi, d)."""
    return -ar.covariance(ar.softmax(logits), logits, step)


def quadratic_form(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    """``Q(d) = -Var(d) - Cov(z, (d - E d)^2)``."""
    p = ar.softmax(logits)
    centered = ar.centered(p, step)
    return -ar.mean(p, centered * centered) - ar.covariance(p, logits, centered * centered)


def _bound(step: ar.Reals) -> ar.Reals:
    spread = ar.largest(step) - ar.smallest(step)
    return spread * spread * spread * (2 + 7 * ar.log_of(step.shape[-1], like=step)) / 24


def _remainder(i: vf.Cases, size: ar.Real = 1) -> ar.Reals:
    """Change minus first order minus Q/2, at the step size * d."""
    step = size * i.step
    change = ar.entropy_change(i.logits, step) - first_order(i.logits, step)
    return change - quadratic_form(i.logits, step) / 2


def _along(i: vf.Cases, t: ar.Real) -> ar.Reals:
    """Logits z + t d."""
    return i.logits + ar.per_action(t) * i.step


def _without_variance(i: vf.Cases) -> ar.Reals:
    return _remainder(i) - ar.covariance(ar.softmax(i.logits), i.step, i.step) / 2


_statement = vf.Statement(
    latex=r"$H(z+d)-H(z) = -\mathrm{Cov}(\log\pi,d)-\frac12\{\mathrm{Var}(d)+"
          r"\mathbb E[(\log\pi+H)(d-\bar d)^2]\}+R$ with $|R|\le\frac{2+7\log n}{24}(\max d-\min d)^3$.",
    margin=lambda i: _bound(i.step) - np.abs(_remainder(i)),
    beyond=lambda i: (
        has_derivative(lambda t: ar.entropy(_along(i, t)), 0, first_order(i.logits, i.step)),
        has_derivative(lambda t: first_order(_along(i, t), i.step), 0, quadratic_form(i.logits, i.step)),
    ),
)

second_order = vf.Claim(
    id="extension.second-order",
    source="Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6",
    title="The entropy change through second order",
    scope="one softmax policy, one logit step of any size, with its remainder",
    statement=_statement,
    instances=vf.bandit_instances(correct=False, step=True),
    first_order=True,
    mutants=(
        vf.mutant("Var(d) left out", margin=lambda i: _bound(i.step) - np.abs(_without_variance(i))),
    ),
)
