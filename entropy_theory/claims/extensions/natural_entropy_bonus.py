r"""Extension: a natural-gradient entropy bonus is tempering, and up to strength 1 it never errs.

With natural-gradient steps of size :math:`\eta` a bonus :math:`\lambda H` moves logits by
:math:`dz = -c \log \pi`, with :math:`c = \eta \lambda`. To first order entropy rises by
:math:`c \operatorname{Var}_\pi(\log \pi) \ge 0`, which is zero only where :math:`\pi` is uniform.
Exactly, the new policy is :math:`\operatorname{softmax}((1 - c) z)`, which is :math:`\pi` tempered at
:math:`T = 1/(1 - c)`. Entropy along softmax(b z) has the slope :math:`-b \operatorname{Var}(z)`, so

.. math::

    H(\operatorname{softmax}((1 - c) z)) \ge H(\operatorname{softmax}(z)) \text{ for every } z
    \text{ and } 0 < c \le 1.

At :math:`c = 1` :math:`\pi` becomes uniform. Beyond 1 the order of the actions is reversed and the
guarantee ends. For :math:`n \ge 3` and every :math:`c > 1` a policy with one very unlikely action loses
entropy.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

STRENGTH = vf.Scalar(name="strength", low=0.001, high=1.0, grid=(1, Fraction(1, 2), Fraction(1, 10)),
                     range=vf.Range(low=0, open_low=True, high=1))


@vf.definition
def natural_bonus_step(logits: ar.Reals, strength: ar.Reals) -> ar.Reals:
    """The step -c log pi."""
    return -ar.per_action(strength) * ar.log_softmax(logits)


natural_entropy_bonus = vf.Claim(
    id="extension.natural-entropy-bonus",
    source="Extension: entropy bonus under the natural gradient",
    title="A natural-gradient entropy bonus of strength at most 1 never lowers entropy",
    scope="one softmax policy, one step of the bonus alone, of any size up to strength 1",
    statement=vf.Statement(
        latex=r"For $0 < \eta\lambda \le 1$ the step $\Delta z = -\eta\lambda\log\pi$ never lowers "
              r"entropy: $H(z+\Delta z) \ge H(z)$; to first order it adds "
              r"$\eta\lambda\,\mathrm{Var}_\pi(\log\pi)$.",
        # Exact entropy change of the step -c log pi.
        margin=lambda i: ar.entropy_change(i.logits, natural_bonus_step(i.logits, i.strength)),
        beyond=lambda i: (has_derivative(
            lambda c: ar.entropy(i.logits + natural_bonus_step(i.logits, c)), 0,
            ar.covariance(ar.softmax(i.logits), ar.log_softmax(i.logits), ar.log_softmax(i.logits))),),
    ),
    instances=vf.bandit_instances(STRENGTH, correct=False),
)
