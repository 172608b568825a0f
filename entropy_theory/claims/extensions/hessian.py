r"""Extension: the Hessian of entropy in the logits.

With :math:`c_a = \log \pi_a + H` and :math:`S_a = \pi_a c_a = -dH/dz_a` it is

.. math::

    \operatorname{Hess} H = -[\operatorname{diag}(S) + \operatorname{diag}(\pi) - S \pi^T - \pi S^T -
    \pi \pi^T].

It is symmetric, it annihilates the constant vector, and its quadratic form is

.. math::

    d^T \operatorname{Hess} d = -\operatorname{Var}(d) - \operatorname{Cov}(z, (d - \mathbb E d)^2) =
    -\mathbb E[(1 + \log \pi + H)(d - \mathbb E d)^2].

Both are exact for every n. Written as :math:`\operatorname{diag}(\pi c) - (\pi c) \pi^T +
\operatorname{diag}(\pi) - \pi \pi^T - \pi S^T` it looks asymmetric, but is symmetric because
:math:`\pi c = S`.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import own_covariance
from entropy_theory.claims.extensions.second_order import quadratic_form
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

OTHER = vf.Vector(name="other", low=-2.0, high=2.0, grid=(1,), range=vf.ANY)
"""A second vector: the matrix is symmetric if x^T Hess y = y^T Hess x."""


def hessian_matrix(logits: ar.Reals) -> ar.Reals:
    """The matrix [..., n, n]."""
    p, s = ar.softmax(logits), own_covariance(logits)
    identity = np.eye(logits.shape[-1], dtype=bool)
    on_diagonal = np.where(identity, (s + p)[..., :, None], 0 * p[..., :, None])
    outer = s[..., :, None] * p[..., None, :] + p[..., :, None] * s[..., None, :]
    return -(on_diagonal - outer - p[..., :, None] * p[..., None, :])


def hessian_times(logits: ar.Reals, x: ar.Reals, last: int = 1, diagonal: int = 1) -> ar.Reals:
    """The matrix times a vector, ``-[(S + pi) x - S E x - pi (sum S x) - pi E x]``; switches as
    above.
    """
    p, s = ar.softmax(logits), own_covariance(logits)
    along, mean = ar.total(s * x), ar.mean(p, x)
    return -((s + diagonal * p) * x - s * ar.per_action(mean) - last * p * ar.per_action(along)
             - p * ar.per_action(mean))


def _residuals(i: vf.Cases, **terms: int) -> ar.Reals:
    """Quadratic form, row sums and asymmetry, all of which should vanish."""
    applied = hessian_times(i.logits, i.step, **terms)
    form = ar.total(i.step * applied) - quadratic_form(i.logits, i.step)
    asymmetry = ar.total(i.other * applied) - ar.total(i.step * hessian_times(i.logits, i.other, **terms))
    rows = hessian_times(i.logits, 0 * i.step + 1, **terms)
    return np.concatenate([ar.per_action(form), rows, ar.per_action(asymmetry)], axis=-1)


def _derivatives(i: vf.Cases) -> tuple[vf.Term, ...]:
    """-S is the gradient of entropy, and the matrix times a vector the derivative of -S along it."""
    def along(t: ar.Real) -> ar.Reals:
        return i.logits + ar.per_action(t) * i.step

    slope = -ar.total(own_covariance(i.logits) * i.step)
    return (has_derivative(lambda t: ar.entropy(along(t)), 0, slope),
            has_derivative(lambda t: -own_covariance(along(t)), 0, hessian_times(i.logits, i.step)))


hessian = vf.Claim(
    id="extension.hessian",
    source="Extension of AEPO, Eq. 6",
    title="The Hessian of entropy in the logits",
    scope="one softmax policy, exact",
    statement=vf.Statement(
        latex=r"$\nabla^2_z H = -[\mathrm{diag}(S)+\mathrm{diag}(\pi)-S\pi^\top-\pi "
              r"S^\top-\pi\pi^\top]$, $S=\pi(\log\pi+H)$: symmetric, zero on constants, with quadratic "
              r"form $-\mathrm{Var}(d)-\mathrm{Cov}(z,(d-\bar d)^2)$.",
        margin=_residuals,
        relation="==",
        beyond=_derivatives,
    ),
    instances=vf.bandit_instances(correct=False, step=True, actions=(2, 6), vectors=(OTHER,)),
    mutants=(
        vf.mutant("pi S^T dropped", margin=lambda i: _residuals(i, last=0)),
    ),
)
