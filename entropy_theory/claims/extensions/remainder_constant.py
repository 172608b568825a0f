r"""Extension: how good the first order is. The best constant in :math:`|R| \le (K_n/2) \|d\|^2`.

Let :math:`R = H(z + d) - H(z) + \operatorname{Cov}(z, d)`. For every n, policy and step

.. math::

    |R| \le \tfrac12(5/8 + \tfrac15 \log n) \|d\|^2.

No constant free of n is enough. Two actions of mass 1/4 each and a uniform rest (:math:`n \ge 4`) give
:math:`K_n \ge 1/4 + \tfrac18 \log((n - 2)/2)`. For :math:`n = 2` the best constant is 1/2. Numerically
:math:`K_n = \max_p p [1 + (1 - 2p) \log(p (n - 2)/(1 - 2p))]`. This is 0.53 for :math:`n = 3`, 1.10 for
1000 and 1.70 for 151,936, where the bound has 0.84, 2.01 and 3.01.

Proof. Along :math:`z + t d` the curvature is :math:`Q = -V - \operatorname{Cov}(u^2, \log \pi)`, with
:math:`u = d - \mathbb E d` and :math:`V = \mathbb E u^2`. Use :math:`-p \log p \le p \log(1/q) + q - p`
with :math:`q = 1/(e n)` for the actions with :math:`u^2 < V` and :math:`q = 1/(8 n)` for the others.
With :math:`D = \mathbb E(V - u^2)_+ \le V` and :math:`r = (\max d - \min d)^2 \le 2 \|d\|^2` this gives

.. math::

    -Q \le V (1 + 1/e) + D \log n,\quad Q \le D (\log n + \log 8 - 2) + r/8.

Further, :math:`D \le r/10`, :math:`V + D \le 8r/27` and :math:`V \le r/4`. For :math:`-a \le u \le b`
and :math:`a \le b`, :math:`(u^2 - V)_+` lies below a square. It is :math:`(b^2 - V)(u + a)^2/r` if
:math:`V \ge a^2`, and :math:`(1 - V/b^2) u^2` if :math:`V \le a^2`.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.hessian import hessian_matrix
from entropy_theory.claims.extensions.second_order import first_order, quadratic_form
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, implies

CONSTANT, PER_LOG, UNIT = 25, 8, 40
"""|Q(d)| <= (25 + 8 log n)/40 ||d||^2: the margin and the proof below share these integers."""
def curvature_constant(n: int, like: ar.Reals) -> ar.Real:
    """5/8 + (1/5) log n: a bound on |Q(d)|/||d||^2."""
    return (ar.constant(CONSTANT, like) + PER_LOG * ar.log_of(n, like)) / UNIT


def room(i: vf.Cases, constant: ar.Real) -> ar.Reals:
    """Half the constant times ||d||^2 minus |R|; and the constant times ||d||^2 minus |Q|."""
    norm = ar.total(i.step * i.step)
    remainder = np.abs(ar.entropy_change(i.logits, i.step) - first_order(i.logits, i.step))
    curvature = np.abs(quadratic_form(i.logits, i.step))
    return np.stack([constant * norm / 2 - remainder, constant * norm - curvature], axis=-1)


def no_smaller(least: ar.Real) -> vf.Term:
    """Any K with |R| <= (K/2) ||d||^2 for all policies and steps is at least ``least``."""
    def holds(z: Any, d: Any, constant: ar.Real) -> Any:
        remainder = np.abs(ar.entropy_change(z, d) - first_order(z, d))
        return remainder <= constant * ar.total(d * d) / 2

    def at_least(constant: ar.Real) -> vf.Term:
        everywhere = for_every("z", (vf.ACTIONS,), lambda z: for_every(
            "d", (vf.ACTIONS,), lambda d: holds(z, d, constant)))
        return implies(everywhere, least <= constant)

    return for_every("K", (), at_least)


def _grows_with_log(i: vf.Cases) -> vf.Term:
    """From four actions on a valid constant is at least 1/4 + (1/8) log((n - 2)/2)."""
    n = i.step.shape[-1]
    least = ar.constant(1, i.step) / 4 + np.log((n - 2) / ar.constant(2, i.step)) / 8
    return implies(n >= ar.constant(4, i.step), no_smaller(least))


def two_big_actions(n: int) -> float:
    """Return ``max_p p [1 + (1 - 2p) log(p (n - 2)/(1 - 2p))]``, the constant of two equal big
    actions.
    """
    p = np.linspace(0, 0.5, 20_001)[1:-1]
    return float(np.max(p * (1 + (1 - 2 * p) * np.log(p * (n - 2) / (1 - 2 * p)))))


def _best_constant() -> tuple[bool, str]:
    """Largest abs(eigenvalue) of the Hessian found, from random starts and from two big actions."""
    from scipy.optimize import minimize

    generator, found, shown = np.random.default_rng(0), [], True
    for n in (3, 5, 8):
        def norm(z: ar.Reals) -> float:
            return -float(np.max(np.abs(np.linalg.eigvalsh(hessian_matrix(z[None])[0]))))

        starts = [*(2 * generator.standard_normal((4, n))), np.eye(n)[0] + np.eye(n)[1]]
        best = max(-minimize(norm, z, method="Nelder-Mead",
                             options={"maxfev": 1500, "xatol": 1e-7, "fatol": 1e-12}).fun
                   for z in starts)
        shown &= abs(best - two_big_actions(n)) < 1e-5
        found.append(f"n = {n}: {best:.6f} ({two_big_actions(n):.6f})")
    return shown, "largest found (two equal big actions): " + ", ".join(found)


# Two likely actions, each 72 times as likely as 62 others, that trade places: few actions do not show
# how a bound has to grow with n.
MANY_ACTIONS = {"weights": [72, 72] + 62 * [1], "step": [1, -1] + 62 * [0]}

remainder_constant = vf.Claim(
    id="extension.remainder-constant",
    source="Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1",
    title="The constant in the remainder of the first order",
    scope="one softmax policy, one logit step of any size",
    statement=vf.Statement(
        latex=r"$|H(z+d)-H(z)+\mathrm{Cov}(z,d)| \le \frac12K_n\lVert d\rVert^2$ with $K_n \le "
              r"\frac58+\frac15\log n$; and $K_n \ge \frac14+\frac18\log\frac{n-2}2$ for $n\ge4$: no "
              r"constant free of $n$ exists.",
        margin=lambda i: room(i, curvature_constant(i.step.shape[-1], i.step)),
        beyond=lambda i: (_grows_with_log(i),),
    ),
    instances=vf.bandit_instances(correct=False, step=True, actions=(2, 12)),
    mutants=(
        vf.mutant("a constant free of n: 1/2", margin=lambda i: room(i, ar.constant(1, i.step) / 2)),
    ),
    witnesses=(MANY_ACTIONS,),
    experiments=(
        vf.experiment("best constant", "ascent of the curvature over policies finds nothing above two "
                      "equal big actions and a uniform rest, n = 3, 5, 8", _best_constant),
    ),
)
