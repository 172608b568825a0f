r"""Extension: for two actions the best constant in the remainder of the first order is
:math:`K_2 = 1/2`.

:math:`R = H(z + d) - H(z) + \operatorname{Cov}(z, d)` depends on the gap :math:`x = z_1 - z_2` alone.
Along it, with :math:`s = \pi_1`,

.. math::

    H''(x) = -s (1 - s)(1 + x (1 - 2s)) = -(1 - x \tanh(x/2))/(4 \cosh(x/2)^2).

:math:`|H''| \le 1/4`, because :math:`2 w \tanh w \le 2 + \sinh(w)^2` for :math:`w = |x|/2`. With
:math:`(d_1 - d_2)^2 \le 2 \|d\|^2` this gives :math:`|R| \le \tfrac14 \|d\|^2`. At :math:`x = 0` and
:math:`d = (1, -1)` both are equalities to second order.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.remainder_constant import no_smaller, room
from entropy_theory.verification import arithmetic as ar

remainder_constant_two_actions = vf.Claim(
    id="extension.remainder-constant-two-actions",
    source="Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1",
    title="The best remainder constant for two actions",
    scope="one softmax policy over two actions, one logit step of any size",
    statement=vf.Statement(
        latex=r"For $n=2$ the best constant is $K_2=\frac12$: $|R|\le\frac14\lVert d\rVert^2$, and no "
              r"smaller one holds.",
        margin=lambda i: room(i, ar.constant(1, i.step) / 2),
        beyond=lambda i: (no_smaller(ar.constant(1, i.step) / 2),),
    ),
    instances=vf.bandit_instances(correct=False, step=True, actions=(2, 2)),
    mutants=(
        vf.mutant("1/2 for three actions too",
                  instances=vf.bandit_instances(correct=False, step=True, actions=(3, 3))),
    ),
)
