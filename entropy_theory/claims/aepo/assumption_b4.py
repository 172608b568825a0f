r"""AEPO, Assumption B.4: the gradients of the logits are orthonormal, <grad z_a, grad z_b> = 1[a =
b].

The assumption makes Eq. 5 the step of the logits, and so :math:`F(T)` of Theorem 4.3 the rate of
entropy. A table satisfies it. At one state and up to a factor, a linear output layer does too, since
:math:`z = W x` has :math:`\langle \nabla z_a, \nabla z_b\rangle = |x|^2 1[a = b]`. Parameters that logits
share do not. In the simplest case they share one direction v. Then the logits move by
:math:`(I + v v^T) g` where a table moves by the step g of Eqs. 4 and 5. It is read as harmless: the
sign of :math:`F(T)` is that of the rate at which entropy moves. With :math:`S = \pi (\log \pi + H)` the
two rates are

.. math::

    F = -\langle S, g\rangle,\quad F_{\text{shared}} = -\langle S, (I + v v^T) g\rangle = F - \langle S,
    v\rangle\langle v, g\rangle.

This is false. A shared direction can turn a fall of entropy into a rise. It is true if
:math:`|v|^2 |S| |g| < |F|`, a hypothesis with the general form `extension.kernel-sign`.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, unit_step
from entropy_theory.verification import arithmetic as ar

SHARED = vf.Vector(name="shared", low=-1.5, high=1.5, grid=(0, 1, -1), range=vf.ANY)


@vf.definition
def rate_in_a_table(i: vf.Cases) -> ar.Reals:
    """<grad H, g> = F(T)."""
    step = unit_step(i.logits, i.correct, i.temperature)
    return ar.total(ar.entropy_gradient(i.logits) * step)


@vf.definition
def shared_part(i: vf.Cases) -> ar.Reals:
    """<grad H, v><v, g>: what the shared direction adds to the rate."""
    step = unit_step(i.logits, i.correct, i.temperature)
    along = ar.total(ar.entropy_gradient(i.logits) * i.shared)
    return along * ar.total(i.shared * step)


def _one_sign(i: vf.Cases) -> ar.Reals:
    """F (F + the shared part): below zero where the signs differ."""
    rate = rate_in_a_table(i)
    return rate * (rate + shared_part(i))


def _little_is_shared(i: vf.Cases) -> ar.Reals:
    """F^2 minus (|v|^2 |S| |g|)^2."""
    step = unit_step(i.logits, i.correct, i.temperature)
    slope = ar.entropy_gradient(i.logits)
    length = ar.total(i.shared * i.shared)
    largest = length * length * ar.total(slope * slope) * ar.total(step * step)
    return rate_in_a_table(i) * rate_in_a_table(i) - largest


LITTLE_SHARED = vf.Condition(latex=r"$|v|^2\,|S|\,|g| < |F(T)|$", value=_little_is_shared)

assumption_b4 = vf.Claim(
    id="aepo.assumption-b4",
    source="AEPO, Appendix B, Assumption B.4",
    reading=vf.Reading(
        "inferred", r"In the following, we set $c_{a,b} \equiv 1$.",
        "Assumption B.4, which says nothing of what holds without it"),
    title="Without orthonormal logit gradients entropy still moves in the direction of F(T)",
    scope="one state whose logits share a direction of the parameters, exact expectation, first order",
    statement=vf.Statement(
        latex=r"With logits that share a direction $v$ of the parameters (kernel $I + vv^\top$) entropy "
              r"still moves in the direction that $F(T)$ says: $F(T)\,\big(F(T) - \langle S, "
              r"v\rangle\langle v, g\rangle\big) \ge 0$, with $S = -\nabla H$ and $g$ the expected step "
              r"of the logits.",
        margin=_one_sign,
    ),
    instances=vf.bandit_instances(TEMPERATURE, vectors=(SHARED,), actions=(2, 5)),
    repair=vf.Statement(
        latex=r"It does if $|v|^2\,|S|\,|g| < |F(T)|$.",
        margin=_one_sign,
        relation=">",
        conditions=(LITTLE_SHARED,),
    ),
    repair_is="hypothesis",
    repair_note=r"hypothesis $|v|^2\,|S|\,|g| < |F(T)|$: little is shared, for how far $F(T)$ is "
                "from zero",
)
