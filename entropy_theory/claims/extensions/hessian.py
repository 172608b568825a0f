r"""Extension: the Hessian of entropy in the logits.

With c_a = log pi_a + H and S_a = pi_a c_a = -dH/dz_a:

    Hess H = -[diag(S) + diag(pi) - S pi^T - pi S^T - pi pi^T].

It is symmetric, it annihilates the constant vector, and its quadratic form is

    d^T Hess d = -Var(d) - Cov(z, (d - E d)^2) = -E[(1 + log pi + H)(d - E d)^2].

Exact, for every n. (Written as diag(pi c) - (pi c) pi^T + diag(pi) - pi pi^T - pi S^T it looks
asymmetric; it is not, because pi c = S.)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import own_covariance
from entropy_theory.claims.extensions.second_order import quadratic_form
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    Vector,
    bandit_instances,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Real, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.statement import ANY
from entropy_theory.verification.formula.terms import Term

OTHER = Vector(name="other", low=-2.0, high=2.0, grid=(1,), range=ANY)
"""A second vector: the matrix is symmetric if x^T Hess y = y^T Hess x."""


def hessian_matrix(logits: Reals, last: int = 1, diagonal: int = 1) -> Reals:
    """The matrix [..., n, n]; ``last`` and ``diagonal`` switch terms off for mutants."""
    p, s = ar.softmax(logits), own_covariance(logits)
    identity = np.eye(logits.shape[-1], dtype=bool)
    on_diagonal = np.where(identity, (s + diagonal * p)[..., :, None], 0 * p[..., :, None])
    outer = s[..., :, None] * p[..., None, :] + last * p[..., :, None] * s[..., None, :]
    return -(on_diagonal - outer - p[..., :, None] * p[..., None, :])


def hessian_times(logits: Reals, x: Reals, last: int = 1, diagonal: int = 1) -> Reals:
    """The matrix times a vector, -[(S + pi) x - S E x - pi (sum S x) - pi E x]; switches as above."""
    p, s = ar.softmax(logits), own_covariance(logits)
    along, mean = ar.total(s * x), ar.mean(p, x)
    return -((s + diagonal * p) * x - s * ar.per_action(mean) - last * p * ar.per_action(along)
             - p * ar.per_action(mean))


def _residuals(i: Cases, **terms: int) -> Reals:
    """Quadratic form, row sums and asymmetry, all of which should vanish."""
    applied = hessian_times(i.logits, i.step, **terms)
    form = ar.total(i.step * applied) - quadratic_form(i.logits, i.step)
    asymmetry = ar.total(i.other * applied) - ar.total(i.step * hessian_times(i.logits, i.other, **terms))
    rows = hessian_times(i.logits, 0 * i.step + 1, **terms)
    return np.concatenate([ar.per_action(form), rows, ar.per_action(asymmetry)], axis=-1)


def _derivatives(i: Cases) -> tuple[Term, ...]:
    """-S is the gradient of entropy, and the matrix times a vector the derivative of -S along it."""
    def along(t: Real) -> Reals:
        return i.logits + ar.per_action(t) * i.step

    slope = -ar.total(own_covariance(i.logits) * i.step)
    return (has_derivative(lambda t: ar.entropy(along(t)), 0, slope),
            has_derivative(lambda t: -own_covariance(along(t)), 0, hessian_times(i.logits, i.step)))


def _gradient() -> symbolic.Expression:
    m = symbolic.Moments("L x")
    log_p, x = m["L"], m["x"]
    slope = m.derivative(-m.expect(log_p), x, {log_p: x - m.expect(x)})
    return slope + m.expect((log_p - m.expect(log_p)) * x)


def _column() -> symbolic.Expression:
    """d/dt of -S_a along dz/dt = x, against (Hess x)_a; p, l, x_a belong to one action."""
    import sympy

    m = symbolic.Moments("L x")
    log_p, x = m["L"], m["x"]
    p, own_log, own_x = sympy.symbols("p_a l_a x_a")
    mean_x = m.expect(x)
    entropy = -m.expect(log_p)
    moved = own_x - mean_x
    slope = m.derivative(entropy, x, {log_p: x - mean_x})
    gradient_rate = -(p * moved * (own_log + entropy) + p * (moved + slope))
    own_s = p * (own_log + entropy)
    # sum_b S_b x_b = E[(log pi + H) x].
    row = own_s * own_x + p * own_x - own_s * mean_x
    row += -p * m.expect((log_p + entropy) * x) - p * mean_x
    return gradient_rate + row


def _form() -> list[symbolic.Expression]:
    m = symbolic.Moments("L d")
    log_p, d = m["L"], m["d"]
    depth, mean = log_p - m.expect(log_p), m.expect(d)
    matrix = -(m.expect(depth * d * d) + m.expect(d * d) - 2 * m.expect(depth * d) * mean - mean**2)
    centered = d - mean
    by_covariance = -m.covariance(d, d) - m.covariance(log_p, centered**2)
    return [matrix - by_covariance, matrix + m.expect((1 + depth) * centered**2)]


def _entries() -> list[symbolic.Expression]:
    import sympy

    pa, pb, sa, sb = sympy.symbols("p_a p_b S_a S_b")
    # Row sums: S_a + pi_a - S_a sum pi - pi_a sum S - pi_a sum pi, with sum pi = 1, sum S = 0.
    row = sa + pa - sa * 1 - pa * 0 - pa * 1
    return [(-sa * pb - pa * sb - pa * pb) - (-sb * pa - pb * sa - pb * pa), row]


def _written_out(s: symbolic.ExplicitSoftmax) -> Iterable[symbolic.Rational]:
    # The gradient -pi_a (z_a - E z) needs no logarithm; its derivative along x is the row of Hess x.
    mean_z, mean_x = s.mean(s.z), s.mean(s.x)
    own = [p * (z - mean_z) for p, z in zip(s.p, s.z, strict=True)]
    cross = s.covariance(s.z, s.x)
    for p, c, x in zip(s.p, own, s.x, strict=True):
        row = c * x + p * x - c * mean_x - p * cross - p * mean_x
        yield s.along_direction(c) - row


_statement = Statement(
    latex=r"$\nabla^2_z H = -[\mathrm{diag}(S)+\mathrm{diag}(\pi)-S\pi^\top-\pi S^\top-\pi\pi^\top]$, "
          r"$S=\pi(\log\pi+H)$: symmetric, zero on constants, with quadratic form "
          r"$-\mathrm{Var}(d)-\mathrm{Cov}(z,(d-\bar d)^2)$.",
    margin=_residuals,
    relation="==",
    beyond=_derivatives,
    proof=(
        symbolic.softmax_rule(),
        symbolic.identity("gradient", "dH/dz_a = -S_a, as d/dt H = -sum_a S_a x_a", _gradient,
                          uses=("softmax rule",)),
        symbolic.identity("rows", "d/dt (-S_a) along dz/dt = x is the a-th entry of Hess x", _column,
                          uses=("softmax rule", "gradient"),
                          axioms=("d pi_a/dt = pi_a (x_a - E x); sum_b S_b x_b = E[(log pi + H) x]",)),
        symbolic.identity("symmetry and row sums", "entries (a, b) and (b, a) agree; Hess 1 = 0",
                          _entries, axioms=("sum pi = 1, sum S = 0",)),
        symbolic.identity("quadratic form",
                          "d^T Hess d = -Var(d) - Cov(log pi, u^2) = -E[(1 + log pi + H) u^2]", _form,
                          uses=("rows", "symmetry and row sums")),
        symbolic.explicit("rows, written out", "the same for each n", _written_out,
                          actions=range(2, 5)),
    ),
)

hessian = Claim(
    id="extension.hessian",
    source="Extension of AEPO, Eq. 6",
    title="The Hessian of entropy in the logits",
    scope="one softmax policy, exact",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True, actions=(2, 6), vectors=(OTHER,)),
    mutants=(
        Mutant(name="pi S^T dropped",
               statement=variant(_statement, margin=lambda i: _residuals(i, last=0))),
        Mutant(name="sign of pi S^T flipped",
               statement=variant(_statement, margin=lambda i: _residuals(i, last=-1))),
        Mutant(name="diag(pi) dropped",
               statement=variant(_statement, margin=lambda i: _residuals(i, diagonal=0))),
    ),
)
